#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

/// The grid of the device's conversions: one thread per entry, striding over the grid. Needs nothing but the CUDA
/// language itself, so that the steps that need no more are tested on the emulated GPU, too.
namespace bcsc::converters::steps {

inline constexpr int block_threads = 256;

/// Enough blocks to fill any GPU; the threads stride over the rest.
inline std::int64_t grid_for(std::int64_t n) {
  return std::min<std::int64_t>((n + block_threads - 1) / block_threads, 1 << 16);
}

__device__ inline std::int64_t thread_number() { return blockIdx.x * std::int64_t{block_threads} + threadIdx.x; }
__device__ inline std::int64_t num_grid_threads() { return gridDim.x * std::int64_t{block_threads}; }

template <class Body>
__global__ void for_each_kernel(std::int64_t n, Body body) {
  for (std::int64_t k = thread_number(); k < n; k += num_grid_threads()) body(k);
}

/// How many of the first n positions have holds(position), which is true up to some position and false from there on.
template <class Predicate>
__device__ std::int64_t count_while(std::int64_t n, const Predicate& holds) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// How many entries of the ascending array are at most `x`.
template <class X, class Y>
__device__ std::int64_t count_up_to(const X* array, std::int64_t n, Y x) {
  return count_while(n, [=](std::int64_t k) { return array[k] <= x; });
}

template <class I>
__device__ std::int64_t segment_of(const I* ptr, std::int64_t num_segments, std::int64_t k) {
  return count_up_to(ptr, num_segments + 1, k) - 1;
}

/// Element k of an array of small indices of `bytes` bytes each; 0 if they take none.
__host__ __device__ inline std::int64_t small_at(const void* array, int bytes, std::int64_t k) {
  if (bytes == 1) return static_cast<const std::uint8_t*>(array)[k];
  return bytes == 2 ? static_cast<const std::uint16_t*>(array)[k] : 0;
}

/// Sets it; `bytes` is 1 or 2.
__device__ inline void set_small(void* array, int bytes, std::int64_t k, unsigned index) {
  if (bytes == 1) {
    static_cast<std::uint8_t*>(array)[k] = static_cast<std::uint8_t>(index);
  } else {
    static_cast<std::uint16_t*>(array)[k] = static_cast<std::uint16_t>(index);
  }
}

}  // namespace bcsc::converters::steps
