#include "bench/harness/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness/report.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/process.hpp"

namespace bcsc::cli {
namespace {

struct bench_command_options : output_options {
  device_options device;
  std::vector<std::string> types = {"fp32"};
  bool warm_only = false;
  bench::bench_options measured;
};

/// Not ended by a signal until it is written.
std::filesystem::path write_whole(const bench::run_result& run, const std::filesystem::path& path) {
  const std::filesystem::path written = [&] {
    const ends_by_itself soon;
    return bench::write_json(run, path);
  }();
  if (interrupted() != 0) std::_Exit(exit_code_of(interrupted()));
  return written;
}

/// Refuses what no run could read or write, before one begins.
void require_sensible(const bench::bench_options& measured) {
  for (const std::string& name : measured.matrices) {
    if (name != "catalogue" && !std::filesystem::exists(name)) require_generator("MATRIX", name);
  }
  if (!measured.out.empty()) require_output("--out", measured.out.string());
}

/// A wrong result is told before an input that could not be read.
int exit_code_of(const bench::run_result& run) {
  const std::int64_t unread = std::ranges::count_if(run.problems, &bench::input_problem::fatal);
  if (bench::count_failures(run) > unread) return exit_not_met;
  return unread > 0 ? exit_error : exit_ok;
}

int run_bench_command(const bench_command_options& options, output& out) {
  bench::bench_options measured = options.measured;
  measured.types.clear();
  for (const std::string& type : options.types) {
    measured.types.push_back(*std::ranges::find(all_value_types, type, [](value_type t) { return to_string(t); }));
  }
  if (options.warm_only) measured.timing.settings = {bench::setting::warm};

  require_sensible(measured);

  progress_bar bar = out.progress("bench");
  measured.progress = [&](double done, std::string_view next) { bar.show(done, next); };
  std::ostringstream shown;
  bench::table_printer table(shown);
  const auto show = [&] {
    out.text(shown.str());
    shown.str("");
  };
  auto last_written = std::chrono::steady_clock::now();
  const auto on_case = [&](const bench::run_result& run) {
    bar.clear();
    table.print_case(run, run.cases.back());
    show();
    // What has been measured is not lost should a long run be ended.
    const auto now = std::chrono::steady_clock::now();
    if (measured.out.empty() || now - last_written < std::chrono::seconds(20)) return;
    write_whole(run, measured.out);
    last_written = now;
  };
  const bench::run_result run = bench::measure_all(make_context(options.device), measured, on_case);
  bar.clear();

  if (options.json) {
    out.json() = nlohmann::ordered_json::parse(bench::to_json_text(run));
  } else {
    table.print_summary(run);
    show();
  }
  if (!measured.out.empty()) out.line("written: {}", write_whole(run, measured.out).string());
  return exit_code_of(run);
}

}  // namespace

command add_bench(CLI::App& app) {
  auto [cmd, options] = make_command<bench_command_options>(
      app, "bench", bench_description,
      "  bcsc bench bcsstk17.mtx.gz\n"
      "  bcsc bench elasticity:30,30,30 rmat:17,16,seed=1 --cols 8,128 --type fp32,fp64\n"
      "  bcsc bench folder/of/matrices --out results.json\n"
      "  bcsc bench catalogue --full --layout col\n"
      "  bcsc bench rmat:17,16,seed=1 --kernel rowwise,tiled --warm-only",
      run_bench_command);
  CLI::App& parser = *cmd.parser;
  bench::bench_options& measured = options->measured;
  parser
      .add_option("MATRIX", measured.matrices,
                  "Matrix files, folders of Matrix Market files, generator specifications, names of the catalogue, or "
                  "'catalogue'")
      ->required();
  add_reading(parser, measured.reading);
  add_device(parser, options->device);
  parser.add_option("--cols", measured.cols, "Numbers of columns of B (N)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(at_least(1))
      ->capture_default_str();
  parser.add_option("--type", options->types, "Types of the values")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}))
      ->capture_default_str();
  add_choice<layout>(parser, "--layout", measured.order, {{"row", layout::row_major}, {"col", layout::col_major}},
                     "Layout of B and C; the libraries compared with are measured in both");
  add_choice<compute_class>(parser, "--compute", measured.compute,
                            {{"full", compute_class::full}, {"tf32", compute_class::tf32}},
                            "tf32: the plan may round fp32 values to TF32 before it multiplies");
  parser.add_flag("--full", measured.full, "Every row of every table, not only each algorithm's best");
  parser
      .add_option("--kernel", measured.kernels,
                  "Of our own only these rows, or all rows of these algorithms, beside the plan (see bcsc kernels)")
      ->delimiter(',')
      ->allow_extra_args(false);
  parser.add_flag("--warm-only", options->warm_only,
                  "Products back to back only: none one at a time, none with a cold cache");
  parser.add_option("--seconds", measured.timing.seconds, "Aimed at for the samples of one entry")
      ->check(above_zero())
      ->capture_default_str();
  parser.add_option("--samples", measured.timing.min_samples, "Least number of samples")
      ->check(at_least(1))
      ->capture_default_str();
  parser.add_option("--seed", measured.seed, "Of B, and of the values of pattern files")->capture_default_str();
  parser.add_option("--out", measured.out, "JSON file; compressed above 2 MiB");
  return cmd;
}

}  // namespace bcsc::cli
