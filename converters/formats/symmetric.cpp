#include <algorithm>
#include <utility>

#include "bcsc/convert.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// From one triangle of a matrix to the whole of it.
namespace bcsc {

namespace {

using converters::even_segment_cuts;
using converters::first_fault;
using converters::for_pieces;
using converters::storage;
using core::at;
using core::fail;

/// The entries of row i.
template <element T, index I>
struct row_range {
  std::int64_t first, last;
  row_range(const csr_view<T, I>& a, std::int64_t i) : first(a.row_ptr[at(i)]), last(a.row_ptr[at(i) + 1]) {}
  bool empty() const { return first == last; }
};

/// Whether the stored triangle is the lower one. Refuses entries in both triangles, and a non-zero skew diagonal.
template <element T, index I>
bool is_lower(const csr_view<T, I>& a, symmetry_kind kind) {
  // Columns ascend: a row's first entry decides for the lower triangle, its last for the upper one.
  const auto below = [&](std::int64_t i) {
    return !row_range(a, i).empty() && a.col_ind[at(row_range(a, i).first)] < i;
  };
  const auto above = [&](std::int64_t i) {
    return !row_range(a, i).empty() && a.col_ind[at(row_range(a, i).last - 1)] > i;
  };
  const std::int64_t lower_row = first_fault(a.rows, below), upper_row = first_fault(a.rows, above);
  if (lower_row >= 0 && upper_row >= 0) {
    const auto lower_col = a.col_ind[at(a.row_ptr[at(lower_row)])];
    const auto upper_col = a.col_ind[at(a.row_ptr[at(upper_row) + 1]) - 1];
    fail(errc::structure_violation, "entries ({}, {}) and ({}, {}): both triangles are stored, must be one", lower_row,
         lower_col, upper_row, upper_col);
  }
  if constexpr (number<T>) {
    if (kind == symmetry_kind::skew_symmetric) {
      const std::int64_t row = first_fault(a.rows, [&](std::int64_t i) {
        const row_range entries(a, i);
        for (std::int64_t k = entries.first; k < entries.last; ++k) {
          if (a.col_ind[at(k)] == i && !is_zero_element(a.values[at(k)])) return true;
        }
        return false;
      });
      if (row >= 0) {
        fail(errc::structure_violation, "entry ({0}, {0}): a skew-symmetric matrix has a zero diagonal", row);
      }
    }
  }
  return upper_row < 0;
}

template <element T>
T mirrored(T value, symmetry_kind kind) {
  if constexpr (number<T>) {
    if (kind == symmetry_kind::skew_symmetric) return -value;
  }
  return value;
}

}  // namespace

template <element T, index I>
csr_matrix<T, I> expand_symmetric(const csr_view<T, I>& a, symmetry_kind kind) {
  converters::require_host(a.space, "csr");
  if (a.rows != a.cols) {
    fail(errc::size_mismatch, "matrix: {} x {}, must be square to be expanded from one triangle", a.rows, a.cols);
  }
  if (kind == symmetry_kind::skew_symmetric && !number<T>) {
    fail(errc::unsupported, "symmetry: a pattern has no signs, so it cannot be skew-symmetric");
  }
  const bool lower = is_lower(a, kind);
  const csr_matrix<T, I> mirror = transpose(a);
  const csr_view<T, I> t = mirror.view();

  // A row of the lower triangle precedes its mirrored column, a row of the upper one follows it. The diagonal, at the
  // seam, comes from the stored triangle.
  const auto mirrored_range = [&](std::int64_t i) {
    row_range entries(t, i);
    if (entries.empty()) return entries;
    if (lower && t.col_ind[at(entries.first)] == i) ++entries.first;
    if (!lower && t.col_ind[at(entries.last - 1)] == i) --entries.last;
    return entries;
  };
  auto starts = storage<std::int64_t>(a.rows + 1, "row starts");
  const std::vector<std::int64_t> cuts = even_segment_cuts(t.row_ptr, a.rows);
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const row_range<T, I> own(a, i), other = mirrored_range(i);
      starts[at(i) + 1] = own.last - own.first + other.last - other.first;
    }
  });
  for (std::int64_t i = 0; i < a.rows; ++i) starts[at(i) + 1] += starts[at(i)];
  (void)core::narrow<I>(starts.back(), "nnz");

  auto row_ptr = storage<I>(a.rows + 1, "row_ptr");
  std::transform(starts.begin(), starts.end(), row_ptr.begin(), [](std::int64_t k) { return static_cast<I>(k); });
  auto col_ind = storage<I>(starts.back(), "col_ind");
  auto values = storage<T>(starts.back(), "values");
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t to = starts[at(i)];
      const auto take_own = [&] {
        const row_range<T, I> own(a, i);
        for (std::int64_t k = own.first; k < own.last; ++k, ++to) {
          col_ind[at(to)] = a.col_ind[at(k)];
          values[at(to)] = a.values[at(k)];
        }
      };
      if (lower) take_own();
      const row_range<T, I> other = mirrored_range(i);
      for (std::int64_t k = other.first; k < other.last; ++k, ++to) {
        col_ind[at(to)] = t.col_ind[at(k)];
        values[at(to)] = mirrored(t.values[at(k)], kind);
      }
      if (!lower) take_own();
    }
  });
  return {a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted};
}

#define BCSC_INSTANTIATE(T, I) template csr_matrix<T, I> expand_symmetric(const csr_view<T, I>&, symmetry_kind);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
