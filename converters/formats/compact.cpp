#include <algorithm>
#include <limits>
#include <utility>

#include "bcsc/convert.hpp"
#include "converters/formats/block_columns.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// The compact form of BCSC on the host: made from CSR, checked, and taken apart again.
namespace bcsc {

namespace {

using converters::even_cuts;
using converters::for_pieces;
using converters::require_host;
using converters::storage;
using core::at;
using core::ceil_div;
using core::fail;

void require_height(std::int64_t m_block) {
  if (m_block < 1 || m_block > max_m_block) {
    fail(errc::invalid_argument, "m_block = {}: must lie in 1 .. {}", m_block, max_m_block);
  }
}

/// The columns lie in one of the two arrays, and in the narrow one only if its type can hold them all.
void require_one_column_array(std::int64_t cols, bool no_col_ind, bool no_col_ind16) {
  if (no_col_ind16 || (no_col_ind && cols <= max_narrow_columns)) return;
  fail(errc::invalid_format,
       "col_ind16: holds the columns of a matrix of at most {} columns, and then col_ind is empty", max_narrow_columns);
}

/// Writable small_indices.
class small_writer {
 public:
  small_writer(std::vector<std::byte>& to, int bytes) : data_(to.data()), bytes_(bytes) {}
  void set(std::int64_t k, std::int64_t index) const {
    if (bytes_ == 1) {
      reinterpret_cast<std::uint8_t*>(data_)[k] = static_cast<std::uint8_t>(index);
    } else if (bytes_ == 2) {
      reinterpret_cast<std::uint16_t*>(data_)[k] = static_cast<std::uint16_t>(index);
    }
  }

 private:
  std::byte* data_;
  int bytes_;
};

void check_boundaries(std::span<const std::int64_t> boundaries, std::int64_t rows, std::int64_t m_block) {
  if (boundaries.empty()) return;
  if (boundaries.front() != 0 || boundaries.back() != rows) {
    fail(errc::invalid_argument, "boundaries: must run from 0 to rows = {}, not from {} to {}", rows,
         boundaries.front(), boundaries.back());
  }
  for (std::size_t b = 1; b < boundaries.size(); ++b) {
    const std::int64_t height = boundaries[b] - boundaries[b - 1];
    if (height < 1 || height > m_block) {
      fail(errc::invalid_argument, "boundaries[{}] = {}: must lie 1 .. {} (m_block) above boundaries[{}] = {}", b,
           boundaries[b], m_block, b - 1, boundaries[b - 1]);
    }
  }
}

/// The columns of one row block while it is made, in ascending order: where each begins among the sorted keys.
struct block_columns {
  std::vector<std::int64_t> col, first;  ///< first has one more: the number of keys
  std::vector<std::int64_t> place;       ///< [column] where it goes among the block's columns
  std::vector<std::int64_t> target;      ///< [column] where its entries go among the block's entries

  std::int64_t count(std::size_t j) const { return first[j + 1] - first[j]; }

