#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/calibrate.hpp"
#include "bcsc/convert.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "lib/choice/known_costs.hpp"
#include "lib/choice/registry.hpp"
#include "lib/plan/access.hpp"
#include "lib/tune/fit_costs.hpp"
#include "lib/tune/operands.hpp"
#include "lib/tune/stopwatch.hpp"
#include "lib/tune/use_cache.hpp"

namespace bcsc {
namespace {

using tuning::timed_case;

/// One of each kind first: time may run out.
constexpr std::string_view for_cpu[] = {
    "stencil7:40,40,40", "uniform:2048,2048,0.9",         "elasticity:12,12,12", "rmat:13,16",
    "banded:5000,20",    "linking:30000,9000,1,9,2000",   "stencil9:100,100",    "nm:1024,1024,2,4",
    "blocks:2000,5,5,5", "hypersparse:50000,50000,20000", "stencil27:16,16,16",  "uniform:512,2048,0.7",
    "rmat:15,4,seed=2",  "uniform:1024,1024,0.98,seed=2", "blocks:3000,2,9,3",   "stencil5:150,150",
    "elasticity:5,5,5",  "linking:3000,4000,6,4,500",     "banded:2000,3",       "rmat:10,8,seed=3",
};
constexpr std::string_view for_gpu[] = {
    "stencil7:80,80,80",   "uniform:4096,4096,0.9",
    "elasticity:20,20,20", "rmat:16,16",
    "banded:50000,20",     "linking:100000,30000,1,9,5000",
    "stencil9:300,300",    "nm:2048,2048,2,4",
    "blocks:20000,5,5,5",  "hypersparse:500000,500000,200000",
    "stencil27:30,30,30",  "uniform:512,2048,0.7",
    "rmat:18,4,seed=2",    "uniform:2048,2048,0.98,seed=2",
    "blocks:30000,2,9,3",  "stencil5:150,150",
};
constexpr std::int64_t columns[] = {1, 32, 128, 8, 512};
/// Of a product, so that none takes long.
constexpr std::int64_t max_products_on_cpu = 300'000'000, max_products_on_gpu = 4'000'000'000;

constexpr std::int64_t shared_height = 16;  // product_shape::shared_nnzc

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}

class cost_calibration {
 public:
  cost_calibration(const context& ctx, const calibrate_options& options) : ctx_(ctx), options_(options) {}

  const std::vector<timed_case>& run(const matrix_source& generate) {
    const bool on_gpu = ctx_.kind() == backend::cuda;
    const std::span<const std::string_view> all =
        on_gpu ? std::span(for_gpu) : std::span<const std::string_view>(for_cpu);
    for (std::size_t i = 0; i < all.size() && !is_spent(); ++i) {
      share_ = static_cast<double>(i) / static_cast<double>(all.size());
      now_ = all[i];
      tell();
      const auto a = cast<double, std::int32_t>(generate(all[i]));
      time_as<double>(a);
      time_as<float>(a);
      if (!on_gpu) continue;  // where 16-bit values have costs of their own
      time_as<half>(a);
      time_as<bfloat16>(a);
    }
    return cases_;
  }

 private:
  using clock = std::chrono::steady_clock;

  double elapsed() const { return std::chrono::duration<double>(clock::now() - begin_).count(); }
  /// Not before the first product, however long that takes: a calibration without any would keep empty costs.
  bool is_spent() const { return !cases_.empty() && elapsed() > options_.max_seconds; }
  void tell() const {
    if (options_.progress) options_.progress(std::clamp(elapsed() / options_.max_seconds, share_, 1.0), now_);
  }

  /// Plans that differ in kernels; those whose kernels read one form share the matrix.
  template <number T>
  struct stored_plans {
    std::list<spmm_plan<T>> all;
    std::vector<const choice::registered_kernel*> kernels;
  };

  /// Made for N = n, on which the order of rows and the length of pieces depend.
  template <number T>
  stored_plans<T> make(const csr_matrix<T>& a, std::int64_t n) const {
    stored_plans<T> made;
    for (const choice::registered_kernel& kernel : choice::registry()) {
      const kernel_info& info = kernel.info;
      const bool runs = runs_on(info, ctx_) && info.type == value_type_of<T> && info.index_bits == 32;
      const bool has_costs = info.where == backend::cpu ? bool{kernel.family} : bool{kernel.measured};
      if (!runs || !has_costs || !suits(info, n)) continue;
      try {
        std::optional<spmm_plan<T>> plan;
        for (auto held = made.all.begin(); held != made.all.end() && !plan; ++held) plan = held->sharing(info.name);
        const plan_options wanted{.cols = n, .check = trust::trusted, .expert = {.kernel = info.name}};
        if (!plan) plan.emplace(ctx_, a.view(), wanted);
        made.all.push_back(std::move(*plan));
        made.kernels.push_back(&kernel);
      } catch (const error& e) {
        if (e.code() == errc::context_poisoned) throw;
        ctx_.state().say(core::format("calibration: {} is left out: {}", info.name, e.what()));
      }
    }
    return made;
  }

  /// Slices are for one column.
  static bool suits(const kernel_info& kernel, std::int64_t n) {
    return kernel.where == backend::cpu ? !choice::takes_a_detour(kernel, n, kernel.m_tile)
                                        : n == 1 || kernel.algorithm != "sliced";
  }

