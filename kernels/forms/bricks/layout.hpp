#pragma once

#include <cstdint>

/// Bricks: the form of A for matrices of grids, whose neighbouring rows read the same rows of B. It is made once
/// (kernels/forms/bricks/bricks.hpp) and read by the kernel (kernels/forms/bricks/operand.hpp).
///
/// A brick is a run of pieces of rows from a row stream (kernels/forms/row_stream/row_stream.hpp), of a grid those of a
/// box of nodes; a thread block multiplies it. It is cut into *layers* of up to 64 pieces, of a grid a plane of the box
/// or two lines, and the thread block has *slots* in shared memory, each for a row of B. A layer lists the rows of B
/// that it reads and the layer before it has not read, with the slots they come into; all others stand in their slots
/// already. So each row of B is copied once for a brick, but for those of its surface, and an entry refers to a slot by
/// 16 bits.
///
/// Slots: a row of B that the layer before has read, too, stays where it is; the others take, in the order of their
/// columns, the first slots that the layer before does not use. So a layer's rows may be copied while the one before it
/// is multiplied.
///
/// All that belongs to a layer begins on a 16-byte boundary and is padded to one with zeros, which kernels do not use.
namespace bcsc::forms {

inline constexpr int max_layer_rows = 64;
inline constexpr int max_brick_slots = 1280;

/// What a layer may copy and hold where there are `slots` slots, a multiple of 40. At 320: 224 rows of B, as many as a
/// plane of 8 x 8 nodes reads with seven points, and 7 entries for each of its rows.
constexpr int max_fetches_for(int slots) { return slots / 10 * 7; }
constexpr int max_entries_for(int slots) { return slots / 5 * 7; }
/// Two neighbouring pieces of this many entries fit, whatever their columns are.
constexpr int max_piece_for(int slots) { return slots / 2; }

/// Where a layer's parts begin, and how much there is of each.
struct alignas(16) brick_layer {
  std::uint32_t first_row;    ///< in the array of brick_row: its rows, and one behind them
  std::uint32_t first_fetch;  ///< in the array of brick_fetch
  std::uint32_t first_entry;  ///< in those of slots and values
  std::uint32_t sizes;        ///< num_rows, num_fetches << 8, num_entries << 20

  constexpr int num_rows() const { return static_cast<int>(sizes & 0xffu); }
  constexpr int num_fetches() const { return static_cast<int>(sizes >> 8 & 0xfffu); }
  constexpr int num_entries() const { return static_cast<int>(sizes >> 20); }
  friend bool operator==(const brick_layer&, const brick_layer&) = default;
};
constexpr std::uint32_t layer_sizes(int num_rows, int num_fetches, int num_entries) {
  return static_cast<std::uint32_t>(num_rows) | static_cast<std::uint32_t>(num_fetches) << 8 |
         static_cast<std::uint32_t>(num_entries) << 20;
}

/// A piece of a row. It ends where the next one begins; the one behind a layer's last only says where that is.
struct alignas(8) brick_row {
  std::int32_t row;           ///< of C; of a piece of a heavy row the piece's number
  std::uint16_t first_entry;  ///< in the layer
  std::uint16_t own_slot;  ///< of the row of B with the number of the row of C; no_slot if the layer does not read it
  friend bool operator==(const brick_row&, const brick_row&) = default;
};
inline constexpr std::uint16_t no_slot = 0xffff;

/// A row of B to be copied.
struct alignas(8) brick_fetch {
  std::int32_t col, slot;
  friend bool operator==(const brick_fetch&, const brick_fetch&) = default;
};

/// What stands in 16 bytes: everything is padded to whole ones.
inline constexpr int brick_row_grain = 2, brick_fetch_grain = 2, brick_entry_grain = 8;

}  // namespace bcsc::forms
