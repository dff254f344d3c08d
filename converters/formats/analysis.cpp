#include "bcsc/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bcsc/convert.hpp"
#include "converters/formats/coalescing.hpp"
#include "converters/formats/column_counts.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "converters/formats/structure.hpp"
#include "core/checked.hpp"

namespace bcsc {

namespace {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using converters::require_at_least_one;
using converters::require_host;
using converters::storage;
using core::at;
using core::ceil_div;

/// The columns renamed to a short range: arrays of `count` entries can be kept even where cols is far beyond the number
/// of non-zeros.
template <index I>
struct column_names {
  std::span<const I> names;  ///< [nnz] equal for equal columns
  std::int64_t count = 0;
  std::vector<I> renamed;  ///< what `names` refers to, unless that is the columns themselves
};

template <element T, index I>
column_names<I> name_columns(const csr_view<T, I>& a) {
  if (a.cols / 8 <= a.nnz()) return {a.col_ind, a.cols, {}};
  std::vector<I> present(a.col_ind.begin(), a.col_ind.end());
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  std::vector<I> renamed(a.col_ind.size());
  std::transform(a.col_ind.begin(), a.col_ind.end(), renamed.begin(), [&](I col) {
    return static_cast<I>(std::lower_bound(present.begin(), present.end(), col) - present.begin());
  });
  column_names<I> columns{{}, static_cast<std::int64_t>(present.size()), std::move(renamed)};
  columns.names = columns.renamed;
  return columns;
}

template <element T, index I>
std::int64_t count_non_empty_columns(const csr_view<T, I>& a) {
  const column_names<I> columns = name_columns(a);
  std::vector<bool> seen(at(columns.count));
  for (const I name : columns.names) seen[at(name)] = true;
  return std::count(seen.begin(), seen.end(), true);
}

template <element T, index I>
void analyse_rows(const csr_view<T, I>& a, pattern_statistics& facts) {
  if (a.rows == 0) return;
  const auto row_nnz = [&](std::int64_t row) { return std::int64_t{a.row_ptr[at(row) + 1]} - a.row_ptr[at(row)]; };
  facts.row_min = facts.row_max = row_nnz(0);
  facts.row_mean = static_cast<double>(a.nnz()) / static_cast<double>(a.rows);
  double deviation = 0;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t count = row_nnz(row);
    facts.empty_rows += count == 0;
    facts.row_min = std::min(facts.row_min, count);
    facts.row_max = std::max(facts.row_max, count);
    deviation += std::pow(static_cast<double>(count) - facts.row_mean, 2);
    if (count == 0) continue;
    // Columns ascend: the first and the last are the farthest from the diagonal.
    for (const std::int64_t k : {std::int64_t{a.row_ptr[at(row)]}, std::int64_t{a.row_ptr[at(row) + 1]} - 1}) {
      facts.bandwidth = std::max(facts.bandwidth, std::abs(row - a.col_ind[at(k)]));
    }
  }
  facts.row_sd = std::sqrt(deviation / static_cast<double>(a.rows));
  facts.sectors_per_entry = converters::access_to_columns(converters::structure_of(a)).sectors_per_entry;
}

template <element T, index I>
bool has_positive_diagonal(const csr_view<T, I>& a) {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const auto begin = a.col_ind.begin() + a.row_ptr[at(row)], end = a.col_ind.begin() + a.row_ptr[at(row) + 1];
    const auto found = std::lower_bound(begin, end, static_cast<I>(row));
    if (found == end || *found != row || !(static_cast<double>(a.values[at(found - a.col_ind.begin())]) > 0))
      return false;
  }
  return true;
}

template <element T, index I>
void analyse_symmetry(const csr_view<T, I>& a, pattern_statistics& facts) {
  if (a.rows != a.cols) return;
  const csr_matrix<T, I> transposed = transpose(a);
  const csr_view<T, I> t = transposed.view();
  facts.pattern_symmetric = std::equal(a.row_ptr.begin(), a.row_ptr.end(), t.row_ptr.begin(), t.row_ptr.end()) &&
                            std::equal(a.col_ind.begin(), a.col_ind.end(), t.col_ind.begin());
  facts.value_symmetric =
      facts.pattern_symmetric && std::equal(a.values.begin(), a.values.end(), t.values.begin(), t.values.end());
  facts.positive_diagonal = has_positive_diagonal(a);
}

