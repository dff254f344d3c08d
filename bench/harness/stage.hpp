#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bcsc/context.hpp"
#include "bcsc/error.hpp"
#include "bcsc/formats.hpp"
#include "bench/harness/machine.hpp"

/// Where a benchmark takes place: memory, clock and cache of the CPU or of one GPU behind one interface, so that
/// everything above is written once.
namespace bcsc::bench {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Starts one product; asynchronous on a GPU.
using launch = std::function<void()>;

/// Some calls of one piece of work, one after another, to be timed again and again.
class series {
 public:
  series() = default;
  virtual ~series() = default;
  series(const series&) = delete;
  series& operator=(const series&) = delete;

  /// Seconds that all of them take.
  virtual double seconds() = 0;
  /// Whether a GPU replays what it has recorded: then it does not wait for the host to start one after the other.
  virtual bool is_recorded() const { return false; }
};

class stage {
 public:
  stage() = default;
  virtual ~stage() = default;
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  virtual memory_space space() const = 0;
  /// The stream on which everything that is timed has to be started; null on the CPU.
  virtual cuda_stream stream() const = 0;

  /// Throws error{out_of_memory}.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* pointer) noexcept = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  /// `bytes` of memory of the stage, readable by the host until the next fetch. Waits for what was started.
  virtual const void* fetch(const void* from, std::int64_t bytes) = 0;
  /// Makes every value a NaN, fp32 and fp64 alike, so that an element that was never written is found.
  virtual void poison(void* to, std::int64_t bytes) = 0;
  /// Waits for what was started; throws error{cuda_error} if it failed.
  virtual void wait() = 0;

  /// Seconds that `count` calls of `work`, one after the other, take in all: CUDA events, or the steady clock.
  virtual double seconds(const launch& work, std::int64_t count) = 0;
  /// `count` calls of `work`, which has been called before. A GPU records them as a graph, where `work` allows that.
  virtual std::unique_ptr<series> repeated(launch work, std::int64_t count);
  /// Seconds that starting `work` takes the host; nothing where it returns when it is done.
  virtual std::optional<double> start_seconds(const launch&) { return std::nullopt; }
  /// Drives everything out of the last-level cache, by writing a buffer of at least twice its size. On a GPU it is
  /// started on the stream, so what follows there finds a cold cache.
  virtual void flush() = 0;
  /// How often flush() has run, and the bytes each run writes.
  virtual std::int64_t num_flushes() const = 0;
  virtual std::int64_t flush_bytes() const = 0;
  /// Foreign work, as between two products of an iteration: adds to foreign_bytes() of other memory, over and over. On
  /// a GPU it is started on the stream, and takes longer than the host needs to start a product after it.
  virtual void foreign_work() = 0;
  virtual std::int64_t foreign_bytes() const = 0;
  /// Bytes read plus bytes written per second of the best of several large copies.
  virtual double measure_copy_bandwidth() = 0;
  /// The same of copies that stay in the last-level cache; 0 where it is not measured.
  virtual double measure_cache_bandwidth() { return 0; }

  /// One call of `work`: all that a profiler records which was told not to start by itself. Throws error{unsupported}
  /// where there is no profiler to control.
  virtual void profiled(const launch&) { throw error(errc::unsupported, "a profiled product: only on a GPU"); }

  /// Adds what is known of the hardware and its drivers.
  virtual void describe(machine_facts& facts) const = 0;
};

/// Each call is started by the host.
class called_series final : public series {
 public:
  called_series(stage& where, launch work, std::int64_t count) : where_(where), work_(std::move(work)), count_(count) {}
  double seconds() override { return where_.seconds(work_, count_); }

 private:
  stage& where_;
  launch work_;
  std::int64_t count_;
};

inline std::unique_ptr<series> stage::repeated(launch work, std::int64_t count) {
  return std::make_unique<called_series>(*this, std::move(work), count);
}

/// What foreign work touches beside a cache of `cache_bytes`: an eighth of it and at most 8 MiB, so that most of a
/// product's operands stay there.
inline std::int64_t foreign_bytes_beside(std::int64_t cache_bytes) {
  return std::min(cache_bytes / 8, std::int64_t{8} << 20);
}

/// The stage on which `ctx` computes.
std::unique_ptr<stage> make_stage(const context& ctx);
std::unique_ptr<stage> make_cpu_stage(int threads);
/// Only in a build with CUDA.
std::unique_ptr<stage> make_cuda_stage(int device);

/// An array on a stage, with an owner.
template <class T>
class stage_array {
 public:
  stage_array() = default;
  stage_array(stage& where, std::int64_t size)
      : where_(&where), data_(static_cast<T*>(where.allocate(size * std::int64_t{sizeof(T)}))), size_(size) {}
  stage_array(stage& where, std::span<const T> host) : stage_array(where, static_cast<std::int64_t>(host.size())) {
    where.upload(data_, host.data(), bytes());
  }
  ~stage_array() {
    if (where_ != nullptr) where_->release(data_);
  }
  stage_array(stage_array&& other) noexcept { swap(other); }
  stage_array& operator=(stage_array&& other) noexcept {
    stage_array taken(std::move(other));
    swap(taken);
    return *this;
  }

  T* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * std::int64_t{sizeof(T)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  void swap(stage_array& other) noexcept {
    std::swap(where_, other.where_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  stage* where_ = nullptr;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// A on the stage: uploaded to a GPU, the host's own arrays on the CPU.
template <number T>
class placed_csr {
 public:
  placed_csr(stage& where, const csr_view<T, std::int32_t>& a) : view_(a) {
    if (where.space() == memory_space::host) return;
    row_ptr_ = stage_array<std::int32_t>(where, a.row_ptr);
    col_ind_ = stage_array<std::int32_t>(where, a.col_ind);
    values_ = stage_array<T>(where, a.values);
    view_ = {a.rows, a.cols, row_ptr_.span(), col_ind_.span(), values_.span(), memory_space::device};
  }
  const csr_view<T, std::int32_t>& view() const { return view_; }

 private:
  stage_array<std::int32_t> row_ptr_, col_ind_;
  stage_array<T> values_;
  csr_view<T, std::int32_t> view_;
};

}  // namespace bcsc::bench
