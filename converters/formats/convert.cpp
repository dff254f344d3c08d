#include "bcsc/convert.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>

#include "converters/formats/parallel.hpp"
#include "lib/core/checked.hpp"

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
using core::ceil_div;
using core::narrow;

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A copy of an array, made in parallel.
template <class To, class From>
std::vector<To> copy(std::span<const From> from, const char* what) {
  auto to = storage<To>(static_cast<std::int64_t>(from.size()), what);
  for_pieces(even_cuts(static_cast<std::int64_t>(from.size())),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               std::transform(from.begin() + first, from.begin() + last, to.begin() + first,
                              [](From x) { return static_cast<To>(x); });
             });
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

template <value T, index I>
struct compressed {
  std::vector<I> ptr, ind;
  std::vector<T> values;
};

/// The same entries compressed along the other axis, by counting: ordered by minor index, then by major index.
/// Each piece of the major axis counts for itself; the number of pieces keeps all the counters below the entries.
template <value T, index I>
compressed<T, I> swap_axes(std::span<const I> ptr, std::span<const I> ind, std::span<const T> values,
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

/// Cuts the row blocks into pieces of about equal numbers of non-zeros and rows.
template <value T, index I>
std::vector<std::int64_t> block_cuts(const csr_view<T, I>& a, std::int64_t m_block) {
  const std::int64_t num_blocks = ceil_div(a.rows, m_block);
  if (num_blocks == 0) return {0};
  const auto weight = [&](std::int64_t b) {
    const std::int64_t row = b == num_blocks ? a.rows : b * m_block;
    return a.row_ptr[at(row)] + row;
  };
  return even_cuts(num_blocks, converters::worthwhile_pieces(weight(num_blocks)), weight);
}

__extension__ typedef unsigned __int128 uint128;

/// Orders (column, row) keys, of which runs of equal columns already have ascending rows, by the column's bits
/// [row_bits, row_bits + col_bits). Least significant digit first, digits as wide as the number of keys is worth.
template <class Key>
void sort_by_column(std::vector<Key>& keys, std::vector<Key>& scratch, int row_bits, int col_bits) {
  constexpr std::size_t too_few_for_counting = 48;
  if (keys.size() < too_few_for_counting) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  if (col_bits == 0) return;
  const int widest = std::clamp(static_cast<int>(std::bit_width(keys.size())) - 1, 4, 11);
  const int num_digits = static_cast<int>(ceil_div(col_bits, widest));
  const int width = static_cast<int>(ceil_div(col_bits, num_digits));
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

/// What one thread has found of the format: the non-empty columns of a range of row blocks.
template <index I>
struct bcsc_piece {
  std::vector<I> col_ind, col_ptr;
};

/// Scratch of block_to_columns, kept from block to block.
template <index I>
struct column_scratch {
  std::vector<std::uint32_t> keys32, spare32;
  std::vector<std::uint64_t> keys64, spare64;
  std::vector<uint128> keys128, spare128;
  std::vector<I> next;  ///< [rows of the block] the row's first entry not yet taken
};

/// One row block by columns. Entries become keys (column - least column, row - first row), gathered row by row and
/// sorted by column. As a row's columns ascend, the sorted keys meet each row's entries in the order in which they lie,
/// so that a key needs no position: a cursor for each row finds the values.
template <class Key, value T, index I>
void block_to_columns(const csr_view<T, I>& a, std::int64_t first_row, std::int64_t last_row, std::int64_t least_col,
                      int row_bits, int col_bits, std::vector<Key>& keys, std::vector<Key>& spare, std::vector<I>& next,
                      bcsc_piece<I>& piece, std::vector<I>& row_ind, std::vector<T>& values) {
  const std::int64_t begin = a.row_ptr[at(first_row)];
  keys.resize(at(a.row_ptr[at(last_row)] - begin));
  auto key = keys.begin();
  for (std::int64_t row = first_row; row < last_row; ++row) {
    for (std::int64_t k = a.row_ptr[at(row)]; k < a.row_ptr[at(row) + 1]; ++k) {
      *key++ = static_cast<Key>(static_cast<Key>(a.col_ind[at(k)] - least_col) << row_bits) |
               static_cast<Key>(row - first_row);
    }
  }
  sort_by_column(keys, spare, row_bits, col_bits);

  next.assign(a.row_ptr.begin() + first_row, a.row_ptr.begin() + last_row);
  const Key row_mask = static_cast<Key>((Key{1} << row_bits) - 1);
  Key former = 0;
  std::int64_t to = begin;
  for (const Key packed : keys) {
    const Key col = static_cast<Key>(packed >> row_bits);
    const auto row = static_cast<std::int64_t>(packed & row_mask);
    if (to == begin || col != former) {
      piece.col_ind.push_back(static_cast<I>(static_cast<std::int64_t>(col) + least_col));
      piece.col_ptr.push_back(static_cast<I>(to));
      former = col;
    }
    row_ind[at(to)] = static_cast<I>(first_row + row);
    values[at(to)] = a.values[at(next[at(row)]++)];
    ++to;
  }
}

/// As above, with the narrowest keys that hold the block.
template <value T, index I>
void block_to_columns(const csr_view<T, I>& a, std::int64_t first_row, std::int64_t last_row,
                      column_scratch<I>& scratch, bcsc_piece<I>& piece, std::vector<I>& row_ind,
                      std::vector<T>& values) {
  std::int64_t least_col = a.cols, greatest_col = 0;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const I begin = a.row_ptr[at(row)], end = a.row_ptr[at(row) + 1];
    if (begin == end) continue;
    least_col = std::min<std::int64_t>(least_col, a.col_ind[at(begin)]);
    greatest_col = std::max<std::int64_t>(greatest_col, a.col_ind[at(end) - 1]);
  }
  if (least_col > greatest_col) return;  // an empty block
  const auto bits = [](std::int64_t greatest) { return static_cast<int>(std::bit_width(std::uint64_t(greatest))); };
  const int row_bits = bits(last_row - first_row - 1), col_bits = bits(greatest_col - least_col);
  const auto order = [&](auto& keys, auto& spare) {
    block_to_columns(a, first_row, last_row, least_col, row_bits, col_bits, keys, spare, scratch.next, piece, row_ind,
                     values);
  };
  if (row_bits + col_bits < 32) {
    order(scratch.keys32, scratch.spare32);
  } else if (row_bits + col_bits < 64) {
    order(scratch.keys64, scratch.spare64);
  } else {
    order(scratch.keys128, scratch.spare128);
  }
}

/// m_block = 1: every non-zero is a column of its own, in the order of CSR.
template <value T, index I>
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

template <value T, index I>
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

template <value T, index I>
csr_matrix<T, I> to_csr(const csc_view<T, I>& a) {
  require_host(a.space, "csc");
  auto [ptr, ind, values] = swap_axes(a.col_ptr, a.row_ind, a.values, a.cols, a.rows);
  return {a.rows, a.cols, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <value T, index I>
csr_matrix<T, I> to_csr(const bsr_view<T, I>& a) {
  require_host(a.space, "bsr");
  const std::int64_t block_size = a.row_block * a.col_block;
  const std::int64_t num_block_rows = static_cast<std::int64_t>(a.brow_ptr.size()) - 1;
  // The stored non-zeros of one row, in order; padding and zeros of a block are skipped.
  const auto for_row = [&](std::int64_t row, auto&& body) {
    const std::int64_t b = row / a.row_block, inside = row % a.row_block;
    for (std::int64_t k = a.brow_ptr[at(b)]; k < a.brow_ptr[at(b) + 1]; ++k) {
      const T* const stored = a.values.data() + k * block_size + inside * a.col_block;
      const std::int64_t first_col = a.bcol_ind[at(k)] * a.col_block;
      const std::int64_t width = std::min(a.col_block, a.cols - first_col);
      for (std::int64_t c = 0; c < width; ++c) {
        if (stored[c] != T{0}) body(first_col + c, stored[c]);
      }
    }
  };
  const auto for_rows = [&](auto&& body) {
    for_pieces(even_segment_cuts(a.brow_ptr, std::max<std::int64_t>(num_block_rows, 0)),
               [&](std::int64_t, std::int64_t first, std::int64_t last) {
                 const std::int64_t end = last == num_block_rows ? a.rows : last * a.row_block;
                 for (std::int64_t row = first * a.row_block; row < end; ++row) body(row);
               });
  };

  auto count = storage<std::int64_t>(a.rows + 1, "row counts");
  for_rows([&](std::int64_t row) { for_row(row, [&](std::int64_t, T) { ++count[at(row) + 1]; }); });
  std::partial_sum(count.begin(), count.end(), count.begin());
  const std::int64_t nnz = count.back();
  (void)narrow<I>(nnz, "nnz");
  auto row_ptr = copy<I>(std::span<const std::int64_t>(count), "row_ptr");
  auto col_ind = storage<I>(nnz, "col_ind");
  auto values = storage<T>(nnz, "values");
  for_rows([&](std::int64_t row) {
    std::int64_t to = count[at(row)];
    for_row(row, [&](std::int64_t col, T value) {
      col_ind[at(to)] = static_cast<I>(col);
      values[at(to++)] = value;
    });
  });
  return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

template <value T, index I>
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

template <value T, index I>
coo_matrix<T, I> to_coo(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  return {a.rows,
          a.cols,
          expand_pointers(a.row_ptr, a.rows, a.nnz(), "row_ind"),
          copy<I>(a.col_ind, "col_ind"),
          copy<T>(a.values, "values"),
          trust::trusted};
}

template <value T, index I>
csc_matrix<T, I> to_csc(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  auto [ptr, ind, values] = swap_axes(a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
  return {a.rows, a.cols, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <value T, index I>
bsr_matrix<T, I> to_bsr(const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  require_host(a.space, "csr");
  require_at_least_one(row_block, "row_block");
  require_at_least_one(col_block, "col_block");
  const std::int64_t block_size = core::checked_product(row_block, col_block, "row_block x col_block");
  const std::int64_t num_block_rows = ceil_div(a.rows, row_block);
  const std::vector<std::int64_t> cuts = block_cuts(a, row_block);

  // The block columns that each block row meets, first by pieces, then in one array.
  std::vector<std::vector<I>> found(cuts.size() - 1);
  auto brow_ptr = storage<I>(num_block_rows + 1, "brow_ptr");
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
    std::vector<I>& blocks = found[at(piece)];
    for (std::int64_t b = first; b < last; ++b) {
      const std::size_t start = blocks.size();
      const std::int64_t first_row = b * row_block, last_row = first_row + std::min(row_block, a.rows - first_row);
      for (std::int64_t k = a.row_ptr[at(first_row)]; k < a.row_ptr[at(last_row)]; ++k) {
        const I col = static_cast<I>(a.col_ind[at(k)] / col_block);
        if (blocks.size() == start || blocks.back() != col) blocks.push_back(col);
      }
      std::sort(blocks.begin() + static_cast<std::ptrdiff_t>(start), blocks.end());
      blocks.erase(std::unique(blocks.begin() + static_cast<std::ptrdiff_t>(start), blocks.end()), blocks.end());
      brow_ptr[at(b) + 1] = static_cast<I>(blocks.size() - start);
    }
  });
  accumulate_counts(brow_ptr);
  std::vector<I> bcol_ind = storage<I>(brow_ptr.back(), "bcol_ind");
  for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t) {
    std::copy(found[at(piece)].begin(), found[at(piece)].end(), bcol_ind.begin() + brow_ptr[at(first)]);
  });

  auto values = storage<T>(core::checked_product(brow_ptr.back(), block_size, "num_blocks x block size"), "BSR values");
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
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

template <value T, index I>
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

  // A row block's non-zeros stay within the same range of positions; only how many columns they make is new.
  const std::vector<std::int64_t> cuts = block_cuts(a, m_block);
  std::vector<bcsc_piece<I>> pieces(cuts.size() - 1);
  for_pieces(cuts, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    bcsc_piece<I> piece = piece_for(a.row_ptr[at(row_of(last))] - a.row_ptr[at(row_of(first))]);
    column_scratch<I> scratch;
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

template <value T, index I>
csr_matrix<T, I> transpose(const csr_view<T, I>& a) {
  require_host(a.space, "csr");
  auto [ptr, ind, values] = swap_axes(a.row_ptr, a.col_ind, a.values, a.rows, a.cols);
  return {a.cols, a.rows, std::move(ptr), std::move(ind), std::move(values), trust::trusted};
}

template <value T2, index I2, value T, index I>
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

template csr_matrix<float, std::int32_t> to_csr(const coo_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> to_csr(const coo_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> to_csr(const coo_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> to_csr(const coo_view<double, std::int64_t>&);
template csr_matrix<float, std::int32_t> to_csr(const csc_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> to_csr(const csc_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> to_csr(const csc_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> to_csr(const csc_view<double, std::int64_t>&);
template csr_matrix<float, std::int32_t> to_csr(const bsr_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> to_csr(const bsr_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> to_csr(const bsr_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> to_csr(const bsr_view<double, std::int64_t>&);
template csr_matrix<float, std::int32_t> to_csr(const bcsc_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> to_csr(const bcsc_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> to_csr(const bcsc_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> to_csr(const bcsc_view<double, std::int64_t>&);
template coo_matrix<float, std::int32_t> to_coo(const csr_view<float, std::int32_t>&);
template coo_matrix<float, std::int64_t> to_coo(const csr_view<float, std::int64_t>&);
template coo_matrix<double, std::int32_t> to_coo(const csr_view<double, std::int32_t>&);
template coo_matrix<double, std::int64_t> to_coo(const csr_view<double, std::int64_t>&);
template csc_matrix<float, std::int32_t> to_csc(const csr_view<float, std::int32_t>&);
template csc_matrix<float, std::int64_t> to_csc(const csr_view<float, std::int64_t>&);
template csc_matrix<double, std::int32_t> to_csc(const csr_view<double, std::int32_t>&);
template csc_matrix<double, std::int64_t> to_csc(const csr_view<double, std::int64_t>&);
template bsr_matrix<float, std::int32_t> to_bsr(const csr_view<float, std::int32_t>&, std::int64_t, std::int64_t);
template bsr_matrix<float, std::int64_t> to_bsr(const csr_view<float, std::int64_t>&, std::int64_t, std::int64_t);
template bsr_matrix<double, std::int32_t> to_bsr(const csr_view<double, std::int32_t>&, std::int64_t, std::int64_t);
template bsr_matrix<double, std::int64_t> to_bsr(const csr_view<double, std::int64_t>&, std::int64_t, std::int64_t);
template bcsc_matrix<float, std::int32_t> to_bcsc(const csr_view<float, std::int32_t>&, std::int64_t);
template bcsc_matrix<float, std::int64_t> to_bcsc(const csr_view<float, std::int64_t>&, std::int64_t);
template bcsc_matrix<double, std::int32_t> to_bcsc(const csr_view<double, std::int32_t>&, std::int64_t);
template bcsc_matrix<double, std::int64_t> to_bcsc(const csr_view<double, std::int64_t>&, std::int64_t);
template csr_matrix<float, std::int32_t> transpose(const csr_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> transpose(const csr_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> transpose(const csr_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> transpose(const csr_view<double, std::int64_t>&);
template csr_matrix<float, std::int32_t> cast(const csr_view<float, std::int32_t>&);
template csr_matrix<float, std::int32_t> cast(const csr_view<float, std::int64_t>&);
template csr_matrix<float, std::int32_t> cast(const csr_view<double, std::int32_t>&);
template csr_matrix<float, std::int32_t> cast(const csr_view<double, std::int64_t>&);
template csr_matrix<float, std::int64_t> cast(const csr_view<float, std::int32_t>&);
template csr_matrix<float, std::int64_t> cast(const csr_view<float, std::int64_t>&);
template csr_matrix<float, std::int64_t> cast(const csr_view<double, std::int32_t>&);
template csr_matrix<float, std::int64_t> cast(const csr_view<double, std::int64_t>&);
template csr_matrix<double, std::int32_t> cast(const csr_view<float, std::int32_t>&);
template csr_matrix<double, std::int32_t> cast(const csr_view<float, std::int64_t>&);
template csr_matrix<double, std::int32_t> cast(const csr_view<double, std::int32_t>&);
template csr_matrix<double, std::int32_t> cast(const csr_view<double, std::int64_t>&);
template csr_matrix<double, std::int64_t> cast(const csr_view<float, std::int32_t>&);
template csr_matrix<double, std::int64_t> cast(const csr_view<float, std::int64_t>&);
template csr_matrix<double, std::int64_t> cast(const csr_view<double, std::int32_t>&);
template csr_matrix<double, std::int64_t> cast(const csr_view<double, std::int64_t>&);

}  // namespace bcsc
