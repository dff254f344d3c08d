#pragma once

#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/staged/products.cuh"
#include "kernels/cuda/staged/shape.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"

/// A warp's products of one stage.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class staged_step {
  using product = staged_product<T, Shape::products, Shape::steps>;
  static constexpr int groups = product::groups;
  static constexpr unsigned all_parts = (1u << Shape::all_parts) - 1;

 public:
  /// `first_part`, `first_piece`: of the warp. `num_pieces`: of the warp's that lie in C.
  __device__ staged_step(const unsigned char* stage, int first_part, int first_piece, int num_pieces)
      : first_part_(first_part), num_pieces_(num_pieces) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    rows_ = stage + place_of_chunk<Shape>(lane % 4 * 2, first_piece * 8 + lane / 4);
    tiles_ = reinterpret_cast<const T*>(stage + Shape::tiles_at) + 2 * lane;
    groups_ = reinterpret_cast<const int2*>(stage + Shape::groups_at);
  }

  /// Adds the products of the stage's first `num_groups` groups.
  __device__ void add_to(typename Shape::sums& sums, int num_groups) const {
#pragma unroll
    for (int first = 0; first < Shape::depth; first += groups) {
      if (first > 0 && first >= num_groups) break;
      step(sums, first, num_groups);
    }
  }

 private:
  __device__ void step(typename Shape::sums& sums, int first, int num_groups) const {
    unsigned parts[groups];
    const T* tiles[groups];
    unsigned common = all_parts;
    const int first_tile = groups_[0].x;
#pragma unroll
    for (int j = 0; j < groups; ++j) {
      const int2 group = groups_[first + j];
      parts[j] = first + j < num_groups ? static_cast<unsigned>(group.y) : 0;
      tiles[j] = tiles_ + (group.x - first_tile) * forms::mma_tile_values;
      common &= parts[j];
    }
    typename product::left b[Shape::pieces];
#pragma unroll
    for (int p = 0; p < Shape::pieces; ++p) {
      typename Shape::word rows[groups][2][Shape::words];
#pragma unroll
      for (int j = 0; j < groups; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const auto* from = rows_ + (8 * (first + j) + i) * Shape::row_bytes + p * 128;
          read_values<Shape::vector>(rows[j][i], reinterpret_cast<const T*>(from));
        }
      }
      b[p] = product::of_b(rows);
    }
    if (common == all_parts && num_pieces_ == Shape::pieces) {
      add_all(sums, b, tiles);
    } else {
      add_some(sums, b, tiles, parts);
    }
  }

  /// Every tile is there: no branches.
  __device__ void add_all(typename Shape::sums& sums, const typename product::left (&b)[Shape::pieces],
                          const T* const (&tiles)[groups]) const {
#pragma unroll
    for (int i = 0; i < Shape::parts; ++i) {
      typename Shape::word words[groups][Shape::tile_words];
#pragma unroll
      for (int j = 0; j < groups; ++j) {
        read_values<2>(words[j], tiles[j] + (first_part_ + i * Shape::warps_m) * forms::mma_tile_values);
      }
      const auto a = product::of_a(words);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) product::add(sums[i][p], b[p], a);
    }
  }

  __device__ void add_some(typename Shape::sums& sums, const typename product::left (&b)[Shape::pieces],
                           const T* const (&tiles)[groups], const unsigned (&parts)[groups]) const {
    unsigned any = 0;
#pragma unroll
    for (int j = 0; j < groups; ++j) any |= parts[j];
#pragma unroll
    for (int i = 0; i < Shape::parts; ++i) {
      const int part = first_part_ + i * Shape::warps_m;
      if (!has_part(any, part)) continue;
      typename Shape::word words[groups][Shape::tile_words] = {};
#pragma unroll
      for (int j = 0; j < groups; ++j) {
        if (!has_part(parts[j], part)) continue;
        read_values<2>(words[j], tiles[j] + __popc(parts[j] & ((1u << part) - 1)) * forms::mma_tile_values);
      }
      const auto a = product::of_a(words);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        if (p < num_pieces_) product::add(sums[i][p], b[p], a);
      }
    }
  }

  const unsigned char* rows_;  ///< this lane's chunk of the first piece, of its first row
  const T* tiles_;             ///< this lane's two values of the stage's first tile
  const int2* groups_;
  int first_part_, num_pieces_;
};

}  // namespace bcsc::kernels::cuda
