#include "converters/formats/pattern_hash.hpp"

#include "converters/formats/device_loops.cuh"

namespace bcsc::converters {

namespace {

template <index I>
__global__ void hash_kernel(std::int64_t n, csr_pattern<I> pattern, unsigned long long* sums) {
  pattern_hash sum;
  for (std::int64_t i = steps::thread_number(); i < n; i += steps::num_grid_threads()) sum.add(i, pattern[i]);
  for (int distance = 16; distance > 0; distance /= 2) {
    sum.low += __shfl_down_sync(0xffffffffu, sum.low, distance);
    sum.high += __shfl_down_sync(0xffffffffu, sum.high, distance);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(sums, static_cast<unsigned long long>(sum.low));
  atomicAdd(sums + 1, static_cast<unsigned long long>(sum.high));
}

}  // namespace

template <index I>
pattern_hash hash_pattern_on_device(int device, const csr_pattern<I>& pattern) {
  const core::gpu::device_guard guard(device);
  const core::device_buffer<unsigned long long> sums(device, 2);
  core::gpu::fill_zero(sums.data(), sums.bytes());
  steps::start_over("hash of a pattern", &hash_kernel<I>, pattern.size(), pattern, sums.data());
  const auto both = sums.download();
  return {both[0], both[1]};
}

template pattern_hash hash_pattern_on_device(int, const csr_pattern<std::int32_t>&);
template pattern_hash hash_pattern_on_device(int, const csr_pattern<std::int64_t>&);

}  // namespace bcsc::converters
