#pragma once

#include "kernels/cuda/implementation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/tables/warp.hpp"

/// Warp-centric SpMM over BCSC.
///
/// Ownership: a thread block owns a tile of C of m_tile x n_tile; its *logical warps* of 8, 16 or 32 lanes take
///   whole non-empty columns of the row block in turn. The tile is summed up in shared memory, by atomic additions, for
///   two logical warps may meet in one row.
/// What is loaded when: the lengths of 32 columns at a time, from which each warp sums up where they begin; for a
///   column first its row of B, n_tile / lanes values a lane, kept in registers; then its non-zeros, `lanes` at a time,
///   one a lane, coalesced, and handed round by shuffles.
/// Bytes moved, for each tile: 5 (fp32) or 9 (fp64) a non-zero and 3 or 5 a non-empty column of A (m_block <= 256),
///   n_tile values of B a non-empty column, the tile of C once (twice if beta is not 0).
/// C is written in the order in which it lies: along its rows, or along its columns if those are contiguous.
/// Logical warps of one hardware warp take columns of different lengths, so they diverge: each shuffle names the
///   lanes of its own logical warp and no other.
/// Preconditions: those of spmm_args. Not deterministic: the order of the atomic additions varies.
namespace bcsc::kernels::cuda {

/// The lanes of this thread's logical warp within its hardware warp.
template <int Lanes>
__device__ unsigned logical_warp_mask() {
  if constexpr (Lanes == 32) {
    return 0xffffffffu;
  } else {
    return ((1u << Lanes) - 1u) << (threadIdx.x % 32 / Lanes * Lanes);
  }
}

template <class T, int MTile, int NTile, int Warps, int Lanes>
__global__ void __launch_bounds__(Warps* Lanes, 1)
    warp_kernel(const __grid_constant__ spmm_args<T, std::int32_t> args, const __grid_constant__ tile_grid grid) {
  using I = std::int32_t;
  constexpr int items = NTile / Lanes;
  constexpr int threads = Warps * Lanes;
  static_assert(32 % Warps == 0 && threads % 32 == 0);
  T* sums = dynamic_shared<T>();  // [MTile][NTile]

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / Lanes;
  const int lane = thread % Lanes;
  const unsigned mask = logical_warp_mask<Lanes>();

  const scalars<T> by = read_scalars(args);
  for (std::int64_t index = blockIdx.x; index < grid.num_tiles; index += gridDim.x) {
    const tile<I> at = tile_at<MTile, NTile>(args, grid, index, by.alpha);
    for (int i = thread; i < at.num_rows * NTile; i += threads) sums[i] = T{0};
    __syncthreads();

    position<I> entry = at.entry;
    for (position<I> chunk = at.begin; chunk < at.end; chunk += 32) {
      const position<I> lane_column = chunk + thread % 32;
      const unsigned my_count = lane_column < at.end ? count_at(args, lane_column) : 0;
      const unsigned my_end = sum_up_to_lane(my_count);
      // All logical warps of a hardware warp take as many columns: they meet for the shuffles that hand those out.
      for (int taken = warp; taken < 32; taken += Warps) {
        const position<I> last = entry + __shfl_sync(0xffffffffu, my_end, taken);
        const position<I> begin = last - __shfl_sync(0xffffffffu, my_count, taken);
        const position<I> i = chunk + taken;
        if (i < at.end) {
          const T* b = b_row(args, col_at(args, i), at.first_col);
          T b_items[items];
#pragma unroll
          for (int j = 0; j < items; ++j) {
            const int n = lane + j * Lanes;
            b_items[j] = n < at.num_cols ? __ldg(b + n) : T{0};
          }
          for (position<I> first = begin; first < last; first += Lanes) {
            const position<I> mine = first + lane;
            const unsigned my_row = mine < last ? at.local_row(small_at(args.a.row_in_block, mine)) : MTile;
            const T my_value = mine < last ? __ldg(args.a.values + mine) : T{0};
            const int count = last - first < Lanes ? static_cast<int>(last - first) : Lanes;
            for (int from = 0; from < count; ++from) {
              const unsigned m = __shfl_sync(mask, my_row, from, Lanes);
              const T value = __shfl_sync(mask, my_value, from, Lanes);
              if (m < MTile) {
#pragma unroll
                for (int j = 0; j < items; ++j) atomicAdd(sums + m * NTile + lane + j * Lanes, value * b_items[j]);
              }
            }
          }
        }
        __syncwarp();
      }
      entry += __shfl_sync(0xffffffffu, my_end, 31);
    }
    __syncthreads();

    const bool along_columns = args.c_row_stride == 1 && args.c_col_stride != 1;
    for (int i = thread; i < at.num_rows * NTile; i += threads) {
      const int m = along_columns ? i % at.num_rows : i / NTile;
      const int n = along_columns ? i / at.num_rows : i % NTile;
      if (n < at.num_cols) store(c_at(args, at, m, n), by, sums[m * NTile + n]);
    }
    __syncthreads();  // before the next tile's zeros
  }
}

template <>
struct implementation<tables::warp> {
  template <int Index>
  static int launch(const void* args, const launch_env& env) {
    constexpr tables::warp_config config = tables::warp::configs[Index];
    using T = value_of<config.type>;
    const auto& spmm = *static_cast<const spmm_args<T, std::int32_t>*>(args);
    const tile_grid grid = cut<config.tile_rows(), config.tile_cols()>(spmm);
    return start(&warp_kernel<T, config.m_tile, config.n_tile, config.warps, config.lanes>, grid.num_tiles,
                 config.block_threads(), config.shared_bytes(), env.stream, spmm, grid);
  }
};

}  // namespace bcsc::kernels::cuda
