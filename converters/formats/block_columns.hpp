#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// The step that makes BCSC: the entries of one row block, ordered by column.
namespace bcsc::converters {

/// Cuts the row blocks of a CSR into pieces of about equal numbers of non-zeros and rows; `row_of(b)` is where block b
/// begins, for b < num_blocks.
template <element T, index I, class RowOf>
std::vector<std::int64_t> block_cuts(const csr_view<T, I>& a, std::int64_t num_blocks, RowOf row_of) {
  if (num_blocks == 0) return {0};
  const auto weight = [&](std::int64_t b) {
    const std::int64_t row = b == num_blocks ? a.rows : row_of(b);
    return a.row_ptr[static_cast<std::size_t>(row)] + row;
  };
  return even_cuts(num_blocks, worthwhile_pieces(weight(num_blocks)), weight);
}

__extension__ typedef unsigned __int128 uint128;

/// Orders (column, row) keys by the column's bits [row_bits, row_bits + col_bits); the rows of equal columns already
/// ascend. Least significant digit first, digits as wide as the number of keys is worth.
template <class Key>
void sort_by_column(std::vector<Key>& keys, std::vector<Key>& scratch, int row_bits, int col_bits) {
  constexpr std::size_t too_few_for_counting = 48;
  if (keys.size() < too_few_for_counting) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  if (col_bits == 0) return;
  const int widest = std::clamp(static_cast<int>(std::bit_width(keys.size())) - 1, 4, 11);
  const int num_digits = static_cast<int>(core::ceil_div(col_bits, widest));
  const int width = static_cast<int>(core::ceil_div(col_bits, num_digits));
  const std::size_t mask = (std::size_t{1} << width) - 1;
  scratch.resize(keys.size());
  for (int digit = 0; digit < num_digits; ++digit) {
    const int shift = row_bits + digit * width;
    std::array<std::uint32_t, std::size_t{1} << 11> narrow_count;
    std::vector<std::uint64_t> wide_count;
    const auto distribute = [&](auto* position) {
      std::fill(position, position + mask + 1, 0);
      for (const Key key : keys) ++position[static_cast<std::size_t>(key >> shift) & mask];
      std::exclusive_scan(position, position + mask + 1, position, std::remove_reference_t<decltype(*position)>{0});
      for (const Key key : keys) scratch[position[static_cast<std::size_t>(key >> shift) & mask]++] = key;
    };
    if (std::bit_width(keys.size()) <= 32) {
      distribute(narrow_count.data());
    } else {
      wide_count.resize(mask + 1);
      distribute(wide_count.data());
    }
    keys.swap(scratch);
  }
}

/// Scratch of sort_block, kept from block to block.
template <index I>
struct column_scratch {
  std::vector<std::uint32_t> keys32, spare32;
  std::vector<std::uint64_t> keys64, spare64;
  std::vector<uint128> keys128, spare128;
  std::vector<I> next;  ///< [rows of the block] the row's first entry not yet taken
};

/// Orders the entries of the rows [first_row, last_row) by column, then row, and calls use(keys, split): split(key) is
/// {row - first_row, column}. Entries become the narrowest keys that hold (column - least column, row - first row),
/// gathered row by row and sorted by column. Not called for a block without entries.
template <element T, index I, class Use>
void sort_block(const csr_view<T, I>& a, std::int64_t first_row, std::int64_t last_row, column_scratch<I>& scratch,
                Use use) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::int64_t min_col = a.cols, max_col = 0;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const I begin = a.row_ptr[at(row)], end = a.row_ptr[at(row) + 1];
    if (begin == end) continue;
    min_col = std::min<std::int64_t>(min_col, a.col_ind[at(begin)]);
    max_col = std::max<std::int64_t>(max_col, a.col_ind[at(end) - 1]);
  }
  if (min_col > max_col) return;
  const auto bits = [](std::int64_t greatest) { return static_cast<int>(std::bit_width(std::uint64_t(greatest))); };
  const int row_bits = bits(last_row - first_row - 1), col_bits = bits(max_col - min_col);

  const auto order = [&]<class Key>(std::vector<Key>& keys, std::vector<Key>& spare) {
    keys.resize(at(a.row_ptr[at(last_row)] - a.row_ptr[at(first_row)]));
    auto key = keys.begin();
    for (std::int64_t row = first_row; row < last_row; ++row) {
      for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
        *key++ = static_cast<Key>(static_cast<Key>(a.col_ind[at(k)] - min_col) << row_bits) |
                 static_cast<Key>(row - first_row);
      }
    }
    sort_by_column(keys, spare, row_bits, col_bits);
    scratch.next.assign(a.row_ptr.begin() + first_row, a.row_ptr.begin() + last_row);
    const auto row_mask = static_cast<Key>((Key{1} << row_bits) - 1);
    struct place {
      std::int64_t row, col;
    };
    use(keys, [=](Key key) {
      return place{static_cast<std::int64_t>(key & row_mask), static_cast<std::int64_t>(key >> row_bits) + min_col};
    });
  };
  if (row_bits + col_bits < 32) {
    order(scratch.keys32, scratch.spare32);
  } else if (row_bits + col_bits < 64) {
    order(scratch.keys64, scratch.spare64);
  } else {
    order(scratch.keys128, scratch.spare128);
  }
}

}  // namespace bcsc::converters
