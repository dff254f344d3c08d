#include "bench/harness/timing.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <memory>
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

/// Of a product that reads far more than caches hold.
constexpr double long_seconds = 0.1;

/// The host starts longer products faster than a GPU computes them.
constexpr double start_matters = 1e-4;

/// Below this a start by the host would count.
constexpr double short_seconds = 1e-3;

/// `estimate`: seconds of one.
std::unique_ptr<series> series_of(stage& where, const launch& work, std::int64_t count, double estimate) {
  if (estimate < short_seconds) return where.repeated(work, count);
  return std::make_unique<called_series>(where, work, count);
}

std::int64_t clamp_samples(double seconds_each, const timing_options& options) {
  const double each = std::max(seconds_each, 1e-9);
  auto wanted = static_cast<std::int64_t>(std::min(options.seconds / each, 1e6));
  wanted = std::clamp(wanted, options.min_samples, std::max(options.min_samples, options.max_samples));
  const auto affordable = static_cast<std::int64_t>(std::min(options.max_seconds / each, 1e6));
  return std::min(wanted, std::max(affordable, options.fewest_samples));
}

/// Starts what comes before the products of a sample; on a GPU they are enqueued while it runs.
void start_before(stage& where, setting in) {
  switch (in) {
    case setting::warm:
      return;
    case setting::single:
      return where.foreign_work();
    case setting::cold:
      return where.flush();
  }
}

/// How long that takes.
double seconds_before(stage& where, setting in) {
  if (in == setting::warm) return 0;
  start_before(where, in);  // the first one allocates
  where.wait();
  return where.seconds([&] { start_before(where, in); }, 1);
}

std::string benchmark_name(const timing_request& request, setting in) {
  return request.name + "/" + std::string(to_string(in));
}

}  // namespace

std::string_view to_string(setting in) {
  switch (in) {
    case setting::warm:
      return "warm";
    case setting::single:
      return "single";
    case setting::cold:
      return "cold";
  }
  return "unknown";
}

std::string_view describe(setting in) {
  switch (in) {
    case setting::warm:
      return "back to back";
    case setting::single:
      return "one at a time";
    case setting::cold:
      return "cold";
  }
  return "unknown";
}

double quantile(std::span<const double> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

time_statistics summarise(std::vector<double> seconds, std::int64_t launches_per_sample) {
  if (seconds.empty()) return {};
  std::vector<double> sorted = seconds;
  std::ranges::sort(sorted);
  return {.median = quantile(sorted, 0.5),
          .min = sorted.front(),
          .max = sorted.back(),
          .p10 = quantile(sorted, 0.1),
          .p90 = quantile(sorted, 0.9),
          .num_samples = static_cast<std::int64_t>(seconds.size()),
          .launches_per_sample = launches_per_sample,
          .samples = std::move(seconds)};
}

sampling plan_samples(setting in, double seconds, double before, const timing_options& options) {
  if (in != setting::warm) return {clamp_samples(seconds + before, options), 1};
  const double once = std::max(seconds, 1e-7);
  const auto launches = static_cast<std::int64_t>(std::ceil(options.sample_seconds / once));
  return {clamp_samples(once * static_cast<double>(launches), options), std::max<std::int64_t>(launches, 1)};
}

std::vector<timing_result> measure(stage& where, std::span<const timing_request> requests,
                                   const timing_options& options, const std::function<void(double done)>& advanced) {
  per_setting<double> before;
  for (const setting in : options.settings) before[in] = seconds_before(where, in);

  per_setting<std::vector<std::int64_t>> launches;
  std::vector<timing_result> results(requests.size());
  std::vector<bool> recorded(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const timing_request& request = requests[i];
    for (const setting in : options.settings) {
      const sampling plan = plan_samples(in, request.estimate, before[in], options);
      launches[in].push_back(plan.launches);
      auto warm_up = [&where, &work = request.work, count = std::min<std::int64_t>(plan.launches, 3),
                      warmed = in == setting::cold || request.estimate > long_seconds]() mutable {
        // Others have used the cache since this one last ran, which a long product hardly feels.
        if (!std::exchange(warmed, true)) where.seconds(work, count);
      };
      if (in == setting::warm) {
        register_samples(benchmark_name(request, in), plan.num_samples,
                         [&, i, warm_up, count = plan.launches, all = std::shared_ptr<series>()]() mutable {
                           warm_up();
                           if (all == nullptr) {
                             all = series_of(where, requests[i].work, count, requests[i].estimate);
                             recorded[i] = all->is_recorded();
                             if (requests[i].estimate < start_matters) {
                               results[i].start_seconds = where.start_seconds(requests[i].work);
                             }
                           }
                           return all->seconds() / static_cast<double>(count);
                         });
      } else {
        register_samples(benchmark_name(request, in), plan.num_samples, [&, i, in, warm_up]() mutable {
          warm_up();
          start_before(where, in);
          return where.seconds(requests[i].work, 1);
        });
      }
    }
  }

  const auto most = static_cast<double>(requests.size() * options.settings.size());
  collecting_reporter reporter([&](std::size_t reported) {
    if (advanced) advanced(static_cast<double>(reported) / most);
  });
  benchmark::RunSpecifiedBenchmarks(&reporter, nullptr, "all");
  benchmark::ClearRegisteredBenchmarks();

  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (const setting in : options.settings) {
      const auto& found = reporter.of(benchmark_name(requests[i], in));
      if (!found.seconds.empty()) {
        results[i].times[in] = summarise(found.seconds, launches[in][i]);
        results[i].times[in]->recorded = in == setting::warm && recorded[i];
      }
      if (results[i].error.empty()) results[i].error = found.error;
    }
  }
  return results;
}

double quick_seconds(stage& where, const launch& work, double best_so_far, double give_up) {
  // Below this, one alone tells more about the host that starts it than about the work.
  constexpr double alone_seconds = 5e-5;
  where.seconds(work, 1);
  double best = where.seconds(work, 1);
  const auto is_slow = [&] { return best > std::max(give_up * best_so_far, alone_seconds); };
  // A single run is occasionally several times too long, when the host is late in starting it.
  if (is_slow()) best = std::min(best, where.seconds(work, 1));
  if (is_slow()) return best;
  // Short work is repeated, or launch overhead and the clock's resolution would decide.
  constexpr double run_seconds = 2e-4;
  std::unique_ptr<series> all;
  std::int64_t count = 0;
  for (int run = 0; run < 4; ++run) {
    const double launches = std::clamp(run_seconds / std::max(best, 1e-7), 5.0, 40.0);
    const auto wanted = best < short_seconds ? static_cast<std::int64_t>(launches) : 1;
    if (wanted > 2 * count) all = series_of(where, work, count = wanted, best);
    best = std::min(best, all->seconds() / static_cast<double>(count));
  }
  return best;
}

double seconds_after_first(stage& where, const launch& work, double first) {
  constexpr double enough_alone = 0.05;
  const double one = first < enough_alone ? first : where.seconds(work, 1);
  return one < enough_alone ? quick_seconds(where, work, one) : one;
}

}  // namespace bcsc::bench
