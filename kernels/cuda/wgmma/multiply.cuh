#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/vectors.cuh"
#include "kernels/cuda/wgmma/products.cuh"
#include "kernels/cuda/wgmma/shape.cuh"
#include "kernels/cuda/wgmma_instructions.cuh"

/// A consumer's products of one stage: its columns of B times the tiles of all parts.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class wgmma_step {
  using product = wgmma_product<T, Shape>;
  /// From a piece of 16 bytes of k to the next: the other half of a tile, or the next group's tile.
  static constexpr int k_bytes = sizeof(T) == 4 ? Shape::tile_bytes / 2 : Shape::group_bytes;

 public:
  /// `first_col`: of the warp, in the thread block's slab.
  __device__ wgmma_step(const unsigned char* stages, int first_col)
      : stages_(stages),
        tiles_(stages + Shape::tiles_at, k_bytes, Shape::tile_bytes),
        byte_((first_col + static_cast<int>(threadIdx.x) % 32 / 4 * Shape::vector) * static_cast<int>(sizeof(T))) {}

  static constexpr int num_products = Shape::depth / Shape::groups_of_product;
  using rows_of_b = typename product::left[num_products][Shape::steps];
  using products = float[Shape::steps][Shape::parts][4];

  /// This lane's part of the rows of B in the stage at `place`.
  __device__ void load(rows_of_b& b, int place) const {
#pragma unroll
    for (int k = 0; k < num_products; ++k) {
      typename Shape::word rows[product::rows][Shape::words];
#pragma unroll
      for (int i = 0; i < product::rows; ++i) read_row(rows[i], place, k * Shape::groups_of_product, i);
#pragma unroll
      for (int step = 0; step < Shape::steps; ++step) b[k][step] = product::of_b(rows, step);
    }
  }

  /// Starts the products of them and the tiles, summed from zero, the low parts first: what is lost where the tensor
  /// cores truncate grows with the sum. Another warpgroup may start its own before the last of them.
  template <class Turn>
  __device__ void start(products& sums, rows_of_b& b, int place, Turn& turn) const {
#pragma unroll
    for (int k = 0; k < num_products; ++k) {
#pragma unroll
      for (int step = 0; step < Shape::steps; ++step) product::settle(b[k][step]);
    }
    turn.wait();
    begin_products();
    if constexpr (Shape::products == 3) {
#pragma unroll
      for (int k = 0; k < num_products; ++k) {
#pragma unroll
        for (int step = 0; step < Shape::steps; ++step) {
          product::add_low(sums[step], b[k][step], tiles_of(place, k), k > 0);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < num_products; ++k) {
      if (k == num_products - 1) turn.pass_on();
#pragma unroll
      for (int step = 0; step < Shape::steps; ++step) {
        product::add(sums[step], b[k][step], tiles_of(place, k), Shape::products == 3 || k > 0);
      }
    }
    end_products();
  }

  /// Waits for them, and adds them.
  __device__ void add_to(typename Shape::sums& sums, products& from) const {
    wait_for_products();
#pragma unroll
    for (int step = 0; step < Shape::steps; ++step) {
      take_products(from[step]);
#pragma unroll
      for (int part = 0; part < Shape::parts; ++part) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[part][0][step][i] += from[step][part][i];
      }
    }
  }

 private:
  __device__ wgmma_tiles tiles_of(int place, int k) const {
    return tiles_ + (place + k * Shape::groups_of_product * Shape::group_bytes);
  }

  __device__ void read_row(typename Shape::word (&to)[Shape::words], int place, int group, int i) const {
    const int row = 8 * group + product::row(static_cast<int>(threadIdx.x) % 4, i);
    const int from = place + Shape::place_of_chunk(row, byte_ / 16) + byte_ % 16;
    read_values<Shape::vector>(to, reinterpret_cast<const T*>(stages_ + from));
  }

  const unsigned char* stages_;
  wgmma_tiles tiles_;  ///< of the first stage
  int byte_;           ///< this lane's first column in a row of B
};

}  // namespace bcsc::kernels::cuda
