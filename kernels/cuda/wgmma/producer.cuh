#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/place.cuh"
#include "kernels/cuda/mma/products.cuh"
#include "kernels/cuda/staged/chunk.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/cuda/wgmma/shape.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// What a thread of the producers copies to each stage: 16 bytes of every few rows of B, always of the same columns,
/// and 16 bytes of every few tiles, always of the same rows; zeros where a group has no tile.
namespace bcsc::kernels::cuda {

template <class T, class Shape>
class wgmma_producer {
  static constexpr int threads = 32 * Shape::producers;
  static constexpr int vector = 16 / static_cast<int>(sizeof(T));
  // What all producers copy at once.
  static constexpr int chunks_at_once = Shape::config.copied_chunks();  // of a row of B
  static constexpr int rows_at_once = threads / chunks_at_once;
  static_assert(rows_at_once % 8 == 0, "a thread's chunks lie at the same place of each of its rows");
  static constexpr int chunks_of_tile = Shape::tile_bytes / 16;
  static constexpr int tiles_at_once = threads / chunks_of_tile;
  // What a thread copies of a stage.
  static constexpr int own_rows = Shape::rows / rows_at_once;
  static constexpr int own_chunks = Shape::chunks / chunks_at_once;  // of each row
  static constexpr int own_tiles = Shape::depth * Shape::parts / tiles_at_once;

 public:
  /// `thread`: among the producers. `width`: of copied_at_once().
  __device__ wgmma_producer(const mma_tiles_args<T>& args, unsigned thread, std::int64_t first_col, int width,
                            unsigned char* stages)
      : args_(args),
        num_cols_(args.n - first_col < Shape::block_slab ? static_cast<int>(args.n - first_col) : Shape::block_slab),
        width_(width),
        chunk_(thread % chunks_at_once),
        row_(thread / chunks_at_once),
        tile_(thread / chunks_of_tile),
        stages_(stages),
        own_rows_(stages + Shape::place_of_chunk(row_, chunk_)),
        own_tiles_(stages + Shape::tiles_at + tile_ * Shape::tile_bytes + piece(thread) * 128 +
                   row_of_tile(thread) * 16),
        numbers_(stages + Shape::numbers_at + thread / 32 * Shape::numbers_of_warp),
        tiles_(reinterpret_cast<const unsigned char*>(args.a.tiles) +
               (row_of_tile(thread) * chunks_of_row + piece(thread)) * 16),
        b_(of_member(args.b, args.batch.b) + first_col + chunk_ * vector) {}

  /// Starts the copies of what the warp has to know of the stage that begins with `group` to slot `slot`: its groups,
  /// and which columns of A its rows of B are. `end`: of the item's groups; those behind have no tiles. Behind the last
  /// column it is taken again: no tile meets it, but what lies there has to be a number.
  __device__ void start_numbers(int slot, int group, int end) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned char* const to = numbers_ + slot * Shape::numbers_bytes;
    const int last = (end - group) * forms::mma_tile_columns - 1;
#pragma unroll
    for (int row = lane; row < Shape::rows; row += 32) {
      copy_async<4>(to + 4 * row,
                    args_.a.col_ind + std::int64_t{group} * forms::mma_tile_columns + (row < last ? row : last), 4);
    }
    if (lane < Shape::depth) {
      const bool present = group + lane < end;
      copy_async<8>(to + Shape::groups_at + 8 * lane, args_.a.groups + (present ? group + lane : group),
                    present ? 8 : 0);
    }
  }

