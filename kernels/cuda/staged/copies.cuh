#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/staged/shape.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// What a thread copies to the stages of its thread block: 16 bytes of every few rows of B, always of the same columns,
/// and its share of the tiles.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class staged_copies {
 public:
  /// `end`: of the item's groups. `width`: values of B that may be copied at once, at most 16 bytes.
  __device__ staged_copies(const mma_tiles_args<T>& args, std::int64_t first_col, int end, int width)
      : args_(args), end_(end), width_(width) {
    constexpr int size = static_cast<int>(sizeof(T));
    const std::int64_t own_col = first_col + chunk() * Shape::vector;
    const std::int64_t left = args.n - own_col;
    present_ = left >= Shape::vector ? 16 : left > 0 ? static_cast<int>(left) * size : 0;
    // Nothing is read where none is present, but the address has to be one.
    b_ = of_member(args.b, args.batch.b) + (left > 0 ? own_col : 0);
  }

  /// Starts the copies of the tiles and groups of the stage that begins with `group`.
  __device__ void start_tiles(unsigned char* stage, int group) const {
    const int last = group + Shape::depth < end_ ? group + Shape::depth - 1 : end_ - 1;
    const int2 first_of = group_at(group), last_of = group_at(last);
    const int count = last_of.x + __popc(static_cast<unsigned>(last_of.y)) - first_of.x;
    constexpr int chunks_of_tile = forms::mma_tile_values * static_cast<int>(sizeof(T)) / 16;
    const auto* from =
        reinterpret_cast<const unsigned char*>(args_.a.tiles + std::int64_t{first_of.x} * forms::mma_tile_values);
    for (int i = static_cast<int>(threadIdx.x); i < count * chunks_of_tile; i += Shape::threads) {
      copy_async<16>(stage + Shape::tiles_at + 16 * i, from + 16 * i, 16);
    }
    const int own = static_cast<int>(threadIdx.x);
    if (own < Shape::depth) {
      copy_async<8>(stage + Shape::groups_at + 8 * own, args_.a.groups + (group + own < end_ ? group + own : end_ - 1),
                    8);
    }
  }

  /// Loads the column numbers that start_rows() needs for the stage that begins with `group`. Behind the item's last
  /// group its last column is copied again: no tile meets it, but what lies there has to be a number.
  __device__ void load_columns(int group) {
    if (group >= end_) return;
    const std::int64_t last = std::int64_t{end_} * forms::mma_tile_columns - 1;
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const std::int64_t at = std::int64_t{group} * forms::mma_tile_columns + row(i);
      cols_[i] = __ldg(args_.a.col_ind + (at < last ? at : last));
    }
  }

  /// Starts the copies of the rows of B.
  __device__ void start_rows(unsigned char* stage) const {
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const T* from = b_ + cols_[i] * args_.ldb;
      auto* to = stage + place_of_chunk<Shape>(row(i), chunk());
      if (width_ == Shape::vector) {
        copy_async<16>(to, from, present_);
      } else {
        copy_in_parts(reinterpret_cast<T*>(to), from);
      }
    }
  }

 private:
  static constexpr int rows_at_once = Shape::threads / Shape::chunks;
  static constexpr int own_rows = Shape::rows / rows_at_once;

  static __device__ int chunk() { return static_cast<int>(threadIdx.x) % Shape::chunks; }
  static __device__ int row(int i) { return static_cast<int>(threadIdx.x) / Shape::chunks + i * rows_at_once; }
  __device__ int2 group_at(int group) const { return __ldg(reinterpret_cast<const int2*>(args_.a.groups) + group); }

  /// Rows of B that are not aligned to 16 bytes.
  __device__ void copy_in_parts(T* to, const T* from) const {
    constexpr int size = static_cast<int>(sizeof(T));
#pragma unroll 1
    for (int v = 0; v < Shape::vector; v += width_) {
      const int left = present_ - v * size;
      const T* const at = left > 0 ? from + v : from;
      if (width_ * size == 8) {
        copy_async<8>(to + v, at, left < 0 ? 0 : left < 8 ? left : 8);
      } else if (width_ * size == 4) {
        copy_async<4>(to + v, at, left < 0 ? 0 : left < 4 ? left : 4);
      } else if constexpr (size == 2) {  // nothing so small is copied without a register
        to[v].bits = left > 0 ? load_global(&at->bits) : std::uint16_t{0};
      }
    }
  }

  const mma_tiles_args<T>& args_;
  const T* b_;  ///< row 0, the first of this thread's columns
  int end_, width_;
  int present_;  ///< bytes of this thread's columns that B has
  int cols_[own_rows];
};

}  // namespace bcsc::kernels::cuda
