#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/tune/stopwatch.hpp"

/// Which of several products is the fastest, within a budget: rounds of interleaved samples, after each of which those
/// that cannot win any more drop out. Knows nothing of kernels.
namespace bcsc::tuning {

struct contest_rules {
  double budget_seconds = 5e-3;  ///< no sample begins later,
  /// unless fewer than as many products of the fastest would have taken.
  std::int64_t budget_products = 30;
  /// How many times longer it may take where products are disturbed: what a product takes beyond the shortest time of
  /// its kernel is not charged.
  double patience = 1;
  double sample_seconds = 1e-4;  ///< a sample is as many products as take this long, 64 at the most
  int max_rounds = 15;
  std::size_t num_finalists = 4;  ///< as long as there are more, each round leaves half of them
};

struct contest_result {
  double estimate = 0;          ///< of one product, from one or two alone; 0: it was never run
  std::vector<double> samples;  ///< seconds per product
  std::int64_t num_products = 0;
  bool dropped = false;  ///< before the end

  /// The median of the samples, else the estimate.
  double seconds() const;
  /// The smallest of all of them, which decides who drops out: disturbances only lengthen samples.
  double min_seconds() const;
};

/// One result for each of `num`. The first is run whatever the budget. `advanced` receives the share done.
std::vector<contest_result> contest(stopwatch& watch, std::size_t num, const contest_rules& rules,
                                    const std::function<void(double)>& advanced = {});

/// The median of `num_samples` samples of a single contestant.
double seconds_of_samples(stopwatch& watch, int num_samples);

/// The winner among those that did not drop out: the smallest median, but the first is kept against any that is less
/// than half a percent faster, which is noise.
std::size_t winner_of(const std::vector<contest_result>& all);

}  // namespace bcsc::tuning
