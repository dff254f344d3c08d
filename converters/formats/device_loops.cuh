#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "core/buffer.hpp"
#include "core/launch.cuh"

/// The loops of the device's conversions: one thread per entry, with searches in pointer arrays instead of a thread per
/// row, so that long rows hold nothing up.
namespace bcsc::converters::steps {

/// Starts a kernel over n entries on the default stream; `n` is its first argument.
template <class... Params, class... Args>
void start_over(const char* what, void (*kernel)(std::int64_t, Params...), std::int64_t n, const Args&... args) {
  core::gpu::check_launch(core::start(kernel, grid_for(n), block_threads, 0, nullptr, n, args...), what);
}

template <class Predicate>
__global__ void first_kernel(std::int64_t n, Predicate holds, unsigned long long* first) {
  for (std::int64_t k = thread_number(); k < n; k += num_grid_threads()) {
    if (!holds(k)) continue;
    atomicMin(first, static_cast<unsigned long long>(k));
    return;
  }
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

/// CUB and Thrust check the runtime's last error after their launches, and would take an earlier one for theirs. An
/// error that makes the device unusable stays nevertheless.
inline void forget_earlier_error() { (void)cudaGetLastError(); }

/// Runs a CUB algorithm twice: the first call only asks for the size of its temporary memory.
template <class Algorithm>
void with_cub(int device, Algorithm&& algorithm, const char* what) {
  forget_earlier_error();
  std::size_t bytes = 0;
  core::gpu::check_launch(algorithm(nullptr, bytes), what);
  const core::device_buffer<char> temporary(device, std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes)));
  forget_earlier_error();
  core::gpu::check_launch(algorithm(temporary.data(), bytes), what);
}

}  // namespace bcsc::converters::steps
