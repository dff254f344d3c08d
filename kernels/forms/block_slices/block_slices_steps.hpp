#pragma once

#include <cstdint>

#include "core/buffer.hpp"
#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/device_blocks.hpp"

/// The device's steps from compact BCSC to block slices, named without any CUDA header. Values are moved by their size
/// alone.
namespace bcsc::forms::steps {

/// Low row blocks, all of one height, and how they are sliced.
struct block_slices_job : device_blocks {
  int height = 1;
  slicing how;
  std::int64_t longest_shared = 0;
};

/// The slices and the sizes, before the arrays that need them.
struct planned_block_slices {
  std::int64_t num_longest = 0, num_long = 0;    ///< slices of one long row block: of the longest, of all
  std::int64_t longest_steps = 0;                ///< of the first of these
  std::int64_t num_alone = 0, num_together = 0;  ///< of one row block, long ones included; of neighbours, behind them
  std::int64_t num_steps = 0, num_diagonals = 0;
  core::device_buffer<block_slice> slices;           ///< finished
  core::device_buffer<std::int32_t> listed;          ///< finished
  core::device_buffer<std::int64_t> first_step;      ///< [num_slices + 1]
  core::device_buffer<std::int32_t> first_diagonal;  ///< the same, finished
};

/// Where the rest goes; device pointers.
struct block_slices_arrays {
  slice_diagonal* diagonals = nullptr;  ///< [num_diagonals]
  std::uint32_t* words = nullptr;       ///< [num_steps - num_diagonals][32]
  void* values = nullptr;               ///< [num_steps][height][32]
};

/// Waits for the sizes.
planned_block_slices plan_block_slices(int device, const block_slices_job& job);

/// Fills it all, and waits for that.
void fill_block_slices(int device, const block_slices_job& job, const planned_block_slices& planned,
                       const block_slices_arrays& to);

}  // namespace bcsc::forms::steps
