#pragma once

#include <cstdint>

#include "kernels/forms/column_groups.hpp"
#include "kernels/forms/mma_tiles/layout.hpp"

/// The device's steps from compact BCSC to MMA tiles, named without any CUDA header. Values are moved by their size
/// alone.
namespace bcsc::forms::steps {

/// Waits, three times at most, for the sizes.
planned_groups plan_mma_tiles(int device, const column_groups_job& job);

/// Where the rest goes; device pointers.
struct mma_tiles_arrays {
  mma_tiles_item* items = nullptr;  ///< [num_slots + num_blocks - num_sums]
  std::int32_t* col_ind = nullptr;  ///< [8 * num_groups]
  void* tiles = nullptr;            ///< [64 * (num_tiles + spare_tiles)]
  std::uint64_t* masks = nullptr;   ///< [num_tiles]
  mma_tiles_sum* sums = nullptr;    ///< [num_sums]
};
/// Does not wait.
void fill_mma_tiles(const column_groups_job& job, const planned_groups& planned, const mma_tiles_arrays& to);

}  // namespace bcsc::forms::steps
