#include "bcsc/tune.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/memory.hpp"
#include "tools/bcsc/cache_witness.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/effort.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {
namespace {

struct tune_command_options : output_options {
  matrix_source source;
  device_options where;
  std::vector<std::int64_t> cols{32};
  value_type type = value_type::fp32;
  layout order = layout::row_major;
  compute_class compute = compute_class::full;
  bool transpose = false, deterministic = false;
  bcsc::effort effort = bcsc::effort::search;
  double budget = 0;
  std::string cache;
  bool again = false;
};

nlohmann::ordered_json describe(const trial& one) {
  return {{"kernel", one.kernel},
          {"m_block", one.m_block},
          {"reordered", one.reordered},
          {"seconds", one.seconds},
          {"predicted_seconds",
           one.predicted_seconds > 0 ? nlohmann::ordered_json(one.predicted_seconds) : nlohmann::ordered_json(nullptr)},
          {"samples", one.num_samples},
          {"products", one.num_products}};
}

nlohmann::ordered_json describe(const plan_facts& facts, std::int64_t cols) {
  nlohmann::ordered_json described{{"cols", cols},
                                   {"kernel", facts.kernel.name},
                                   {"m_block", facts.m_block},
                                   {"reordered", facts.reordered},
                                   {"reason", facts.reason},
                                   {"remembered", facts.trials.empty()},
                                   {"convert_seconds", facts.convert_seconds},
                                   {"trial_seconds", facts.trial_seconds},
                                   {"trial_setup_seconds", facts.trial_setup_seconds},
                                   {"trials", nlohmann::ordered_json::array()}};
  for (const trial& one : facts.trials) described["trials"].push_back(describe(one));
  return described;
}

void report(const plan_facts& facts, std::int64_t cols, output& out) {
  out.line();
  out.line("N = {}: {} with m_block {}{}", cols, facts.kernel.name, facts.m_block,
           facts.reordered ? ", rows reordered" : "");
  out.line("{}", facts.reason);
  if (facts.trials.empty()) return;
  constexpr std::size_t max_shown = 12;
  const double best = facts.trials.front().seconds;
  table shown({"kernel", "m_block", "time", "over best", "predicted", "samples", "products"});
  for (std::size_t i = 0; i < facts.trials.size() && i < max_shown; ++i) {
    const trial& one = facts.trials[i];
    shown.add({one.kernel + (one.reordered ? " (reordered)" : ""), std::to_string(one.m_block), as_seconds(one.seconds),
               fmt::format("{:.3f}", one.seconds / best),
               one.predicted_seconds > 0 ? as_seconds(one.predicted_seconds) : "-", std::to_string(one.num_samples),
               std::to_string(one.num_products)});
  }
  shown.print(out);
  if (facts.trials.size() > max_shown) {
    out.line("and {} slower ones, which --json lists", facts.trials.size() - max_shown);
  }
}

template <number T>
int tune_for(const tune_command_options& options, output& out) {
  const context ctx = make_context(options.where);
  loaded_matrix<scalar_of<T>> loaded = load<scalar_of<T>>(options.source, out);
  out.line("{}", describe_line(options.source, loaded));
  out.line("A{} times B, {}, {}, on {}", options.transpose ? "'" : "", to_string(options.type),
           to_string(options.order), ctx.describe());
  out.json() = {{"command", "tune"},
                {"matrix", cli::describe(options.source, loaded)},
                {"device", ctx.describe()},
                {"type", to_string(options.type)},
                {"layout", to_string(options.order)},
                {"effort", to_string(options.effort)},
                {"cache", nullptr},
                {"results", nlohmann::ordered_json::array()}};
  const csr_matrix<T> a = multiplied_as<T>(std::move(loaded.a));
  progress_bar bar = out.progress("tuning");
  const cache_witness witness(ctx, bar, options.cache);
  for (std::size_t i = 0; i < options.cols.size(); ++i) {
    const std::int64_t cols = options.cols[i];
    const auto advance = [&](double done, std::string_view now) {
      bar.show((static_cast<double>(i) + done) / static_cast<double>(options.cols.size()),
               fmt::format("N = {}: {}", cols, now));
    };
    const spmm_plan<T> plan = tuned_plan(ctx, a,
                                         {.plan = {.cols = cols,
                                                   .transpose = options.transpose ? op::transpose : op::none,
                                                   .b_layout = options.order,
                                                   .compute = options.compute,
                                                   .deterministic = options.deterministic},
                                          .effort = options.effort,
                                          .budget_seconds = options.budget,
                                          .cache = options.cache,
                                          .again = options.again,
                                          .progress = advance});
    bar.clear();
    report(plan.facts(), cols, out);
    out.json()["results"].push_back(describe(plan.facts(), cols));
  }
  out.line();
  out.line("{}", witness.outcome());
  if (witness.has_kept()) out.json()["cache"] = witness.cache().file();
  return exit_ok;
}

int run_tune(const tune_command_options& options, output& out) {
  return with_number_type(options.type, [&](auto t) { return tune_for<decltype(t)>(options, out); });
}

}  // namespace

command add_tune(CLI::App& app) {
  auto [cmd, options] = make_command<tune_command_options>(
      app, "tune",
      "Find the fastest kernel and form of A by timing them, and remember it for plans that check or search",
      "  bcsc tune matrix.mtx.gz --cols 32,128\n"
      "  bcsc tune elasticity-30 --cols 64 --type fp64 --budget 2 --json\n"
      "  bcsc tune matrix.mtx --effort check --device cuda --layout col\n"
      "  bcsc tune matrix.mtx --again\n"
      "bcsc cache shows what is remembered; bcsc spmm --effort check uses it.",
      run_tune);
  CLI::App& parser = *cmd.parser;
  add_source(parser, options->source);
  parser.add_option("-n,--cols", options->cols, "Columns of B and C, of each one plan")
      ->delimiter(',')
      ->check(at_least(1))
      ->capture_default_str();
  add_number_type(parser, options->type);
  add_device(parser, options->where);
  add_effort(parser, options->effort, effort::check);
  parser
      .add_option("--budget", options->budget,
                  "Seconds of timing for each N, conversions not counted; 0: 5 ms to check and 100 ms to search, or 30 "
                  "and 300 products")
      ->check(not_below_zero())
      ->capture_default_str();
  add_choice<compute_class>(parser, "--compute", options->compute,
                            {{"full", compute_class::full}, {"tf32", compute_class::tf32}},
                            "tf32: the plan may round fp32 values to TF32 before it multiplies");
  add_choice<layout>(parser, "--layout", options->order, {{"row", layout::row_major}, {"col", layout::col_major}},
                     "Layout of B and C");
  parser.add_flag("--transpose", options->transpose, "Multiply by A'");
  parser.add_flag("--deterministic", options->deterministic, "Only kernels that are bit-equal from run to run");
  parser.add_flag("--again", options->again, "Time it even if it is remembered");
  add_tuning_cache(parser, options->cache);
  return cmd;
}

}  // namespace bcsc::cli
