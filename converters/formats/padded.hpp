#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/block_columns.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// What the formats that store zeros (BSR, Blocked-ELL, dense) share: which blocks hold entries, and CSR without the
/// zeros.
namespace bcsc::converters {

/// The blocks of row_block x col_block that hold an entry: block row b has the block columns bcol_ind[brow_ptr[b]] ..
/// bcol_ind[brow_ptr[b + 1]], ascending.
template <index I>
struct block_pattern {
  std::vector<I> brow_ptr, bcol_ind;
  std::vector<std::int64_t> cuts;  ///< the block rows in pieces of about equal work
};

template <element T, index I>
block_pattern<I> find_blocks(const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const std::int64_t num_block_rows = core::ceil_div(a.rows, row_block);
  block_pattern<I> pattern;
  pattern.cuts = block_cuts(a, num_block_rows, [&](std::int64_t b) { return b * row_block; });
  pattern.brow_ptr = storage<I>(num_block_rows + 1, "brow_ptr");
  std::vector<I>& brow_ptr = pattern.brow_ptr;

  // First by pieces, then in one array.
  std::vector<std::vector<I>> found(pattern.cuts.size() - 1);
  for_pieces(pattern.cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<I>& blocks = found[at(piece)];
    for (std::int64_t b = first; b < last; ++b) {
      const auto start = static_cast<std::ptrdiff_t>(blocks.size());
      const std::int64_t first_row = b * row_block, last_row = first_row + std::min(row_block, a.rows - first_row);
      for (std::int64_t k = a.row_ptr[at(first_row)]; k < a.row_ptr[at(last_row)]; ++k) {
        const I col = static_cast<I>(a.col_ind[at(k)] / col_block);
        if (std::ssize(blocks) == start || blocks.back() != col) blocks.push_back(col);
      }
      std::sort(blocks.begin() + start, blocks.end());
      blocks.erase(std::unique(blocks.begin() + start, blocks.end()), blocks.end());
      brow_ptr[at(b) + 1] = static_cast<I>(std::ssize(blocks) - start);
    }
  });
  std::partial_sum(brow_ptr.begin(), brow_ptr.end(), brow_ptr.begin());
  pattern.bcol_ind = storage<I>(brow_ptr.back(), "bcol_ind");
  for_pieces(pattern.cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t) {
    std::copy(found[at(piece)].begin(), found[at(piece)].end(), pattern.bcol_ind.begin() + brow_ptr[at(first)]);
  });
  return pattern;
}

/// CSR of the non-zero values (NaN included). visit(first, last, use) calls use(row, col, value) for each stored value
/// of the rows [first, last), with the columns of a row ascending; `cuts` are pieces of the rows. Each value is read
/// twice: to count, then to copy.
template <number T, index I, class Visit>
csr_matrix<T, I> without_zeros(std::int64_t rows, std::int64_t cols, const std::vector<std::int64_t>& cuts,
                               Visit visit) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  auto next = storage<std::int64_t>(rows + 1, "row counts");  // counts, then where each row's next entry goes
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    visit(first, last,
          [&](std::int64_t row, std::int64_t, T value) { next[at(row) + 1] += is_zero_element(value) ? 0 : 1; });
  });
  std::partial_sum(next.begin(), next.end(), next.begin());
  (void)core::narrow<I>(next.back(), "nnz");
  auto row_ptr = storage<I>(rows + 1, "row_ptr");
  std::transform(next.begin(), next.end(), row_ptr.begin(), [](std::int64_t k) { return static_cast<I>(k); });
  auto col_ind = storage<I>(next.back(), "col_ind");
  auto values = storage<T>(next.back(), "values");
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    visit(first, last, [&](std::int64_t row, std::int64_t col, T value) {
      if (is_zero_element(value)) return;
      const std::int64_t to = next[at(row)]++;
      col_ind[at(to)] = static_cast<I>(col);
      values[at(to)] = value;
    });
  });
  return {rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

}  // namespace bcsc::converters
