#pragma once

#include <cstddef>
#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/forms/mma_tiles/layout.hpp"

/// The device's steps from compact BCSC to MMA tiles, named without any CUDA header. Values are moved by their size
/// alone.
namespace bcsc::forms::steps {

/// A compact BCSC matrix with row blocks of at most 128 rows, and how it is laid out; device pointers.
struct mma_tiles_job {
  std::int64_t rows = 0, cols = 0, m_block = 1, num_blocks = 0, nnzc = 0, nnz = 0;
  std::int64_t height = 8;      ///< of the MMA tiles' row blocks
  std::int64_t max_groups = 0;  ///< of an item; 0: no bound
  bool by_parts = true;
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
struct mma_tiles_place {
  std::uint32_t groups, slots, sums;
};

/// The columns of a group: `count` of them, from number `first` on in the order of the columns.
struct group_columns {
  std::int32_t first, count;
};

/// The order of the columns and the sizes, before the arrays that need them.
struct planned_mma_tiles {
  std::int64_t num_groups = 0, num_tiles = 0, num_slots = 0, num_sums = 0;
  core::device_buffer<std::int32_t> first_entry;  ///< [nnzc + 1] of each column
  core::device_buffer<std::int32_t> order;        ///< [nnzc] which column stands where; empty: each at its own place
  core::device_buffer<mma_tiles_place> before;    ///< [num_blocks + 1]
  core::device_buffer<group_columns> columns;     ///< [num_groups]
  core::device_buffer<mma_tiles_group> groups;    ///< [num_groups], finished
};

/// Waits, twice at most, for the sizes.
planned_mma_tiles plan_mma_tiles(int device, const mma_tiles_job& job);

/// Where the rest goes; device pointers.
struct mma_tiles_arrays {
  mma_tiles_item* items = nullptr;  ///< [num_slots + num_blocks - num_sums]
  std::int32_t* col_ind = nullptr;  ///< [8 * num_groups]
  void* tiles = nullptr;            ///< [64 * (num_tiles + spare_tiles)]
  std::uint64_t* masks = nullptr;   ///< [num_tiles]
  mma_tiles_sum* sums = nullptr;    ///< [num_sums]
};
/// Does not wait.
void fill_mma_tiles(const mma_tiles_job& job, const planned_mma_tiles& planned, const mma_tiles_arrays& to);

}  // namespace bcsc::forms::steps
