#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/tile.cuh"

/// A on its way into L2 ahead of the loads that want it.
namespace bcsc::kernels::cuda {

/// An array of which each thread block prefetches its share as it begins. Of the dependent loads (piece, entries) only
/// the first then waits for memory: where a product is small, such waits are most of its time (docs/history, 132).
struct l2_prefetch {
  const void* first = nullptr;  // aligned to 16 bytes
  std::uint32_t bytes = 0;      // a multiple of 16; 0: nothing is prefetched
  std::uint32_t share = 0;      // of a thread block
};

/// For the thread blocks of `grid` along x, if there are at most `most` bytes. Not of a batch, whose members share A.
template <class Word>
l2_prefetch prefetch_of(const Word* first, std::int64_t count, const dim3& grid, std::int64_t most) {
  constexpr std::int64_t line = 128, max_blocks = 65536;  // so that offsets fit 32 bits
  const std::int64_t num_blocks = grid.x;
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(Word)) / 16 * 16;
  if (bytes > most || num_blocks > max_blocks || grid.z > 1) return {};
  const std::int64_t share = ceil_div(ceil_div(bytes, num_blocks), line) * line;
  return {first, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(share)};
}

/// A is not written while a product runs, so a kernel may do this before it waits for the previous one.
__device__ inline void prefetch_share(const l2_prefetch& wanted) {
  const std::uint32_t begin = blockIdx.x * wanted.share;
  if (threadIdx.x != 0 || begin >= wanted.bytes) return;
  prefetch_l2(static_cast<const char*>(wanted.first) + begin, min(wanted.share, wanted.bytes - begin));
}

}  // namespace bcsc::kernels::cuda
