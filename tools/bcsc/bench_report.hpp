#pragma once

#include <span>
#include <string>

#include "bench/harness/read_results.hpp"
#include "tools/bcsc/bench_options.hpp"

/// What `bcsc bench` makes of results: the folder of a report, and the comparison of two of them.
namespace bcsc::cli {

/// The files of --report.
inline constexpr const char* report_page = "report.html";
inline constexpr const char* report_results = "results.json.gz";

/// Writes the page of a run into the folder and says so. Throws error{io_error}.
void write_report(const std::string& folder, const bench::run_result& run,
                  std::span<const bench::results_source> sources, output& out);

/// --results.
int report_results_of(const bench_command_options& options, output& out);
/// --compare.
int compare_results(const bench_command_options& options, output& out);

}  // namespace bcsc::cli
