#include "bcsc/convert.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "converters/formats/block_columns.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/padded.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc {

namespace {

using converters::even_cuts;
using converters::even_segment_cuts;
using converters::for_pieces;
using converters::num_threads;
using converters::parallel_for;
using converters::require_at_least_one;
using converters::require_host;
using converters::storage;
using core::at;
using core::ceil_div;
using core::narrow;

template <class To, class From>
constexpr To converted(From x) {
  constexpr bool over_float = (std::same_as<To, half> && std::same_as<From, bfloat16>) ||
                              (std::same_as<To, bfloat16> && std::same_as<From, half>);
  if constexpr (over_float) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

/// A copy of an array, made in parallel. Elements of another type are rounded to nearest, via float between the 16-bit
/// types; a pattern's become 1.
template <class To, class From>
auto copy(std::span<const From> from, const char* what) {
  auto to = storage<To>(static_cast<std::int64_t>(from.size()), what);
  for_pieces(even_cuts(static_cast<std::int64_t>(from.size())),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               std::transform(from.begin() + first, from.begin() + last, to.begin() + first,
                              [](From x) { return converted<To>(x); });
             });
  return to;
}

template <class To>
element_array<To> copy(pattern_span from, const char* what) {
  auto to = storage<To>(static_cast<std::int64_t>(from.size()), what);
  if constexpr (number<To>) std::fill(to.begin(), to.end(), To(1.0f));
  return to;
}

/// indices[k] = the segment that entry k belongs to.
template <index I>
std::vector<I> expand_pointers(std::span<const I> ptr, std::int64_t num_segments, std::int64_t nnz, const char* what) {
  auto indices = storage<I>(nnz, what);
  for_pieces(even_segment_cuts(ptr, num_segments), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::fill(indices.begin() + ptr[at(i)], indices.begin() + ptr[at(i) + 1], static_cast<I>(i));
    }
  });
  return indices;
}

/// Counts into positions: counts[0] = 0 and counts[i + 1] = entries of i becomes where segment i begins.
template <index I>
void accumulate_counts(std::vector<I>& counts) {
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
}

template <element T, index I>
struct compressed {
  std::vector<I> ptr, ind;
  element_array<T> values;
};

/// The same entries compressed along the other axis, by counting: ordered by minor index, then by major index.
/// Each piece of the major axis counts for itself; the number of pieces keeps all the counters below the entries.
template <element T, index I>
compressed<T, I> swap_axes(std::span<const I> ptr, std::span<const I> ind, element_span<T> values,
                           std::int64_t num_major, std::int64_t num_minor) {
  const auto nnz = static_cast<std::int64_t>(values.size());
  compressed<T, I> out{storage<I>(num_minor + 1, "pointers"), storage<I>(nnz, "indices"), storage<T>(nnz, "values")};
  if (nnz == 0) return out;

  const std::int64_t most = std::min(num_threads(), converters::worthwhile_pieces(nnz));
  const std::int64_t num_pieces = std::clamp<std::int64_t>(nnz / (4 * num_minor), 1, most);
  const std::vector<std::int64_t> cuts =
      even_cuts(num_major, num_pieces, [&](std::int64_t i) { return std::int64_t{ptr[at(i)]}; });
  std::vector<std::vector<I>> next(cuts.size() - 1);  // [piece][minor]: counts, then where its next entry goes
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<I> count = storage<I>(num_minor, "counters");
    for (std::int64_t k = ptr[at(first)]; k < ptr[at(last)]; ++k) ++count[at(ind[at(k)])];
    next[at(piece)] = std::move(count);
  });
  I position = 0;
  for (std::int64_t j = 0; j < num_minor; ++j) {
    out.ptr[at(j)] = position;
    for (std::vector<I>& counts : next) position = static_cast<I>(position + std::exchange(counts[at(j)], position));
  }
  out.ptr[at(num_minor)] = position;
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<I>& where = next[at(piece)];
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t k = ptr[at(i)]; k < ptr[at(i) + 1]; ++k) {
        const I to = where[at(ind[at(k)])]++;
        out.ind[at(to)] = static_cast<I>(i);
        out.values[at(to)] = values[at(k)];
      }
    }
  });
  return out;
}

/// What one thread has found of the format: the non-empty columns of a range of row blocks.
template <index I>
struct bcsc_piece {
  std::vector<I> col_ind, col_ptr;
};

