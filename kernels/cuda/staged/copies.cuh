#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/staged/chunk.cuh"
#include "kernels/cuda/staged/shape.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// What a thread copies to the stages of its thread block: 16 bytes of every few rows of B, always of the same columns,
/// and its share of the tiles. Addresses are kept in registers; the compiler would compute them anew for each copy.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class staged_copies {
  static constexpr int size = static_cast<int>(sizeof(T));
  static constexpr int tile_bytes = forms::mma_tile_values * size;
  static constexpr int chunks_at_once = Shape::config.copied_chunks();
  static constexpr int rows_at_once = Shape::threads / chunks_at_once;
  static_assert(rows_at_once % 8 == 0, "a thread's chunks lie at the same place of each of its rows");
  static constexpr int own_chunks = Shape::chunks / chunks_at_once;
  static constexpr int own_rows = Shape::rows / rows_at_once;

 public:
  /// What a thread has to know of a stage before it can start its copies. It is loaded a stage earlier.
  struct numbers {
    int2 last_group;
    int cols[own_rows];
  };

  /// `begin`, `end`: of the item's groups. `width`: values of B that may be copied at once, at most 16 bytes.
  __device__ staged_copies(const mma_tiles_args<T>& args, std::int64_t first_col, int begin, int end, int width,
                           unsigned char* stages)
      : args_(args),
        end_(end),
        width_(width),
        num_cols_(args.n - first_col < Shape::block_slab ? static_cast<int>(args.n - first_col) : Shape::block_slab),
        stages_(stages),
        to_tiles_(stages + Shape::tiles_at + 16 * static_cast<int>(threadIdx.x)),
        to_rows_(stages + place_of_chunk<Shape>(row(0), chunk())),
        b_(of_member(args.b, args.batch.b) + first_col + chunk() * Shape::vector),
        row_bytes_(static_cast<std::uint64_t>(args.ldb) * sizeof(T)),
        cols_(args.a.col_ind + row(0)),
        tiles_(reinterpret_cast<const unsigned char*>(args.a.tiles) + 16 * threadIdx.x) {
    if (begin < end) {
      next_tile_ = group_at(begin).x;
      tiles_ += std::int64_t{next_tile_} * tile_bytes;
    }
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(b_));
#endif
  }

  /// Of the stage that begins with `group`; of none behind the last. Behind the item's last group its last column is
  /// copied again: no tile meets it, but what lies there has to be a number.
  __device__ void load(numbers& of, int group) const {
    if (group >= end_) return;
    of.last_group = group_at((group + Shape::depth < end_ ? group + Shape::depth : end_) - 1);
    const std::int32_t* const from = cols_ + std::int64_t{group} * forms::mma_tile_columns;
    const int last = (end_ - group) * forms::mma_tile_columns - 1 - row(0);
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const int at = i * rows_at_once;
      of.cols[i] = __ldg(from + (at < last ? at : last));
    }
  }

  /// Starts the copies of the tiles and groups of the stage at `place`, which begins with `group`. Stages come in
  /// order.
  __device__ void start_tiles(int place, const numbers& of, int group) {
    constexpr int most = Shape::depth * Shape::all_parts * tile_bytes / 16;
    const int end_tile = of.last_group.x + __popc(static_cast<unsigned>(of.last_group.y));
    const int count = (end_tile - next_tile_) * (tile_bytes / 16) - static_cast<int>(threadIdx.x);
#pragma unroll
    for (int first = 0; first < most; first += Shape::threads) {
      if (first < count) copy_async16(to_tiles_ + (place + 16 * first), tiles_ + 16 * first);
    }
    tiles_ += std::int64_t{end_tile - next_tile_} * tile_bytes;
    next_tile_ = end_tile;
    if (const int own = static_cast<int>(threadIdx.x); own < Shape::depth) {
      copy_async<8>(stages_ + place + Shape::groups_at + 8 * own,
                    args_.a.groups + (group + own < end_ ? group + own : end_ - 1), 8);
    }
  }

  /// Starts the copies of the rows of B.
  __device__ void start_rows(int place, const numbers& of) const {
    if (width_ == Shape::vector && num_cols_ == Shape::block_slab) {
#pragma unroll
      for (int i = 0; i < own_rows; ++i) {
        const auto* const from = reinterpret_cast<const unsigned char*>(row_of_b(of.cols[i]));
#pragma unroll
        for (int q = 0; q < own_chunks; ++q) {
          constexpr int between = 16 * chunks_at_once;
          copy_async16(to_rows_ + (place + i * rows_at_once * Shape::row_bytes + q * between), from + q * between);
        }
      }
    } else {
      start_rows_in_parts(place, of);
    }
  }

 private:
  static __device__ int chunk() { return static_cast<int>(threadIdx.x) % chunks_at_once; }
  static __device__ int row(int i) { return static_cast<int>(threadIdx.x) / chunks_at_once + i * rows_at_once; }
  __device__ int2 group_at(int group) const { return __ldg(reinterpret_cast<const int2*>(args_.a.groups) + group); }
  /// This thread's first columns of a row.
  __device__ const T* row_of_b(int col) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const unsigned char*>(b_) +
                                      static_cast<unsigned>(col) * row_bytes_);
  }

  /// Where rows of B are not aligned to 16 bytes, or the slab is not full: columns past it become zeros.
  __device__ void start_rows_in_parts(int place, const numbers& of) const {
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const T* const from = row_of_b(of.cols[i]);
#pragma unroll 1
      for (int q = 0; q < own_chunks; ++q) {
        const int other_chunk = q * chunks_at_once;
        const int n = other_chunk * Shape::vector;
        T* const to = reinterpret_cast<T*>(stages_ + place + place_of_chunk<Shape>(row(i), chunk() + other_chunk));
        copy_chunk(to, from + n, num_cols_ - chunk() * Shape::vector - n, width_, args_.b);
      }
    }
  }

  const mma_tiles_args<T>& args_;
  int end_, width_, num_cols_;
  unsigned char* stages_;
  shared_place to_tiles_, to_rows_;  ///< this thread's first places in the first stage
  const T* b_;                       ///< row 0, the first of this thread's columns
  std::uint64_t row_bytes_;          ///< from one row of B to the next
  const std::int32_t* cols_;         ///< of group 0, that of this thread's first row
  const unsigned char* tiles_;       ///< this thread's first chunk of next_tile_
  int next_tile_ = 0;                ///< the first of the stage that is to be started next
};

}  // namespace bcsc::kernels::cuda
