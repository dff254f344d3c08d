#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/mma/products.cuh"
#include "kernels/cuda/wgmma/shape.cuh"
#include "kernels/cuda/wgmma_instructions.cuh"

/// A lane's part of the products of 64 columns of B and the tiles of a group, or of two where values have 16 bits.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
struct wgmma_product {
  static constexpr int rows = 2;
  /// The i-th row of B in a group that a lane reads: k is t, and t + 4.
  static __device__ int row(int t, int i) { return t + 4 * i; }

  struct left {
    unsigned high[4], low[4];
  };
  static __device__ left of_b(const float (&b)[rows][Shape::words], int step) {
    left to;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = b[i / 2][2 * step + i % 2];
      to.high[i] = high_bits(x);
      to.low[i] = low_bits(x, to.high[i]);
    }
    return to;
  }
  static __device__ void settle(left& b) {
    settle_operand(b.high);
    if constexpr (Shape::products == 3) settle_operand(b.low);
  }
  /// `adds`: to what the sums hold.
  static __device__ void add_low(float (&sums)[Shape::parts][4], const left& b, wgmma_tiles tiles, bool adds) {
    multiply_by_warpgroup(T{}, sums, b.low, tiles, adds);
    multiply_by_warpgroup(T{}, sums, b.high, tiles + (Shape::low_parts_at - Shape::tiles_at), true);
  }
  static __device__ void add(float (&sums)[Shape::parts][4], const left& b, wgmma_tiles tiles, bool adds) {
    multiply_by_warpgroup(T{}, sums, b.high, tiles, adds);
  }
};

template <narrow_number T, class Shape>
struct wgmma_product<T, Shape> {
  static constexpr int rows = 4;
  /// k is 2t and 2t + 1 of the first group, then of the second.
  static __device__ int row(int t, int i) { return i / 2 * forms::mma_tile_columns + 2 * t + i % 2; }

  struct left {
    unsigned value[4];
  };
  static __device__ left of_b(const unsigned (&b)[rows][Shape::words], int step) {
    left to;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to.value[i] = __byte_perm(b[i / 2 * 2][step], b[i / 2 * 2 + 1][step], i % 2 == 0 ? 0x5410 : 0x7632);
    }
    return to;
  }
  static __device__ void settle(left& b) { settle_operand(b.value); }
  static __device__ void add(float (&sums)[Shape::parts][4], const left& b, wgmma_tiles tiles, bool adds) {
    multiply_by_warpgroup(T{}, sums, b.value, tiles, adds);
  }
};

}  // namespace bcsc::kernels::cuda
