#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bcsc/types.hpp"
#include "core/buffer.hpp"

/// The device's steps from CSR to compact BCSC, named without any CUDA header. Values are moved by their size alone.
namespace bcsc::converters::steps {

/// What is made, and from what; device pointers.
template <index I>
struct compaction {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t m_block = 1, num_blocks = 0;
  const I* row_ptr = nullptr;
  const I* col_ind = nullptr;
  const void* from_values = nullptr;
  int value_bytes = 0;  ///< 0, 2, 4 or 8
  int index_bytes = 1;  ///< 1 or 2, of the two arrays of small indices
  I* entry_ptr = nullptr;
  std::byte* row_in_block = nullptr;
  void* values = nullptr;
};

/// The non-empty columns, each block's at the place of its entries, until their number is known.
template <index I>
struct loose_columns {
  core::device_buffer<I> col_ind;            ///< [nnz]
  core::device_buffer<std::byte> col_count;  ///< [nnz]
  core::device_buffer<I> brow_ptr;           ///< [num_blocks + 1] where each block's columns will go
  std::int64_t nnzc = 0;
};

/// Fills entry_ptr, row_in_block and values, and finds the columns. Waits.
template <index I>
loose_columns<I> order_entries(int device, const compaction<I>& job);

/// Moves the columns together, to col_ind or, unless that is null, to col_ind16.
template <index I>
void close_ranks(const compaction<I>& job, const loose_columns<I>& columns, I* col_ind, std::uint16_t* col_ind16,
                 std::byte* col_count);

/// to[k] = from[k], for indices below 2^16.
template <index I>
void narrow(const I* from, std::int64_t n, std::uint16_t* to);

/// What tells where the entries of a compact BCSC matrix lie; device pointers.
template <index I>
struct compact_places {
  std::int64_t m_block = 1, num_blocks = 0, nnzc = 0, nnz = 0;
  const I* block_row = nullptr;  ///< null: row block b begins at row b * m_block
  const I* entry_ptr = nullptr;
  const I* col_ind = nullptr;
  const std::uint16_t* col_ind16 = nullptr;
  const void* col_count = nullptr;
  const void* row_in_block = nullptr;
  int index_bytes = 1;  ///< 0, 1 or 2
};
/// The row and the column of each entry, in the order of storage.
template <index I>
void expand_places(int device, const compact_places<I>& a, I* row_of, I* col_of);

/// The small indices of a BCSC matrix, and where its row blocks' entries begin.
template <index I>
void shrink_indices(const I* brow_ptr, std::int64_t num_blocks, const I* col_ptr, std::int64_t nnzc, const I* row_ind,
                    std::int64_t nnz, std::int64_t m_block, int index_bytes, I* entry_ptr, std::byte* col_count,
                    std::byte* row_in_block);

}  // namespace bcsc::converters::steps
