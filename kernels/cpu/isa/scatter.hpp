#pragma once

#include "kernels/cpu/isa/passes.hpp"
#include "kernels/cpu/isa/shares.hpp"

/// scatter: the transpose of A as it is stored.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// Non-empty columns [column, end) of a row block, whose non-zeros begin at `entry`.
struct column_range {
  int64_t column, end, entry;
};

/// The first non-empty column of [from, to) that is `wanted` or beyond; in a row block they ascend.
template <class I>
int64_t first_column(const I* col_ind, int64_t from, int64_t to, int64_t wanted) {
  while (from < to) {
    const int64_t middle = from + (to - from) / 2;
    if (col_ind[middle] < wanted) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

/// Those columns of a row block that are rows [first, end) of C.
template <class T, class I>
column_range columns_between(const bcsc_operand<T, I>& a, int64_t block, int64_t first, int64_t end) {
  const int64_t from = a.brow_ptr[block], to = a.brow_ptr[block + 1];
  int64_t entry = a.entry_ptr[block];
  if (first == 0 && end == a.cols) return {from, to, entry};
  const int64_t begin = first_column(a.col_ind, from, to, first);
  if (a.col_count.bytes == 0) {
    entry += begin - from;
  } else {
    for (int64_t column = from; column < begin; ++column) entry += small_at(a.col_count, column) + 1;
  }
  return {begin, first_column(a.col_ind, begin, to, end), entry};
}

/// The row of B that belongs to a stored row of A.
template <class T, class I>
[[gnu::always_inline]] inline int64_t row_of_b(const bcsc_operand<T, I>& a, int64_t row) {
  return a.row_of ? static_cast<int64_t>(a.row_of[row]) : row;
}

/// C[columns of the range, pass] += alpha * A[block, range]' * B[rows of the block, pass], rows of C contiguous.
template <int Vectors, int Bytes, bool Part, class T, class I>
void pass_of_scatter(const job<T, I>& work, int64_t block, const column_range& range, int64_t first_col,
                     part<T, Bytes> edge) {
  const bcsc_operand<T, I>& a = work.a;
  const int64_t block_row = work.row_of_block(block);
  const T alpha = work.out.alpha;
  const T* const b = work.b + first_col;
  T* const c = work.out.c + first_col;
  const auto read = [&](const T* from, vec<T, Bytes>(&to)[Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = from + v * width<T, Bytes>;
      to[v] = Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at);
    }
  };
  const auto write = [&](T * to, const vec<T, Bytes>(&from)[Vectors]) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      T* at = to + v * width<T, Bytes>;
      if (Part && v == Vectors - 1) {
        store(at, from[v], edge);
      } else {
        store(at, from[v]);
      }
    }
  };
  const bool single = a.row_in_block.bytes == 0;  // then a row of B stays in registers
  vec<T, Bytes> b_part[Vectors] = {};
  if (single) read(b + row_of_b(a, block_row) * work.ldb, b_part);
  int64_t k = range.entry;
  for (int64_t column = range.column; column < range.end; ++column) {
    if (work.ahead == prefetching::far) {
      const int64_t ahead = least(column + near_distance, range.end - 1);
      const T* row = c + static_cast<int64_t>(a.col_ind[ahead]) * work.out.row_stride;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 1);
    }
    T* const c_row = c + static_cast<int64_t>(a.col_ind[column]) * work.out.row_stride;
    vec<T, Bytes> sum[Vectors];
    read(c_row, sum);
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      if (!single) read(b + row_of_b(a, block_row + small_at(a.row_in_block, k)) * work.ldb, b_part);
      const T value = alpha * a.values[k];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) sum[v] = multiply_add(value, b_part[v], sum[v]);
    }
    write(c_row, sum);
  }
}

/// The same for a single column of C, which may lie in any strides.
template <class T, class I>
void column_of_scatter(const job<T, I>& work, int64_t block, const column_range& range, int64_t col) {
  const bcsc_operand<T, I>& a = work.a;
  const int64_t block_row = work.row_of_block(block);
  const T* const b = work.b + col;
  T* const c = work.out.c + col * work.out.col_stride;
  int64_t k = range.entry;
  for (int64_t column = range.column; column < range.end; ++column) {
    T& at = c[static_cast<int64_t>(a.col_ind[column]) * work.out.row_stride];
    T sum = at;
    for (const int64_t last = k + small_at(a.col_count, column) + 1; k < last; ++k) {
      const int64_t row = row_of_b(a, block_row + small_at(a.row_in_block, k));
      sum = multiply_add(work.out.alpha * a.values[k], b[row * work.ldb], sum);
    }
    at = sum;
  }
}

/// A share of C: rows [first, end), columns [from, to).
template <class T, class I>
void share_of_scatter(const job<T, I>& work, int64_t first, int64_t end, int64_t from, int64_t to) {
  const target<T, I>& out = work.out;
  const bool by_rows = out.col_stride <= out.row_stride;
  const int64_t lines = by_rows ? end - first : to - from, length = by_rows ? to - from : end - first;
  const int64_t stride = by_rows ? out.col_stride : out.row_stride;
  for (int64_t line = 0; (out.beta != T{1} || out.z_offset != 0) && line < lines; ++line) {
    T* const c = by_rows ? out.at(first + line, from) : out.at(first, from + line);
    const T* const z = out.addend_of(c);
    for (int64_t i = 0; i < length; ++i) c[i * stride] = out.beta != T{0} ? out.beta * z[i * stride] : T{0};
  }
  const bool contiguous = out.col_stride == 1 && to - from > 1;
  const pass_list<max_pass, T> passes(from, to);
  for (int64_t block = 0; block < work.a.num_row_blocks; ++block) {
    const column_range range = columns_between(work.a, block, first, end);
    if (range.column == range.end) continue;
    if (!contiguous) {
      for (int64_t col = from; col < to; ++col) column_of_scatter(work, block, range, col);
      continue;
    }
    passes.for_each([&](int64_t column, int64_t columns) {
      with_pass<max_pass, T, whole_passes<I>>(columns, [&](auto pass, auto edge) {
        const part<T, pass.bytes> lanes(columns - (pass.vectors - 1) * width<T, pass.bytes>);
        pass_of_scatter<pass.vectors, pass.bytes, edge.part>(work, block, range, column, lanes);
      });
    });
  }
}

/// Each share reads the part of A that reaches it. Columns of C are divided first, which needs no search, down to whole
/// cache lines of fp32; then its rows, evenly, since how many entries reach a row is not known.
template <class T, class I>
void run_scatter(const job<T, I>& work, int64_t n_tile, const team& who) {
  const int64_t rows = work.a.cols;
  const int64_t by_cache = ceil_div(work.n, n_tile), by_threads = least(who.threads, ceil_div(work.n, 16));
  const int64_t slab_columns = ceil_div(ceil_div(work.n, by_cache > by_threads ? by_cache : by_threads), 16) * 16;
  const int64_t slabs = ceil_div(work.n, slab_columns);
  const int64_t ranges = least(ceil_div(who.threads, slabs), rows);
  run_pieces(slabs * ranges, who, [=](int64_t piece) {
    const int64_t range = piece / slabs, from = piece % slabs * slab_columns;
    share_of_scatter(work, rows * range / ranges, rows * (range + 1) / ranges, from,
                     least(from + slab_columns, work.n));
  });
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
