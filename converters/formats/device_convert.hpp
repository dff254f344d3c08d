#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/formats.hpp"
#include "core/buffer.hpp"

/// Formats whose arrays lie on a GPU: checked, converted and analysed there; only a few counts come to the host. The
/// results are bit-equal to the host's. All work is done on the default stream of the given device and is complete on
/// return.
///
/// All throw error{wrong_memory_space} for a host view, error{out_of_memory | cuda_error | context_poisoned}, and
/// error{no_device} in a build without CUDA.
namespace bcsc::converters {

/// A BCSC matrix that owns its arrays on a GPU.
template <number T, index I>
struct device_bcsc {
  std::int64_t rows = 0, cols = 0, m_block = 1;
  core::device_buffer<I> brow_ptr, col_ind, col_ptr, row_ind;
  core::device_buffer<T> values;

  bcsc_view<T, I> view() const {
    return {rows,          cols,          m_block,      span(brow_ptr),      span(col_ind),
            span(col_ptr), span(row_ind), span(values), memory_space::device};
  }

 private:
  template <class X>
  static std::span<const X> span(const core::device_buffer<X>& buffer) {
    return {buffer.data(), static_cast<std::size_t>(buffer.size())};
  }
};

/// Checks a device matrix against its format's invariants (docs/formats.md), order included.
/// Throws error{invalid_argument | size_overflow | invalid_format | index_out_of_range}, naming array, position, value.
template <number T, index I>
void validate_on_device(int device, const csr_view<T, I>& a);
template <number T, index I>
void validate_on_device(int device, const bcsc_view<T, I>& a);

/// CSR -> BCSC. `a` holds its invariants. Needs temporary memory for about 32 bytes a non-zero.
/// Throws error{invalid_argument} for m_block < 1, error{size_overflow} where row blocks x columns reach 2^63.
/// Method: stable radix sort of the row-ordered entries by (row block, column), which leaves each column's rows
/// ascending; the places where the key changes are the non-empty columns.
template <number T, index I>
device_bcsc<T, I> to_bcsc_on_device(int device, const csr_view<T, I>& a, std::int64_t m_block);

/// BCSC -> BCSC with another m_block. As above.
template <number T, index I>
device_bcsc<T, I> reblock_on_device(int device, const bcsc_view<T, I>& a, std::int64_t m_block);

/// As analyse_blocks, for a matrix on the device. One sort, then O(nnz) for each of `m_blocks`.
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const csr_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks);
template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const bcsc_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks);

}  // namespace bcsc::converters
