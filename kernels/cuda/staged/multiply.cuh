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
  /// Where a warp has many sums of 64 bits, pieces past n are multiplied as well, which are zeros: a product takes a
  /// scheduler 32 cycles there, and a test between two of them costs more than it saves.
  static constexpr bool whole_slabs = sizeof(T) == 8 && Shape::parts * Shape::pieces >= 8;

 public:
  /// `first_part`, `first_piece`: of the warp, which takes every warps_k-th step from the k-th on. `num_pieces`: of the
  /// warp's that lie in C.
  __device__ staged_step(const unsigned char* stages, int k, int first_part, int first_piece, int num_pieces)
      : stages_(stages), first_group_(k * groups), first_part_(first_part), num_pieces_(num_pieces) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    rows_ = place_of_chunk<Shape>(8 * first_group_ + lane % 4 * 2, first_piece * 8 + lane / 4);
    tiles_ = Shape::tiles_at + 2 * lane * static_cast<int>(sizeof(T));
  }

  /// Adds the products of the stage at `place`, of its first `num_groups` groups if it holds more.
  __device__ void add_to(typename Shape::sums& sums, int place, int num_groups) const {
#pragma unroll
    for (int first = 0; first < Shape::depth; first += groups * Shape::warps_k) {
      if ((first > 0 || Shape::warps_k > 1) && first + first_group_ >= num_groups) break;
      step(sums, place, first, num_groups);
    }
  }

 private:
  static constexpr int tile_bytes = forms::mma_tile_values * static_cast<int>(sizeof(T));

  __device__ void step(typename Shape::sums& sums, int place, int first, int num_groups) const {
    const auto* const groups_of_stage = reinterpret_cast<const int2*>(stages_ + place + Shape::groups_at);
    unsigned parts[groups];
    int tiles[groups];  // this lane's two values of each group's first tile
    unsigned common = all_parts;
    const int first_tile = groups_of_stage[0].x;
#pragma unroll
    for (int j = 0; j < groups; ++j) {
      const int2 group = groups_of_stage[first_group_ + first + j];
      parts[j] = first_group_ + first + j < num_groups ? static_cast<unsigned>(group.y) : 0;
      tiles[j] = place + tiles_ + (group.x - first_tile) * tile_bytes;
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
          const int from = place + rows_ + (8 * (first + j) + i) * Shape::row_bytes + p * 128;
          read_values<Shape::vector>(rows[j][i], reinterpret_cast<const T*>(stages_ + from));
        }
      }
      b[p] = product::of_b(rows);
    }
    if (!whole_slabs && common == all_parts && num_pieces_ == Shape::pieces) {
      add_all(sums, b, tiles);
    } else {
      add_some(sums, b, tiles, parts);
    }
  }

  /// Every tile is there: no branches.
  __device__ void add_all(typename Shape::sums& sums, const typename product::left (&b)[Shape::pieces],
                          const int (&tiles)[groups]) const {
#pragma unroll
    for (int i = 0; i < Shape::parts; ++i) {
      typename Shape::word words[groups][Shape::tile_words];
#pragma unroll
      for (int j = 0; j < groups; ++j) {
        read_tile(words[j], tiles[j] + first_part_ * tile_bytes + i * Shape::warps_m * tile_bytes);
      }
      const auto a = product::of_a(words);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) product::add(sums[i][p], b[p], a);
    }
  }

  __device__ void add_some(typename Shape::sums& sums, const typename product::left (&b)[Shape::pieces],
                           const int (&tiles)[groups], const unsigned (&parts)[groups]) const {
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
        read_tile(words[j], tiles[j] + __popc(parts[j] & ((1u << part) - 1)) * tile_bytes);
      }
      const auto a = product::of_a(words);
#pragma unroll
      for (int p = 0; p < Shape::pieces; ++p) {
        if (whole_slabs || p < num_pieces_) product::add(sums[i][p], b[p], a);
      }
    }
  }

  __device__ void read_tile(typename Shape::word (&words)[Shape::tile_words], int place) const {
    read_values<2>(words, reinterpret_cast<const T*>(stages_ + place));
  }

  const unsigned char* stages_;
  int rows_;   ///< in a stage: this lane's chunk of the first piece, of its first row
  int tiles_;  ///< this lane's two values of the first tile
  int first_group_, first_part_, num_pieces_;
};

}  // namespace bcsc::kernels::cuda