  /// Starts the copies of the stage whose numbers lie in `slot` to `place`.
  __device__ void start(int place, int slot) const {
    const unsigned char* const numbers = numbers_ + slot * Shape::numbers_bytes;
    // All reads come before the first copy: the compiler moves none past its asm, so later ones would not overlap.
    int2 groups[own_tiles];
    int cols[own_rows];
#pragma unroll
    for (int i = 0; i < own_tiles; ++i) {
      groups[i] = reinterpret_cast<const int2*>(numbers + Shape::groups_at)[(tile_ + i * tiles_at_once) / Shape::parts];
    }
#pragma unroll
    for (int i = 0; i < own_rows; ++i) cols[i] = reinterpret_cast<const int*>(numbers)[row_ + i * rows_at_once];
    const shared_place to(own_tiles_ + place);
#pragma unroll
    for (int i = 0; i < own_tiles; ++i) {
      const int part = (tile_ + i * tiles_at_once) % Shape::parts;
      const auto parts = static_cast<unsigned>(groups[i].y);
      const std::int64_t tile = groups[i].x + __popc(parts & ((1u << part) - 1));
      copy_async16(to + i * tiles_at_once * Shape::tile_bytes, tiles_ + tile * Shape::tile_bytes,
                   has_part(parts, part));
    }
    if (width_ == vector && num_cols_ == Shape::block_slab) {
      start_rows(place, cols);
    } else {
      start_rows_in_parts(place, cols);
    }
  }

  /// Of the tiles in the stage at `place` that this thread has copied and waited for: the low parts behind them, which
  /// are what the tensor cores, which truncate, leave of a value; in TF32 the rounded values in their place.
  __device__ void split(int place) const {
    if constexpr (sizeof(T) == 4) {
      constexpr int low_parts = (Shape::low_parts_at - Shape::tiles_at) / static_cast<int>(sizeof(float));
#pragma unroll
      for (int i = 0; i < own_tiles; ++i) {
        float* const at = reinterpret_cast<float*>(own_tiles_ + place + i * tiles_at_once * Shape::tile_bytes);
        float value[4];
        read_vector<4>(value, at);
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          if constexpr (Shape::products == 3) value[v] -= __uint_as_float(__float_as_uint(value[v]) & 0xffffe000u);
          value[v] = __uint_as_float(high_bits(value[v]));
        }
        write_shared_vector<4>(Shape::products == 3 ? at + low_parts : at, value);
      }
    }
  }

 private:
  // Rows of a tile are two chunks in fp32, one otherwise: one piece for each. Eight threads that write at once write to
  // all banks.
  static constexpr int chunks_of_row = chunks_of_tile / forms::mma_tile_rows;
  static __device__ unsigned row_of_tile(unsigned thread) { return thread % forms::mma_tile_rows; }
  static __device__ unsigned piece(unsigned thread) { return thread % chunks_of_tile / forms::mma_tile_rows; }

  /// This thread's first columns of a row of B.
  __device__ const T* row_of_b(int col) const {
    return b_ + static_cast<unsigned>(col) * static_cast<std::uint64_t>(args_.ldb);
  }

  __device__ void start_rows(int place, const int (&cols)[own_rows]) const {
    const shared_place to(own_rows_ + place);
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const T* const from = row_of_b(cols[i]);
#pragma unroll
      for (int q = 0; q < own_chunks; ++q) {
        constexpr int between = 16 * chunks_at_once;
        copy_async16(to + (i * rows_at_once * Shape::row_bytes + q * between), from + q * chunks_at_once * vector);
      }
    }
  }

  /// Where rows of B are not aligned to 16 bytes, or the slab is not full: columns past it become zeros.
  __device__ void start_rows_in_parts(int place, const int (&cols)[own_rows]) const {
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const T* const from = row_of_b(cols[i]);
#pragma unroll 1
      for (int chunk = 0; chunk < Shape::chunks; chunk += chunks_at_once) {
        const int at = place + Shape::place_of_chunk(row_ + i * rows_at_once, chunk_ + chunk);
        copy_chunk(reinterpret_cast<T*>(stages_ + at), from + chunk * vector, num_cols_ - (chunk_ + chunk) * vector,
                   width_, args_.b);
      }
    }
  }

  const mma_tiles_args<T>& args_;
  int num_cols_, width_;
  unsigned chunk_, row_, tile_;  ///< this thread's first ones
  unsigned char* stages_;
  unsigned char *own_rows_, *own_tiles_;  ///< their places in the first stage
  unsigned char* numbers_;                ///< the warp's first slot
  const unsigned char* tiles_;            ///< this thread's chunk of tile 0
  const T* b_;                            ///< row 0, the first of this thread's columns
};

}  // namespace bcsc::kernels::cuda
