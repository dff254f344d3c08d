#pragma once

#include <cstdint>

#include "kernels/cuda/fma/shape.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/fma_tiles/operand.hpp"

/// From a warp's sums to C; and what replaces sums that are not finite.
namespace bcsc::kernels::cuda {

/// What a warp owns: a row block and some columns from first_col on.
struct fma_place {
  std::int64_t block, first_col;

  template <int Slab, class T>
  __device__ int num_cols(const fma_tiles_args<T>& args) const {
    return args.n - first_col < Slab ? static_cast<int>(args.n - first_col) : Slab;
  }
  /// Where row m of the row block lies in C, from column first_col on.
  template <class T>
  __device__ T* row_of_c(const fma_tiles_args<T>& args, const forms::fma_block& at, int m) const {
    const std::int64_t row = at.first_row + m;
    return of_member(args.c, args.batch.c) + (args.a.row_of != nullptr ? args.a.row_of[row] : row) * args.c_row_stride +
           first_col * args.c_col_stride;
  }
};

template <class T, class Shape>
__device__ void store_sums(const fma_tiles_args<T>& args, const fma_place& at, const typename Shape::sums& sums) {
  constexpr int width = Shape::width;
  const forms::fma_block block = args.a.blocks[at.block];
  const int num_rows = args.a.blocks[at.block + 1].first_row - block.first_row;
  const int num_cols = at.template num_cols<Shape::slab>(args);
  const scalars<T> by = read_scalars(args);
  const bool by_vector = args.c_col_stride == 1 && args.c_row_stride % width == 0 &&
                         reinterpret_cast<std::uintptr_t>(of_member(args.c, args.batch.c)) % (width * sizeof(T)) == 0;
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
#pragma unroll
    for (int r = 0; r < Shape::part_rows; ++r) {
      const int m = part * Shape::part_rows + r;
      if (m >= num_rows) continue;
      T* const row = at.row_of_c(args, block, m);
#pragma unroll
      for (int vector = 0; vector < Shape::vectors; ++vector) {
        const int n = Shape::first_column(vector);
        const T* const some = &sums[part][r][vector * width];
        if (by_vector && n + width <= num_cols) {
          store_vector<width>(row + n, by, some);
        } else {
#pragma unroll
          for (int v = 0; v < width; ++v) {
            if (n + v < num_cols) store(row + (n + v) * args.c_col_stride, by, some[v]);
          }
        }
      }
    }
  }
}

/// The sum of row m of a row block times column `b` (of row 0) of B over the stored entries, one after the other.
template <class T>
__device__ T multiply_stored(const fma_tiles_args<T>& args, const fma_place& at, int m, const T* b) {
  const int part_rows = forms::fma_part_rows(args.a.height);
  const int part = m / part_rows;
  const int first_value = m % part_rows * forms::fma_step_columns;  // in a tile
  const int end_step = args.a.blocks[at.block + 1].first_step;
  std::int64_t tile = args.a.blocks[at.block].first_tile;
  T sum{0};
#pragma unroll 1
  for (int step = args.a.blocks[at.block].first_step; step < end_step; ++step) {
    const std::uint32_t(&columns)[forms::fma_step_columns] = args.a.steps[step].columns;
    const unsigned parts = forms::parts_of_first(columns[0]);
    if ((parts >> part & 1u) != 0) {
      const std::int64_t own = tile + __popc(parts & ((1u << part) - 1));
      auto stored = static_cast<unsigned>(args.a.masks[own] >> first_value) & 0xfu;
#pragma unroll 1
      for (; stored != 0; stored &= stored - 1) {
        const int k = __ffs(static_cast<int>(stored)) - 1;
        const std::int64_t col = k == 0 ? forms::column_of_first(columns[0]) : columns[k];
        sum += args.a.tiles[own * forms::fma_tile_values(args.a.height) + first_value + k] * b[col * args.ldb];
      }
    }
    tile += __popc(parts);
  }
  return sum;
}

/// All that a warp delivers, multiplied one entry after the other. Not inlined: it is hardly ever called, and inlined
/// it would spill the sums.
template <class T>
[[gnu::noinline]] __device__ void deliver_stored(const fma_tiles_args<T>& args, const fma_place& at, int num_cols) {
  const scalars<T> by = read_scalars(args);
  const T* const b = of_member(args.b, args.batch.b) + at.first_col;
  const forms::fma_block block = args.a.blocks[at.block];
  const int num_rows = args.a.blocks[at.block + 1].first_row - block.first_row;
#pragma unroll 1
  for (int m = 0; m < num_rows; ++m) {
#pragma unroll 1
    for (int n = static_cast<int>(threadIdx.x) % 32; n < num_cols; n += 32) {
      const T sum = by.alpha != T{0} ? multiply_stored(args, at, m, b + n) : T{0};
      store(at.row_of_c(args, block, m) + n * args.c_col_stride, by, sum);
    }
  }
}

}  // namespace bcsc::kernels::cuda
