#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/contender.hpp"

/// The CPU plan beside Eigen and the serial reference, on the catalogue's smaller matrices: an ordinary Google
/// Benchmark program, with its options (--benchmark_filter=..., --benchmark_format=json). Everything is checked before
/// it is timed.
namespace {

using bcsc::bench::launch;

constexpr std::int64_t max_non_zeros = 2'000'000;
constexpr std::array<std::int64_t, 4> widths{1, 8, 32, 128};
constexpr std::uint64_t seed = 1;

/// What is timed on one matrix and one N, and the memory it uses.
template <bcsc::value T>
struct arena {
  bcsc::csr_matrix<T, std::int32_t> a;
  bcsc::dense_matrix<T> b, c;
  std::unique_ptr<bcsc::bench::expectation<T>> expected;
  std::vector<std::pair<std::string, launch>> contenders;

  arena(const bcsc::context& ctx, bcsc::bench::rivals& others, bcsc::csr_matrix<T, std::int32_t> matrix,
        std::int64_t cols)
      : a(std::move(matrix)), b(a.cols(), cols), c(a.rows(), cols) {
    bcsc::bench::fill_seeded<T>(b.view(), seed);
    expected = std::make_unique<bcsc::bench::expectation<T>>(a.view(), std::as_const(b).view());
    auto plan = std::make_shared<const bcsc::spmm_plan<T>>(ctx, a, bcsc::plan_options{.cols = cols});
    contenders.emplace_back("plan", [plan, this] { plan->run(T{1}, std::as_const(b).view(), T{0}, c.view()); });
    for (const auto& rival : others.on(bcsc::bench::problem<T>{a.view(), a.view()})) {
      contenders.emplace_back(rival.name, rival.prepare(std::as_const(b).view(), c.view()).start);
    }
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
};

template <bcsc::value T>
void time_contender(benchmark::State& state, arena<T>& where, const launch& start) {
  std::ranges::fill(std::span(where.c.data(), static_cast<std::size_t>(where.c.rows() * where.c.cols())),
                    std::numeric_limits<T>::quiet_NaN());
  start();
  const auto accuracy = where.expected->compare(std::as_const(where.c).view());
  if (!accuracy.passed()) {
    state.SkipWithError(accuracy.describe(where.c.rows() * where.c.cols()).c_str());
    return;
  }
  for (auto _ : state) {
    start();
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * static_cast<double>(where.a.nnz()) * static_cast<double>(where.b.cols());
  state.counters["flop/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bound_share"] = accuracy.max_bound_share;
}

template <bcsc::value T>
void register_matrix(const bcsc::context& ctx, bcsc::bench::rivals& others,
                     const bcsc::generate::catalogue_entry& entry) {
  const auto a = bcsc::generate::from_specification<T>(entry.specification);
  if (a.nnz() > max_non_zeros) return;
  for (const std::int64_t cols : widths) {
    const auto shared = std::make_shared<arena<T>>(ctx, others, a, cols);
    for (const auto& [name, start] : shared->contenders) {
      const std::string full =
          entry.name + "/N:" + std::to_string(cols) + "/" + std::string(to_string(bcsc::value_type_of<T>)) + "/" + name;
      benchmark::RegisterBenchmark(
          full.c_str(), [shared, start](benchmark::State& state) { time_contender<T>(state, *shared, start); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const auto ctx = bcsc::context::cpu();
  const auto others = bcsc::bench::open_cpu_rivals(ctx.threads());
  for (const auto& entry : bcsc::generate::catalogue()) {
    register_matrix<float>(ctx, *others, entry);
    register_matrix<double>(ctx, *others, entry);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