/// One row block by columns, appended to `piece`; rows and values go where the block's entries lie in CSR. As a row's
/// columns ascend, the sorted keys meet each row's entries in the order in which they lie: a cursor for each row finds
/// the values.
template <element T, index I>
void block_to_columns(const csr_view<T, I>& a, std::int64_t first_row, std::int64_t last_row,
                      converters::column_scratch<I>& scratch, bcsc_piece<I>& piece, std::vector<I>& row_ind,
                      element_array<T>& values) {
  converters::sort_block(a, first_row, last_row, scratch, [&](const auto& keys, auto split) {
    const std::int64_t begin = a.row_ptr[at(first_row)];
    std::int64_t former = -1, to = begin;
    for (const auto packed : keys) {
      const auto [row, col] = split(packed);
      if (col != former) {
        piece.col_ind.push_back(static_cast<I>(col));
        piece.col_ptr.push_back(static_cast<I>(to));
        former = col;
      }
      row_ind[at(to)] = static_cast<I>(first_row + row);
      values[at(to)] = a.values[at(scratch.next[at(row)]++)];
      ++to;
    }
  });
}

/// m_block = 1: every non-zero is a column of its own, in the order of CSR.
template <element T, index I>
bcsc_matrix<T, I> rows_as_blocks(const csr_view<T, I>& a) {
  auto col_ptr = storage<I>(a.nnz() + 1, "col_ptr");
  std::iota(col_ptr.begin(), col_ptr.end(), I{0});
  return {a.rows,
          a.cols,
          1,
          copy<I>(a.row_ptr, "brow_ptr"),
          copy<I>(a.col_ind, "col_ind"),
          std::move(col_ptr),
          expand_pointers(a.row_ptr, a.rows, a.nnz(), "row_ind"),
          copy<T>(a.values, "values"),
          trust::trusted};
}

}  // namespace

// --- To CSR ---------------------------------------------------------------------------------------------------------

template <element T, index I>
csr_matrix<T, I> to_csr(const coo_view<T, I>& a) {
  require_host(a.space, "coo");
  (void)narrow<I>(a.rows, "rows");
  (void)narrow<I>(a.nnz(), "nnz");
  auto row_ptr = storage<I>(a.rows + 1, "row_ptr");
  for (const I row : a.row_ind) ++row_ptr[at(row) + 1];
  accumulate_counts(row_ptr);
  return {a.rows,        a.cols, std::move(row_ptr), copy<I>(a.col_ind, "col_ind"), copy<T>(a.values, "values"),
          trust::trusted};
}

template <element T, index I>
csr_matrix<T, I> to_csr(const csc_view<T, I>& a) {
  require_host(a.space, "csc");
  auto [ptr, ind, values] = swap_axes<T, I>(a.col_ptr, a.row_ind, a.values, a.cols, a.rows);
  return {a.rows, a.cols, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <number T, index I>
csr_matrix<T, I> to_csr(const bsr_view<T, I>& a) {
  require_host(a.space, "bsr");
  const std::int64_t block_size = a.row_block * a.col_block;
  const std::int64_t num_block_rows = std::max<std::int64_t>(static_cast<std::int64_t>(a.brow_ptr.size()) - 1, 0);
  std::vector<std::int64_t> cuts = even_segment_cuts(a.brow_ptr, num_block_rows);  // of block rows, then of rows
  for (std::int64_t& cut : cuts) cut = cut == num_block_rows ? a.rows : cut * a.row_block;
  return converters::without_zeros<T, I>(a.rows, a.cols, cuts, [&](std::int64_t first, std::int64_t last, auto&& use) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t b = row / a.row_block, inside = row % a.row_block;
      for (std::int64_t k = a.brow_ptr[at(b)]; k < a.brow_ptr[at(b) + 1]; ++k) {
        const T* const stored = a.values.data() + k * block_size + inside * a.col_block;
        const std::int64_t first_col = a.bcol_ind[at(k)] * a.col_block;
        const std::int64_t width = std::min(a.col_block, a.cols - first_col);
        for (std::int64_t c = 0; c < width; ++c) use(row, first_col + c, stored[c]);
      }
    }
  });
}

