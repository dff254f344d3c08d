#include <algorithm>
#include <utility>

#include "bcsc/convert.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/padded.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// Blocked ELLPACK on the host: made from CSR, checked, and taken apart again.
namespace bcsc {

namespace {

using converters::require_at_least_one;
using converters::require_host;
using converters::storage;
using core::at;
using core::ceil_div;
using core::checked_product;
using core::fail;

/// How the values lie: block (b, slot) is a tile of the row-major array of `width` columns.
struct ell_shape {
  std::int64_t num_block_rows, num_blocks, width, num_values;

  ell_shape(std::int64_t rows, std::int64_t block, std::int64_t blocks_per_row)
      : num_block_rows(ceil_div(rows, block)),
        num_blocks(checked_product(num_block_rows, blocks_per_row, "block rows x blocks_per_row")),
        width(checked_product(blocks_per_row, block, "blocks_per_row x block")),
        num_values(checked_product(checked_product(num_block_rows, block, "block rows x block"), width,
                                   "padded rows x padded columns")) {}
};

/// The blocks of block row b: ascending, inside the matrix, then -1 only.
template <number T, index I>
void check_block_row(const ell_view<T, I>& a, std::int64_t b, std::int64_t num_block_cols) {
  std::int64_t former = -1;
  bool filling = false;
  for (std::int64_t k = b * a.blocks_per_row; k < (b + 1) * a.blocks_per_row; ++k) {
    const std::int64_t col = a.bcol_ind[at(k)];
    if (col == -1) {
      filling = true;
      continue;
    }
    if (col < 0 || col >= num_block_cols) {
      fail(errc::index_out_of_range, "bcol_ind[{}] = {}: must be at least 0 and below {}, or -1", k, col,
           num_block_cols);
    }
    if (filling) {
      fail(errc::invalid_format, "bcol_ind[{}] = {}: follows a -1, in block row {}", k, col, b);
    }
    if (col <= former) {
      fail(errc::invalid_format, "bcol_ind[{}] = {}: must be greater than bcol_ind[{}] = {}, in block row {}", k, col,
           k - 1, former, b);
    }
    former = col;
  }
}

/// Whatever lies in a padding block, or beyond the matrix's edge, must be 0.
template <number T, index I>
void check_row_padding(const ell_view<T, I>& a, std::int64_t row, std::int64_t width) {
  for (std::int64_t slot = 0; slot < a.blocks_per_row; ++slot) {
    const std::int64_t col = a.bcol_ind[at(row / a.block * a.blocks_per_row + slot)];
    const std::int64_t inside =
        col < 0 || row >= a.rows ? 0 : std::min(a.block, a.cols - col * a.block);  // columns of the block that exist
    for (std::int64_t c = inside; c < a.block; ++c) {
      const std::int64_t k = row * width + slot * a.block + c;
      if (is_zero_element(a.values[at(k)])) continue;
      if (col < 0) {
        fail(errc::invalid_format, "values[{}] = {}: lies in a block without a column (bcol_ind = -1), must be 0", k,
             static_cast<double>(a.values[at(k)]));
      }
      fail(errc::invalid_format, "values[{}] = {}: lies beyond the edge of the {} x {} matrix, must be 0", k,
           static_cast<double>(a.values[at(k)]), a.rows, a.cols);
    }
  }
}

}  // namespace

template <number T, index I>
ell_matrix<T, I> to_ell(const csr_view<T, I>& a, std::int64_t block) {
  require_host(a.space, "csr");
  require_at_least_one(block, "block");
  const converters::block_pattern<I> pattern = converters::find_blocks(a, block, block);
  const std::vector<I>& brow_ptr = pattern.brow_ptr;
  std::int64_t blocks_per_row = 0;
  for (std::size_t b = 1; b < brow_ptr.size(); ++b) {
    blocks_per_row = std::max<std::int64_t>(blocks_per_row, brow_ptr[b] - brow_ptr[b - 1]);
  }
  const ell_shape shape(a.rows, block, blocks_per_row);
  auto bcol_ind = storage<I>(shape.num_blocks, "ELL bcol_ind");
  auto values = storage<T>(shape.num_values, "ELL values");
  converters::for_pieces(pattern.cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      const auto begin = pattern.bcol_ind.begin() + brow_ptr[at(b)],
                 end = pattern.bcol_ind.begin() + brow_ptr[at(b) + 1];
      const auto slots = bcol_ind.begin() + b * blocks_per_row;
      std::fill(std::copy(begin, end, slots), slots + blocks_per_row, I{-1});
      const std::int64_t first_row = b * block, last_row = first_row + std::min(block, a.rows - first_row);
      for (std::int64_t row = first_row; row < last_row; ++row) {
        auto found = begin;
        for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
          const std::int64_t col = a.col_ind[at(k)];
          while (*found != col / block) ++found;
          values[at(row * shape.width + (found - begin) * block + col % block)] = a.values[at(k)];
        }
      }
    }
  });
  return {a.rows, a.cols, block, blocks_per_row, std::move(bcol_ind), std::move(values), trust::trusted};
}