  /// Dense columns first, each part ascending; returns how many are dense.
  std::int64_t arrange(std::int64_t dense_from) {
    place.resize(col.size());
    target.resize(col.size());
    std::int64_t next = 0, entries = 0, dense = 0;
    for (const bool dense_part : {true, false}) {
      for (std::size_t j = 0; j < col.size(); ++j) {
        if ((dense_from > 0 && count(j) >= dense_from) != dense_part) continue;
        place[j] = next++;
        target[j] = entries;
        entries += count(j);
      }
      if (dense_part) dense = next;
    }
    return dense;
  }
};

/// What one thread has made of a range of row blocks.
template <index I>
struct compact_piece {
  std::vector<I> col_ind;
  std::vector<std::byte> col_count;
};

}  // namespace

template <element T, index I>
compact_bcsc_matrix<T, I> to_compact(const csr_view<T, I>& a, const compact_options& options) {
  require_host(a.space, "csr");
  require_height(options.m_block);
  check_boundaries(options.boundaries, a.rows, options.m_block);
  if (options.dense_from < 0) {
    fail(errc::invalid_argument, "dense_from = {}: must be at least 0", options.dense_from);
  }
  const bool uniform = options.boundaries.empty();
  const std::int64_t m_block = options.m_block;
  const std::int64_t num_blocks =
      uniform ? ceil_div(a.rows, m_block) : static_cast<std::int64_t>(options.boundaries.size()) - 1;
  const auto row_of = [&](std::int64_t b) {
    return uniform ? (b == num_blocks ? a.rows : b * m_block) : options.boundaries[at(b)];
  };
  const int bytes = small_indices::bytes_for(m_block);

  compact_bcsc_arrays<T, I> out;
  if (!uniform) out.block_row.assign(options.boundaries.begin(), options.boundaries.end());
  out.brow_ptr = storage<I>(num_blocks + 1, "brow_ptr");
  if (bytes > 0) {
    out.entry_ptr = storage<I>(num_blocks + 1, "entry_ptr");
    for (std::int64_t b = 0; b <= num_blocks; ++b) out.entry_ptr[at(b)] = a.row_ptr[at(row_of(b))];
  }
  if (options.dense_from > 0) out.dense_end = storage<I>(num_blocks, "dense_end");
  out.row_in_block = storage<std::byte>(a.nnz() * bytes, "row_in_block");
  out.values = storage<T>(a.nnz(), "values");
  const small_writer row_in_block(out.row_in_block, bytes);

  // A row block's entries keep their range of positions; only the number of their columns is new.
  const std::vector<std::int64_t> cuts = converters::block_cuts(a, num_blocks, row_of);
  std::vector<compact_piece<I>> pieces(cuts.size() - 1);
  for_pieces(cuts, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    compact_piece<I> piece;
    const std::int64_t most = a.row_ptr[at(row_of(last))] - a.row_ptr[at(row_of(first))];
    piece.col_ind.reserve(at(most));  // what stays unused is never touched and costs no memory
    piece.col_count.reserve(at(most * bytes));
    converters::column_scratch<I> scratch;
    block_columns columns;
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t begin = a.row_ptr[at(row_of(b))];
      const auto former = static_cast<std::int64_t>(piece.col_ind.size());
      std::int64_t num_dense = 0;
      converters::sort_block(a, row_of(b), row_of(b + 1), scratch, [&](const auto& keys, auto split) {
        columns.col.clear();
        columns.first.clear();
        for (std::size_t k = 0; k < keys.size(); ++k) {
          const std::int64_t col = split(keys[k]).col;
          if (!columns.col.empty() && columns.col.back() == col) continue;
          columns.col.push_back(col);
          columns.first.push_back(static_cast<std::int64_t>(k));
        }
        columns.first.push_back(static_cast<std::int64_t>(keys.size()));
        num_dense = columns.arrange(options.dense_from);

        const std::size_t num_columns = columns.col.size();
        piece.col_ind.resize(at(former) + num_columns);
        piece.col_count.resize((at(former) + num_columns) * static_cast<std::size_t>(bytes));
        const small_writer col_count(piece.col_count, bytes);
        for (std::size_t j = 0; j < num_columns; ++j) {
          piece.col_ind[at(former + columns.place[j])] = static_cast<I>(columns.col[j]);
          col_count.set(former + columns.place[j], columns.count(j) - 1);
          // A cursor for each row finds the values: the row's columns come in the order in which they are stored.
          std::int64_t to = begin + columns.target[j];
          for (std::int64_t k = columns.first[j]; k < columns.first[j + 1]; ++k, ++to) {
            const std::int64_t row = split(keys[at(k)]).row;
            row_in_block.set(to, row);
            out.values[at(to)] = a.values[at(scratch.next[at(row)]++)];
          }
        }
      });
      out.brow_ptr[at(b) + 1] = static_cast<I>(static_cast<std::int64_t>(piece.col_ind.size()) - former);
      if (options.dense_from > 0) out.dense_end[at(b)] = static_cast<I>(num_dense);
    }
    pieces[at(p)] = std::move(piece);
  });

  for (std::int64_t b = 0; b < num_blocks; ++b) {
    out.brow_ptr[at(b) + 1] = static_cast<I>(out.brow_ptr[at(b) + 1] + out.brow_ptr[at(b)]);
    if (options.dense_from > 0) out.dense_end[at(b)] = static_cast<I>(out.dense_end[at(b)] + out.brow_ptr[at(b)]);
  }
  const bool narrow = options.narrow_columns && a.cols <= max_narrow_columns;
  if (narrow) {
    out.col_ind16 = storage<std::uint16_t>(out.brow_ptr.back(), "col_ind16");
  } else {
    out.col_ind = storage<I>(out.brow_ptr.back(), "col_ind");
  }
  out.col_count = storage<std::byte>(out.brow_ptr.back() * std::int64_t{bytes}, "col_count");
  for_pieces(cuts, [&](std::int64_t p, std::int64_t first, std::int64_t) {
    const compact_piece<I>& piece = pieces[at(p)];
    if (narrow) {
      std::transform(piece.col_ind.begin(), piece.col_ind.end(), out.col_ind16.begin() + out.brow_ptr[at(first)],
                     [](I col) { return static_cast<std::uint16_t>(col); });
    } else {
      std::copy(piece.col_ind.begin(), piece.col_ind.end(), out.col_ind.begin() + out.brow_ptr[at(first)]);
    }
    std::copy(piece.col_count.begin(), piece.col_count.end(),
              out.col_count.begin() + std::int64_t{out.brow_ptr[at(first)]} * bytes);
  });
  return {a.rows, a.cols, m_block, std::move(out), trust::trusted};
}

