#pragma once

#include <cstdint>

#include "kernels/forms/column_groups.hpp"
#include "kernels/forms/fma_tiles/layout.hpp"

/// The device's steps from compact BCSC to FMA tiles, named without any CUDA header. Values are moved by their size
/// alone; a group of columns is a step of the form.
namespace bcsc::forms::steps {

/// Waits, twice at most, for the sizes.
planned_groups plan_fma_tiles(int device, const column_groups_job& job);

/// Where they go; device pointers.
struct fma_tiles_arrays {
  fma_block* blocks = nullptr;     ///< [num_blocks + 1]
  fma_step* steps = nullptr;       ///< [num_groups + spare_fma_steps]
  void* tiles = nullptr;           ///< [(num_tiles + spare_fma_tiles) * part_rows * 4]
  std::uint16_t* masks = nullptr;  ///< [num_tiles]
};
/// Does not wait.
void fill_fma_tiles(const column_groups_job& job, const planned_groups& planned, const fma_tiles_arrays& to);

}  // namespace bcsc::forms::steps
