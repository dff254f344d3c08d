#pragma once

#include <cstdint>

#include "kernels/forms/row_slices/layout.hpp"

/// How row blocks that stand side by side lie in memory: what kernels/forms/block_slices/block_slices.hpp writes and
/// the GPU's sliced kernel reads.
namespace bcsc::forms {

/// Lanes of a slice: a warp.
inline constexpr int block_slice_lanes = 32;

/// A lane's step names its column and which rows of the row block have an entry there, in one word: the column below,
/// a bit for each row above. A word without a row is 0: the lane has no entry in that step.
inline constexpr int slice_column_bits = 28;
inline constexpr int max_slice_height = 32 - slice_column_bits;
inline constexpr std::int64_t max_slice_columns = std::int64_t{1} << slice_column_bits;

constexpr std::uint32_t slice_word(std::int64_t column, unsigned rows) {
  return static_cast<std::uint32_t>(column) | rows << slice_column_bits;
}
constexpr std::uint32_t column_of_word(std::uint32_t word) { return word & ((1u << slice_column_bits) - 1); }
constexpr std::uint32_t rows_of_word(std::uint32_t word) { return word >> slice_column_bits; }

/// Steps that the lanes of a warp take together. First come the diagonals, if there are any, then the gathers, whose
/// lanes have a word each; both have a value for each lane and row of its row block. Without diagonals a slice is as
/// long as its longest lane, and column k of a row block belongs to lane `part * blocks + its place`, with part = k %
/// lanes of a row block.
struct alignas(16) block_slice {
  std::int32_t first_step;   ///< times height * 32 in values
  std::int32_t num_steps;    ///< of all lanes, diagonals and gathers
  std::int32_t first_block;  ///< of one and neighbours; listed: where its row blocks begin in the list
  slice_rows rows;           ///< one: the row block has all lanes
  std::uint8_t reserved;
  std::uint16_t num_diagonals;  ///< neighbours with a lane each
  friend bool operator==(const block_slice&, const block_slice&) = default;
};

/// A step on which lane i has column `column` + i * height, and all rows, if bit i of `lanes` is set, else no entry.
struct alignas(8) slice_diagonal {
  std::int32_t column;  ///< negative where the first lanes have none
  std::uint32_t lanes;
  friend bool operator==(const slice_diagonal&, const slice_diagonal&) = default;
};

/// So many lanes are a diagonal: 20 of 32, as five eighths on a CPU where A is streamed (docs/history, 65).
inline constexpr int least_lanes_of_diagonal = 20;

/// Whether a slice takes fewer bytes with its diagonals; `value_bytes` of a lane at a step.
constexpr bool diagonals_pay(std::int64_t diagonals, std::int64_t gathers, std::int64_t longest,
                             std::int64_t value_bytes) {
  constexpr std::int64_t of_diagonal = sizeof(slice_diagonal), of_words = block_slice_lanes * sizeof(std::uint32_t);
  const std::int64_t of_values = block_slice_lanes * value_bytes;
  return diagonals > 0 && diagonals <= 0xffff &&
         diagonals * (of_values + of_diagonal) + gathers * (of_values + of_words) < longest * (of_values + of_words);
}

/// Row blocks of more columns than this have a slice each: they would be the longest of their slice by far.
constexpr std::int64_t longest_shared_block(std::int64_t nnzc, std::int64_t num_blocks) {
  constexpr std::int64_t least = 64;
  const std::int64_t longest = 4 * (num_blocks > 0 ? nnzc / num_blocks : 0);
  return longest > least ? longest : least;
}

/// Row blocks with a slice each and more columns than this come first, and a thread block's warps share each of them:
/// a single warp would finish long after the others (docs/history, 126).
inline constexpr std::int64_t longest_of_warp = 8 * block_slice_lanes;
/// They are sorted by their steps, the most first. Beyond so many they count as equal.
inline constexpr std::int64_t most_sorted_steps = 1 << 16;
/// Those of more columns than this a cluster of thread blocks may share.
inline constexpr std::int64_t longest_of_thread_block = 128 * block_slice_lanes;
/// Whether it does: where the longest has as many steps as a multiprocessor of an H200 gets of all `num_steps` of all
/// tiles of columns, so that a thread block would finish it long after the others. Elsewhere it costs up to a third,
/// since all thread blocks are scheduled in clusters then (docs/history, 133). Counted in that GPU's multiprocessors on
/// every GPU, for it decides in which order sums are added up.
constexpr bool clusters_pay(std::int64_t num_longest, std::int64_t longest_steps, std::int64_t num_steps,
                            std::int64_t num_tiles) {
  constexpr double multiprocessors = 132;
  const double all = static_cast<double>(num_steps) * static_cast<double>(num_tiles);
  return num_longest > 0 && multiprocessors * static_cast<double>(longest_steps) >= all;
}

/// Long row blocks are sorted by this, the smallest first.
constexpr std::int64_t long_block_key(std::int64_t columns) {
  const std::int64_t steps = (columns + block_slice_lanes - 1) / block_slice_lanes;
  return steps < most_sorted_steps ? most_sorted_steps - steps : 0;
}

/// Whether a slice of so many steps on average takes a warp, for one column, hardly longer than a thread block takes to
/// start: then as few thread blocks as run at once take 3 to 15 % less time, of longer slices up to 10 % more
/// (docs/history, 133).
constexpr bool slices_are_short(double steps_of_slice) { return steps_of_slice <= 4; }

/// How row blocks become slices.
struct slicing {
  int lanes = 1;                 ///< of a row block that shares a slice: 1, 2, 4 or 8
  bool several_columns = false;  ///< of B are multiplied at once
  friend bool operator==(const slicing&, const slicing&) = default;
};

/// For a config that takes `columns_at_once` columns of a row block at a step, for `tile_cols` columns of B.
constexpr slicing slicing_for(int columns_at_once, int tile_cols) { return {columns_at_once, tile_cols > 1}; }

/// Whether `count` neighbouring row blocks with so many columns, at most `longest` in one, are a slice as they stand,
/// the shorter ones padded. For one column of B where padding costs no more than a sixteenth, or than listing the row
/// blocks would. For several columns padding reads nothing of B, whereas row blocks out of order scatter the gathers
/// of B and the stores of C: half of the places may be padding, a row block counting as a column for what it stores
/// (docs/history, 90).
constexpr bool stay_together(const slicing& how, std::int64_t longest, std::int64_t count, std::int64_t columns) {
  if (how.several_columns) return longest * count <= 2 * (columns + count);
  return 16 * (longest * count - columns) <= columns + 8 * count;
}

/// The others are sorted by length within so many row blocks: near each other, since such read nearby rows of B.
constexpr std::int64_t slice_sort_window(const slicing& how) { return how.several_columns ? 256 : 2048; }

}  // namespace bcsc::forms
