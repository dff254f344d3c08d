#include "bcsc/calibrate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>

#include "bcsc/plan.hpp"
#include "bcsc/tuning_cache.hpp"
#include "core/buffer.hpp"
#include "core/by_all.hpp"
#include "core/context_state.hpp"
#include "core/cpu_caches.hpp"
#include "core/fail.hpp"
#include "lib/choice/known_costs.hpp"
#include "lib/tune/operands.hpp"
#include "lib/tune/stopwatch.hpp"
#include "lib/tune/use_cache.hpp"

namespace bcsc {
namespace {

/// Bytes that move while a copy of a cache's share is timed, so that its start does not count.
constexpr std::int64_t repeated_bytes = std::int64_t{256} << 20;

std::string constants_key(const context& ctx) { return core::format("machine | {}", machine_name(ctx)); }

/// A copy that runs where the context computes.
struct copy {
  std::int64_t bytes = 0;  ///< of each array
  std::function<void(cuda_stream)> once;
  std::shared_ptr<void> from, to;
};

/// By all of the context's threads, each with arrays of its own, as they would lie in its caches.
copy copy_on_cpu(const context& ctx, std::int64_t bytes) {
  const auto array = [&] { return std::shared_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]); };
  const auto from = array(), to = array();
  const std::int64_t threads = std::max(ctx.threads(), 1), piece = bytes / threads;
  const auto each = [=, who = ctx.state().who()](auto work) {
    core::for_each(who, threads, [&](std::int64_t t) { work(t * piece); });
  };
  const auto size = static_cast<std::size_t>(piece);
  each([&](std::int64_t at) { std::memset(from.get() + at, 1, size), std::memset(to.get() + at, 2, size); });
  return {piece * threads,
          [each, size, from = from.get(), to = to.get()](cuda_stream) {
            each([&](std::int64_t at) { std::memcpy(to + at, from + at, size); });
          },
          from, to};
}

copy copy_on_gpu(const context& ctx, std::int64_t bytes) {
  using buffer = core::device_buffer<std::byte>;
  const int device = ctx.device().device;
  const auto from = std::make_shared<buffer>(device, bytes), to = std::make_shared<buffer>(device, bytes);
  const core::gpu::device_guard guard(device);
  core::gpu::fill_zero(from->data(), from->bytes());
  core::gpu::synchronize();
  return {bytes,
          [from = from->data(), to = to->data(), bytes](cuda_stream stream) {
            core::gpu::copy_on_device(to, from, static_cast<std::size_t>(bytes), stream);
          },
          from, to};
}

copy copy_of(const context& ctx, std::int64_t bytes) {
  return ctx.kind() == backend::cuda ? copy_on_gpu(ctx, bytes) : copy_on_cpu(ctx, bytes);
}

/// The bytes of each array of a copy that fits the caches, and of one that does not.
struct copy_sizes {
  std::int64_t in_cache, in_memory;
};
copy_sizes sizes_for(const context& ctx) {
  constexpr std::int64_t min_in_memory = std::int64_t{64} << 20, max_in_memory = std::int64_t{1} << 30;
  const core::cpu_caches caches = core::find_cpu_caches();
  const bool on_gpu = ctx.kind() == backend::cuda;
  const std::int64_t near = on_gpu ? ctx.device().l2_bytes : caches.l2 * std::max(ctx.threads(), 1);
  const std::int64_t far = on_gpu ? ctx.device().l2_bytes : caches.l3;
  // Both arrays of the first take half of the cache.
  return {std::max<std::int64_t>(near / 4, 1 << 16), std::clamp(4 * far, min_in_memory, max_in_memory)};
}

class calibration {
 public:
  calibration(const context& ctx, const calibrate_options& options) : ctx_(ctx), options_(options) {}

  machine_constants run() {
    machine_constants found;
    tell("starting a product");
    found.launch_seconds = launch_seconds();
    const copy_sizes sizes = sizes_for(ctx_);
    tell("cache bandwidth");
    found.cache_bandwidth = bandwidth(sizes.in_cache);
    tell("memory bandwidth");
    found.memory_bandwidth = bandwidth(sizes.in_memory);
    return found;
  }

