#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma/sum_pieces.cuh"
#include "kernels/cuda/staged/chunk.cuh"
#include "kernels/forms/mma_tiles/operand.hpp"

namespace bcsc::kernels::cuda {

/// Starts a kernel whose thread blocks lie along the items (x), at most `items_at_once(slabs)` of them, then along the
/// slabs from the one it is given on (y), then along a batch's members (z); then the sum of pieces.
template <class T, class Config, class ItemsAtOnce>
int start_on_slabs(void (*kernel)(mma_tiles_args<T>, std::int64_t, int), const Config& config,
                   const mma_tiles_args<T>& spmm, const launch_env& env, const ItemsAtOnce& items_at_once) {
  if (spmm.a.height != config.tile_rows() || spmm.b_col_stride != 1) return cudaErrorInvalidValue;
  const std::int64_t num_slabs = ceil_div(spmm.n, config.tile_cols());
  constexpr std::int64_t slabs_at_once = 65535;
  for (std::int64_t slab = 0; slab < num_slabs; slab += slabs_at_once) {
    const std::int64_t count = std::min(num_slabs - slab, slabs_at_once);
    const std::int64_t items = std::min(spmm.a.num_items, items_at_once(count));
    const int started =
        start(begins::while_previous_ends, kernel,
              dim3(static_cast<unsigned>(items), static_cast<unsigned>(count), static_cast<unsigned>(spmm.batch.count)),
              dim3(config.block_threads()), config.shared_bytes(), env.stream, spmm, slab, copied_at_once(spmm));
    if (started != cudaSuccess) return started;
  }
  return start_sum_of_pieces(spmm, env);
}

}  // namespace bcsc::kernels::cuda
