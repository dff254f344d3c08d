#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "kernels/forms/column_groups.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

/// The kernels that make MMA tiles from compact BCSC (mma_tiles_steps.cu starts them).
///
/// column_groups.cuh puts eight columns each into groups, whose parts say how many tiles they have. A warp fills a
/// group's tiles in shared memory, zeros included, and writes them contiguously. A is read once, the MMA tiles are
/// written once.
namespace bcsc::forms::steps {

using converters::steps::num_grid_threads;
using converters::steps::thread_number;

/// Item i, and the sum that its row block needs if it is the first of several.
struct item_body {
  column_groups_job job;
  const groups_place* before;  // [num_blocks + 1]
  mma_tiles_item* items;
  mma_tiles_sum* sums;

  __device__ std::int64_t first_item(std::int64_t block) const {
    return block - before[block].sums + before[block].slots;
  }
  __device__ std::int32_t first_row(std::int64_t block) const {
    if (job.block_row != nullptr) return job.block_row[block];
    const std::int64_t row = block * job.m_block;
    return static_cast<std::int32_t>(row < job.rows ? row : job.rows);
  }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t block = count_while(job.num_blocks, [&](std::int64_t b) { return first_item(b) <= i; }) - 1;
    const std::int64_t first = first_item(block), pieces = first_item(block + 1) - first, p = i - first;
    const std::int64_t begin = before[block].groups, count = before[block + 1].groups - begin;
    const bool split = before[block + 1].sums > before[block].sums;
    const auto slot = static_cast<std::int32_t>(before[block].slots);
    const std::int32_t row = first_row(block), num_rows = first_row(block + 1) - row;
    items[i] = {static_cast<std::int32_t>(begin + count * p / pieces),
                static_cast<std::int32_t>(begin + count * (p + 1) / pieces),
                row,
                num_rows,
                split ? slot + static_cast<std::int32_t>(p) : -1,
                {}};
    if (split && p == 0) sums[before[block].sums] = {row, num_rows, slot, static_cast<std::int32_t>(pieces)};
  }
};

/// Warps that fill groups side by side in a thread block: as many as have room for the tiles of high row blocks.
inline constexpr int warps_to_fill(int parts, std::size_t value_bytes) { return parts > 8 && value_bytes > 4 ? 4 : 8; }
/// Threads of a warp that share a column.
inline constexpr int column_lanes = 32 / mma_tile_columns;

struct tile_filling {
  column_groups_job job;
  const std::int32_t* first_entry;
  const std::int32_t* order;
  const group_columns* columns;
  const column_group* groups;
  std::int32_t* col_ind;
  void* tiles;
  std::uint64_t* masks;
};

/// Value: an unsigned integer as large as a value. Parts: of a row block at most. Warps take the groups in turn.
template <class Value, int Parts>
__global__ void __launch_bounds__(32 * warps_to_fill(Parts, sizeof(Value)))
    fill_tiles_kernel(const __grid_constant__ tile_filling at, std::int64_t num_groups) {
  constexpr int fill_warps = warps_to_fill(Parts, sizeof(Value));
  __shared__ Value shared[fill_warps][Parts * mma_tile_values];
  __shared__ unsigned shared_masks[fill_warps][2 * Parts];  // halves: there is no OR of 64 bits
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  Value* const tiles = shared[warp];
  unsigned* const masks = shared_masks[warp];
  const int k = lane / column_lanes;
  for (std::int64_t g = blockIdx.x * std::int64_t{fill_warps} + warp; g < num_groups;
       g += gridDim.x * std::int64_t{fill_warps}) {
    const column_group group = at.groups[g];
    const group_columns columns = at.columns[g];
    const int num_tiles = __popc(group.parts), num_values = num_tiles * mma_tile_values;
    for (int i = lane; i < num_values; i += 32) tiles[i] = 0;
    if (lane < 2 * num_tiles) masks[lane] = 0;
    __syncwarp();
    const int place = columns.first + (k < columns.count ? k : columns.count - 1);
    const int column = at.order != nullptr ? at.order[place] : place;
    if (lane % column_lanes == 0) {
      at.col_ind[g * mma_tile_columns + k] =
          at.job.col_ind16 != nullptr ? static_cast<std::int32_t>(at.job.col_ind16[column]) : at.job.col_ind[column];
    }
    if (k < columns.count) {
      const int end = at.first_entry[column + 1];
      for (int e = at.first_entry[column] + lane % column_lanes; e < end; e += column_lanes) {
        const int row = static_cast<int>(small_at(at.job.row_in_block, at.job.index_bytes, e));
        const unsigned lower_parts = (1u << row / mma_tile_rows) - 1;
        const int tile = __popc(group.parts & lower_parts);
        const int in_tile = row % mma_tile_rows * mma_tile_columns + k;
        tiles[tile * mma_tile_values + in_tile] = static_cast<const Value*>(at.job.values)[e];
        atomicOr(masks + 2 * tile + in_tile / 32, 1u << in_tile % 32);
      }
    }
    __syncwarp();
    Value* const to = static_cast<Value*>(at.tiles) + std::int64_t{group.first_tile} * mma_tile_values;
    for (int i = lane; i < num_values; i += 32) to[i] = tiles[i];
    if (lane < num_tiles) {
      at.masks[group.first_tile + lane] = std::uint64_t{masks[2 * lane + 1]} << 32 | masks[2 * lane];
    }
    __syncwarp();
  }
}

}  // namespace bcsc::forms::steps