 private:
  using clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(clock::now() - begin_).count(); }
  void tell(std::string_view now) const {
    if (options_.progress) options_.progress(std::min(1.0, elapsed() / options_.max_seconds), now);
  }

  /// The minimum of up to 15 samples, the first of which warms up.
  double min_seconds(const std::function<void(cuda_stream)>& work, std::int64_t count) {
    const std::array alone{tuning::contestant{"", work}};
    const auto watch = tuning::stopwatches_of(ctx_)(alone);
    watch->seconds(0, count);
    double least = std::numeric_limits<double>::infinity();
    constexpr int num_samples = 15;
    for (int i = 0; i < num_samples && (i == 0 || elapsed() < options_.max_seconds); ++i) {
      least = std::min(least, watch->seconds(0, count));
    }
    return least;
  }

  double bandwidth(std::int64_t bytes) {
    const copy one = copy_of(ctx_, bytes);
    // Threads that share a core with others wait for each other after every copy: there fewer threads are used.
    const std::int64_t most = ctx_.kind() == backend::cuda ? 256 : 16;
    const std::int64_t count = std::clamp<std::int64_t>(repeated_bytes / one.bytes, 1, most);
    return 2.0 * static_cast<double>(one.bytes) / min_seconds(one.once, count);
  }

  /// Of a 1 x 1 matrix.
  double launch_seconds() {
    const csr_matrix<float> a(1, 1, {0, 1}, {0}, {1.0f});
    const plan_options one_column{.cols = 1};
    const spmm_plan<float> plan(ctx_, a, one_column);
    tuning::trial_operands<float> operands(ctx_, 1, 1, one_column);
    operands.reserve(plan.workspace_bytes());
    return min_seconds([&](cuda_stream stream) { operands.run(plan, stream); }, 64);
  }

  const context& ctx_;
  const calibrate_options& options_;
  const clock::time_point begin_ = clock::now();
};

/// A GPU without costs of its own has an H200's scaled by these.
void keep_for_choice(const context& ctx, const std::string& cache, const machine_constants& found) {
  choice::kept_costs kept = choice::read_costs(ctx, cache).value_or(choice::kept_costs{});
  kept.constants = found;
  choice::keep_costs(ctx, cache, kept);
}

}  // namespace

machine_constants calibrate(const context& ctx, const calibrate_options& options) {
  if (!(options.max_seconds > 0)) {
    core::fail(errc::invalid_argument, "calibrate_options::max_seconds = {}: must be above 0", options.max_seconds);
  }
  core::require_healthy(ctx.state());
  const machine_constants found =
      core::guarded(ctx.state(), "a calibration", [&] { return calibration(ctx, options).run(); });
  tuning::use_cache(ctx, [&] {
    const std::array entries{cache_entry{
        constants_key(ctx), core::format("launch_seconds={:.4g} cache_bandwidth={:.4g} memory_bandwidth={:.4g}",
                                         found.launch_seconds, found.cache_bandwidth, found.memory_bandwidth)}};
    tuning_cache(options.cache).put(entries);
  });
  if (ctx.kind() == backend::cuda) tuning::use_cache(ctx, [&] { keep_for_choice(ctx, options.cache, found); });
  return found;
}

std::optional<machine_constants> known_constants(const context& ctx, const std::string& cache) {
  std::optional<machine_constants> known;
  tuning::use_cache(ctx, [&] {
    const auto text = tuning_cache(cache).find(constants_key(ctx));
    if (!text) return;
    const tuning::fields values(*text);
    machine_constants found;
    const bool complete = values.get("launch_seconds", found.launch_seconds) &&
                          values.get("cache_bandwidth", found.cache_bandwidth) &&
                          values.get("memory_bandwidth", found.memory_bandwidth);
    if (complete) known = found;
  });
  return known;
}

}  // namespace bcsc