template <element T, index I>
csr_matrix<T, I> to_csr(const compact_bcsc_view<T, I>& a) {
  require_host(a.space, "compact bcsc");
  const std::int64_t num_blocks = std::max<std::int64_t>(a.num_row_blocks(), 0);
  auto row_ptr = storage<I>(a.rows + 1, "row_ptr");
  auto col_ind = storage<I>(a.nnz(), "col_ind");
  auto values = storage<T>(a.nnz(), "values");
  if (num_blocks == 0) return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values)};
  const auto weight = [&](std::int64_t b) { return std::int64_t{a.entry_ptr[at(b)]} + b; };
  const auto cuts = even_cuts(num_blocks, converters::worthwhile_pieces(weight(num_blocks)), weight);

  // Row blocks share no row, so each is counted and scattered by itself. Two columns of a row come in order unless
  // dense ones stand first; then the two ascending parts are merged by taking both in step.
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<I> next;
    std::vector<std::int64_t> start;  // of each column's entries
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t first_row = a.first_row(b), height = a.first_row(b + 1) - first_row;
      const std::int64_t begin = a.entry_ptr[at(b)], end = a.entry_ptr[at(b) + 1];
      next.assign(at(height), I{0});
      for (std::int64_t k = begin; k < end; ++k) ++next[at(a.row_in_block[at(k)])];
      auto position = static_cast<I>(begin);
      for (std::int64_t r = 0; r < height; ++r) {
        const I count = next[at(r)];
        next[at(r)] = position;
        position = static_cast<I>(position + count);
        row_ptr[at(first_row + r) + 1] = position;
      }
      const std::int64_t first_col = a.brow_ptr[at(b)], last_col = a.brow_ptr[at(b) + 1];
      start.clear();
      std::int64_t k = begin;
      for (std::int64_t j = first_col; j < last_col; ++j) {
        start.push_back(k);
        k += a.col_count[at(j)] + 1;
      }
      start.push_back(k);
      const auto take = [&](std::int64_t j) {
        for (std::int64_t e = start[at(j - first_col)]; e < start[at(j - first_col) + 1]; ++e) {
          const I to = next[at(a.row_in_block[at(e)])]++;
          col_ind[at(to)] = static_cast<I>(a.column(j));
          values[at(to)] = a.values[at(e)];
        }
      };
      const std::int64_t middle = a.dense_end.empty() ? last_col : std::int64_t{a.dense_end[at(b)]};
      std::int64_t dense = first_col, sparse = middle;
      while (dense < middle || sparse < last_col) {
        const bool dense_next = sparse == last_col || (dense < middle && a.column(dense) < a.column(sparse));
        take(dense_next ? dense++ : sparse++);
      }
    }
  });
  return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

