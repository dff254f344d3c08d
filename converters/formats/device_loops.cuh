#pragma once

#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/buffer.hpp"
#include "lib/core/launch.cuh"

/// The loops of the device's conversions: one thread an entry, striding over the grid; searches in pointer arrays
/// instead of a thread a row, so that long rows hold nobody up.
namespace bcsc::converters::steps {

inline constexpr int block_threads = 256;

/// Enough blocks to fill any GPU; the threads stride over the rest.
inline std::int64_t grid_for(std::int64_t n) {
  return std::min<std::int64_t>((n + block_threads - 1) / block_threads, 1 << 16);
}

/// Starts a kernel over n entries on the default stream; `n` is its first argument.
template <class... Params, class... Args>
void start_over(const char* what, void (*kernel)(std::int64_t, Params...), std::int64_t n, const Args&... args) {
  core::gpu::check_launch(core::start(kernel, grid_for(n), block_threads, 0, nullptr, n, args...), what);
}

__device__ inline std::int64_t thread_number() { return blockIdx.x * std::int64_t{block_threads} + threadIdx.x; }
__device__ inline std::int64_t num_grid_threads() { return gridDim.x * std::int64_t{block_threads}; }

template <class Body>
__global__ void for_each_kernel(std::int64_t n, Body body) {
  for (std::int64_t k = thread_number(); k < n; k += num_grid_threads()) body(k);
}

template <class Predicate>
__global__ void first_kernel(std::int64_t n, Predicate holds, unsigned long long* first) {
  for (std::int64_t k = thread_number(); k < n; k += num_grid_threads()) {
    if (!holds(k)) continue;
    atomicMin(first, static_cast<unsigned long long>(k));
    return;
  }
}

template <class Predicate>
__global__ void count_kernel(std::int64_t n, Predicate holds, unsigned long long* count) {
  unsigned long long mine = 0;
  for (std::int64_t k = thread_number(); k < n; k += num_grid_threads()) mine += holds(k);
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffu, mine, distance);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(count, mine);
}

template <class Body>
void for_each(std::int64_t n, Body body, const char* what) {
  if (n == 0) return;
  start_over(what, for_each_kernel<Body>, n, body);
}

/// One number on the device.
class device_number {
 public:
  device_number(int device, unsigned long long value) : cell_(device, 1) { cell_.upload({&value, 1}); }
  unsigned long long* data() const { return cell_.data(); }
  std::int64_t get() const { return static_cast<std::int64_t>(cell_.download()[0]); }

 private:
  core::device_buffer<unsigned long long> cell_;
};

template <class Predicate>
std::int64_t first_where(int device, std::int64_t n, Predicate holds, const char* what) {
  if (n <= 0) return -1;
  const device_number first(device, ~0ull);
  start_over(what, first_kernel<Predicate>, n, holds, first.data());
  return first.get();  // all bits set reads as -1
}

template <class Predicate>
std::int64_t count_where(int device, std::int64_t n, Predicate holds, const char* what) {
  if (n <= 0) return 0;
  const device_number count(device, 0);
  start_over(what, count_kernel<Predicate>, n, holds, count.data());
  return count.get();
}

/// How many entries of the ascending array are at most `x`.
template <class X, class Y>
__device__ std::int64_t count_up_to(const X* array, std::int64_t n, Y x) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (array[middle] <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class I>
__device__ std::int64_t segment_of(const I* ptr, std::int64_t num_segments, std::int64_t k) {
  return count_up_to(ptr, num_segments + 1, k) - 1;
}

/// CUB and Thrust look at the runtime's last error behind their launches, and would take for theirs what others left
/// there. What makes the device unusable stays all the same.
inline void forget_earlier_error() { (void)cudaGetLastError(); }

/// Thrust's temporary memory comes from where all device memory comes from.
class thrust_memory {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t bytes) {
    taken_.push_back(core::gpu::allocate(static_cast<std::size_t>(std::max<std::ptrdiff_t>(bytes, 1))));
    return static_cast<char*>(taken_.back().pointer);
  }
  void deallocate(char* pointer, std::size_t) noexcept {
    const auto found =
        std::find_if(taken_.begin(), taken_.end(), [&](const auto& memory) { return memory.pointer == pointer; });
    if (found == taken_.end()) return;
    core::gpu::release(*found);
    taken_.erase(found);
  }

 private:
  std::vector<core::gpu::allocation> taken_;
};

/// Runs a Thrust algorithm on the default stream; its errors become the library's.
template <class Algorithm>
void with_thrust(Algorithm&& algorithm, const char* what) {
  thrust_memory memory;
  forget_earlier_error();
  try {
    algorithm(thrust::cuda::par(memory).on(cudaStream_t{nullptr}));
  } catch (const thrust::system_error& failure) {
    core::gpu::check_launch(failure.code().value(), what);
    throw error(errc::internal, std::string(what) + ": " + failure.what());
  }
}

}  // namespace bcsc::converters::steps
