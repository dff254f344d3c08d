#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/forms/mma_tiles/operand.hpp"

/// What a warp multiplies: an item of A by some columns of B; and which parts of the item a group of columns reaches.
namespace bcsc::kernels::cuda {

/// Which item and which columns a warp has, and which of the item's parts: every part_step-th from first_part on, at
/// most num_parts.
struct mma_place {
  std::int64_t item, first_col;
  int first_part = 0, part_step = 1, num_parts = forms::max_mma_tile_parts;

  /// Whether row m of the item is the warp's.
  __device__ bool has_row(int m) const {
    const int after = m / forms::mma_tile_rows - first_part;
    return after >= 0 && after % part_step == 0 && after / part_step < num_parts;
  }

  template <class T>
  __device__ bool lies_in(const mma_tiles_args<T>& args) const {
    return item < args.a.num_items && first_col < args.n;
  }
  template <int Slab, class T>
  __device__ int num_cols(const mma_tiles_args<T>& args) const {
    return args.n - first_col < Slab ? static_cast<int>(args.n - first_col) : Slab;
  }
};

/// Whether a group of columns has a tile for a part of its row block.
__device__ inline bool has_part(unsigned parts, int part) { return (parts >> part & 1u) != 0; }

}  // namespace bcsc::kernels::cuda
