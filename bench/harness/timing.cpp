#include "bench/harness/timing.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <utility>

namespace bcsc::bench {

namespace {

/// Why a run failed, or "". Google Benchmark 1.8 renamed the fields that say so.
template <class Run>
std::string failure_of(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred ? run.error_message : "";
  } else {
    return run.skipped != decltype(run.skipped){} ? run.skip_message : "";
  }
}

/// Keeps what Google Benchmark measures instead of printing it.
class collecting_reporter final : public benchmark::BenchmarkReporter {
 public:
  /// `reported`: told how many benchmarks are done.
  explicit collecting_reporter(std::function<void(std::size_t)> reported) : reported_(std::move(reported)) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;  // the means are computed here, from the samples
      auto& found = found_[run.run_name.function_name];
      if (const std::string failure = failure_of(run); !failure.empty()) {
        found.error = failure;
      } else {
        found.seconds.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
      }
    }
    reported_(found_.size());
  }

  struct samples {
    std::vector<double> seconds;
    std::string error;
  };
  const samples& of(const std::string& name) { return found_[name]; }

 private:
  std::map<std::string, samples> found_;
  std::function<void(std::size_t)> reported_;
};

/// One repetition is one sample; `sample` gives its seconds per product.
void register_samples(const std::string& name, std::int64_t num_samples, std::function<double()> sample) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [sample = std::move(sample)](benchmark::State& state) {
                                 for (auto _ : state) {
                                   try {
                                     state.SetIterationTime(sample());
                                   } catch (const std::exception& e) {
                                     state.SkipWithError(e.what());
                                     break;
                                   }
                                 }
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(static_cast<int>(num_samples));
}

std::int64_t clamp_samples(double seconds_each, const timing_options& options) {
  const double each = std::max(seconds_each, 1e-9);
  auto wanted = static_cast<std::int64_t>(std::min(options.seconds / each, 1e6));
  wanted = std::clamp(wanted, options.min_samples, std::max(options.min_samples, options.max_samples));
  const auto affordable = static_cast<std::int64_t>(std::min(options.max_seconds / each, 1e6));
  return std::min(wanted, std::max<std::int64_t>(affordable, 3));
}

}  // namespace

double quantile(std::span<const double> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

time_statistics summarise(std::vector<double> seconds, std::int64_t launches_per_sample) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {.median = quantile(seconds, 0.5),
          .min = seconds.front(),
          .max = seconds.back(),
          .p10 = quantile(seconds, 0.1),
          .p90 = quantile(seconds, 0.9),
          .num_samples = static_cast<std::int64_t>(seconds.size()),
          .launches_per_sample = launches_per_sample};
}

sampling plan_warm_samples(double seconds, const timing_options& options) {
  const double once = std::max(seconds, 1e-7);
  const auto launches = static_cast<std::int64_t>(std::ceil(options.sample_seconds / once));
  return {clamp_samples(once * static_cast<double>(launches), options), std::max<std::int64_t>(launches, 1)};
}

sampling plan_cold_samples(double seconds, double overhead, const timing_options& options) {
  return {clamp_samples(seconds + overhead, options), 1};
}

std::vector<timing_result> measure(stage& where, std::span<const timing_request> requests,
                                   const timing_options& options, const std::function<void(double done)>& advanced) {
  double flush_seconds = 0;
  if (options.cold) {
    where.flush();  // the first one allocates
    where.wait();
    flush_seconds = where.seconds([&] { where.flush(); }, 1);
  }

  std::vector<std::int64_t> launches;
  for (const timing_request& request : requests) {
    const sampling warm = plan_warm_samples(request.estimate, options);
    launches.push_back(warm.launches);
    register_samples(request.name + "/warm", warm.num_samples,
                     [&where, work = request.work, count = warm.launches, warmed = false]() mutable {
                       // Others have used the cache since this one last ran.
                       if (!std::exchange(warmed, true)) where.seconds(work, std::min<std::int64_t>(count, 3));
                       return where.seconds(work, count) / static_cast<double>(count);
                     });
    if (!options.cold) continue;
    register_samples(request.name + "/cold", plan_cold_samples(request.estimate, flush_seconds, options).num_samples,
                     [&where, work = request.work] {
                       where.flush();
                       return where.seconds(work, 1);
                     });
  }

  const double most = static_cast<double>(requests.size()) * (options.cold ? 2 : 1);
  collecting_reporter reporter([&](std::size_t reported) {
    if (advanced) advanced(static_cast<double>(reported) / most);
  });
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
  benchmark::ClearRegisteredBenchmarks();

  std::vector<timing_result> results(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto& warm = reporter.of(requests[i].name + "/warm");
    if (!warm.seconds.empty()) results[i].warm = summarise(warm.seconds, launches[i]);
    results[i].error = warm.error;
    if (!options.cold) continue;
    const auto& cold = reporter.of(requests[i].name + "/cold");
    if (!cold.seconds.empty()) results[i].cold = summarise(cold.seconds, 1);
    if (results[i].error.empty()) results[i].error = cold.error;
  }
  return results;
}

double quick_seconds(stage& where, const launch& work, double best_so_far, double give_up) {
  where.seconds(work, 1);
  double best = where.seconds(work, 1);
  const auto is_slow = [&] { return best > give_up * best_so_far; };
  // One run alone is now and then several times too long: the host was late in starting it.
  if (is_slow()) best = std::min(best, where.seconds(work, 1));
  if (is_slow()) return best;
  // Short work is repeated, or starting it once and the clock's grain would decide.
  constexpr double short_seconds = 1e-3, run_seconds = 2e-4;
  for (int run = 0; run < 4; ++run) {
    const double launches = std::clamp(run_seconds / std::max(best, 1e-7), 5.0, 20.0);
    const auto count = best < short_seconds ? static_cast<std::int64_t>(launches) : 1;
    best = std::min(best, where.seconds(work, count) / static_cast<double>(count));
  }
  return best;
}

}  // namespace bcsc::bench
