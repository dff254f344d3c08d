#include "bench/harness/bench.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "bench/harness/report.hpp"
#include "tools/bcsc/command.hpp"
#include "tools/bcsc/input.hpp"

namespace bcsc::cli {
namespace {

struct bench_command_options : output_options {
  device_options device;
  std::vector<std::string> types = {"fp32"};
  bool warm_only = false;
  bench::bench_options measured;
};

int run_bench_command(const bench_command_options& options, output& out) {
  bench::bench_options measured = options.measured;
  measured.types.clear();
  for (const std::string& type : options.types) {
    measured.types.push_back(*std::ranges::find(all_value_types, type, [](value_type t) { return to_string(t); }));
  }
  measured.timing.cold = !options.warm_only;

  progress_bar bar = out.progress("bench");
  measured.progress = [&](double done, std::string_view next) { bar.show(done, next); };
  bench::table_printer table(std::cout);
  auto last_written = std::chrono::steady_clock::now();
  const auto on_case = [&](const bench::run_result& run) {
    bar.clear();
    if (!options.json) table.print_case(run, run.cases.back());
    // What has been measured is not lost should a long run be ended.
    const auto now = std::chrono::steady_clock::now();
    if (measured.out.empty() || now - last_written < std::chrono::seconds(20)) return;
    bench::write_json(run, measured.out);
    last_written = now;
  };
  const bench::run_result run = bench::measure_all(make_context(options.device), measured, on_case);
  bar.clear();

  if (options.json) {
    out.json() = nlohmann::ordered_json::parse(bench::to_json_text(run));
  } else {
    table.print_summary(run);
    std::cout.flush();
  }
  if (!measured.out.empty()) out.line("written: {}", bench::write_json(run, measured.out).string());
  return bench::count_failures(run) == 0 ? exit_ok : exit_not_met;
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
      ->check(CLI::PositiveNumber)
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
  parser.add_flag("--warm-only", options->warm_only, "No runs with a cold cache");
  parser.add_option("--seconds", measured.timing.seconds, "Aimed at for the samples of one entry")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("--samples", measured.timing.min_samples, "Least number of samples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("--seed", measured.seed, "Of B, and of the values of pattern files")->capture_default_str();
  parser.add_option("--out", measured.out, "JSON file; compressed above 2 MiB");
  return cmd;
}

}  // namespace bcsc::cli
