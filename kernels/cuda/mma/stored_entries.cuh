#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/finite.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/epilogue.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/narrow.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// Sums that are not finite, and what replaces them: the same product on the plain cores, of stored entries alone,
/// without the zeros between them.
namespace bcsc::kernels::cuda {

/// Whether all sums of this lane are finite.
template <class Shape>
__device__ bool are_finite(const typename Shape::sums& sums) {
  return all_finite<Shape::parts * Shape::slab / 4>(&sums[0][0][0][0]);
}

__device__ inline float widened(float x) { return x; }
__device__ inline double widened(double x) { return x; }
template <narrow_number T>
__device__ float widened(T x) {
  return narrow_pair<T>::widen(x.bits).x;
}

/// The sum of row m of an item times column `b` (of row 0) of B over the stored entries, one after the other.
template <class T>
__device__ scalar_of<T> multiply_stored(const mma_tiles_args<T>& args, const forms::mma_tiles_item& item, int m,
                                        const T* b) {
  const int part = m / forms::mma_tile_rows;
  const int first_value = m % forms::mma_tile_rows * forms::mma_tile_columns;  // in a tile
  scalar_of<T> sum{0};
#pragma unroll 1
  for (int g = item.first_group; g < item.end_group; ++g) {
    const forms::mma_tiles_group group =
        args.a.height == forms::mma_tile_rows ? forms::mma_tiles_group{g, 1u} : args.a.groups[g];
    if (!has_part(group.parts, part)) continue;
    const std::int64_t tile = group.first_tile + __popc(group.parts & ((1u << part) - 1));
    auto stored = static_cast<unsigned>(args.a.masks[tile] >> first_value) & 0xffu;
#pragma unroll 1
    for (; stored != 0; stored &= stored - 1) {
      const int k = __ffs(static_cast<int>(stored)) - 1;
      const T value = args.a.tiles[tile * forms::mma_tile_values + first_value + k];
      const std::int64_t col = args.a.col_ind[std::int64_t{g} * forms::mma_tile_columns + k];
      sum += widened(value) * widened(b[col * args.ldb]);
    }
  }
  return sum;
}

/// All that a warp delivers, multiplied on the plain cores.
template <class T, class Destination>
__device__ void deliver_stored(const mma_tiles_args<T>& args, const mma_place& at, const forms::mma_tiles_item& item,
                               const mma_destination<Destination>& to) {
  const bool reads_a = read_scalars(args).alpha != scalar_of<T>{0};
  const T* const b = of_member(args.b, args.batch.b) + at.first_col * args.b_col_stride;
#pragma unroll 1
  for (int m = 0; m < item.num_rows; ++m) {
    if (!at.has_row(m)) continue;
#pragma unroll 1
    for (int n = static_cast<int>(threadIdx.x) % 32; n < to.num_cols; n += 32) {
      const auto sum = reads_a ? multiply_stored(args, item, m, b + n * args.b_col_stride) : scalar_of<T>{0};
      store(to.row(m) + n * to.col_stride, to.by, sum);
    }
  }
}

/// Not inlined: it is hardly ever called, and inlined it would spill the sums.
template <class T>
[[gnu::noinline]] __device__ void deliver_stored(const mma_tiles_args<T>& args, const mma_place& at, int num_cols) {
  const forms::mma_tiles_item item = args.a.items[at.item];
  if (item.slot < 0) {
    deliver_stored(args, at, item, place_in_c(args, at, item, num_cols));
  } else {
    deliver_stored(args, at, item, place_in_slot(args, at, item, num_cols));
  }
}

}  // namespace bcsc::kernels::cuda
