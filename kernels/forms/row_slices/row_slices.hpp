#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "kernels/forms/row_slices/layout.hpp"

/// CSR with rows side by side, for products with one column, where one row cannot fill a vector: sliced ELL (Kreutzer
/// et al., 2014, SELL-C-sigma), and beside it the diagonals of a slice, which need neither a column for each entry nor
/// a gather.
///
/// Neighbouring rows stay together where they have diagonals in common (meshes, stencils, bands) or are of equal
/// length. The other rows of a window are sorted by length, so that the lanes of their slices end together. A long row
/// is a slice by itself.
namespace bcsc::forms {

/// The window of rows from which slices are formed: near each other, since such rows read nearby rows of B, and few of
/// all rows, so that threads seldom write to the same cache line of C.
constexpr std::int64_t slice_window(std::int64_t rows) {
  return std::clamp<std::int64_t>(rows / 16 / 64 * 64, 256, 4096);
}

template <class T>
struct row_slices {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t in_diagonals = 0;  ///< of the non-zeros
  std::vector<row_slice> slices;  ///< [num_slices + 1]
  std::vector<std::uint16_t> masks;
  std::vector<T> values;
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> listed;

  std::int64_t num_slices() const { return static_cast<std::int64_t>(slices.size()) - 1; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(std::span(slices).size_bytes() + std::span(masks).size_bytes() +
                                     std::span(values).size_bytes() + std::span(columns).size_bytes() +
                                     std::span(listed).size_bytes());
  }
  friend bool operator==(const row_slices&, const row_slices&) = default;
};

/// `a` lies on the host and holds its invariants. Parallel; the result does not depend on the number of threads. Throws
/// error{wrong_memory_space | size_overflow | out_of_memory}; size_overflow where rows, columns or non-zeros do not fit
/// 31 bits.
template <number T, index I>
row_slices<T> to_row_slices(const csr_view<T, I>& a);

}  // namespace bcsc::forms
