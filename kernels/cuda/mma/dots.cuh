#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"
#include "kernels/tables/mma.hpp"

/// B'C of the rows that a warp has computed (dots_with_b).
namespace bcsc::kernels::cuda {

/// Which configs have an instance for it: those for few columns, where vectors cost as much as products.
template <class T>
constexpr bool leaves_dots(const tables::mma_config& config) {
  return value<T> && config.slab <= 32;
}

/// Leaves a row of sums for each item, from the sums of C that the warp still holds. The dot product is linear in C, so
/// each piece of a row block leaves its own. args.n is a multiple of `vector`: rows of B are loaded in whole vectors.
/// The whole warp takes part.
template <class T, class Shape>
__device__ void leave_dots(const mma_tiles_args<T>& args, const mma_place& at, const typename Shape::sums& sums,
                           double* to) {
  constexpr int vector = Shape::vector;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const forms::mma_tiles_item item = args.a.items[at.item];
  const int num_cols = at.template num_cols<Shape::slab>(args);
  double dots[Shape::pieces][vector] = {};
#pragma unroll
  for (int part = 0; part < Shape::parts; ++part) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int m = forms::mma_tile_rows * part + 2 * (lane % 4) + i;
      if (m >= item.num_rows) continue;
      const std::int64_t stored = item.first_row + m;
      const std::int64_t row = args.a.row_of != nullptr ? args.a.row_of[stored] : stored;
      const T* const b = args.b + row * args.ldb + at.first_col;
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        const int n = p * Shape::piece + lane / 4 * vector;
        if (n >= num_cols) continue;
        T some[vector];
        read_vector<vector>(some, b + n);
#pragma unroll
        for (int v = 0; v < vector; ++v) {
          dots[p][v] += static_cast<double>(some[v]) * static_cast<double>(sums[part][p][v / 2][v % 2 * 2 + i]);
        }
      }
    }
  }
  double* const own = to + at.item * args.n + at.first_col;
#pragma unroll
  for (int p = 0; p < Shape::pieces; ++p) {
    const int n = p * Shape::piece + lane / 4 * vector;
#pragma unroll
    for (int v = 0; v < vector; ++v) {
      double sum = dots[p][v];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (lane % 4 == 0 && n < num_cols) own[n + v] = sum;
    }
  }
}

}  // namespace bcsc::kernels::cuda
