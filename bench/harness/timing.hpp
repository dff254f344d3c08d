#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// Seconds per product over the samples.
struct time_statistics {
  double median = 0, min = 0, max = 0;
  double p10 = 0, p90 = 0;
  std::int64_t num_samples = 0;
  std::int64_t launches_per_sample = 1;
};

/// The p-th quantile, 0 <= p <= 1, of `sorted` (ascending, not empty), linear between neighbours (Hyndman and Fan's
/// type 7).
double quantile(std::span<const double> sorted, double p);

/// Of `seconds`, in any order; all zero for none.
time_statistics summarise(std::vector<double> seconds, std::int64_t launches_per_sample);

struct timing_options {
  double seconds = 0.02;  ///< aimed at for the samples of one entry and one cache state
  std::int64_t min_samples = 10;
  std::int64_t max_samples = 20;
  double sample_seconds = 3e-4;  ///< a warm sample is as many products as last this long
  double max_seconds = 1.0;      ///< beyond this, fewer samples than min_samples are taken, but never under 3
  bool cold = true;
};

/// How many samples of how many products are taken of work that takes `seconds` once.
struct sampling {
  std::int64_t num_samples = 0;
  std::int64_t launches = 1;
};
sampling plan_warm_samples(double seconds, const timing_options& options);
/// One product a sample; `overhead` is the time of a flush.
sampling plan_cold_samples(double seconds, double overhead, const timing_options& options);

struct timing_request {
  std::string name;  ///< unique among the requests
  launch work;
  double estimate = 0;  ///< seconds of one product, roughly
};

struct timing_result {
  std::optional<time_statistics> warm, cold;
  std::string error;  ///< why one of them is missing
};

/// Times every request through Google Benchmark (manual time: the stage's clock), warm and, if asked, cold. The result
/// has one element for each request. Registers benchmarks and clears the register behind it. `advanced` is told the
/// share that is done.
std::vector<timing_result> measure(stage& where, std::span<const timing_request> requests,
                                   const timing_options& options,
                                   const std::function<void(double done)>& advanced = {});

/// Seconds of one product, quickly: after one to warm up, the least of one alone and of four runs of 5 to 20 each, or
/// of one each if it takes more than 1 ms. Gives up after two alone if both are `give_up` times slower than
/// `best_so_far`.
double quick_seconds(stage& where, const launch& work, double best_so_far, double give_up = 2.0);

}  // namespace bcsc::bench