template <element T, index I>
csr_matrix<T, I> to_csr(const bcsc_view<T, I>& a) {
  require_host(a.space, "bcsc");
  const std::int64_t num_blocks = std::max<std::int64_t>(a.num_row_blocks(), 0);
  auto row_ptr = storage<I>(a.rows + 1, "row_ptr");
  auto col_ind = storage<I>(a.nnz(), "col_ind");
  auto values = storage<T>(a.nnz(), "values");
  // Row blocks share no row, so each is counted and scattered by itself.
  const auto first_entry = [&](std::int64_t b) { return std::int64_t{a.col_ptr[at(a.brow_ptr[at(b)])]}; };
  const auto for_blocks = [&](auto&& body) {
    const auto weight = [&](std::int64_t b) { return first_entry(b) + b; };
    if (num_blocks == 0) return;
    for_pieces(even_cuts(num_blocks, converters::worthwhile_pieces(weight(num_blocks)), weight), body);
  };
  for_blocks([&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first_entry(first); k < first_entry(last); ++k) ++row_ptr[at(a.row_ind[at(k)]) + 1];
  });
  accumulate_counts(row_ptr);
  std::vector<I> next = row_ptr;
  for_blocks([&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t j = a.brow_ptr[at(first)]; j < a.brow_ptr[at(last)]; ++j) {
      for (std::int64_t k = a.col_ptr[at(j)]; k < a.col_ptr[at(j) + 1]; ++k) {
        const I to = next[at(a.row_ind[at(k)])]++;
        col_ind[at(to)] = a.col_ind[at(j)];
        values[at(to)] = a.values[at(k)];
      }
    }
  });
  return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

// --- From CSR -------------------------------------------------------------------------------------------------------

template <element T, index I>
coo_matrix<T, I> to_coo(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  return {a.rows,
          a.cols,
          expand_pointers(a.row_ptr, a.rows, a.nnz(), "row_ind"),
          copy<I>(a.col_ind, "col_ind"),
          copy<T>(a.values, "values"),
          trust::trusted};
}

