#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/mma_tiles/layout.hpp"

namespace bcsc::forms {

/// A in MMA tiles, on the host; kernels/forms/mma_tiles/layout.hpp says what they are.
template <number T>
struct mma_tiles_matrix {
  std::int64_t rows = 0, cols = 0;
  std::int64_t height = 8;
  std::vector<mma_tiles_item> items;    ///< by row
  std::vector<mma_tiles_group> groups;  ///< by row block
  std::vector<std::int32_t> col_ind;    ///< [8 * groups]
  std::vector<T> tiles;                 ///< [64 * (tiles + spare_tiles)]
  std::vector<std::uint64_t> masks;     ///< [tiles] bit 8 r + c: an entry in row r, column c
  std::vector<mma_tiles_sum> sums;      ///< the row blocks in several pieces
  std::int64_t num_slots = 0;           ///< the pieces of those

  std::int64_t num_groups() const { return static_cast<std::int64_t>(groups.size()); }
  std::int64_t num_tiles() const { return static_cast<std::int64_t>(tiles.size()) / mma_tile_values - spare_tiles; }
  /// Of all its arrays.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(items.size() * sizeof(items[0]) + groups.size() * sizeof(groups[0]) +
                                     col_ind.size() * sizeof(col_ind[0]) + tiles.size() * sizeof(T) +
                                     masks.size() * sizeof(masks[0]) + sums.size() * sizeof(sums[0]));
  }
};

struct mma_tiles_options {
  std::int64_t max_groups = 0;  ///< a row block of more groups than this is split into even pieces; 0: none is
  /// Columns that reach the same parts of their row block are adjacent, which makes the fewest tiles. Otherwise they
  /// keep the order of `a`: row blocks that are multiplied concurrently then read the same rows of B at about the same
  /// time.
  bool by_parts = true;
  std::int64_t max_whole = 0;  ///< none is split if no row block has more groups than this
};

/// How `mma` cuts a matrix of `nnzc` non-empty columns: a row block of many groups would be multiplied by one warp long
/// after the others are done. But adding up pieces takes a second kernel, about as long as a warp takes for ten groups,
/// so nothing is cut unless a row block is more than twice as long as a piece (docs/history, 129).
constexpr mma_tiles_options mma_cut_for(std::int64_t nnzc) {
  const std::int64_t groups = (nnzc + mma_tile_columns - 1) / mma_tile_columns;
  const std::int64_t piece = groups / 2000 > 16 ? groups / 2000 : 16;
  return {.max_groups = piece, .max_whole = 2 * piece};
}

/// max_groups where a thread block multiplies an item by the columns of one of `tiles` tiles of C: where there are not
/// enough of those for the multiprocessors of a GPU, row blocks are cut into pieces that are all about as long. A row
/// block that is a little longer than the mean gets no extra piece: one beyond the last multiprocessor would take a
/// second wave.
constexpr std::int64_t max_staged_groups_for(std::int64_t nnzc, std::int64_t num_row_blocks, std::int64_t tiles) {
  constexpr std::int64_t multiprocessors = 132;
  constexpr std::int64_t fewest = 32;  // groups that are worth partial sums
  const std::int64_t blocks = num_row_blocks > 0 ? num_row_blocks : 1;
  const std::int64_t groups = (nnzc + mma_tile_columns - 1) / mma_tile_columns;
  const std::int64_t pieces =
      blocks < multiprocessors && tiles < multiprocessors / blocks ? multiprocessors / (blocks * tiles) : 1;
  // mean / (pieces - 1/2), or twice the mean.
  const std::int64_t halves = pieces > 1 ? blocks * (2 * pieces - 1) : blocks;
  const std::int64_t most = (2 * groups + halves - 1) / halves;
  return most > fewest ? most : fewest;
}

/// The row blocks are those of `a`, of at most 128 rows; height is the smallest of 8, 16, ..., 128 that holds m_block.
/// Parallel; the result does not depend on the threads. Throws error{invalid_argument | size_overflow | out_of_memory |
/// wrong_memory_space}. `a` is assumed to hold its format's invariants.
template <number T, index I>
mma_tiles_matrix<T> to_mma_tiles(const compact_bcsc_view<T, I>& a, const mma_tiles_options& options = {});

/// The smallest of 8, 16, 32, 64 and 128 that holds m_block.
constexpr std::int64_t height_of_mma_tiles(std::int64_t m_block) {
  std::int64_t height = mma_tile_rows;
  while (height < m_block) height *= 2;
  return height;
}
/// Throws error{invalid_argument | size_overflow} for a matrix that MMA tiles cannot hold.
void check_mma_tiles(std::int64_t rows, std::int64_t cols, std::int64_t m_block, const mma_tiles_options& options);

/// MMA tiles on a GPU.
template <number T>
struct device_mma_tiles {
  std::int64_t rows = 0, cols = 0, height = 8, num_slots = 0;
  core::device_buffer<mma_tiles_item> items;
  core::device_buffer<mma_tiles_group> groups;
  core::device_buffer<std::int32_t> col_ind;
  core::device_buffer<T> tiles;
  core::device_buffer<std::uint64_t> masks;
  core::device_buffer<mma_tiles_sum> sums;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(items.bytes() + groups.bytes() + col_ind.bytes() + tiles.bytes() + masks.bytes() +
                                     sums.bytes());
  }
};

/// Returns when the copy is done.
template <number T>
device_mma_tiles<T> upload(int device, const mma_tiles_matrix<T>& a) {
  return {a.rows,
          a.cols,
          a.height,
          a.num_slots,
          {device, std::span<const mma_tiles_item>(a.items)},
          {device, std::span<const mma_tiles_group>(a.groups)},
          {device, std::span<const std::int32_t>(a.col_ind)},
          {device, std::span<const T>(a.tiles)},
          {device, std::span<const std::uint64_t>(a.masks)},
          {device, std::span<const mma_tiles_sum>(a.sums)}};
}

/// The same MMA tiles, made on the GPU: bit-equal to the host's. `a` lies on the device. As device_compact.hpp: work on
/// the default stream, complete on return, error{no_device} in a build without CUDA.
///
/// Method: a stable radix sort of the columns by row block and the parts that they reach, sums of groups and tiles,
/// then a warp for each group. Reads A once, writes the MMA tiles once, and waits twice for sizes. Temporary memory: 6
/// bytes per column; 28 more, and what the sort takes, where row blocks have more than 8 rows. Throws
/// error{invalid_argument | wrong_memory_space | size_overflow | out_of_memory | cuda_error}.
template <number T>
device_mma_tiles<T> to_mma_tiles_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                           const mma_tiles_options& options = {});

}  // namespace bcsc::forms
