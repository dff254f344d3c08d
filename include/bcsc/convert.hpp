#pragma once

#include <cstdint>
#include <span>

#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Conversions between the host formats. CSR is the hub: every format converts to it and from it, so any pair takes at
/// most two steps. All inputs are host views that hold their format's invariants; outputs do too. Explicit zeros are
/// kept by COO, CSR, CSC, BCSC and its compact form; BSR, Blocked-ELL and dense store them as padding, so a round trip
/// through those drops them (-0 too). Throws error{invalid_argument} for a block size < 1, error{size_overflow} where a
/// count does not fit I, error{out_of_memory} where a result does not fit the memory, error{wrong_memory_space} for a
/// device view.
/// device view.
namespace bcsc {

template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const coo_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const csc_view<T, I>& a);
template <number T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const bsr_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const bcsc_view<T, I>& a);

template <element T, index I>
BCSC_EXPORT coo_matrix<T, I> to_coo(const csr_view<T, I>& a);
template <element T, index I>
BCSC_EXPORT csc_matrix<T, I> to_csc(const csr_view<T, I>& a);
template <number T, index I>
BCSC_EXPORT bsr_matrix<T, I> to_bsr(const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block);
/// BCSC with row blocks of height `m_block` >= 1 (the last one may be shorter). O(nnz log nnz) at worst, parallel.
template <element T, index I>
BCSC_EXPORT bcsc_matrix<T, I> to_bcsc(const csr_view<T, I>& a, std::int64_t m_block);

/// Blocked ELL with square blocks of size `block` >= 1, as many in each block row as the fullest needs.
template <number T, index I>
BCSC_EXPORT ell_matrix<T, I> to_ell(const csr_view<T, I>& a, std::int64_t block);
/// Stored zeros of the blocks are padding, and are dropped.
template <number T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const ell_view<T, I>& a);

/// Row-major or column-major; throws error{size_overflow | out_of_memory} where rows * cols is too large.
template <number T, index I>
BCSC_EXPORT dense_matrix<T> to_dense(const csr_view<T, I>& a, layout order = layout::row_major);
/// The entries that are not 0. Throws error{size_overflow}.
template <index I, number T>
BCSC_EXPORT csr_matrix<T, I> to_csr(const dense_view<const T>& a);

/// How to_compact cuts and orders.
struct compact_options {
  std::int64_t m_block = 32;  ///< 1 .. 65536
  /// Row blocks of individual heights, each at most m_block: where they begin, from 0 to rows, strictly increasing.
  /// Empty: every m_block rows.
  std::span<const std::int64_t> boundaries = {};
  /// Columns of a block with at least this many non-zeros come first, and dense_end says where they end; 0: no such
  /// order.
  std::int64_t dense_from = 0;
  /// Columns in two bytes each where there are at most 65536.
  bool narrow_columns = false;
};
template <element T, index I>
BCSC_EXPORT compact_bcsc_matrix<T, I> to_compact(const csr_view<T, I>& a, const compact_options& options);
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> to_csr(const compact_bcsc_view<T, I>& a);

/// The same arrays read as the transpose, at no cost: CSC of A is CSR of A's transpose, and vice versa. So BCSC of the
/// transpose is to_bcsc(transposed(csc), m_block) or to_bcsc(transpose(csr), m_block).
template <element T, index I>
csr_view<T, I> transposed(const csc_view<T, I>& a) {
  return {a.cols, a.rows, a.col_ptr, a.row_ind, a.values, a.space};
}
template <element T, index I>
csc_view<T, I> transposed(const csr_view<T, I>& a) {
  return {a.cols, a.rows, a.row_ptr, a.col_ind, a.values, a.space};
}

/// The transpose, as CSR.
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> transpose(const csr_view<T, I>& a);

/// How the triangle that is not stored follows from the one that is.
enum class symmetry_kind : std::uint8_t { symmetric, skew_symmetric };
/// The whole of a square matrix of which one triangle is stored, lower or upper, diagonal included.
/// Throws error{size_mismatch} unless square, error{structure_violation} if both triangles have entries or a skew
/// diagonal is not 0, error{unsupported} for a skew pattern, error{size_overflow} if I cannot count the entries.
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> expand_symmetric(const csr_view<T, I>& triangle,
                                              symmetry_kind kind = symmetry_kind::symmetric);

/// Another value or index type. Values are rounded to nearest, once; what is beyond a type's range becomes an infinity,
/// NaN and the sign of 0 stay. A pattern becomes ones. Throws error{size_overflow} where a size does not fit `I2`.
template <element T2, index I2, element T, index I>
BCSC_EXPORT csr_matrix<T2, I2> cast(const csr_view<T, I>& a);

// Owning matrices convert like their views.
template <element T, index I>
csr_matrix<T, I> to_csr(const coo_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <element T, index I>
csr_matrix<T, I> to_csr(const csc_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <number T, index I>
csr_matrix<T, I> to_csr(const bsr_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <element T, index I>
csr_matrix<T, I> to_csr(const bcsc_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <number T, index I>
csr_matrix<T, I> to_csr(const ell_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <element T, index I>
csr_matrix<T, I> to_csr(const compact_bcsc_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <index I, number T>
csr_matrix<T, I> to_csr(const dense_matrix<T>& a) {
  return to_csr<I>(a.view());
}
template <element T, index I>
coo_matrix<T, I> to_coo(const csr_matrix<T, I>& a) {
  return to_coo(a.view());
}
template <element T, index I>
csc_matrix<T, I> to_csc(const csr_matrix<T, I>& a) {
  return to_csc(a.view());
}
template <number T, index I>
bsr_matrix<T, I> to_bsr(const csr_matrix<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  return to_bsr(a.view(), row_block, col_block);
}
template <element T, index I>
bcsc_matrix<T, I> to_bcsc(const csr_matrix<T, I>& a, std::int64_t m_block) {
  return to_bcsc(a.view(), m_block);
}
template <number T, index I>
ell_matrix<T, I> to_ell(const csr_matrix<T, I>& a, std::int64_t block) {
  return to_ell(a.view(), block);
}
template <number T, index I>
dense_matrix<T> to_dense(const csr_matrix<T, I>& a, layout order = layout::row_major) {
  return to_dense(a.view(), order);
}
template <element T, index I>
compact_bcsc_matrix<T, I> to_compact(const csr_matrix<T, I>& a, const compact_options& options) {
  return to_compact(a.view(), options);
}
template <element T, index I>
csr_matrix<T, I> transpose(const csr_matrix<T, I>& a) {
  return transpose(a.view());
}
template <element T, index I>
csr_matrix<T, I> expand_symmetric(const csr_matrix<T, I>& triangle, symmetry_kind kind = symmetry_kind::symmetric) {
  return expand_symmetric(triangle.view(), kind);
}
template <element T2, index I2, element T, index I>
csr_matrix<T2, I2> cast(const csr_matrix<T, I>& a) {
  return cast<T2, I2>(a.view());
}

}  // namespace bcsc
#pragma GCC visibility pop
