#pragma once

#include "kernels/cpu/isa/job.hpp"

/// rows, N = 1: products first, then sums.
namespace bcsc::kernels::cpu::BCSC_ISA {
namespace {

constexpr int64_t num_products = 1024;  // whose products lie in L1 between being made and being summed

template <gathering How, class T, class I>
[[gnu::always_inline]] inline void multiply_strided(const T* values, const I* col_ind, int64_t count, const T* x,
                                                    int64_t stride, T* to) {
  const auto gathered = [&](int64_t k) __attribute__((always_inline)) {
    if constexpr (How == gathering::at_once) {
      return gather_at_once(x, col_ind + k);
    } else {
      return gather(x, col_ind + k, stride);
    }
  };
  int64_t k = 0;
  for (; k + width<T> <= count; k += width<T>) store(to + k, load(values + k) * gathered(k));
  for (; k < count; ++k) to[k] = values[k] * x[col_ind[k] * stride];
}

/// to[0 .. count) = values * x[col_ind * stride].
template <class T, class I>
void multiply_entries(const T* values, const I* col_ind, int64_t count, const T* x, int64_t stride, gathering how,
                      T* to) {
  if constexpr (sizeof(I) == sizeof(std::int32_t)) {
    if (how == gathering::at_once && stride == 1) {
      return multiply_strided<gathering::at_once>(values, col_ind, count, x, 1, to);
    }
  }
  // A multiplication for each index takes as long as all the rest.
  stride == 1 ? multiply_strided<gathering::one_by_one>(values, col_ind, count, x, 1, to)
              : multiply_strided<gathering::one_by_one>(values, col_ind, count, x, stride, to);
}

/// The sum of a row's products, one in each lane: lane i has those of entries i, i + width, ...
template <class T>
[[gnu::always_inline]] inline vec<T> sum_products(const T* products, int64_t count) {
  vec<T> sum{};
  for (; count > width<T>; count -= width<T>, products += width<T>) sum += load(products);
  return sum + load(products, part<T>(count));
}

/// The same for a row of any length, from its entries.
template <class T, class I>
vec<T> sum_long_row(const T* values, const I* col_ind, int64_t count, const T* x, int64_t stride, gathering how) {
  alignas(64) T products[num_products];
  vec<T> sum{};
  for (int64_t k = 0; k < count; k += num_products) {
    const int64_t some = least(num_products, count - k);
    multiply_entries(values + k, col_ind + k, some, x, stride, how, products);
    sum += sum_products(products, some);
  }
  return sum;
}

/// C[row .. row + rows of it] = alpha * sums + beta * Z for one column, at most as many rows as a vector has lanes.
template <class T, class I>
[[gnu::always_inline]] inline void finish_column(const target<T, I>& out, vec<T> sums, int64_t row, int64_t rows) {
  if (out.row_stride == 1 && !out.row_of) {
    T* c = out.at(row, 0);
    const part<T> lanes(rows);
    vec<T> result = out.alpha * sums;
    if (out.beta != T{0}) result = multiply_add(out.beta, load(out.addend_of(c), lanes), result);
    store(c, result, lanes);
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    T& c = *out.at(row + i, 0);
    const T sum = out.alpha * sums[i];
    c = out.beta != T{0} ? multiply_add(out.beta, *out.addend_of(&c), sum) : sum;
  }
}

/// C[first .. end) for m_block = 1 and N = 1. A variable number of entries in a row costs a mispredicted branch a row
/// where each row is a loop of its own, and one vector in 4 to 16 is full.
template <class T, class I>
void share_of_vector(const job<T, I>& work, gathering how, int64_t first, int64_t end) {
  const I* row_ptr = work.a.brow_ptr;
  const I* col_ind = work.a.col_ind;
  const T* values = work.a.values;
  alignas(64) T products[num_products];
  while (first < end) {
    const int64_t entry = row_ptr[first];
    int64_t last = first + 1;
    while (last < end && last - first < num_products / 8 && row_ptr[last + 1] - entry <= num_products) ++last;
    const int64_t count = row_ptr[last] - entry;
    if (count > num_products) {  // then it is one row
      vec<T> sums[width<T>] = {sum_long_row(values + entry, col_ind + entry, count, work.b, work.ldb, how)};
      finish_column(work.out, sums_of_lanes<T>(sums), first, 1);
      first = last;
      continue;
    }
    multiply_entries(values + entry, col_ind + entry, count, work.b, work.ldb, how, products);
    int64_t row = first;
    for (; row + width<T> <= last; row += width<T>) {
      vec<T> sums[width<T>];
      int64_t from = row_ptr[row];
#pragma GCC unroll 16
      for (int i = 0; i < width<T>; ++i) {
        const int64_t to = row_ptr[row + i + 1];
        sums[i] = sum_products(products + (from - entry), to - from);
        from = to;
      }
      finish_column(work.out, sums_of_lanes<T>(sums), row, width<T>);
    }
    if (row < last) {
      vec<T> sums[width<T>] = {};
      for (int64_t i = row; i < last; ++i) {
        sums[i - row] = sum_products(products + (row_ptr[i] - entry), row_ptr[i + 1] - row_ptr[i]);
      }
      finish_column(work.out, sums_of_lanes<T>(sums), row, last - row);
    }
    first = last;
  }
}

}  // namespace
}  // namespace bcsc::kernels::cpu::BCSC_ISA