// --- The checks -----------------------------------------------------------------------------------------------------

namespace {

/// ptr starts at 0, never falls, ends at num_entries.
template <index I>
void check_pointer_array(std::span<const I> ptr, std::int64_t num_segments, std::int64_t num_entries,
                         const char* name) {
  const converters::array_names names{name, "what it points into", "row blocks", "row block"};
  converters::check_pointer_length(ptr, num_segments, num_entries, names);
  for (std::int64_t b = 1; b <= num_segments; ++b) {
    if (ptr[at(b)] < ptr[at(b) - 1]) converters::fail_pointer_step(b, ptr[at(b)], ptr[at(b) - 1], false, names);
  }
  converters::check_pointer_ends(ptr.front(), ptr.back(), num_segments, num_entries, names);
}

template <element T, index I>
void check_block(const compact_bcsc_view<T, I>& a, std::int64_t b) {
  const std::int64_t first = a.brow_ptr[at(b)], last = a.brow_ptr[at(b) + 1];
  const std::int64_t height = a.first_row(b + 1) - a.first_row(b);
  const std::int64_t middle = a.dense_end.empty() ? last : std::int64_t{a.dense_end[at(b)]};
  if (middle < first || middle > last) {
    fail(errc::invalid_format, "dense_end[{}] = {}: must lie in {} .. {}, the row block's columns", b, middle, first,
         last);
  }
  std::int64_t k = a.entry_ptr[at(b)];
  const std::int64_t end = a.entry_ptr[at(b) + 1];
  for (std::int64_t j = first; j < last; ++j) {
    const std::int64_t col = a.column(j);
    if (col < 0 || col >= a.cols) converters::fail_range(j, col, a.cols, "col_ind");
    if (j > first && j != middle && col <= a.column(j - 1)) {
      converters::fail_order(j, col, a.column(j - 1), b, converters::bcsc_block_names);
    }
    const std::int64_t count = a.col_count[at(j)] + 1;
    if (count > end - k) {
      fail(errc::invalid_format, "col_count[{}] = {}: row block {} has only {} entries left", j, count - 1, b, end - k);
    }
    for (std::int64_t i = 0; i < count; ++i, ++k) {
      const std::int64_t row = a.row_in_block[at(k)];
      if (row >= height) {
        fail(errc::index_out_of_range, "row_in_block[{}] = {}: must be below {}, the height of row block {}", k, row,
             height, b);
      }
      if (i > 0 && row <= a.row_in_block[at(k) - 1]) {
        fail(errc::invalid_format, "row_in_block[{}] = {}: must be greater than row_in_block[{}] = {}, in column {}", k,
             row, k - 1, a.row_in_block[at(k) - 1], j);
      }
    }
  }
  if (k != end) {
    fail(errc::invalid_format, "entry_ptr[{}] = {}: the columns of row block {} end at entry {}", b + 1, end, b, k);
  }
  // Both parts ascend; a merge of the two shows whether they share a column.
  std::int64_t dense = first, sparse = middle;
  while (dense < middle && sparse < last) {
    if (a.column(dense) == a.column(sparse)) {
      fail(errc::invalid_format, "col_ind[{}] = {}: stands in row block {} twice", sparse, a.column(sparse), b);
    }
    if (a.column(dense) < a.column(sparse)) {
      ++dense;
    } else {
      ++sparse;
    }
  }
}

}  // namespace

