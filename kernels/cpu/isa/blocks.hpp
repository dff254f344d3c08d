#pragma once

#include "kernels/cpu/isa/job.hpp"

/// blocks: m_tile rows of C in registers.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

template <class T>
struct bits_of;
template <>
struct bits_of<float> {
  using type = std::uint32_t;
};
template <>
struct bits_of<double> {
  using type = std::uint64_t;
};

/// to[r] = the value in row r of a column whose entries are [first, last], or 0. Branch-free: which rows a column has
/// is unpredictable. Worth it for up to three rows.
template <int Rows, class T>
[[gnu::always_inline]] inline void expand_column(const T* values, const std::uint8_t* rows, int64_t first, int64_t last,
                                                 T* to) {
  using bits = typename bits_of<T>::type;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const int64_t is_there = rows[first] == r;
    bits value;
    __builtin_memcpy(&value, values + first, sizeof value);
    value &= bits{0} - static_cast<bits>(is_there);
    __builtin_memcpy(to + r, &value, sizeof value);
    first = least(first + is_there, last);
  }
}

/// sum[r][:] = A[r-th row of the block, :] * B[:, pass] over the block's `count` non-empty columns from `column` on,
/// whose non-zeros begin at `entry`. A row block of 2 to 256 rows has indices of one byte.
template <bool Part, int Rows, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void sum_block(const bcsc_operand<T, I>& a, int64_t entry, int64_t column, int64_t count,
                                             const T* b, int64_t ldb, const successor<T, I>& next, bool mostly_full,
                                             part<T, Bytes> edge, vec<T, Bytes> (&sum)[Rows][Vectors]) {
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) sum[r][v] = vec<T, Bytes>{};
  }
  const I* col_ind = a.col_ind + column;
  const auto* lengths = static_cast<const std::uint8_t*>(a.col_count.data) + column;
  const auto* rows = static_cast<const std::uint8_t*>(a.row_in_block.data);
  alignas(min_bytes) T expanded[Rows];
  for (int64_t i = 0; i < count; ++i) {
    prefetch_ahead<Vectors, Bytes>(col_ind, i, count, b, ldb, next);
    const T* b_row = b + static_cast<int64_t>(col_ind[i]) * ldb;
    const int64_t first = entry, last = entry + lengths[i];
    entry = last + 1;
    const T* dense = a.values + first;
    if (Rows <= 3 && !mostly_full) {
      expand_column<Rows>(a.values, rows, first, last, expanded);
      dense = expanded;
    } else if (last - first != Rows - 1) {
      for (int r = 0; r < Rows; ++r) expanded[r] = T{0};
      if constexpr (Rows <= 3 && vector_bytes < 64) {
        for (int64_t k = first; k <= last; ++k) expanded[rows[k]] = a.values[k];
      } else {
        // Unrolled: from a loop GCC makes scatter instructions, which lose for a handful of entries.
#pragma GCC unroll 8
        for (int r = 0; r < Rows - 1; ++r) {
          if (first + r > last) break;
          expanded[rows[first + r]] = a.values[first + r];
        }
      }
      dense = expanded;
    }
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      const vec<T, Bytes> b_part = Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) sum[r][v] = multiply_add(dense[r], b_part, sum[r][v]);
    }
  }
}

/// Whether a row of B that is not finite may have come in where a column has no entry. A product with it, be it by 0,
/// is not finite either and stays so in any sum: one row of the block shows it. Two vectors are tested at a time by
/// their product; where only that overflows, each is tested by itself.
template <int Vectors, int Bytes, class T>
[[gnu::always_inline]] inline bool is_contaminated(const vec<T, Bytes> (&sum)[Vectors]) {
  vec<T, Bytes> vote = sum[Vectors - 1];
#pragma GCC unroll 8
  for (int v = 0; v + 1 < Vectors; v += 2) vote = multiply_add(sum[v], sum[v + 1], vote);
  if (!any_not_finite<T, Bytes>(vote)) [[likely]]
    return false;
  bool found = false;
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; ++v) found = found || any_not_finite<T, Bytes>(sum[v]);
  return found;
}

/// One pass over the blocks [block, end) of height Rows: `columns` columns of C from `column` on; after it comes the
/// pass at column `next_column`, over the same block if that lies further on. Returns the first block that is not done,
/// because its sums are not finite. Not inlined, for the sake of registers.
template <int Rows, int Vectors, int Bytes, bool Part, class T, class I>
[[gnu::noinline]] int64_t pass_in_registers(const job<T, I>& work, int64_t block, int64_t end, int64_t column,
                                            int64_t columns, int64_t next_column) {
  const bcsc_operand<T, I> a = work.a;
  const part<T, Bytes> edge(columns - (Vectors - 1) * width<T, Bytes>);
  const bool whole = columns == Vectors * width<T, Bytes>;
  const target<T, I> out = work.out;                        // a copy, which no store to C can change
  const bool contiguous = Rows > 1 && out.col_stride == 1;  // one row of a contiguous C goes another way
  alignas(64) T tile[group_rows * Vectors * width<T, Bytes>];
  const int64_t num_columns = a.brow_ptr[a.num_row_blocks];
  // Where nearly all columns are full, testing is cheaper than expanding.
  const bool mostly_full = 10 * static_cast<int64_t>(a.entry_ptr[a.num_row_blocks]) >= 9 * Rows * num_columns;
  const I* last_col_ind = num_columns > 0 ? a.col_ind + (num_columns - 1) : a.col_ind;
  const int64_t first_block = block, first_row = work.row_of_block(block), end_row = work.row_of_block(end);
  for (int64_t row = first_row, next_row = row; block < end; ++block, row = next_row) {
    next_row = work.row_of_block(block + 1);
    const int64_t rows = next_row - row, from = a.brow_ptr[block], to = a.brow_ptr[block + 1];
    const successor<T, I> next{a.col_ind + (next_column > column ? from : to), work.b + next_column, last_col_ind,
                               work.ahead};
    vec<T, Bytes> sum[Rows][Vectors];
    if constexpr (Rows == 1) {
      sum_row<Part>(a.values + from, a.col_ind + from, to - from, work.b + column, work.ldb, next, edge, sum[0]);
    } else {
      sum_block<Part>(a, a.entry_ptr[block], from, to - from, work.b + column, work.ldb, next, mostly_full, edge, sum);
      if (is_contaminated<Vectors, Bytes, T>(sum[0])) [[unlikely]] {
        return contiguous ? block : first_block;
      }
    }
    if (contiguous) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        if (r < rows) finish_row<Part>(out, out.at(row + r, column), sum[r], edge, whole);
      }
    } else {
      // A lower row block's other sums are zeros, and lie where the next block's go, or beyond what is written out.
      T* to_tile = tile + (row - first_row) * Vectors * width<T, Bytes>;
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < Vectors; ++v) store(to_tile + (r * Vectors + v) * width<T, Bytes>, sum[r][v]);
      }
    }
  }
  if (!contiguous) {
    finish_tile(out, tile, Vectors * width<T, Bytes>, first_row, end_row - first_row, column, columns);
  }
  return end;
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