template <element T, index I>
csc_matrix<T, I> to_csc(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  auto [ptr, ind, values] = swap_axes<T, I>(a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
  return {a.rows, a.cols, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <number T, index I>
bsr_matrix<T, I> to_bsr(const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  require_host(a.space, "csr");
  require_at_least_one(row_block, "row_block");
  require_at_least_one(col_block, "col_block");
  const std::int64_t block_size = core::checked_product(row_block, col_block, "row_block x col_block");
  const std::int64_t num_block_rows = ceil_div(a.rows, row_block);
  auto [brow_ptr, bcol_ind, cuts] = converters::find_blocks(a, row_block, col_block);
  auto values = storage<T>(core::checked_product(brow_ptr.back(), block_size, "num_blocks x block size"), "BSR values");
  for_pieces(cuts,
             [&, &brow_ptr = brow_ptr, &bcol_ind = bcol_ind](std::int64_t, std::int64_t first, std::int64_t last) {
               const std::int64_t end = last == num_block_rows ? a.rows : last * row_block;
               for (std::int64_t row = first * row_block; row < end; ++row) {
                 std::int64_t block = brow_ptr[at(row / row_block)];
                 for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
                   const std::int64_t col = a.col_ind[at(k)];
                   while (bcol_ind[at(block)] != col / col_block) ++block;
                   values[at(block * block_size + row % row_block * col_block + col % col_block)] = a.values[at(k)];
                 }
               }
             });
  return {a.rows,        a.cols, row_block, col_block, std::move(brow_ptr), std::move(bcol_ind), std::move(values),
          trust::trusted};
}

template <element T, index I>
bcsc_matrix<T, I> to_bcsc(const csr_view<T, I>& a, std::int64_t m_block) {
  require_host(a.space, "csr");
  require_at_least_one(m_block, "m_block");
  if (m_block == 1) return rows_as_blocks(a);
  const std::int64_t num_blocks = ceil_div(a.rows, m_block);
  auto brow_ptr = storage<I>(num_blocks + 1, "brow_ptr");
  auto row_ind = storage<I>(a.nnz(), "row_ind");
  auto values = storage<T>(a.nnz(), "values");

  const auto row_of = [&](std::int64_t b) { return b == num_blocks ? a.rows : b * m_block; };
  // Room for as many columns as there are non-zeros: what stays unused is never touched and costs no memory.
  const auto piece_for = [](std::int64_t nnz) {
    bcsc_piece<I> piece;
    piece.col_ind.reserve(at(nnz));
    piece.col_ptr.reserve(at(nnz));
    return piece;
  };

  // A row block's non-zeros keep their range of positions; only the number of their columns is new.
  const std::vector<std::int64_t> cuts = converters::block_cuts(a, num_blocks, row_of);
  std::vector<bcsc_piece<I>> pieces(cuts.size() - 1);
  for_pieces(cuts, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    bcsc_piece<I> piece = piece_for(a.row_ptr[at(row_of(last))] - a.row_ptr[at(row_of(first))]);
    converters::column_scratch<I> scratch;
    for (std::int64_t b = first; b < last; ++b) {
      const std::size_t columns_before = piece.col_ind.size();
      block_to_columns(a, row_of(b), row_of(b + 1), scratch, piece, row_ind, values);
      brow_ptr[at(b) + 1] = static_cast<I>(piece.col_ind.size() - columns_before);
    }
    pieces[at(p)] = std::move(piece);
  });

  accumulate_counts(brow_ptr);
  const std::int64_t nnzc = brow_ptr.back();
  auto col_ind = storage<I>(nnzc, "col_ind");
  auto col_ptr = storage<I>(nnzc + 1, "col_ptr");
  for_pieces(cuts, [&](std::int64_t p, std::int64_t first, std::int64_t) {
    const bcsc_piece<I>& piece = pieces[at(p)];
    std::copy(piece.col_ind.begin(), piece.col_ind.end(), col_ind.begin() + brow_ptr[at(first)]);
    std::copy(piece.col_ptr.begin(), piece.col_ptr.end(), col_ptr.begin() + brow_ptr[at(first)]);
  });
  col_ptr[at(nnzc)] = static_cast<I>(a.nnz());
  return {a.rows,
          a.cols,
          m_block,
          std::move(brow_ptr),
          std::move(col_ind),
          std::move(col_ptr),
          std::move(row_ind),
          std::move(values),
          trust::trusted};
}

// --- Within CSR -----------------------------------------------------------------------------------------------------

template <element T, index I>
csr_matrix<T, I> transpose(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  auto [ptr, ind, values] = swap_axes<T, I>(a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
  return {a.cols, a.rows, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <element T2, index I2, element T, index I>
csr_matrix<T2, I2> cast(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  (void)narrow<I2>(a.rows, "rows");
  (void)narrow<I2>(a.cols, "cols");
  (void)narrow<I2>(a.nnz(), "nnz");
  return {a.rows,
          a.cols,
          copy<I2>(a.row_ptr, "row_ptr"),
          copy<I2>(a.col_ind, "col_ind"),
          copy<T2>(a.values, "values"),
          trust::trusted};
}

#define BCSC_INSTANTIATE(T, I)                                             \
  template csr_matrix<T, I> to_csr(const coo_view<T, I>&);                 \
  template csr_matrix<T, I> to_csr(const csc_view<T, I>&);                 \
  template csr_matrix<T, I> to_csr(const bcsc_view<T, I>&);                \
  template coo_matrix<T, I> to_coo(const csr_view<T, I>&);                 \
  template csc_matrix<T, I> to_csc(const csr_view<T, I>&);                 \
  template bcsc_matrix<T, I> to_bcsc(const csr_view<T, I>&, std::int64_t); \
  template csr_matrix<T, I> transpose(const csr_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

#define BCSC_INSTANTIATE(T, I)                             \
  template csr_matrix<T, I> to_csr(const bsr_view<T, I>&); \
  template bsr_matrix<T, I> to_bsr(const csr_view<T, I>&, std::int64_t, std::int64_t);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

// Every pair of element types, every pair of index types.
#define BCSC_CAST_FROM(T, I)                                                                       \
  template csr_matrix<float, std::int32_t> cast<float, std::int32_t>(const csr_view<T, I>&);       \
  template csr_matrix<float, std::int64_t> cast<float, std::int64_t>(const csr_view<T, I>&);       \
  template csr_matrix<double, std::int32_t> cast<double, std::int32_t>(const csr_view<T, I>&);     \
  template csr_matrix<double, std::int64_t> cast<double, std::int64_t>(const csr_view<T, I>&);     \
  template csr_matrix<half, std::int32_t> cast<half, std::int32_t>(const csr_view<T, I>&);         \
  template csr_matrix<half, std::int64_t> cast<half, std::int64_t>(const csr_view<T, I>&);         \
  template csr_matrix<bfloat16, std::int32_t> cast<bfloat16, std::int32_t>(const csr_view<T, I>&); \
  template csr_matrix<bfloat16, std::int64_t> cast<bfloat16, std::int64_t>(const csr_view<T, I>&); \
  template csr_matrix<pattern, std::int32_t> cast<pattern, std::int32_t>(const csr_view<T, I>&);   \
  template csr_matrix<pattern, std::int64_t> cast<pattern, std::int64_t>(const csr_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_CAST_FROM)
#undef BCSC_CAST_FROM

}  // namespace bcsc
