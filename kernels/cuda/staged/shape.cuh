#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/tables/staged.hpp"

/// What an instance of the staged kernel knows at compile time: a warp's share of a tile, by the names of mma_shape,
/// and how a stage lies in shared memory.
namespace bcsc::kernels::cuda {

template <class T, int Parts, int Slab, int WarpsM, int WarpsN, int WarpsK, int Depth, int Stages, int Products>
struct staged_shape {
  static constexpr auto keeps = Products == 1 && sizeof(T) == 4 ? tables::accuracy::tf32 : tables::accuracy::full;
  static constexpr tables::staged_config config{.type = value_type_of<T>,
                                                .keeps = keeps,
                                                .parts = Parts,
                                                .slab = Slab,
                                                .warps_m = WarpsM,
                                                .warps_n = WarpsN,
                                                .warps_k = WarpsK,
                                                .depth = Depth,
                                                .stages = Stages};
  static constexpr int products = Products;

  // Of the thread block.
  static constexpr int all_parts = Parts;
  static constexpr int block_slab = Slab;
  static constexpr int threads = config.block_threads();
  static constexpr int depth = Depth;
  static constexpr int stages = Stages;
  static constexpr int warps_m = WarpsM;
  static constexpr int warps_k = WarpsK;

  // Of a warp: every warps_m-th part, so that neighbouring rows, which often share their columns, have several warps.
  static constexpr int parts = Parts / WarpsM;
  static constexpr int slab = Slab / WarpsN;
  static constexpr int vector = config.columns_of_lane();
  static constexpr int words = words_for<T, vector>;
  static constexpr int tile_words = words_for<T, 2>;
  static constexpr int piece = config.columns_of_piece();
  static constexpr int pieces = slab / piece;
  static constexpr int steps = vector / 2;

  using word = word_of<T>;
  using sum = scalar_of<T>;
  using sums = sum[parts][pieces][steps][4];

  // A stage: 8 * depth rows of B, the tiles of its groups one after the other, the groups themselves.
  static constexpr int rows = 8 * Depth;
  static constexpr int row_bytes = Slab * static_cast<int>(sizeof(T));
  static constexpr int chunks = row_bytes / 16;  // of a row
  static constexpr int tiles_at = static_cast<int>(config.b_bytes());
  static constexpr int groups_at = tiles_at + static_cast<int>(config.tile_bytes());
  static constexpr int stage_bytes = static_cast<int>(config.stage_bytes());
  static constexpr int all_stages = Stages * stage_bytes;
};

/// Where chunk `chunk` of 16 bytes of row `row` lies in a stage. The lanes that load at once take rows 2t + x and
/// chunks 2h and 2h + 1 for all t and one h: the exclusive or spreads them over all banks.
template <class Shape>
__device__ int place_of_chunk(int row, int chunk) {
  return row * Shape::row_bytes + (chunk ^ (row & 6)) * 16;
}

}  // namespace bcsc::kernels::cuda
