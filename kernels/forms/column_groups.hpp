#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/forms/column_group.hpp"

/// The columns of row blocks in groups, on a device: what the forms with tiles have in common, named without any CUDA
/// header (column_groups.cuh has the steps).
///
/// A row block has *parts* of part_rows rows each. Its columns, best ordered by the parts that they reach, go into
/// groups of group_size; a group has a tile for each part that one of its columns reaches.
namespace bcsc::forms::steps {

/// A compact BCSC matrix on the device, and how its columns are grouped; device pointers.
struct column_groups_job {
  std::int64_t rows = 0, cols = 0, m_block = 1, num_blocks = 0, nnzc = 0, nnz = 0;
  int part_rows = 8, parts = 1;             ///< of a row block, at most 16 of them
  int group_size = 8;                       ///< columns
  std::int64_t max_groups = 0;              ///< of a piece of a row block; 0: no bound
  bool by_parts = true;                     ///< else columns keep their order
  const std::int32_t* block_row = nullptr;  ///< null: row block b begins at row b * m_block
  const std::int32_t* brow_ptr = nullptr;
  const std::int32_t* col_ind = nullptr;  ///< or
  const std::uint16_t* col_ind16 = nullptr;
  const void* col_count = nullptr;
  const void* row_in_block = nullptr;
  int index_bytes = 1;  ///< 0, 1 or 2, of the two arrays of small indices
  const void* values = nullptr;
  int value_bytes = 4;  ///< 2, 4 or 8
};

/// Counts before a row block: groups; row blocks in several pieces, and their pieces.
struct groups_place {
  std::uint32_t groups, slots, sums;
};

/// The columns of a group: `count` of them, from number `first` on in the order of the columns.
struct group_columns {
  std::int32_t first, count;
};

/// The order of the columns and the sizes, before the arrays that need them.
struct planned_groups {
  std::int64_t num_groups = 0, num_tiles = 0, num_slots = 0, num_sums = 0;
  core::device_buffer<std::int32_t> first_entry;  ///< [nnzc + 1] of each column
  core::device_buffer<std::int32_t> order;        ///< [nnzc] which column stands where; empty: each at its own place
  core::device_buffer<groups_place> before;       ///< [num_blocks + 1]
  core::device_buffer<group_columns> columns;     ///< [num_groups]
  core::device_buffer<column_group> groups;       ///< [num_groups]
};

}  // namespace bcsc::forms::steps
