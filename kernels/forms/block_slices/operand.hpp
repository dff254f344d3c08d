#pragma once

#include <cstdint>

#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// A as the GPU's sliced kernel reads it. Every row block is in exactly one slice. Arrays are aligned to 16 bytes.
template <class T>
struct block_slices_operand {
  std::int64_t rows, cols;  ///< cols up to forms::max_slice_columns
  std::int64_t num_blocks;
  int height;  ///< rows of a row block, or of the highest
  int lanes;   ///< of a row block that shares a slice: 1, 2, 4 or 8
  std::int64_t num_slices;
  std::int64_t num_alone;                 ///< slices of one row block, which come first
  std::int64_t num_long;                  ///< the first of these, of more than forms::longest_of_warp columns
  std::int64_t num_longest;               ///< the first of these, of more than forms::longest_of_thread_block
  std::int64_t longest_steps;             ///< of the first slice, if it is long
  std::int64_t num_steps, num_diagonals;  ///< of all slices together
  std::int64_t reach;                     ///< converters::column_access::reach
  const forms::block_slice* slices;       ///< [num_slices]
  /// [num_slices + 1] where the diagonals of each begin; null: there are none
  const std::int32_t* first_diagonal;
  const forms::slice_diagonal* diagonals;
  const std::uint32_t* words;     ///< [gathers][32]: a slice's begin at first_step - first_diagonal
  const T* values;                ///< [steps][height][32]; 0 where the word has no such row
  const std::int32_t* listed;     ///< row blocks of the listed slices, 32 / lanes for each; -1: none
  const std::int32_t* block_row;  ///< [num_blocks + 1] the first row of each; null: multiples of height
  const std::int32_t* row_of;     ///< the row of C that row m of A is; null: m
  bool stays_in_l2 = false;       ///< from one product to the next, with B and C

  /// Of the words and values.
  constexpr std::int64_t streamed_bytes() const {
    const std::int64_t values = num_steps * height * static_cast<std::int64_t>(sizeof(T));
    return forms::block_slice_lanes * (values + 4 * (num_steps - num_diagonals));
  }
};

/// Whether thread blocks run all tiles of the n columns for some slices before the next slices, so that A comes from
/// memory once. This pays where L2 still holds the rows of B when later slices read them again. Otherwise all slices
/// run for one tile, whose columns of B stay in L2, as does A unless it is large. Where B is scattered the first order
/// takes up to four times as long as the second; on meshes, bands and stencils the second up to a half longer
/// (docs/history, 91).
template <class T>
constexpr bool tiles_come_first(const block_slices_operand<T>& a, std::int64_t n) {
  constexpr std::int64_t mb = std::int64_t{1} << 20, large_a = 32 * mb;
  const std::int64_t kept_bytes = (a.streamed_bytes() > large_a ? 48 : 20) * mb;
  const std::int64_t kept_rows = kept_bytes / static_cast<std::int64_t>(sizeof(T)) / n;
  return a.cols <= kept_rows || a.reach <= kept_rows / 2;
}

template <class T>
using block_slices_args = product_args<T, block_slices_operand<T>>;

/// Slices as an operand, on the host (for the emulated GPU) or the device.
template <class T, class Slices>
block_slices_operand<T> operand_of(const Slices& a, const std::int32_t* row_of, std::int64_t reach) {
  return {.rows = a.rows,
          .cols = a.cols,
          .num_blocks = a.num_blocks,
          .height = a.height,
          .lanes = a.lanes,
          .num_slices = static_cast<std::int64_t>(a.slices.size()),
          .num_alone = a.num_alone,
          .num_long = a.num_long,
          .num_longest = a.num_longest,
          .longest_steps = a.longest_steps,
          .num_steps = static_cast<std::int64_t>(a.values.size()) / (a.height * forms::block_slice_lanes),
          .num_diagonals = static_cast<std::int64_t>(a.diagonals.size()),
          .reach = reach,
          .slices = a.slices.data(),
          .first_diagonal = a.diagonals.size() > 0 ? a.first_diagonal.data() : nullptr,
          .diagonals = a.diagonals.data(),
          .words = a.words.data(),
          .values = a.values.data(),
          .listed = a.listed.data(),
          .block_row = a.block_row.size() > 0 ? a.block_row.data() : nullptr,
          .row_of = row_of};
}

}  // namespace bcsc::kernels
