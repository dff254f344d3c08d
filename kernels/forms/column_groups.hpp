#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/forms/column_group.hpp"
#include "kernels/forms/device_blocks.hpp"

/// The columns of row blocks in groups, on a device: what the forms with tiles have in common, named without any CUDA
/// header (column_groups.cuh has the steps).
///
/// A row block has *parts* of part_rows rows each. Its columns, best ordered by the parts that they reach, go into
/// groups of group_size; a group has a tile for each part that one of its columns reaches.
namespace bcsc::forms::steps {

/// Row blocks, and how their columns are grouped.
struct column_groups_job : device_blocks {
  int part_rows = 8, parts = 1;  ///< of a row block, at most 16 of them
  int group_size = 8;            ///< columns
  std::int64_t max_groups = 0;   ///< of a piece of a row block; 0: no bound
  std::int64_t max_whole = 0;    ///< none is cut if no row block has more groups than this
  bool by_parts = true;          ///< else columns keep their order
};

/// Before a row block: groups, pieces of cut row blocks, cut row blocks; and the groups of the longest row block.
struct groups_place {
  std::uint32_t groups, slots, sums, longest;
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
