#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "bcsc_config.h"
#include "bench/harness/stage.hpp"
#include "core/cpu_caches.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::align_val_t alignment{256};

class cpu_stage final : public stage {
 public:
  explicit cpu_stage(int threads) : threads_(std::max(threads, 1)) {}

  memory_space space() const override { return memory_space::host; }
  cuda_stream stream() const override { return nullptr; }

  void* allocate(std::int64_t bytes) override {
    void* pointer = ::operator new(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), alignment, std::nothrow);
    if (pointer == nullptr) core::fail(errc::out_of_memory, "bench: {} bytes of host memory cannot be had", bytes);
    return pointer;
  }
  void release(void* pointer) noexcept override { ::operator delete(pointer, alignment); }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  const void* fetch(const void* from, std::int64_t) override { return from; }
  void poison(void* to, std::int64_t bytes) override {
    if (bytes > 0) std::memset(to, 0xff, static_cast<std::size_t>(bytes));
  }
  void wait() override {}

  double seconds(const launch& work, std::int64_t count) override {
    const auto begin = clock::now();
    for (std::int64_t i = 0; i < count; ++i) work();
    return seconds_since(begin);
  }

  void flush() override {
    if (flush_buffer_.empty()) {
      flush_buffer_.resize(static_cast<std::size_t>(2 * core::find_cpu_caches().l3) / sizeof(std::int64_t) + 1);
    }
    ++num_flushes_;
    add_one(flush_buffer_);
  }
  std::int64_t num_flushes() const override { return num_flushes_; }
  std::int64_t flush_bytes() const override { return bytes_of(flush_buffer_); }

  void foreign_work() override {
    if (foreign_buffer_.empty()) {
      foreign_buffer_.resize(static_cast<std::size_t>(foreign_bytes_beside(core::find_cpu_caches().l3)) /
                             sizeof(std::int64_t));
    }
    add_one(foreign_buffer_);
  }
  std::int64_t foreign_bytes() const override { return bytes_of(foreign_buffer_); }

  double measure_copy_bandwidth() override {
    return copy_bandwidth(std::max<std::int64_t>(4 * core::find_cpu_caches().l3, std::int64_t{64} << 20), 4);
  }
  /// Both arrays take half of it.
  double measure_cache_bandwidth() override { return copy_bandwidth(core::find_cpu_caches().l3 / 4, 50); }

  void describe(machine_facts&) const override {}

 private:
  /// Of the fastest of `num_runs` copies of `bytes`.
  double copy_bandwidth(std::int64_t bytes, int num_runs) const {
    const std::int64_t size = bytes / std::int64_t{sizeof(double)};
    std::vector<double> from(static_cast<std::size_t>(size), 1.0), to(static_cast<std::size_t>(size), 0.0);
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run < num_runs; ++run) {
      const auto begin = clock::now();
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t i = 0; i < size; ++i) to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i)];
      best = std::min(best, seconds_since(begin));
      from[0] = to[static_cast<std::size_t>(size - 1)] + run;  // keeps the copies from being optimised away
    }
    return 2.0 * static_cast<double>(size) * sizeof(double) / best;
  }
  /// By every thread, so that the caches of all cores are reached.
  void add_one(std::vector<std::int64_t>& to) const {
    const auto size = static_cast<std::int64_t>(to.size());
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < size; ++i) ++to[static_cast<std::size_t>(i)];
  }
  static std::int64_t bytes_of(const std::vector<std::int64_t>& array) {
    return static_cast<std::int64_t>(array.size() * sizeof(std::int64_t));
  }

  int threads_;
  std::int64_t num_flushes_ = 0;
  std::vector<std::int64_t> flush_buffer_, foreign_buffer_;
};

}  // namespace

std::unique_ptr<stage> make_cpu_stage(int threads) { return std::make_unique<cpu_stage>(threads); }

std::unique_ptr<stage> make_stage(const context& ctx) {
#if BCSC_WITH_CUDA
  if (ctx.kind() == backend::cuda) return make_cuda_stage(ctx.device().device);
#endif
  return make_cpu_stage(ctx.threads());
}

}  // namespace bcsc::bench
