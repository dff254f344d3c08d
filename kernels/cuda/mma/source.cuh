#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// What a lane loads, to registers or to shared memory: column numbers and tiles of A, and its columns of rows of B, as
/// wide as B allows and as far as the slab goes.
namespace bcsc::kernels::cuda {

/// `from` advanced by `count` times `bytes`: one 32-bit multiplication added to the address.
template <class P>
__device__ const P* advance(const P* from, int count, int bytes) {
  return reinterpret_cast<const P*>(reinterpret_cast<const char*>(from) +
                                    std::uint64_t{static_cast<unsigned>(count)} * static_cast<unsigned>(bytes));
}

/// A group of columns, as this lane needs it.
struct mma_group {
  int cols[2];  ///< columns 2t and 2t + 1
  int first_tile;
  unsigned parts;

  __device__ int tile(int part) const { return first_tile + __popc(parts & ((1u << part) - 1)); }
};

/// In place of a width: a column-major B, read where it lies, one value at a time.
inline constexpr int strided = 0;

/// Where a warp reads its operands. Loaded: values of B per load, as its address and ldb allow (at most n), or
/// `strided`. Whole: the slab is full.
template <class T, class Shape, int Loaded, bool Whole>
struct mma_source {
  static constexpr int width = Loaded == strided ? 1 : Loaded;  ///< values of a load
  static constexpr int vector = Shape::vector;
  static constexpr int loads = vector / width;  ///< for this lane's columns of a piece
  using word = typename Shape::word;

  const T* b;                   ///< row 0, the first of this lane's columns
  const int2* cols;             ///< of group 0
  const int2* groups;           ///< forms::mma_tiles_group
  const cache_policy& in_l2;    ///< of the tiles; a reference, so that it is read as the kernel's argument it is
  const T* tiles;               ///< this lane's two values of tile 0
  int prefetched_tiles;         ///< of mma_tiles_operand
  int row_bytes;                ///< from one row of B to the next
  mutable int col_bytes;        ///< and from one column to the next, if strided
  int num_cols;                 ///< of the slab
  int own_col;                  ///< the first of this lane's columns in the slab
  mutable int last, last_load;  ///< the slab's last column and its last whole load, counted from own_col

  __device__ mma_source(const mma_tiles_args<T>& args, std::int64_t first_col, int num_cols)
      : in_l2(args.a.in_l2), num_cols(num_cols), own_col(static_cast<int>(threadIdx.x) % 32 / 4 * vector) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    b = of_member(args.b, args.batch.b) + (first_col + own_col) * args.b_col_stride;
    cols = reinterpret_cast<const int2*>(args.a.col_ind) + lane % 4;
    groups = reinterpret_cast<const int2*>(args.a.groups);
    tiles = args.a.tiles + 2 * lane;
    prefetched_tiles = args.a.prefetched_tiles;
    row_bytes = static_cast<int>(args.ldb) * static_cast<int>(sizeof(T));
    col_bytes = static_cast<int>(args.b_col_stride) * static_cast<int>(sizeof(T));
    last = num_cols - 1 - own_col;
    last_load = (num_cols / width - 1) * width - own_col;
  }

  __device__ mma_group group(int index) const {
    const int2 col = __ldg(advance(cols, index, forms::mma_tile_columns * 4));
    if constexpr (Shape::parts == 1) {
      return {{col.x, col.y}, index, 1u};
    } else {
      const int2 tile = __ldg(advance(groups, index, 8));
      return {{col.x, col.y}, tile.x, static_cast<unsigned>(tile.y)};
    }
  }

  /// This lane's two values of a part's tile; of a part without one those of the tile after, or of the last in memory.
  __device__ const T* tile(const mma_group& group, int part) const {
    return advance(tiles, group.tile(part), forms::mma_tile_values * static_cast<int>(sizeof(T)));
  }

  /// This lane's two values of a part's tile, loaded.
  __device__ void load_tile(word (&to)[Shape::tile_words], const mma_group& group, int part) const {
    load_two(to, tile(group, part), in_l2);
  }

  /// Asks L2 for the tiles behind a group's: as many as it has, since those of the next group are not known yet.
  __device__ void prefetch_tiles_behind(const mma_group& group) const {
    constexpr int bytes = forms::mma_tile_values * static_cast<int>(sizeof(T));
    const int count = Shape::parts == 1 ? 1 : __popc(group.parts), first = group.first_tile + count;
    if (threadIdx.x % 32 != 0 || first + count > prefetched_tiles) return;
    prefetch_l2(advance(tiles, first, bytes), static_cast<std::uint32_t>(count * bytes), in_l2);
  }

  __device__ const T* row(int col) const { return advance(b, col, row_bytes); }

  __device__ bool has_piece(int p) const { return Whole || p * Shape::piece < num_cols; }

  /// Column n, counted from own_col, of a row of B.
  __device__ const T* column(const T* row, int n) const {
    if constexpr (Loaded != strided) return row + n;
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(row) + std::int64_t{n} * col_bytes);
  }

  /// What follows from `last` or `col_bytes` is computed anew for each group: kept, it would take a register for each
  /// load.
  __device__ void forget_offsets() const {
    if constexpr (!Whole) asm volatile("" : "+r"(last), "+r"(last_load));
    if constexpr (Loaded == strided) asm volatile("" : "+r"(col_bytes));
  }

  /// This lane's values of piece p of a row of B. Those past the slab are some others of the row.
  __device__ void load(word (&to)[Shape::words], const T* row, int p) const {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int n = p * Shape::piece + i * width;
      if constexpr (width < values_of_word<T>) {
        const unsigned bits = load_global(&column(row, Whole || n < last_load ? n : last_load)->bits);
        to[i / 2] = i % 2 == 0 ? bits : to[i / 2] | bits << 16;
      } else {
        constexpr int words = words_for<T, width>;
        word some[words];
        load_values<width>(some, 0, column(row, Whole || n < last_load ? n : last_load));
        if (!Whole && width > 1 && n > last_load && n <= last) {  // the slab ends within these values
#pragma unroll
          for (int v = 0; v < width; ++v) {
            if (n + v > last) continue;
            if constexpr (narrow_number<T>) {
              put_value(some, v, row + n + v);
            } else {
              load_vector<1>(some + v, row + n + v);
            }
          }
        }
#pragma unroll
        for (int v = 0; v < words; ++v) to[i * words + v] = some[v];
      }
    }
  }

  /// The same to shared memory, with zeros for those past the slab.
  __device__ void copy(T* to_shared, const T* row, int p) const {
    constexpr int size = static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int n = p * Shape::piece + i * width;
      const int left = Whole ? width : last + 1 - n;
      const int present = left < 0 ? 0 : left < width ? left : width;
      if constexpr (width * size < 4) {  // nothing so small is copied without a register; no other thread reads it
        to_shared[i].bits = present > 0 ? load_global(&row[n].bits) : std::uint16_t{0};
      } else {
        copy_async<width * size>(to_shared + i * width, present > 0 ? row + n : b - own_col, present * size);
      }
    }
  }
};

}  // namespace bcsc::kernels::cuda
