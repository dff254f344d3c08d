#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/compact_classes.cuh"
#include "converters/formats/compact_few.cuh"
#include "converters/formats/compact_team.cuh"
#include "core/dynamic_shared.cuh"

/// Orders a row block's entries with a team of threads. Needs nothing but the CUDA language itself, so that it is
/// tested on the emulated GPU, too.
///
/// A row block's entries lie together in CSR and keep their range of positions; only their order is new, and how many
/// columns they make. A key is (column, row in the block), of at most 31 bits; keys differ, so a stable sort is not
/// needed. Row blocks are divided into classes by weight, each with a team that suits it:
///  - up to 64 entries lie in a warp's registers (compact_few.cuh); a key's place is the number of keys below it;
///  - where columns lie close together (bands, networks), bits of a small table count (compact_team.cuh);
///  - elsewhere the rows, which are sorted, are merged pair by pair in shared memory (compact_team.cuh).
/// Bytes moved: CSR once, the result once; the columns twice, because their number is not known beforehand.
namespace bcsc::converters::steps {

/// Row blocks of a few entries, a warp each.
template <class I>
__global__ void __launch_bounds__(few_threads, 10) few_kernel(const __grid_constant__ workplace<I> at) {
  constexpr unsigned whole_warp = 0xffffffffu, warps = few_threads / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned size = at.list_sizes[few_list];
  for (unsigned next = blockIdx.x * warps + threadIdx.x / 32; next < size; next += gridDim.x * warps) {
    const std::int64_t block = at.lists[few_list * at.job.num_blocks + next], first_row = at.first_row(block);
    const int height = static_cast<int>(at.first_row(block + 1) - first_row);
    const I pointer = at.job.row_ptr[first_row + (lane < height ? lane : height)];
    const I begin = __shfl_sync(whole_warp, pointer, 0);
    const int row_start = static_cast<int>(pointer - begin);
    const int entries = __shfl_sync(whole_warp, row_start, 31);
    if (entries <= 32) {
      order_few<1>(at, block, begin, entries, height, row_start);
    } else {
      order_few<2>(at, block, begin, entries, height, row_start);
    }
  }
}

/// The teams take row blocks of their class's list in turn.
template <class Class, class I>
__global__ void __launch_bounds__(Class::threads, 1024 / Class::threads)
    order_kernel(const __grid_constant__ workplace<I> at, int list) {
  auto* const storage = core::dynamic_shared<merge_storage<Class>>();
  const unsigned team = threadIdx.x / Class::team;
  for (unsigned next = blockIdx.x * Class::teams + team; next < at.list_sizes[list]; next += gridDim.x * Class::teams) {
    block_team<Class, I>(at, storage[team], at.lists[list * at.job.num_blocks + next]).order();
  }
}

}  // namespace bcsc::converters::steps
