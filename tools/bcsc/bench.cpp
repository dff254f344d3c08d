#include "bench/harness/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bcsc/registry.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/suites.hpp"
#include "bench/harness/table.hpp"
#include "core/new_file.hpp"
#include "tools/bcsc/bench_options.hpp"
#include "tools/bcsc/bench_report.hpp"
#include "tools/bcsc/description.hpp"
#include "tools/bcsc/input.hpp"
#include "tools/bcsc/process.hpp"
#include "tools/bcsc/spool.hpp"

namespace bcsc::cli {
namespace {

/// Time budget for a matrix, unless --cols or --thorough asks for more.
constexpr double answer_seconds = 20;

/// No signal ends the process until it is written; but one that waits for a pipe's reader may wait for ever.
std::filesystem::path write_whole(const bench::run_result& run, const std::filesystem::path& path) {
  const std::filesystem::path written = [&] {
    std::optional<ends_by_itself> soon;
    if (!core::is_written_directly(path)) soon.emplace();
    return bench::write_json(run, path);
  }();
  if (interrupted() != 0) std::_Exit(exit_code_of(interrupted()));
  return written;
}

/// Refuses what no run could read or write, before one begins.
void require_sensible(const bench::bench_options& measured, output& out) {
  for (const std::string& name : measured.matrices) {
    if (name != "catalogue" && !std::filesystem::exists(name)) require_generator("MATRIX", name);
  }
  if (!measured.out.empty()) begin_file("--out", measured.out.string(), out);
}

/// The matrices and columns of --suite, unless --cols names others.
void choose_suite(const bench_command_options& options, bench::bench_options& measured) {
  const bench::suite& chosen = bench::find_suite(options.suite);
  measured.inputs = bench::suite_inputs(chosen, options.quick, options.suite_files);
  measured.thorough = true;
  if (options.cols->count() > 0) return;
  const auto cols = options.quick ? chosen.quick_cols : chosen.cols;
  measured.cols.assign(cols.begin(), cols.end());
}

/// What of --kernel is in no line of the table: "tiled does not run on cpu", and of which types, if not of all.
std::vector<std::string> kernels_left_out(const context& ctx, const bench::bench_options& measured) {
  std::vector<std::string> told;
  for (const std::string& name : measured.kernels) {
    std::vector<std::string> types;
    for (const value_type type : measured.types) {
      const auto is_measured = [&](const kernel_info& config) {
        return (config.name == name || config.algorithm == name) && runs_on(config, ctx);
      };
      if (!std::ranges::any_of(kernel_table(ctx.kind(), type), is_measured)) types.emplace_back(to_string(type));
    }
    if (name == "plan" || types.empty()) continue;
    told.push_back(fmt::format("{} does not run on {}{}", name, to_string(ctx.kind()),
                               types.size() == measured.types.size() ? "" : " in " + joined(types, ", ")));
  }
  return told;
}

/// A wrong result takes precedence over an input that could not be read.
int exit_code_of(const bench::run_result& run) {
  const std::int64_t unread = std::ranges::count_if(run.problems, &bench::input_problem::fatal);
  if (bench::count_failures(run) > unread) return exit_not_met;
  return unread > 0 ? exit_error : exit_ok;
}

}  // namespace

int run_bench_command(const bench_command_options& options, output& out) {
  if (!options.compare.empty()) return compare_results(options, out);
  if (!options.results.empty()) return report_results_of(options, out);
  bench::bench_options measured = options.measured;
  if (!options.suite.empty()) choose_suite(options, measured);
  measured.types.clear();
  for (const std::string& type : options.types) {
    measured.types.push_back(*std::ranges::find(all_value_types, type, [](value_type t) { return to_string(t); }));
  }
  if (options.warm_only) measured.timing.settings = {bench::setting::warm};
  if (options.cols->count() == 0 && !measured.is_thorough()) measured.seconds_per_matrix = answer_seconds;

  for (std::string& name : measured.matrices) {
    if (is_readable(name)) name = rereadable_path(name);
  }
  require_sensible(measured, out);
  std::vector<std::filesystem::path> files;
  if (!measured.out.empty()) files.emplace_back(writable_path(measured.out.string()));
  if (!options.report.empty()) {
    require_output_folder("--report", options.report);
    files.push_back(std::filesystem::path(options.report) / report_results);
  }

  progress_bar bar = out.progress("bench");
  measured.progress = [&](double done, std::string_view next) { bar.show(done, next); };
  std::ostringstream shown;
  bench::table_printer table(shown, stdout_width().value_or(std::numeric_limits<std::size_t>::max()));
  const auto show = [&] {
    out.text(shown.str());
    shown.str("");
  };
  auto last_written = std::chrono::steady_clock::now();
  const auto on_case = [&](const bench::run_result& run) {
    bar.clear();
    table.print_case(run, run.cases.back());
    show();
    // What has been measured is not lost if a long run is ended; a pipe takes the whole only.
    const auto now = std::chrono::steady_clock::now();
    if (files.empty() || core::is_written_directly(files.front()) || now - last_written < std::chrono::seconds(20))
      return;
    write_whole(run, files.front());
    last_written = now;
  };
  const context ctx = make_context(options.device);
  const bench::run_result run = bench::measure_all(ctx, measured, on_case);
  const std::vector<std::string> left_out = kernels_left_out(ctx, measured);
  bar.clear();

  if (options.json) {
    out.json() = nlohmann::ordered_json::parse(bench::to_json_text(run));
    if (!left_out.empty()) out.json()["kernels_left_out"] = left_out;
  } else {
    table.print_summary(run);
    show();
    for (const std::string& kernel : left_out) out.prose(0, "not measured: {}", kernel);
  }
  for (const std::filesystem::path& file : files) out.line("written: {}", write_whole(run, file).string());
  if (!options.report.empty()) write_report(options.report, run, {}, out);
  return exit_code_of(run);
}

}  // namespace bcsc::cli
