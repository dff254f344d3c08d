#pragma once

#include "kernels/cpu/isa/job.hpp"

/// rows: one row of C in registers.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

/// sum[:] = A[row, :] * B[:, pass], `b` at the pass's first column. Short rows of C take several non-zeros at once, so
/// that an addition need not wait for the one before.
template <bool Part, int Vectors, int Bytes, class T, class I>
[[gnu::always_inline]] inline void sum_row(const T* values, const I* col_ind, int64_t count, const T* b, int64_t ldb,
                                           const successor<T, I>& next, part<T, Bytes> edge,
                                           vec<T, Bytes> (&sum)[Vectors]) {
  constexpr int chains = Vectors <= 2 ? 2 : 1;
  vec<T, Bytes> partial[chains][Vectors] = {};
  int64_t k = 0;
  for (; k + chains <= count; k += chains) {
#pragma GCC unroll 4
    for (int u = 0; u < chains; ++u) {
      prefetch_ahead<Vectors, Bytes>(col_ind, k + u, count, b, ldb, next);
      const T* b_row = b + static_cast<int64_t>(col_ind[k + u]) * ldb;
      const T value = values[k + u];
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) {
        const T* at = b_row + v * width<T, Bytes>;
        partial[u][v] = multiply_add(value, Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), partial[u][v]);
      }
    }
  }
  for (; k < count; ++k) {
    prefetch_ahead<Vectors, Bytes>(col_ind, k, count, b, ldb, next);
    const T* b_row = b + static_cast<int64_t>(col_ind[k]) * ldb;
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      partial[0][v] =
          multiply_add(values[k], Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), partial[0][v]);
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < Vectors; ++v) {
    sum[v] = partial[0][v];
#pragma GCC unroll 4
    for (int u = 1; u < chains; ++u) sum[v] += partial[u][v];
  }
}

/// C[first .. end) of a contiguous C, for m_block = 1: `columns` columns from `column` on. Everything is held in
/// registers, for where rows are short what surrounds their sums takes longer than the sums. Not inlined: beside others
/// of its kind the compiler does not find registers for all of it (fp64, N = 32: half as long again).
template <int Vectors, int Bytes, bool Part, prefetching Ahead, class T, class I>
[[gnu::noinline]] void rows_of_contiguous(const job<T, I>& work, int64_t first, int64_t end, int64_t column,
                                          int64_t columns) {
  constexpr bool far = Ahead == prefetching::far;
  constexpr int64_t distance = far ? far_distance : near_distance;
  const part<T, Bytes> edge(columns - (Vectors - 1) * width<T, Bytes>);
  const bool whole = columns == Vectors * width<T, Bytes>;
  const target<T, I> out = work.out;
  const T* const b = work.b + column;
  const T* const values = work.a.values;
  const I* const col_ind = work.a.col_ind;
  const I* const row_ptr = work.a.brow_ptr;
  const int64_t ldb = work.ldb, last_entry = row_ptr[work.a.num_row_blocks] - 1;

  const auto add = [&](vec<T, Bytes>(&sum)[Vectors], int64_t k) __attribute__((always_inline)) {
    if constexpr (Ahead != prefetching::none) {
      const T* row = b + static_cast<int64_t>(col_ind[least(k + distance, last_entry)]) * ldb;
#pragma GCC unroll 16
      for (int v = 0; v < Vectors; ++v) __builtin_prefetch(row + v * width<T, Bytes>, 0, far ? 2 : 3);
    }
    const T* b_row = b + static_cast<int64_t>(col_ind[k]) * ldb;
#pragma GCC unroll 16
    for (int v = 0; v < Vectors; ++v) {
      const T* at = b_row + v * width<T, Bytes>;
      sum[v] = multiply_add(values[k], Part && v == Vectors - 1 ? load(at, edge) : load<Bytes>(at), sum[v]);
    }
  };
  const bool overwrites = out.beta == T{0} && out.streamed == 0;
  const vec<T, Bytes> of_nothing = out.alpha * vec<T, Bytes>{};
  int64_t k = row_ptr[first];
  for (int64_t row = first; row < end; ++row) {
    const int64_t last = row_ptr[row + 1];
    vec<T, Bytes> sum[Vectors] = {};
    if (Vectors <= 2 && last - k >= 2) {  // two sums, so that an addition need not wait for the one before
      vec<T, Bytes> other[Vectors] = {};
      for (; k + 2 <= last; k += 2) {
        add(sum, k);
        add(other, k + 1);
      }
      if (k < last) add(sum, k++);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[v] += other[v];
    } else if (k < last) {
      for (; k < last; ++k) add(sum, k);
    } else if (overwrites) {  // of a matrix of few entries most rows are empty, and a store is all they need
      fill_row<Part, Vectors>(out.at(row, column), of_nothing, edge, whole);
      continue;
    }
    finish_row<Part>(out, out.at(row, column), sum, edge, whole);
  }
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
