#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/files.hpp"
#include "converters/files/location.hpp"

/// From the entries of a file, in its order, to a sorted COO matrix.
namespace bcsc::files {

/// One stored entry, 0-based.
template <value T, index I>
struct entry {
  I row, col;
  T value;
};

/// The arrays of a COO matrix on the way to their final order.
template <value T, index I>
struct coo_arrays {
  std::vector<I> row_ind, col_ind;
  std::vector<T> values;

  explicit coo_arrays(std::size_t size) : row_ind(size), col_ind(size), values(size) {}
  void resize(std::size_t size) {
    row_ind.resize(size);
    col_ind.resize(size);
    values.resize(size);
  }
};

/// Calls place(row, col, value) for each entry, and for the entry that symmetric storage leaves out.
template <value T, index I, class F>
void for_each_expanded(const std::vector<entry<T, I>>& stored, file_symmetry symmetry, F&& place) {
  const bool twins = symmetry != file_symmetry::general;
  const T twin_sign = symmetry == file_symmetry::skew_symmetric ? T{-1} : T{1};
  for (const auto& [row, col, value] : stored) {
    place(row, col, value);
    if (twins && row != col) place(col, row, twin_sign * value);
  }
}

/// Sorts the entries [begin, end) of one row by column; equal columns keep their order.
template <value T, index I>
void sort_row(coo_arrays<T, I>& a, std::size_t begin, std::size_t end, std::vector<std::pair<I, T>>& scratch) {
  const auto col = [&](std::size_t k) { return a.col_ind.begin() + static_cast<std::ptrdiff_t>(k); };
  if (std::is_sorted(col(begin), col(end))) return;
  scratch.clear();
  for (std::size_t k = begin; k < end; ++k) scratch.emplace_back(a.col_ind[k], a.values[k]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  for (std::size_t k = begin; k < end; ++k) std::tie(a.col_ind[k], a.values[k]) = scratch[k - begin];
}

/// Expanded and sorted, for matrices whose rows are not many more than their entries: a stable counting sort by row,
/// then each row by column. Files sorted by column (the usual order) or by row then need no sort inside the rows.
template <value T, index I>
coo_arrays<T, I> order_by_counting(std::int64_t rows, const std::vector<entry<T, I>>& stored, file_symmetry symmetry) {
  std::vector<std::size_t> next(static_cast<std::size_t>(rows) + 1, 0);
  for_each_expanded(stored, symmetry, [&](I row, I, T) { ++next[static_cast<std::size_t>(row) + 1]; });
  for (std::size_t row = 1; row < next.size(); ++row) next[row] += next[row - 1];

  coo_arrays<T, I> a(next.back());
  for_each_expanded(stored, symmetry, [&](I row, I col, T value) {
    const std::size_t k = next[static_cast<std::size_t>(row)]++;
    a.row_ind[k] = row;
    a.col_ind[k] = col;
    a.values[k] = value;
  });
  // `next[row]` has arrived at the row's end.
  std::vector<std::pair<I, T>> scratch;
  for (std::size_t row = 0, begin = 0; row < static_cast<std::size_t>(rows); ++row) {
    sort_row(a, begin, next[row], scratch);
    begin = next[row];
  }
  return a;
}

/// The same by comparison, for matrices with so many empty rows that a counter for each would be the larger part.
template <value T, index I>
coo_arrays<T, I> order_by_comparison(const std::vector<entry<T, I>>& stored, file_symmetry symmetry) {
  std::vector<entry<T, I>> expanded;
  expanded.reserve(stored.size() * (symmetry == file_symmetry::general ? 1 : 2));
  for_each_expanded(stored, symmetry, [&](I row, I col, T value) { expanded.push_back({row, col, value}); });
  std::stable_sort(expanded.begin(), expanded.end(),
                   [](const auto& x, const auto& y) { return std::pair(x.row, x.col) < std::pair(y.row, y.col); });
  coo_arrays<T, I> a(expanded.size());
  for (std::size_t k = 0; k < expanded.size(); ++k) {
    a.row_ind[k] = expanded[k].row;
    a.col_ind[k] = expanded[k].col;
    a.values[k] = expanded[k].value;
  }
  return a;
}

/// Adds up entries of the same position, in the order in which they stand.
template <value T, index I>
void sum_duplicates(coo_arrays<T, I>& a, const std::string& path) {
  const std::size_t size = a.values.size();
  std::size_t kept = 0;
  for (std::size_t k = 0; k < size; ++k) {
    if (kept > 0 && a.row_ind[kept - 1] == a.row_ind[k] && a.col_ind[kept - 1] == a.col_ind[k]) {
      T& sum = a.values[kept - 1];
      sum += a.values[k];
      if (!std::isfinite(sum)) {
        fail_at({.path = path}, errc::value_out_of_range, "the duplicates of entry ({}, {}) add up beyond the range",
                static_cast<std::int64_t>(a.row_ind[k]) + 1, static_cast<std::int64_t>(a.col_ind[k]) + 1);
      }
      continue;
    }
    a.row_ind[kept] = a.row_ind[k];
    a.col_ind[kept] = a.col_ind[k];
    a.values[kept] = a.values[k];
    ++kept;
  }
  if (kept < size) a.resize(kept);
}

/// The COO matrix of the stored entries: symmetric storage expanded, sorted, duplicates summed. O(nnz + rows) for files
/// sorted by row or by column, and never more memory for `rows` than for the entries.
template <value T, index I>
coo_matrix<T, I> assemble(std::int64_t rows, std::int64_t cols, std::vector<entry<T, I>> stored, file_symmetry symmetry,
                          const std::string& path) {
  const bool rows_are_few = rows / 4 <= static_cast<std::int64_t>(stored.size());
  coo_arrays<T, I> a = rows_are_few ? order_by_counting(rows, stored, symmetry) : order_by_comparison(stored, symmetry);
  stored = {};
  sum_duplicates(a, path);
  return {rows, cols, std::move(a.row_ind), std::move(a.col_ind), std::move(a.values), trust::trusted};
}

}  // namespace bcsc::files
