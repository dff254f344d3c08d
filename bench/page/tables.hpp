#pragma once

#include <span>
#include <string>

#include "bench/harness/read_results.hpp"
#include "bench/page/report_facts.hpp"

/// The tables of the page. Each has an id, by which a test finds it.
namespace bcsc::bench {

std::string timings_table(std::span<const judged_case> cases);           ///< "timings"
std::string kinds_table(std::span<const judged_case> cases);             ///< "by-kind"
std::string zeros_table(std::span<const judged_case> cases);             ///< "by-zeros": by the share of zeros
std::string columns_table(std::span<const judged_case> cases);           ///< "by-columns": type, layout and N
std::string profile_table(std::span<const judged_case> cases);           ///< "contenders"
std::string break_even_table(std::span<const judged_case> cases);        ///< "conversion"
std::string best_parameters_table(const run_result& run);                ///< "parameters"; empty without sweeps
std::string cases_table(std::span<const judged_case> drawn);             ///< "cases": the worst ratio first
std::string matrices_table(const run_result& run);                       ///< "matrices"
std::string environment_table(std::span<const results_source> sources);  ///< "environment": a column for each
/// What was not measured, could not be read, or was wrong; empty if nothing.
std::string problems_list(const run_result& run);

}  // namespace bcsc::bench
