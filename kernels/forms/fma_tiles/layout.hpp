#pragma once

#include <cstdint>

/// FMA tiles: the form of A that the plain cores multiply by tiles held in registers. It is made once
/// (kernels/forms/fma_tiles/fma_tiles.hpp) and read by the kernel (kernels/forms/fma_tiles/operand.hpp).
///
/// Row blocks of up to 16 consecutive rows, in up to four *parts* of one to four rows: rows that share their columns,
/// as the unknowns of a node do. The non-empty columns of a row block are taken in *steps* of four, those that reach
/// the same parts beside each other. A step has its column numbers, the parts that they reach and, for each of those, a
/// tile: part_rows x 4 values, row-major, zeros included. So a row of B is fetched once for a row block, and a tile of
/// three rows of nodes with three unknowns has hardly a zero, where one of 8 x 8 is half empty.
///
/// The last step of a row block is padded with its last column and zeros in the tiles.
///
/// Each tile has a mask that distinguishes stored entries, explicit zeros included, from padding: non-finite values of
/// B are multiplied by stored entries alone (kernels/cuda/fma.cuh).
namespace bcsc::forms {

inline constexpr int fma_step_columns = 4;
inline constexpr int max_fma_parts = 4;  ///< of a row block
inline constexpr int max_fma_height = 16;
/// Columns of A that fit beside the parts of a step.
inline constexpr std::int64_t max_fma_columns = std::int64_t{1} << 28;

/// Behind the last of each there are as many more, which a kernel may fetch in advance.
inline constexpr int spare_fma_steps = 3;
inline constexpr int spare_fma_tiles = 32;

/// Rows of a part, and parts, of row blocks of `height` rows.
constexpr int fma_part_rows(std::int64_t height) {
  return static_cast<int>((height + max_fma_parts - 1) / max_fma_parts);
}
constexpr int fma_parts(std::int64_t height) {
  return static_cast<int>((height + fma_part_rows(height) - 1) / fma_part_rows(height));
}
/// Values of a tile.
constexpr int fma_tile_values(std::int64_t height) { return fma_part_rows(height) * fma_step_columns; }

/// Four columns, and in the upper bits of the first which parts have a tile (bit p of four: rows p part_rows ...).
struct alignas(16) fma_step {
  std::uint32_t columns[fma_step_columns];
};
constexpr std::uint32_t fma_first_column(std::uint32_t column, unsigned parts) { return column | parts << 28; }
constexpr std::uint32_t column_of_first(std::uint32_t first) { return first & 0x0fffffffu; }
constexpr unsigned parts_of_first(std::uint32_t first) { return first >> 28; }

/// Where a row block begins: its tiles, its steps, its rows. The next one's is its end.
struct alignas(16) fma_block {
  std::int32_t first_tile, first_step, first_row, reserved;
};

}  // namespace bcsc::forms
