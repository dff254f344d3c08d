#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/forms/column_groups.cuh"
#include "kernels/forms/fma_tiles/fma_tiles_steps.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"

/// The kernels that make FMA tiles from compact BCSC (fma_tiles_steps.cu starts them). A warp fills a step's tiles in
/// shared memory, zeros included, and writes them contiguously. A is read once, the tiles are written once.
namespace bcsc::forms::steps {

/// Where row block b begins.
struct fma_block_body {
  column_groups_job job;
  const groups_place* before;
  const column_group* groups;
  std::int64_t num_groups, num_tiles;
  fma_block* blocks;
  __device__ void operator()(std::int64_t b) const {
    const std::int64_t step = before[b].groups;
    const std::int64_t row = job.block_row != nullptr ? job.block_row[b] : b * job.m_block;
    blocks[b] = {static_cast<std::int32_t>(step < num_groups ? groups[step].first_tile : num_tiles),
                 static_cast<std::int32_t>(step), static_cast<std::int32_t>(row < job.rows ? row : job.rows), 0};
  }
};

struct fma_filling {
  column_groups_job job;
  const std::int32_t* first_entry;
  const std::int32_t* order;
  const group_columns* columns;
  const column_group* groups;
  fma_tiles_arrays to;
};

inline constexpr int fma_fill_warps = 8;

/// Value: an unsigned integer as large as a value. Warps take the steps in turn.
template <class Value>
__global__ void __launch_bounds__(32 * fma_fill_warps)
    fill_fma_tiles_kernel(const __grid_constant__ fma_filling at, std::int64_t num_steps) {
  constexpr int columns = fma_step_columns, column_lanes = 32 / columns;
  __shared__ Value shared[fma_fill_warps][max_fma_height * columns];
  __shared__ unsigned shared_masks[fma_fill_warps][max_fma_parts];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int k = lane / column_lanes, part_rows = at.job.part_rows, tile_values = part_rows * columns;
  Value* const tiles = shared[warp];
  unsigned* const masks = shared_masks[warp];
  for (std::int64_t s = blockIdx.x * std::int64_t{fma_fill_warps} + warp; s < num_steps;
       s += gridDim.x * std::int64_t{fma_fill_warps}) {
    const column_group group = at.groups[s];
    const group_columns own = at.columns[s];
    const int num_tiles = __popc(group.parts), num_values = num_tiles * tile_values;
    for (int i = lane; i < num_values; i += 32) tiles[i] = 0;
    if (lane < num_tiles) masks[lane] = 0;
    __syncwarp();
    const int place = own.first + (k < own.count ? k : own.count - 1);
    const int column = at.order != nullptr ? at.order[place] : place;
    if (lane % column_lanes == 0) {
      const auto number = static_cast<std::uint32_t>(
          at.job.col_ind16 != nullptr ? static_cast<std::int32_t>(at.job.col_ind16[column]) : at.job.col_ind[column]);
      at.to.steps[s].columns[k] = k == 0 ? fma_first_column(number, group.parts) : number;
    }
    if (k < own.count) {
      const int end = at.first_entry[column + 1];
      for (int e = at.first_entry[column] + lane % column_lanes; e < end; e += column_lanes) {
        const int row = static_cast<int>(small_at(at.job.row_in_block, at.job.index_bytes, e));
        const int tile = __popc(group.parts & ((1u << row / part_rows) - 1));
        const int in_tile = row % part_rows * columns + k;
        tiles[tile * tile_values + in_tile] = static_cast<const Value*>(at.job.values)[e];
        atomicOr(masks + tile, 1u << in_tile);
      }
    }
    __syncwarp();
    Value* const to = static_cast<Value*>(at.to.tiles) + std::int64_t{group.first_tile} * tile_values;
    for (int i = lane; i < num_values; i += 32) to[i] = tiles[i];
    if (lane < num_tiles) at.to.masks[group.first_tile + lane] = static_cast<std::uint16_t>(masks[lane]);
    __syncwarp();
  }
}

}  // namespace bcsc::forms::steps
