#include "bench/harness/foreign_work.hpp"

namespace bcsc::bench {

namespace {

__device__ std::uint64_t now() {
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

/// Each thread adds to words of its own; volatile, so that each pass reads what the one before has written.
__global__ void add_ones(volatile unsigned* words, std::int64_t size, std::uint64_t nanoseconds) {
  const std::uint64_t begin = now();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  do {
    for (std::int64_t i = first; i < size; i += stride) words[i] = words[i] + 1;
  } while (now() - begin < nanoseconds);
}

}  // namespace

void start_adding_ones(unsigned* words, std::int64_t size, std::uint64_t nanoseconds, int blocks, cuda_stream stream) {
  constexpr int block_threads = 512;
  add_ones<<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(words, size, nanoseconds);
}

}  // namespace bcsc::bench
