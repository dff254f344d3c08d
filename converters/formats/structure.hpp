#pragma once

#include <cstdint>
#include <span>

#include "bcsc/formats.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

/// Whether arrays are those of a matrix: their lengths, ranges and order. Only the padding of BSR is a matter of
/// values; all else is checked on the structure alone, so that it is compiled once for all types of values.
namespace bcsc::converters {

/// The same matrix without its values.
template <element T, index I>
coo_view<pattern, I> structure_of(const coo_view<T, I>& a) {
  return {a.rows, a.cols, a.row_ind, a.col_ind, pattern_span(a.values.size()), a.space};
}
template <element T, index I>
csr_view<pattern, I> structure_of(const csr_view<T, I>& a) {
  return {a.rows, a.cols, a.row_ptr, a.col_ind, pattern_span(a.values.size()), a.space};
}
template <element T, index I>
csc_view<pattern, I> structure_of(const csc_view<T, I>& a) {
  return {a.rows, a.cols, a.col_ptr, a.row_ind, pattern_span(a.values.size()), a.space};
}
template <element T, index I>
bcsc_view<pattern, I> structure_of(const bcsc_view<T, I>& a) {
  return {a.rows, a.cols, a.m_block, a.brow_ptr, a.col_ind, a.col_ptr, a.row_ind, pattern_span(a.values.size()),
          a.space};
}

/// Whether the indices of segment i strictly increase.
template <index I>
bool is_ordered(std::span<const I> ptr, std::span<const I> ind, std::int64_t i) {
  for (std::int64_t k = ptr[core::at(i)] + std::int64_t{1}; k < ptr[core::at(i) + 1]; ++k) {
    if (ind[core::at(k)] <= ind[core::at(k) - 1]) return false;
  }
  return true;
}

/// The first segment whose indices do not strictly increase, or -1.
template <index I>
std::int64_t first_disorder(std::span<const I> ptr, std::span<const I> ind) {
  return first_fault(core::length(ptr) - 1, [&](std::int64_t i) { return !is_ordered(ptr, ind, i); });
}

/// The first entry that does not come after the one before it, or -1.
template <index I>
std::int64_t first_disorder(const coo_view<pattern, I>& a);

// Lengths and ranges, for BCSC the order and for BSR the padding too: the order of the others can be repaired. Each
// throws an error that names the array, the place and the value.
template <index I>
void check_arrays(const coo_view<pattern, I>& a);
template <index I>
void check_arrays(const csr_view<pattern, I>& a);
template <index I>
void check_arrays(const csc_view<pattern, I>& a);
template <index I>
void check_arrays(const bcsc_view<pattern, I>& a);
template <number T, index I>
void check_arrays(const bsr_view<T, I>& a);

}  // namespace bcsc::converters