  template <number T>
  void time_as(const csr_matrix<double>& given) {
    if (is_spent()) return;
    const csr_matrix<T> a = cast<T, std::int32_t>(given);
    std::set<std::int64_t> all_heights{1, shared_height};
    for (const choice::registered_kernel& kernel : choice::registry()) {
      if (kernel.info.where == ctx_.kind()) all_heights.insert(kernel.info.m_tile);
    }
    const std::vector<std::int64_t> heights(all_heights.begin(), all_heights.end());
    const std::vector<block_statistics> statistics = analyse_blocks(a.view(), std::span<const std::int64_t>(heights));
    const std::int64_t most = ctx_.kind() == backend::cuda ? max_products_on_gpu : max_products_on_cpu;
    for (const std::int64_t n : columns) {
      if (is_spent()) return;
      if (a.nnz() * n > most) continue;
      try {
        time_columns(a, statistics, n);
      } catch (const error& e) {
        if (e.code() != errc::out_of_memory) throw;
        ctx_.state().say(core::format("calibration: {} at N = {} is left out: {}", now_, n, e.what()));
      }
      tell();
    }
  }

  template <number T>
  void time_columns(const csr_matrix<T>& a, std::span<const block_statistics> statistics, std::int64_t n) {
    const stored_plans<T> plans = make(a, n);
    const plan_options wanted{.cols = n};
    tuning::trial_operands<T> operands(ctx_, a.rows(), a.cols(), wanted);
    std::vector<tuning::contestant> contestants;
    for (const spmm_plan<T>& plan : plans.all) {
      operands.reserve(plan.workspace_bytes());
      contestants.push_back({"", [&](cuda_stream stream) { operands.run(plan, stream); }});
    }
    const choice::problem p = choice::with_statistics(
        plan::recipe(ctx_, wanted, value_type_of<T>).described(a.rows(), a.cols(), a.nnz()), statistics);
    timed_case timed{.matrix = std::string(now_),
                     .cols = n,
                     .type = value_type_of<T>,
                     .isa = core::best_cpu_isa(),
                     .threads = ctx_.threads(),
                     .shape = choice::shape_of(p),
                     .timings = {}};
    const auto watch = tuning::stopwatches_of(ctx_)(contestants);
    const std::vector<double> seconds = least_seconds(*watch, contestants.size());
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const kernel_info& kernel = plans.kernels[i]->info;
      const auto s = std::ranges::find(statistics, std::int64_t{kernel.m_tile}, &block_statistics::m_block);
      timed.timings.push_back({&kernel, cost_terms_of(timed.shape, kernel, kernel.n_tile, *s), 1e6 * seconds[i]});
    }
    if (timed.timings.empty()) return;
    if (ctx_.kind() == backend::cpu) tuning::share_times_of_equals(timed);
    timed.fastest = tuning::fastest_config(timed).us;
    cases_.push_back(std::move(timed));
  }

  /// Of a product of each: the least of two alone, and of three samples where that is not far behind the fastest. In
  /// rounds, since other work on the machine disturbs what is timed meanwhile.
  static std::vector<double> least_seconds(tuning::stopwatch& watch, std::size_t num) {
    constexpr double far_behind = 3, sample_seconds = 5e-4;
    constexpr int num_singles = 2, num_samples = 3;
    std::vector<double> least(num, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < num; ++i) watch.seconds(i, 1);  // fills caches, loads kernels
    const auto sample = [&](std::size_t i, std::int64_t count) {
      least[i] = std::min(least[i], watch.seconds(i, count));
    };
    for (int round = 0; round < num_singles; ++round) {
      for (std::size_t i = 0; i < num; ++i) sample(i, 1);
    }
    std::vector<std::int64_t> counts(num, 0);
    const double best = num > 0 ? *std::ranges::min_element(least) : 0;
    for (std::size_t i = 0; i < num; ++i) {
      const double count = std::clamp(sample_seconds / std::max(least[i], 1e-7), 2.0, 20.0);
      if (least[i] <= far_behind * best) counts[i] = static_cast<std::int64_t>(count);
    }
    for (int round = 0; round < num_samples; ++round) {
      for (std::size_t i = 0; i < num; ++i) {
        if (counts[i] > 0) sample(i, counts[i]);
      }
    }
    return least;
  }

  const context& ctx_;
  const calibrate_options& options_;
  const clock::time_point begin_ = clock::now();
  std::vector<timed_case> cases_;
  double share_ = 0;
  std::string_view now_;
};

}  // namespace

calibrated_costs calibrate_costs(const context& ctx, const matrix_source& generate, const calibrate_options& options) {
  if (!(options.max_seconds > 0)) {
    core::fail(errc::invalid_argument, "calibrate_options::max_seconds = {}: must be above 0", options.max_seconds);
  }
  core::require_healthy(ctx.state());
  // What was kept before is no start: a bad calibration would outlive the next.
  choice::kept_costs constants;
  constants.constants = choice::read_costs(ctx, options.cache).value_or(choice::kept_costs{}).constants;
  const auto before = choice::costs_from(ctx.kind(), ctx.device(), constants, ctx.threads());
  cost_calibration calibration(ctx, options);
  const std::vector<timed_case>& cases = core::guarded(
      ctx.state(), "a calibration", [&]() -> const std::vector<timed_case>& { return calibration.run(generate); });
  choice::kept_costs kept = tuning::correct(*before, cases);
  kept.date = today();
  kept.constants = constants.constants;
  calibrated_costs made{.date = kept.date, .file = {}, .num_products = std::ssize(cases)};
  tuning::use_cache(ctx, [&] {
    choice::keep_costs(ctx, options.cache, kept);
    made.file = choice::costs_file(ctx, options.cache);
  });
  return made;
}

std::optional<calibrated_costs> known_costs(const context& ctx, const std::string& cache) {
  const auto kept = choice::read_costs(ctx, cache);
  if (!kept || !kept->has_costs()) return std::nullopt;
  return calibrated_costs{kept->date, choice::costs_file(ctx, cache), std::ssize(kept->cases)};
}

}  // namespace bcsc
