#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/results.hpp"

/// Two runs of the same measurements, before and after a change: which entries have become slower?
namespace bcsc::bench {

/// By how many times the new samples are longer.
struct ratio_interval {
  double estimate = 1, low = 1, high = 1;
};
/// The median of all ratios of a new sample to an old one (Hodges and Lehmann) and the interval that the Mann-Whitney
/// test does not reject at this confidence: no assumption about the noise but that it is the same in both; one late
/// sample moves nothing. Nothing where there are too few samples for any interval. Samples are above 0. Source:
/// M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, 3rd ed., section 4.3.
std::optional<ratio_interval> estimate_ratio(std::span<const double> before, std::span<const double> after,
                                             double confidence);

/// The samples; where a file holds their quantiles alone, as many on the line through these.
std::vector<double> samples_of(const time_statistics& times);

enum class change { same, faster, slower, unclear };
std::string_view to_string(change what);

struct compare_options {
  double confidence = 0.95;
  /// A change is reported where the whole interval lies beyond this: what two runs of one build differ by.
  double min_change = 0.02;
  /// Nothing has changed where the whole interval lies within this.
  double same_within = 0.05;
};
change judge_change(const std::optional<ratio_interval>& ratio, const compare_options& options);

/// An entry in one setting, in both runs.
struct compared_line {
  std::string name;   ///< of the case
  std::string entry;  ///< "plan", a kernel, a rival
  bool ours = false;
  setting in = setting::warm;
  double before = 0, after = 0;         ///< medians, seconds
  std::optional<ratio_interval> ratio;  ///< after over before
  change verdict = change::unclear;
  bool by_quantiles = false;  ///< one of the files holds no samples
  std::string kernel_before, kernel_after;
};

struct run_comparison {
  std::vector<compared_line> lines;         ///< in the order of the old run
  std::vector<std::string> broken;          ///< ours that were right before and are wrong or missing now
  std::vector<std::string> gone;            ///< timed before, not now, for whatever reason
  std::int64_t num_added = 0;               ///< timed now, not before
  std::vector<std::string> other_matrices;  ///< of the same name with another checksum: not compared
  std::int64_t count(change what, bool ours) const;
  /// Of ours something is slower or broken.
  bool is_worse() const;
};
run_comparison compare_runs(const run_result& before, const run_result& after, const compare_options& options = {});

}  // namespace bcsc::bench
