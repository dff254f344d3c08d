#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/results.hpp"

/// What the page says of a run, by arithmetic alone: nothing here is measured, nothing is formatted.
namespace bcsc::bench {

/// A case in which the plan was right and timed back to back.
struct judged_case {
  const case_result* of = nullptr;
  const matrix_facts* matrix = nullptr;
  verdict found;
  std::string name;  ///< "elasticity:30,30,30 N=128 fp32", with the layout where that is column-major
  std::string kind;  ///< kind_of()
};
/// In the run's order. They point into `run`.
std::vector<judged_case> judged_cases(const run_result& run);

/// The catalogue's kind, else the family of a generated matrix, else the class of the pattern.
std::string kind_of(const matrix_facts& m);

/// How ratios are spread; all zero for none. Quartiles as quantile().
struct ratio_spread {
  ratio_summary summary;
  double lower_quartile = 0, median = 0, upper_quartile = 0;
};
ratio_spread spread_of(std::span<const named_ratio> ratios);

/// The ratios of those cases that have one in this setting.
std::vector<named_ratio> ratios_of(std::span<const judged_case> cases, setting in);

/// A contender's performance ratios: its time over that of the fastest contender, of each case in which it was right.
/// Source: E. D. Dolan and J. J. More, Benchmarking optimization software with performance profiles, Mathematical
/// Programming 91, 2002.
struct performance_profile {
  std::string name;
  std::vector<double> ratios;  ///< ascending, at least 1
  /// Share of `num_cases` in which it is at most `tau` times as slow as the fastest.
  double at(double tau, std::int64_t num_cases) const;
};
/// Of the plan, the best config of each of our kernels, and each rival, back to back in the layouts that were asked
/// for, as far as they are held to the bound of their type (TF32 is not). The plan first, then those that are best most
/// often.
std::vector<performance_profile> performance_profiles(std::span<const judged_case> cases);

/// After how many products a plan is worth its conversion.
struct break_even {
  std::int64_t num_cases = 0;            ///< with a rival
  std::vector<std::int64_t> products;    ///< ascending; of the cases in which the plan is faster
  std::vector<double> convert_seconds;   ///< ascending; of all cases
  std::vector<double> convert_products;  ///< ascending; the same in products of the plan
};
break_even break_even_of(std::span<const judged_case> cases);

/// Of an algorithm and an N: the config that loses the least, over all matrices, against the best of each of them.
struct best_parameters {
  std::string algorithm;
  std::int64_t cols = 0;
  value_type type = value_type::fp32;
  std::string config;
  double loss = 1;                ///< geometric mean of its time over that of the matrix's best config
  std::int64_t num_matrices = 0;  ///< that it was timed on
  std::int64_t num_configs = 0;   ///< timed on as many
  std::string most_often;         ///< the config that is the fastest most often
  std::int64_t times_fastest = 0;
};
/// From the sweeps of the run; empty without them.
std::vector<best_parameters> best_parameters_of(const run_result& run);

}  // namespace bcsc::bench
