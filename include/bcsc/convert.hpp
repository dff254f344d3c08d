#pragma once

#include <cstdint>

#include "bcsc/formats.hpp"

/// Conversions between the host formats. CSR is the hub: every format converts to it and from it, so that a pair is at
/// most two steps. All inputs are host views that hold their format's invariants; outputs do too. Explicit zeros are
/// kept by COO, CSR, CSC and BCSC; BSR stores them as padding, so a round trip through BSR drops them. Throws
/// error{invalid_argument} for a block size < 1, error{size_overflow} where a count does not fit I,
/// error{wrong_memory_space} for a device view.
namespace bcsc {

template <value T, index I>
csr_matrix<T, I> to_csr(const coo_view<T, I>& a);
template <value T, index I>
csr_matrix<T, I> to_csr(const csc_view<T, I>& a);
template <value T, index I>
csr_matrix<T, I> to_csr(const bsr_view<T, I>& a);
template <value T, index I>
csr_matrix<T, I> to_csr(const bcsc_view<T, I>& a);

template <value T, index I>
coo_matrix<T, I> to_coo(const csr_view<T, I>& a);
template <value T, index I>
csc_matrix<T, I> to_csc(const csr_view<T, I>& a);
template <value T, index I>
bsr_matrix<T, I> to_bsr(const csr_view<T, I>& a, std::int64_t row_block, std::int64_t col_block);
/// BCSC with row blocks of height `m_block` >= 1 (the last one may be shorter). O(nnz log nnz) at worst, parallel.
template <value T, index I>
bcsc_matrix<T, I> to_bcsc(const csr_view<T, I>& a, std::int64_t m_block);

/// The transpose, as CSR.
template <value T, index I>
csr_matrix<T, I> transpose(const csr_view<T, I>& a);

/// Another value or index type. Throws error{size_overflow} where a size does not fit `I2`.
template <value T2, index I2, value T, index I>
csr_matrix<T2, I2> cast(const csr_view<T, I>& a);

// Owning matrices convert like their views.
template <value T, index I>
csr_matrix<T, I> to_csr(const coo_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <value T, index I>
csr_matrix<T, I> to_csr(const csc_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <value T, index I>
csr_matrix<T, I> to_csr(const bsr_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <value T, index I>
csr_matrix<T, I> to_csr(const bcsc_matrix<T, I>& a) {
  return to_csr(a.view());
}
template <value T, index I>
coo_matrix<T, I> to_coo(const csr_matrix<T, I>& a) {
  return to_coo(a.view());
}
template <value T, index I>
csc_matrix<T, I> to_csc(const csr_matrix<T, I>& a) {
  return to_csc(a.view());
}
template <value T, index I>
bsr_matrix<T, I> to_bsr(const csr_matrix<T, I>& a, std::int64_t row_block, std::int64_t col_block) {
  return to_bsr(a.view(), row_block, col_block);
}
template <value T, index I>
bcsc_matrix<T, I> to_bcsc(const csr_matrix<T, I>& a, std::int64_t m_block) {
  return to_bcsc(a.view(), m_block);
}
template <value T, index I>
csr_matrix<T, I> transpose(const csr_matrix<T, I>& a) {
  return transpose(a.view());
}
template <value T2, index I2, value T, index I>
csr_matrix<T2, I2> cast(const csr_matrix<T, I>& a) {
  return cast<T2, I2>(a.view());
}

}  // namespace bcsc