/// Each piece remembers the block that last met a column.
template <element T, index I>
converters::column_counts count_block_columns(const csr_view<T, I>& a, const column_names<I>& columns,
                                              std::int64_t m_block) {
  const std::int64_t num_blocks = ceil_div(a.rows, m_block);
  const auto row_of = [&](std::int64_t b) { return b == num_blocks ? a.rows : b * m_block; };
  // Few enough pieces that all their markers together stay of the order of the non-zeros.
  const std::int64_t num_pieces = std::clamp<std::int64_t>(4 * a.nnz() / std::max<std::int64_t>(columns.count, 1), 1,
                                                           converters::worthwhile_pieces(a.nnz()));
  const std::vector<std::int64_t> cuts =
      even_cuts(num_blocks, num_pieces, [&](std::int64_t b) { return a.row_ptr[at(row_of(b))] + row_of(b); });
  std::vector<converters::column_counts> of_pieces(cuts.size());
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<I> last_seen = storage<I>(columns.count, "column markers");  // block + 1 - first; 0: not yet
    converters::column_counts found;
    for (std::int64_t b = first; b < last; ++b) {
      const auto mark = static_cast<I>(b - first + 1);
      std::int64_t of_block = 0;
      for (std::int64_t k = a.row_ptr[at(row_of(b))]; k < a.row_ptr[at(row_of(b + 1))]; ++k) {
        I& seen = last_seen[at(columns.names[at(k)])];
        of_block += seen != mark;
        seen = mark;
      }
      found = found + converters::column_counts{of_block, of_block};
    }
    of_pieces[at(piece)] = found;
  });
  return std::accumulate(of_pieces.begin(), of_pieces.end(), converters::column_counts{});
}

template <element T, index I>
block_statistics analyse_block_height(const csr_view<T, I>& a, const column_names<I>& columns, std::int64_t m_block) {
  block_statistics facts;
  facts.m_block = m_block;
  facts.num_row_blocks = ceil_div(a.rows, m_block);
  if (a.nnz() == 0) return facts;
  for (std::int64_t b = 0; b < facts.num_row_blocks; ++b) {
    const std::int64_t first_row = b * m_block, last_row = first_row + std::min(m_block, a.rows - first_row);
    facts.max_block_nnz =
        std::max(facts.max_block_nnz, std::int64_t{a.row_ptr[at(last_row)]} - a.row_ptr[at(first_row)]);
  }
  const converters::column_counts counted = count_block_columns(a, columns, m_block);
  facts.nnzc = counted.all;
  facts.max_block_nnzc = counted.most;
  const auto nnz = static_cast<double>(a.nnz());
  facts.reuse = nnz / static_cast<double>(facts.nnzc);
  facts.skew = static_cast<double>(facts.max_block_nnz) / (nnz / static_cast<double>(facts.num_row_blocks));
  return facts;
}

}  // namespace

template <element T, index I>
pattern_statistics analyse_pattern(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  pattern_statistics facts;
  facts.rows = a.rows;
  facts.cols = a.cols;
  facts.nnz = a.nnz();
  facts.empty_cols = a.cols - count_non_empty_columns(a);
  analyse_rows(a, facts);
  analyse_symmetry(a, facts);
  return facts;
}

template <element T, index I>
std::vector<block_statistics> analyse_blocks(const csr_view<T, I>& a, std::span<const std::int64_t> m_blocks) {
  require_host(a.space, "csr");
  for (const std::int64_t m_block : m_blocks) require_at_least_one(m_block, "m_block");
  const column_names<I> columns = name_columns(a);
  std::vector<block_statistics> facts;
  for (const std::int64_t m_block : m_blocks) facts.push_back(analyse_block_height(a, columns, m_block));
  return facts;
}

template <element T, index I>
std::vector<std::int64_t> pattern_grid(const csr_view<T, I>& a, std::int64_t height, std::int64_t width) {
  require_host(a.space, "csr");
  require_at_least_one(height, "height");
  require_at_least_one(width, "width");
  (void)core::checked_product(a.rows, height, "rows x height");
  (void)core::checked_product(a.cols, width, "cols x width");
  auto grid = storage<std::int64_t>(core::checked_product(height, width, "height x width"), "grid");
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t line = row * height / a.rows * width;
    for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
      ++grid[at(line + a.col_ind[at(k)] * width / a.cols)];
    }
  }
  return grid;
}

double roofline_model::seconds(double bandwidth, double peak) const {
  return std::max(bytes / bandwidth, flops / peak);
}

roofline_model model_spmm(std::int64_t rows, std::int64_t inner, std::int64_t cols, std::int64_t nnz,
                          std::int64_t format_bytes, value_type type, bool reads_c) {
  const auto value_bytes = static_cast<double>(size_of(type));
  const auto n = static_cast<double>(cols);
  roofline_model model;
  model.bytes = static_cast<double>(format_bytes) + value_bytes * static_cast<double>(inner) * n +
                value_bytes * static_cast<double>(rows) * n * (reads_c ? 2 : 1);
  model.flops = 2 * static_cast<double>(nnz) * n;
  return model;
}

#define BCSC_INSTANTIATE(T, I)                                                                                 \
  template pattern_statistics analyse_pattern(const csr_view<T, I>&);                                          \
  template std::vector<block_statistics> analyse_blocks(const csr_view<T, I>&, std::span<const std::int64_t>); \
  template std::vector<std::int64_t> pattern_grid(const csr_view<T, I>&, std::int64_t, std::int64_t);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
