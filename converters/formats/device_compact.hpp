#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"

/// The compact form of BCSC on a GPU. All work is done on the default stream of the given device and is complete on
/// return; results are bit-equal to the host's. In a build without CUDA everything throws error{no_device}.
namespace bcsc::converters {

/// The values of a device matrix: none for a pattern, whose view only counts.
template <element T>
struct device_values {
  core::device_buffer<T> buffer;
  std::int64_t count = 0;

  device_values() = default;
  device_values(int device, std::int64_t size) : count(size) {
    if constexpr (number<T>) buffer = core::device_buffer<T>(device, size);
  }
  element_span<T> span() const {
    if constexpr (number<T>) {
      return {buffer.data(), static_cast<std::size_t>(count)};
    } else {
      return element_span<T>(static_cast<std::size_t>(count));
    }
  }
};

/// A compact BCSC matrix that owns its arrays on a GPU.
template <element T, index I>
struct device_compact {
  std::int64_t rows = 0, cols = 0, m_block = 1;
  core::device_buffer<I> block_row, brow_ptr, entry_ptr, dense_end, col_ind;  ///< entry_ptr empty if m_block = 1
  core::device_buffer<std::uint16_t> col_ind16;                               ///< instead of col_ind
  core::device_buffer<std::byte> col_count, row_in_block;
  device_values<T> values;

  compact_bcsc_view<T, I> view() const {
    const int bytes = small_indices::bytes_for(m_block);
    return {rows,
            cols,
            m_block,
            span(block_row),
            span(brow_ptr),
            m_block == 1 ? span(brow_ptr) : span(entry_ptr),
            span(dense_end),
            span(col_ind),
            {col_count.data(), static_cast<std::size_t>(col_ind.size() + col_ind16.size()), bytes},
            {row_in_block.data(), static_cast<std::size_t>(values.count), bytes},
            values.span(),
            memory_space::device,
            {col_ind16.data(), static_cast<std::size_t>(col_ind16.size())}};
  }

 private:
  static std::span<const I> span(const core::device_buffer<I>& buffer) {
    return {buffer.data(), static_cast<std::size_t>(buffer.size())};
  }
};

/// A host matrix, copied to the GPU; returns when it is there.
template <element T, index I>
device_compact<T, I> upload(int device, const compact_bcsc_view<T, I>& a);
template <element T, index I>
compact_bcsc_matrix<T, I> download(const device_compact<T, I>& a);

/// CSR -> compact BCSC with row blocks of `m_block` rows, 1 .. 65536. `a` lies on the device and holds its invariants.
///
/// Method: the entries of a row block lie together in CSR, so each block is sorted by itself, in shared memory, as keys
/// (column, row) of 32 bits; blocks too heavy for that are sorted together in global memory. Reads A once, writes the
/// result once, and the non-empty columns twice, because their number is known only at the end. Temporary memory: 5 or
/// 6 bytes per non-zero; about 40 more for the non-zeros of blocks above 16384.
/// Throws error{invalid_argument | wrong_memory_space | size_overflow | out_of_memory | cuda_error}.
template <element T, index I>
device_compact<T, I> to_compact_on_device(int device, const csr_view<T, I>& a, std::int64_t m_block,
                                          bool narrow_columns = false);

/// The compact form of a BCSC matrix on the device, m_block <= 65536.
template <element T, index I>
device_compact<T, I> to_compact_on_device(int device, const bcsc_view<T, I>& a, bool narrow_columns = false);

}  // namespace bcsc::converters
