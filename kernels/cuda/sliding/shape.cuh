#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/tables/sliding.hpp"

/// What an instance of the sliding kernel knows at compile time: a warp's share of a tile, by the names of mma_shape,
/// and how things lie in shared memory.
namespace bcsc::kernels::cuda {

template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int Kept, int Depth, int Stages>
struct sliding_shape {
  static constexpr tables::sliding_config config{.type = value_type_of<T>,
                                                 .parts = Parts,
                                                 .slab = Slab,
                                                 .warps_m = WarpsM,
                                                 .warps_n = WarpsN,
                                                 .kept = Kept,
                                                 .depth = Depth,
                                                 .stages = Stages};

  // Of the thread block.
  static constexpr int block_slab = Slab;
  static constexpr int consumers = config.consumers(), producers = config.producers;  // warps
  static constexpr int row_producers = producers - 1;
  static constexpr int threads = config.block_threads();
  static constexpr int depth = Depth;
  static constexpr int stages = Stages;
  static constexpr int kept = Kept;

  // Of a consumer: neighbouring parts, which share most of their columns in a band.
  static constexpr int parts = Parts / WarpsM;
  static constexpr int slab = Slab / WarpsN;
  static constexpr int vector = config.columns_of_lane();
  static constexpr int piece = config.columns_of_piece();
  static constexpr int pieces = slab / piece;
  static constexpr int steps = vector / 2;

  using sum = scalar_of<T>;
  using sums = sum[parts][pieces][steps][4];

  // The rows of B that are kept; the stages; the barriers.
  static constexpr int row_bytes = config.row_bytes();
  static constexpr int stages_at = static_cast<int>(config.kept_bytes());
  static constexpr int stage_bytes = static_cast<int>(config.stage_bytes());
  static constexpr int all_stages = Stages * stage_bytes;
  static constexpr int barriers_at = stages_at + all_stages;

  // A stage: the tiles of its groups one after the other, the groups, and for each of their columns the slot in which
  // its row of B is kept.
  static constexpr int rows = 8 * Depth;
  static constexpr int tile_bytes = forms::mma_tile_values * static_cast<int>(sizeof(T));
  static constexpr int groups_at = static_cast<int>(config.tile_bytes());
  static constexpr int slots_at = groups_at + 8 * Depth;
};

}  // namespace bcsc::kernels::cuda