template <element T, index I>
void validate(const compact_bcsc_view<T, I>& a) {
  require_host(a.space, "compact bcsc");
  converters::check_shape<I>(a.rows, a.cols);
  require_height(a.m_block);
  const int bytes = small_indices::bytes_for(a.m_block);
  if (a.row_in_block.bytes() != bytes || a.col_count.bytes() != bytes) {
    fail(errc::invalid_format, "row_in_block, col_count: m_block = {} takes {} bytes an index, not {} and {}",
         a.m_block, bytes, a.row_in_block.bytes(), a.col_count.bytes());
  }
  require_one_column_array(a.cols, a.col_ind.empty(), a.col_ind16.empty());
  converters::check_length(static_cast<std::int64_t>(a.row_in_block.size()), a.nnz(), "row_in_block",
                           "one for each value");
  converters::check_length(static_cast<std::int64_t>(a.col_count.size()), a.nnzc(), "col_count",
                           "one for each non-empty column");
  std::int64_t num_blocks = ceil_div(a.rows, a.m_block);
  if (!a.block_row.empty()) {
    num_blocks = static_cast<std::int64_t>(a.block_row.size()) - 1;
    if (a.block_row.front() != 0 || a.block_row.back() != a.rows) {
      fail(errc::invalid_format, "block_row: must run from 0 to rows = {}, not from {} to {}", a.rows,
           a.block_row.front(), a.block_row.back());
    }
    for (std::int64_t b = 0; b < num_blocks; ++b) {
      const std::int64_t height = std::int64_t{a.block_row[at(b) + 1]} - a.block_row[at(b)];
      if (height < 1 || height > a.m_block) {
        fail(errc::invalid_format, "block_row[{}] = {}: must lie 1 .. {} (m_block) above block_row[{}] = {}", b + 1,
             a.block_row[at(b) + 1], a.m_block, b, a.block_row[at(b)]);
      }
    }
  }
  check_pointer_array(a.brow_ptr, num_blocks, a.nnzc(), "brow_ptr");
  check_pointer_array(a.entry_ptr, num_blocks, a.nnz(), "entry_ptr");
  if (!a.dense_end.empty()) {
    converters::check_length(static_cast<std::int64_t>(a.dense_end.size()), num_blocks, "dense_end",
                             "one for each row block");
  }
  for (std::int64_t b = 0; b < num_blocks; ++b) check_block(a, b);
}

template <element T, index I>
compact_bcsc_matrix<T, I>::compact_bcsc_matrix(std::int64_t rows, std::int64_t cols, std::int64_t m_block,
                                               compact_bcsc_arrays<T, I> arrays, trust check)
    : rows_(rows), cols_(cols), m_block_(m_block), arrays_(std::move(arrays)) {
  if (check == trust::trusted) return;
  require_height(m_block);
  require_one_column_array(cols, arrays_.col_ind.empty(), arrays_.col_ind16.empty());
  const auto bytes = static_cast<std::int64_t>(small_indices::bytes_for(m_block));
  // The views below take these lengths from col_ind and values.
  converters::check_length(static_cast<std::int64_t>(arrays_.col_count.size()), nnzc() * bytes, "col_count",
                           "bytes, for each non-empty column");
  converters::check_length(static_cast<std::int64_t>(arrays_.row_in_block.size()), nnz() * bytes, "row_in_block",
                           "bytes, for each value");
  validate(view());
}

#define BCSC_INSTANTIATE(T, I)                                                                  \
  template compact_bcsc_matrix<T, I> to_compact(const csr_view<T, I>&, const compact_options&); \
  template csr_matrix<T, I> to_csr(const compact_bcsc_view<T, I>&);                             \
  template void validate(const compact_bcsc_view<T, I>&);                                       \
  template class compact_bcsc_matrix<T, I>;
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
