#include "bench/harness/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <ostream>

#include "bcsc/any_matrix.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/bench_room.hpp"
#include "bench/harness/matrix_bench.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/table.hpp"
#include "core/fail.hpp"

// Each matrix is read, and in each value type put on the stage and measured (matrix_bench.cpp).
namespace bcsc::bench {

namespace {

void require_valid(const bench_options& options) {
  const timing_options& t = options.timing;
  if (options.matrices.empty() && options.inputs.empty())
    core::fail(errc::invalid_argument, "bench: no matrix is named");
  if (options.cols.empty()) core::fail(errc::invalid_argument, "bench: no number of columns is named");
  if (options.types.empty()) core::fail(errc::invalid_argument, "bench: no value type is named");
  for (const std::int64_t n : options.cols) {
    if (n < 1) core::fail(errc::invalid_argument, "bench: cols = {}: must be at least 1", n);
  }
  if (!(t.seconds > 0)) core::fail(errc::invalid_argument, "bench: seconds = {}: must be above 0", t.seconds);
  if (!std::ranges::count(t.settings, setting::warm)) {
    core::fail(errc::invalid_argument, "bench: settings: must hold warm, which everything else is judged by");
  }
  if (t.min_samples < 1) core::fail(errc::invalid_argument, "bench: samples = {}: must be at least 1", t.min_samples);
}

void run_input(bench_room& room, run_result& run, const input& from,
               const std::function<void(const run_result&)>& on_case) {
  loaded_matrix m;
  try {
    m = load(from, room.options.seed, room.options.reading);
  } catch (const error& e) {
    run.problems.push_back({from.name, e.what(), !(from.from_folder && e.code() == errc::unsupported)});
    return;
  }
  run.matrices.push_back(facts_of(m));
  for (const value_type type : room.options.types) {
    if (const std::int64_t beyond = analyse_narrowing(m.a.view(), type).overflowed; beyond > 0) {
      run.problems.push_back({from.name, fmt::format("{} values do not fit {}", beyond, to_string(type)), false});
      continue;
    }
    switch (type) {
      case value_type::fp64:
        run_matrix<double>(room, run, m.a, on_case);
        break;
      case value_type::fp32:
        run_matrix<float>(room, run, cast<float, std::int32_t>(m.a), on_case);
        break;
      case value_type::fp16:
        run_matrix<half>(room, run, cast<half, std::int32_t>(m.a), on_case);
        break;
      case value_type::bf16:
        run_matrix<bfloat16>(room, run, cast<bfloat16, std::int32_t>(m.a), on_case);
        break;
      case value_type::pattern:
        core::fail(errc::invalid_argument, "bench: a pattern has no values to multiply");
    }
  }
}

/// Our algorithms whose configs are measured, in the tables' order.
std::vector<std::string> algorithms_of(backend where, const bench_options& options) {
  const auto& named = options.kernels;
  std::vector<std::string> names;
  for (const kernel_info& config : kernel_table()) {
    const bool measured = named.empty()
                              ? options.is_thorough()
                              : std::ranges::count(named, config.name) + std::ranges::count(named, config.algorithm);
    if (measured && config.where == where && config.built && !std::ranges::count(names, config.algorithm)) {
      names.push_back(config.algorithm);
    }
  }
  return names;
}

}  // namespace

run_result measure_all(const context& ctx, const bench_options& options,
                       const std::function<void(const run_result&)>& on_case) {
  require_valid(options);
  for (const std::string& name : options.kernels) {
    const auto called_so = [&](const kernel_info& config) { return config.name == name || config.algorithm == name; };
    if (name == "plan" || std::ranges::any_of(kernel_table(), called_so)) continue;
    core::fail(errc::no_such_kernel, "bench: kernels holds \"{}\": no kernel or algorithm has this name", name);
  }
  std::vector<input> inputs = options.inputs;
  std::ranges::copy(expand_inputs(options.matrices), std::back_inserter(inputs));
  const auto begin = std::chrono::steady_clock::now();
  bench_room room(ctx, options);
  run_result run{.machine = room.machine,
                 .main_rival = room.others ? room.others->main_group() : "",
                 .algorithms = algorithms_of(ctx.kind(), options),
                 .timing = options.timing,
                 .seed = options.seed,
                 .compute = options.compute,
                 .thorough = options.is_thorough()};
  for (const input& from : inputs) {
    room.done = static_cast<double>(&from - inputs.data()) / static_cast<double>(inputs.size());
    room.case_share = 1.0 / static_cast<double>(inputs.size() * options.types.size() * options.cols.size());
    room.say(fmt::format("{}: reading", from.name));
    try {
      run_input(room, run, from, on_case);
    } catch (const error& e) {
      // What is measured already is kept. A device that is lost stays lost.
      run.problems.push_back({from.name, e.what()});
      if (e.code() == errc::context_poisoned || e.code() == errc::cuda_error) break;
    }
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

int run_bench(const context& ctx, const bench_options& options, std::ostream& out) {
  table_printer table(out);
  const auto on_case = [&](const run_result& run) {
    if (!options.json_to_stdout) table.print_case(run, run.cases.back());
  };
  const run_result run = measure_all(ctx, options, on_case);
  if (options.json_to_stdout) {
    out << to_json_text(run) << '\n';
  } else {
    table.print_summary(run);
  }
  if (!options.out.empty()) write_json(run, options.out);
  return count_failures(run) == 0 ? 0 : 1;
}

int run_bench(const bench_options& options, std::ostream& out) { return run_bench(context::best(), options, out); }

}  // namespace bcsc::bench
