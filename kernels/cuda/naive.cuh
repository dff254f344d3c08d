#pragma once

#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/tables/naive.hpp"

/// Naive SpMM over BCSC.
///
/// Ownership: a thread block owns a tile of C of m_tile rows x `threads` columns; each thread owns one column of it
///   and walks all non-zeros of the row block in series. No thread needs another: there is no barrier.
/// What is loaded when: for each non-empty column its element of B, once, coalesced over the threads; for each non-zero
///   its row and value, the same for all threads (one broadcast load). The sums lie in shared memory, sums[m][thread]:
///   a run-time row index cannot address registers, and this way thread t always meets bank t.
/// Bytes moved, for each tile: 5 (fp32) or 9 (fp64) a non-zero and 3 or 5 a non-empty column of A (m_block <= 256),
///   n_tile values of B a non-empty column, the tile of C once (twice if beta is not 0).
/// C is written row by row, coalesced if it is row-major; of a column-major C each thread fills its own column.
/// Preconditions: those of spmm_args; rows and non-zeros fit I. Deterministic: one thread, one order.
namespace bcsc::kernels::cuda {

template <class T, class I, int MTile, int Threads>
__global__ void __launch_bounds__(Threads)
    naive_kernel(const __grid_constant__ spmm_args<T, I> args, const __grid_constant__ tile_grid grid) {
  T* sums = dynamic_shared<T>() + threadIdx.x;  // of row m at sums[m * Threads]

  const scalars<T> by = read_scalars(args);
  for (std::int64_t index = blockIdx.x; index < grid.num_tiles; index += gridDim.x) {
    const tile<I> at = tile_at<MTile, Threads>(args, grid, index, by.alpha);
    const int n = static_cast<int>(threadIdx.x);
    if (n >= at.num_cols) continue;

    for (int m = 0; m < at.num_rows; ++m) sums[m * Threads] = T{0};
    position<I> p = at.entry;
    for (position<I> i = at.begin; i < at.end; ++i) {
      const T b = __ldg(b_row(args, col_at(args, i), at.first_col) + n);
      for (const position<I> last = p + count_at(args, i); p < last; ++p) {
        const unsigned m = at.local_row(small_at(args.a.row_in_block, p));
        if (m < MTile) sums[m * Threads] += __ldg(args.a.values + p) * b;
      }
    }
    for (int m = 0; m < at.num_rows; ++m) store(c_at(args, at, m, n), by, sums[m * Threads]);
  }
}

template <>
struct implementation<tables::naive> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::naive_config config = tables::naive::configs[Index];
    using T = value_of<config.type>;
    using I = std::conditional_t<config.index_bits == 64, std::int64_t, std::int32_t>;
    const auto& spmm = *static_cast<const spmm_args<T, I>*>(args);
    const tile_grid grid = cut<config.tile_rows(), config.tile_cols()>(spmm);
    return start(&naive_kernel<T, I, config.m_tile, config.threads>, grid.num_tiles, config.block_threads(),
                 config.shared_bytes(), env.stream, spmm, grid);
  }
};

}  // namespace bcsc::kernels::cuda
