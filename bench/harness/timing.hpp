#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// What a timed product comes after: the same product (warm), another kernel that leaves most of the cache as it was
/// (single), or a flush of the cache (cold).
enum class setting { warm, single, cold };
inline constexpr std::array all_settings{setting::warm, setting::single, setting::cold};
/// Its key in results files.
std::string_view to_string(setting in);
/// "back to back", "one at a time", "cold"
std::string_view describe(setting in);

/// An X for each setting.
template <class X>
class per_setting {
 public:
  X& operator[](setting in) { return each_[static_cast<std::size_t>(in)]; }
  const X& operator[](setting in) const { return each_[static_cast<std::size_t>(in)]; }

 private:
  std::array<X, all_settings.size()> each_{};
};

/// Seconds per product over the samples.
struct time_statistics {
  double median = 0, min = 0, max = 0;
  double p10 = 0, p90 = 0;
  std::int64_t num_samples = 0;
  std::int64_t launches_per_sample = 1;
  bool recorded = false;        ///< the products of a sample were replayed by the GPU, not started by the host
  std::vector<double> samples;  ///< in the order they were taken; empty if only what is above is known
};

/// The p-th quantile, 0 <= p <= 1, of `sorted` (ascending, not empty), linear between neighbours (Hyndman and Fan's
/// type 7).
double quantile(std::span<const double> sorted, double p);

/// Of `seconds`, in any order; all zero for none.
time_statistics summarise(std::vector<double> seconds, std::int64_t launches_per_sample);

struct timing_options {
  double seconds = 0.02;  ///< aimed at for the samples of one entry in one setting
  std::int64_t min_samples = 10;
  std::int64_t max_samples = 20;
  double sample_seconds = 3e-4;     ///< a warm sample is as many products as take this long
  double max_seconds = 1.0;         ///< beyond this, fewer samples than min_samples are taken
  std::int64_t fewest_samples = 3;  ///< however long they take
  std::vector<setting> settings{all_settings.begin(), all_settings.end()};  ///< in which products are timed
};

struct sampling {
  std::int64_t num_samples = 0;
  std::int64_t launches = 1;
};
/// How many samples of how many products are taken of work that takes `seconds` once, after something else that takes
/// `before` in each sample.
sampling plan_samples(setting in, double seconds, double before, const timing_options& options);

struct timing_request {
  std::string name;  ///< unique among the requests
  launch work;
  double estimate = 0;  ///< seconds of one product, roughly
};

struct timing_result {
  per_setting<std::optional<time_statistics>> times;
  std::optional<double> start_seconds;  ///< that starting a product takes the host, where times are the GPU's
  std::string error;                    ///< why one of them is missing
};

/// Times every request through Google Benchmark (manual time: the stage's clock) in each of the settings. The result
/// has one element for each request. Registers benchmarks and clears the registry afterwards. `advanced` is called with
/// the share done.
std::vector<timing_result> measure(stage& where, std::span<const timing_request> requests,
                                   const timing_options& options,
                                   const std::function<void(double done)>& advanced = {});

/// Seconds of one product, quickly: after one to warm up, the least of one alone and of four runs of 5 to 40 each, or
/// of one each if it takes more than 1 ms. Gives up after two alone if both take more than 50 us and are `give_up`
/// times slower than `best_so_far`.
double quick_seconds(stage& where, const launch& work, double best_so_far, double give_up = 2.0);

/// Seconds of one product of which the first, which may have had to load code, took `first`: quickly, but for what
/// takes 50 ms the second time as well.
double seconds_after_first(stage& where, const launch& work, double first);

}  // namespace bcsc::bench