template <number T, index I>
csr_matrix<T, I> to_csr(const ell_view<T, I>& a) {
  require_host(a.space, "ell");
  const std::int64_t width = a.blocks_per_row * a.block;
  const auto cuts =
      converters::even_cuts(a.rows, converters::worthwhile_pieces(static_cast<std::int64_t>(a.values.size())),
                            [](std::int64_t row) { return row; });
  return converters::without_zeros<T, I>(a.rows, a.cols, cuts, [&](std::int64_t first, std::int64_t last, auto&& use) {
    for (std::int64_t row = first; row < last; ++row) {
      for (std::int64_t slot = 0; slot < a.blocks_per_row; ++slot) {
        const std::int64_t bcol = a.bcol_ind[at(row / a.block * a.blocks_per_row + slot)];
        if (bcol < 0) break;
        const std::int64_t first_col = bcol * a.block, inside = std::min(a.block, a.cols - first_col);
        const T* const stored = a.values.data() + row * width + slot * a.block;
        for (std::int64_t c = 0; c < inside; ++c) use(row, first_col + c, stored[c]);
      }
    }
  });
}

template <number T, index I>
void validate(const ell_view<T, I>& a) {
  require_host(a.space, "ell");
  converters::check_shape<I>(a.rows, a.cols);
  require_at_least_one(a.block, "block");
  const std::int64_t num_block_cols = ceil_div(a.cols, a.block);
  if (a.blocks_per_row < 0 || a.blocks_per_row > num_block_cols) {
    fail(errc::invalid_argument, "blocks_per_row = {}: must lie in 0 .. {}, the block columns", a.blocks_per_row,
         num_block_cols);
  }
  const ell_shape shape(a.rows, a.block, a.blocks_per_row);
  converters::check_length(static_cast<std::int64_t>(a.bcol_ind.size()), shape.num_blocks, "bcol_ind",
                           "block rows * blocks_per_row");
  converters::check_length(static_cast<std::int64_t>(a.values.size()), shape.num_values, "values",
                           "block rows * block * blocks_per_row * block");
  if (shape.num_blocks == 0) return;  // however many rows
  converters::check_each(shape.num_block_rows, shape.num_blocks,
                         [&](std::int64_t b) { check_block_row(a, b, num_block_cols); });
  converters::check_each(shape.num_block_rows * a.block, shape.num_values,
                         [&](std::int64_t row) { check_row_padding(a, row, shape.width); });
}

template <number T, index I>
ell_matrix<T, I>::ell_matrix(std::int64_t rows, std::int64_t cols, std::int64_t block, std::int64_t blocks_per_row,
                             std::vector<I> bcol_ind, element_array<T> values, trust check)
    : rows_(rows),
      cols_(cols),
      block_(block),
      blocks_per_row_(blocks_per_row),
      bcol_ind_(std::move(bcol_ind)),
      values_(std::move(values)) {
  if (check == trust::trusted) return;
  validate(view());
}

#define BCSC_INSTANTIATE(T, I)                                           \
  template ell_matrix<T, I> to_ell(const csr_view<T, I>&, std::int64_t); \
  template csr_matrix<T, I> to_csr(const ell_view<T, I>&);               \
  template void validate(const ell_view<T, I>&);                         \
  template class ell_matrix<T, I>;
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
