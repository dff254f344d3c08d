#pragma once

#include <thrust/scan.h>

#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/device_thrust.cuh"

namespace bcsc::converters::steps {

/// body(x) with an x of the size of a value that is only moved; not called for a pattern.
template <class Body>
void with_size(int bytes, Body body) {
  switch (bytes) {
    case 0:
      return;
    case 2:
      return body(std::uint16_t{});
    case 4:
      return body(std::uint32_t{});
    default:
      return body(std::uint64_t{});
  }
}

// --- Some of n entries, numbered in order ----------------------------------------------------------------------------

// A warp counts the entries taken from its chunk; prefix sums of the counts then give each entry's place.

/// Consecutive entries that one warp takes.
inline constexpr std::int64_t chunk_length = 512;

inline std::int64_t num_chunks(std::int64_t n) { return n / chunk_length + (n % chunk_length != 0 ? 1 : 0); }

template <class Predicate>
__global__ void chunk_count_kernel(std::int64_t num_chunks, std::int64_t n, Predicate is_taken, std::int64_t* count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (std::int64_t chunk = thread_number() / 32; chunk < num_chunks; chunk += num_grid_threads() / 32) {
    const std::int64_t first = chunk * chunk_length, last = min(n, first + chunk_length);
    int mine = 0;
    for (std::int64_t k = first + lane; k < last; k += 32) mine += is_taken(k) ? 1 : 0;
    for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_down_sync(0xffffffffu, mine, distance);
    if (lane == 0) count[chunk] = mine;
  }
}

template <class Predicate, class Use>
__global__ void chunk_use_kernel(std::int64_t num_chunks, std::int64_t n, Predicate is_taken,
                                 const std::int64_t* before, Use use) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (std::int64_t chunk = thread_number() / 32; chunk < num_chunks; chunk += num_grid_threads() / 32) {
    const std::int64_t begin = chunk * chunk_length, end = min(n, begin + chunk_length);
    std::int64_t rank = before[chunk];
    for (std::int64_t first = begin; first < end; first += 32) {
      const std::int64_t k = first + lane;
      const bool taken = k < end && is_taken(k);
      const unsigned lanes = __ballot_sync(0xffffffffu, taken);
      if (taken) use(k, rank + __popc(lanes & ((1u << lane) - 1)));
      rank += __popc(lanes);
    }
  }
}

template <class Kernel, class... Args>
void start_over_chunks(const char* what, Kernel* kernel, std::int64_t n, const Args&... args) {
  const std::int64_t chunks = num_chunks(n);
  core::gpu::check_launch(core::start(kernel, grid_for(chunks * 32), block_threads, 0, nullptr, chunks, n, args...),
                          what);
}

/// Counts the k of [0, n) with is_taken(k). Waits.
template <class Predicate>
selection select(int device, std::int64_t n, Predicate is_taken, const char* what) {
  if (n <= 0) return {};
  const std::int64_t chunks = num_chunks(n);
  selection taken{n, 0, core::device_buffer<std::int64_t>(device, chunks + 1)};
  std::int64_t* const before = taken.before.data();
  core::gpu::fill_zero(before + chunks, sizeof *before);
  start_over_chunks(what, chunk_count_kernel<Predicate>, n, is_taken, before);
  with_thrust([&](const auto& policy) { thrust::exclusive_scan(policy, before, before + chunks + 1, before); }, what);
  core::gpu::copy_to_host(&taken.total, before + chunks, sizeof taken.total);
  return taken;
}

/// use(k, rank) for each k taken; `rank` is how many were taken before it. `is_taken` must not have changed.
template <class Predicate, class Use>
void for_selected(const selection& taken, Predicate is_taken, Use use, const char* what) {
  if (taken.total == 0) return;
  start_over_chunks(what, chunk_use_kernel<Predicate, Use>, taken.n, is_taken, taken.before.data(), use);
}

}  // namespace bcsc::converters::steps
