#pragma once

#include <cstdint>

#include "kernels/forms/column_group.hpp"

/// MMA tiles: the form of A that the tensor cores multiply. It is made once (kernels/forms/mma_tiles/mma_tiles.hpp) and
/// read by the kernels (kernels/forms/mma_tiles/operand.hpp); what both share is here.
///
/// Row blocks of up to 128 consecutive rows; in each, the non-empty columns in groups of 8, best ordered by which of
/// the block's 8-row parts they reach. A group has its 8 column numbers and, for each 8-row part that one of them
/// reaches, a tile: 8 x 8 values, row-major, zeros included. So a row of B is fetched once for up to 128 rows of A,
/// while only the zeros of 8 x 8 tiles are multiplied.
///
/// The last group of a row block is padded with its last column and zeros in the tiles: B is then read where the block
/// reads it anyway, and no kernel has to test.
///
/// Each tile has a mask of 64 bits that distinguishes stored entries, explicit zeros included, from padding: non-finite
/// values of B are multiplied by stored entries alone (kernels/cuda/mma.cuh).
namespace bcsc::forms {

inline constexpr int mma_tile_rows = 8;     ///< of a tile
inline constexpr int mma_tile_columns = 8;  ///< of a group
inline constexpr int mma_tile_values = mma_tile_rows * mma_tile_columns;
inline constexpr int max_mma_tile_parts = 16;  ///< 8-row parts of a row block

/// One more tile follows the groups' tiles; it may be read for a part without a tile.
inline constexpr int spare_tiles = 1;

/// A group of eight columns.
using mma_tiles_group = column_group;

/// What one warp, or one thread block, multiplies: a row block, or a piece of one that has many groups.
struct alignas(16) mma_tiles_item {
  std::int32_t first_group, end_group;
  std::int32_t first_row;
  std::int32_t num_rows;  ///< of the row block
  std::int32_t slot;      ///< -1: the item is the whole row block; else where its partial sums go
  std::int32_t reserved[3];
};

/// A row block of which pieces have been multiplied: its result is the sum of slots first_slot, first_slot + 1, ...
struct alignas(16) mma_tiles_sum {
  std::int32_t first_row, num_rows;
  std::int32_t first_slot, num_slots;
};

}  // namespace bcsc::forms
