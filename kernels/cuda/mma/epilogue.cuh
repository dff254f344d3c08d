#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// From a warp's sums to C, or to the workspace where a row block is multiplied in pieces; before that, the sums of the
/// warps that share a row block.
namespace bcsc::kernels::cuda {

/// The sums of the warps that share a row block, added in order by the first of them. Called by the whole thread
/// block.
template <class Shape, int WarpsK>
__device__ void add_up_warps(typename Shape::sums& sums, typename Shape::sum* handed_over, int warp) {
  constexpr int values = Shape::parts * Shape::slab / 4;
  const int k = warp % WarpsK;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  typename Shape::sum* flat = &sums[0][0][0][0];
  const auto place = [&](int from, int i) {
    return handed_over + ((warp / WarpsK * (WarpsK - 1) + from - 1) * values + i) * 32 + lane;
  };
  if (k > 0) {
#pragma unroll
    for (int i = 0; i < values; ++i) *place(k, i) = flat[i];
  }
  __syncthreads();
  if (k == 0) {
    for (int from = 1; from < WarpsK; ++from) {
#pragma unroll
      for (int i = 0; i < values; ++i) flat[i] += *place(from, i);
    }
  }
}

/// Where a warp's sums go: to C, or as they are to the slot of a piece of a row block. T: what lies there.
template <class T>
struct mma_destination {
  T* c;  ///< of row 0, column first_col
  std::int64_t row_stride, col_stride;
  const std::int32_t* row_of;
  std::int64_t first_row;
  int num_rows, num_cols;
  scalars<scalar_of<T>> by;

  __device__ T* row(int m) const {
    const std::int64_t row = row_of != nullptr ? row_of[first_row + m] : first_row + m;
    return c + row * row_stride;
  }
};

/// Whether rows of `to` may be written in vectors of `Vector` values, at most 16 bytes each.
template <int Vector, class T>
__device__ bool takes_vectors(const mma_destination<T>& to) {
  constexpr int bytes = Vector * static_cast<int>(sizeof(T)) < 16 ? Vector * static_cast<int>(sizeof(T)) : 16;
  return to.col_stride == 1 && to.row_stride % Vector == 0 && reinterpret_cast<std::uintptr_t>(to.c) % bytes == 0;
}

/// Whether rows 2i and 2i + 1 of `to` may be written as one, a value beside the other: full sectors of a column-major
/// C.
template <class T>
__device__ bool takes_pairs(const mma_destination<T>& to) {
  return to.row_stride == 1 && to.row_of == nullptr && to.col_stride % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(to.c + to.first_row) % (2 * sizeof(T)) == 0;
}

template <class T>
__device__ mma_destination<T> place_in_c(const mma_tiles_args<T>& args, const mma_place& at,
                                         const forms::mma_tiles_item& item, int num_cols) {
  return {of_member(args.c, args.batch.c) + at.first_col * args.c_col_stride,
          args.c_row_stride,
          args.c_col_stride,
          args.a.row_of,
          item.first_row,
          item.num_rows,
          num_cols,
          read_scalars(args)};
}

template <class T>
__device__ mma_destination<scalar_of<T>> place_in_slot(const mma_tiles_args<T>& args, const mma_place& at,
                                                       const forms::mma_tiles_item& item, int num_cols) {
  using S = scalar_of<T>;
  S* slot = of_member(args.a.partial, args.batch.partials) + item.slot * args.a.height * args.n;
  return {slot + at.first_col, args.n, 1, nullptr, 0, item.num_rows, num_cols, {S{1}, S{0}}};
}

/// A warp's sums where all of its rows and columns exist, follow each other and are written without being read.
template <class T, class Shape>
__device__ void store_whole_tile(const mma_destination<T>& to, const mma_place& at, const typename Shape::sums& sums) {
  constexpr int vector = Shape::vector;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const scalars<scalar_of<T>> by{to.by.alpha, scalar_of<T>{0}, 0};
  T* row = to.c + (to.first_row + 8 * at.first_part + 2 * (lane % 4)) * to.row_stride + lane / 4 * vector;
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part, row += 8 * at.part_step * to.row_stride) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        scalar_of<T> sum[vector];
#pragma unroll
        for (int v = 0; v < vector; ++v) sum[v] = sums[part][p][v / 2][v % 2 * 2 + i];
        store_vector<vector>(row + i * to.row_stride + p * Shape::piece, by, sum);
      }
    }
  }
}

template <class T, class Shape>
__device__ void store_sums(const mma_destination<T>& to, const mma_place& at, const typename Shape::sums& sums) {
  constexpr int vector = Shape::vector;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool by_vector = takes_vectors<vector>(to), by_pair = takes_pairs(to);
  const int end_of_rows = 8 * (at.first_part + at.part_step * (Shape::parts - 1) + 1);
  if (by_vector && to.row_of == nullptr && to.by.beta == scalar_of<T>{0} && to.num_cols >= Shape::slab &&
      end_of_rows <= to.num_rows) {
    return store_whole_tile<T, Shape>(to, at, sums);
  }
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
    const int first = 8 * (at.first_part + at.part_step * part) + 2 * (lane % 4);
    if (by_pair && first + 1 < to.num_rows) {
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
#pragma unroll
        for (int v = 0; v < vector; ++v) {
          const int n = p * Shape::piece + lane / 4 * vector + v;
          const scalar_of<T>* two = &sums[part][p][v / 2][v % 2 * 2];
          if (n < to.num_cols) store_vector<2>(to.row(first) + n * to.col_stride, to.by, two);
        }
      }
      continue;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int m = first + i;
      if (m >= to.num_rows) continue;
      T* row = to.row(m);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        const int n = p * Shape::piece + lane / 4 * vector;
        scalar_of<T> sum[vector];
#pragma unroll
        for (int v = 0; v < vector; ++v) sum[v] = sums[part][p][v / 2][v % 2 * 2 + i];
        if (by_vector && n + vector <= to.num_cols) {
          store_vector<vector>(row + n, to.by, sum);
        } else {
#pragma unroll
          for (int v = 0; v < vector; ++v) {
            if (n + v < to.num_cols) store(row + (n + v) * to.col_stride, to.by, sum[v]);
          }
        }
      }
    }
  }
}

/// Writes the sums of a warp, of `item`, to where they belong.
template <class T, class Shape>
__device__ void deliver_sums(const mma_tiles_args<T>& args, const mma_place& at, const forms::mma_tiles_item& item,
                             const typename Shape::sums& sums) {
  const int num_cols = at.template num_cols<Shape::slab>(args);
  if constexpr (narrow_number<T>) {
    if (item.slot < 0) {
      store_sums<T, Shape>(place_in_c(args, at, item, num_cols), at, sums);
    } else {
      store_sums<scalar_of<T>, Shape>(place_in_slot(args, at, item, num_cols), at, sums);
    }
  } else {
    mma_destination<T> to;
    if (item.slot < 0) {
      to = place_in_c(args, at, item, num_cols);
    } else {
      to = place_in_slot(args, at, item, num_cols);
    }
    store_sums<T, Shape>(to, at, sums);
  }
}

/// The same where nothing is known of the item yet.
template <class T, class Shape>
__device__ void deliver_sums(const mma_tiles_args<T>& args, const mma_place& at, const typename Shape::sums& sums) {
  deliver_sums<T, Shape>(args, at, args.a.items[at.item], sums);
}

}  // namespace bcsc::kernels::cuda
