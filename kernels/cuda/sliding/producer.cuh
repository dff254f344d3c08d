#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/sliding/shape.cuh"
#include "kernels/cuda/sliding/stages.cuh"
#include "kernels/cuda/sliding/window.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// The warps that fill the stages of the sliding kernel: one copies tiles, the others rows of B.
namespace bcsc::kernels::cuda {

/// Fills stages with tiles.
template <class T, class Shape>
class tiles_producer {
 public:
  using numbers = int2;  ///< a lane's group

  __device__ tiles_producer(const mma_tiles_args<T>& args, const sliding_stages<Shape>& stages)
      : args_(args), stages_(stages) {}

  /// Of the stage that begins with `group` of an item whose groups end at `end`.
  __device__ numbers load(int group, int end) const {
    const int own = group + lane();
    return lane() < Shape::depth && own < end ? __ldg(reinterpret_cast<const int2*>(args_.a.groups) + own) : int2{0, 0};
  }

  __device__ void start(int stage, const numbers& group) const {
    const int first_tile = __shfl_sync(0xffffffffu, group.x, 0);
    const int num_tiles = __reduce_add_sync(0xffffffffu, __popc(static_cast<unsigned>(group.y)));
    stages_.wait_until_left(stage - Shape::stages);
    unsigned char* const to = stages_.place(stage);
    if (lane() < Shape::depth) {
      reinterpret_cast<int2*>(to + Shape::groups_at)[lane()] = {group.y != 0 ? group.x - first_tile : 0, group.y};
    }
    const unsigned bytes = static_cast<unsigned>(num_tiles * Shape::tile_bytes);
    arrive_expecting(stages_.filled(stage), bytes);
    if (lane() != 0) return;
    copy_bulk(to, args_.a.tiles + std::int64_t{first_tile} * forms::mma_tile_values, bytes, stages_.filled(stage));
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  const mma_tiles_args<T>& args_;
  const sliding_stages<Shape>& stages_;
};

/// Says of each stage where its rows of B lie, and copies a share of those that are not in the window yet.
template <class T, class Shape>
class rows_producer {
  static constexpr int producers = Shape::row_producers;

 public:
  using numbers = int;  ///< a lane's column

  /// `share`: of the row_producers. `width`: of copied_at_once().
  __device__ rows_producer(const mma_tiles_args<T>& args, const sliding_stages<Shape>& stages, int share,
                           std::int64_t first_col, int width, unsigned char* shared)
      : args_(args),
        stages_(stages),
        share_(share),
        num_cols_(args.n - first_col < Shape::block_slab ? static_cast<int>(args.n - first_col) : Shape::block_slab),
        in_bulk_(width * static_cast<int>(sizeof(T)) == 16 && num_cols_ * static_cast<int>(sizeof(T)) % 16 == 0),
        shared_(shared),
        b_(of_member(args.b, args.batch.b) + first_col) {}

  /// Of the stage that begins with `group` of an item whose groups end at `end`. Behind the last column it is taken
  /// again: the stage reads nothing beyond it.
  __device__ numbers load(int group, int end) const {
    const int last = (end - group) * forms::mma_tile_columns - 1;
    const int own = lane() < Shape::rows ? lane() : 0;
    return __ldg(args_.a.col_ind + std::int64_t{group} * forms::mma_tile_columns + (own < last ? own : last));
  }

  __device__ void start(int stage, const numbers& col) {
    const auto order = window_.take(stage, __reduce_min_sync(0xffffffffu, col), __reduce_max_sync(0xffffffffu, col));
    stages_.wait_until_left(stage - Shape::stages);
    if (order.after > stage - Shape::stages) stages_.wait_until_left(order.after);
    if (share_ == 0 && lane() < Shape::rows) {
      reinterpret_cast<int*>(stages_.place(stage) + Shape::slots_at)[lane()] = order.scattered ? lane() : slot_of(col);
    }
    if (order.scattered) {
      const bool own = lane() < Shape::rows && lane() % producers == share_;
      copy(stage, own ? 1 : 0, [&](int) { return int2{col, lane()}; });
    } else {
      constexpr int step = 32 * producers;
      const int own = producers * lane() + share_, left = order.end - order.first - own;
      copy(stage, left > 0 ? (left + step - 1) / step : 0, [&](int i) {
        const int row = order.first + own + i * step;
        return int2{row, slot_of(row)};
      });
    }
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ int slot_of(int row) { return static_cast<int>(static_cast<unsigned>(row) % Shape::kept); }
  __device__ const T* row_of_b(int row) const {
    return b_ + static_cast<unsigned>(row) * static_cast<std::uint64_t>(args_.ldb);
  }
  __device__ T* in_slot(int slot) const { return reinterpret_cast<T*>(shared_ + slot * Shape::row_bytes); }

  /// Copies this lane's rows of a stage, `count` of them: `row_and_slot(i)` says which.
  template <class RowAndSlot>
  __device__ void copy(int stage, int count, const RowAndSlot& row_and_slot) const {
    if (!in_bulk_) {
      copy_values(count, row_and_slot);
      return stages_.filled(stage).arrive();
    }
    const unsigned bytes = static_cast<unsigned>(num_cols_) * static_cast<unsigned>(sizeof(T));
    const auto rows = static_cast<unsigned>(__reduce_add_sync(0xffffffffu, count));
    arrive_expecting(stages_.filled(stage), bytes * rows);
    __syncwarp();
    for (int i = 0; i < count; ++i) {
      const int2 at = row_and_slot(i);
      copy_bulk(in_slot(at.y), row_of_b(at.x), bytes, stages_.filled(stage));
    }
  }

  /// The same, each row by the whole warp and value by value, and waits for them.
  template <class RowAndSlot>
  __device__ void copy_values(int count, const RowAndSlot& row_and_slot) const {
    const int most = __reduce_max_sync(0xffffffffu, count);
    for (int i = 0; i < most; ++i) {
      const int2 own = i < count ? row_and_slot(i) : int2{0, 0};
      for (unsigned lanes = __ballot_sync(0xffffffffu, i < count); lanes != 0; lanes &= lanes - 1) {
        const int next = __ffs(static_cast<int>(lanes)) - 1;
        const T* const from = row_of_b(__shfl_sync(0xffffffffu, own.x, next));
        T* const to = in_slot(__shfl_sync(0xffffffffu, own.y, next));
        for (int n = lane(); n < num_cols_; n += 32) copy_async<sizeof(T)>(to + n, from + n, sizeof(T));
      }
    }
    wait_for_copies();
  }

  const mma_tiles_args<T>& args_;
  const sliding_stages<Shape>& stages_;
  int share_, num_cols_;
  bool in_bulk_;
  unsigned char* shared_;
  row_window<Shape> window_;
  const T* b_;  ///< row 0, the first column of the slab
};

/// Zeros in what is kept of rows, for the columns past n, which no copy reaches. Called by the whole thread block.
template <class Shape>
__device__ void clear_rows(unsigned char* shared) {
  for (int i = static_cast<int>(threadIdx.x); i < Shape::stages_at / 16; i += Shape::threads) {
    reinterpret_cast<int4*>(shared)[i] = {0, 0, 0, 0};
  }
  show_to_bulk_copies();
}

}  // namespace bcsc::kernels::cuda
