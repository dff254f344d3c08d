#pragma once

#include <span>
#include <string>

#include "bench/page/report_facts.hpp"

/// The plots of the page, each a <figure> with its caption and its legend.
namespace bcsc::bench {

/// Cases drawn one by one, at most: beyond that, evenly by the rank of their ratio, the worst and the best included.
inline constexpr std::size_t max_drawn_cases = 2000;
std::vector<judged_case> drawn_cases(std::span<const judged_case> cases);

/// Speed over arithmetic intensity, under the roofs of memory, of the last-level cache and of the arithmetic units as
/// far as the machine's constants are known. Source: S. Williams, A. Waterman, D. Patterson, Roofline, Communications
/// of the ACM 52(4), 2009.
std::string roofline_figure(const run_result& run, std::span<const judged_case> drawn);
std::string profile_figure(std::span<const judged_case> cases);
/// Ratios by rank in the three timings; back to back each case is a mark, losses marked otherwise.
std::string ratio_figure(std::span<const judged_case> cases, std::span<const judged_case> drawn);
/// The share of cases in which the conversion is paid back, over the number of products, for each N.
std::string break_even_figure(std::span<const judged_case> cases);
/// The error as a share of its bound over the time relative to the plan's, of the plan and all rivals.
std::string error_figure(std::span<const judged_case> drawn);

}  // namespace bcsc::bench
