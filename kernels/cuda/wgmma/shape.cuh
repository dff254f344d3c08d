#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"
#include "kernels/cuda/vectors.cuh"
#include "kernels/forms/mma_tiles/layout.hpp"
#include "kernels/tables/wgmma.hpp"

/// What an instance of the wgmma kernel knows at compile time: a consumer's share of a tile, by the names of mma_shape,
/// and how a stage lies in shared memory.
namespace bcsc::kernels::cuda {

template <class T, int Parts, int LaneCols, int Warpgroups, int Depth, int Stages, int Products>
struct wgmma_shape {
  static constexpr auto keeps = Products == 1 && sizeof(T) == 4 ? tables::accuracy::tf32 : tables::accuracy::full;
  static constexpr tables::wgmma_config config{.type = value_type_of<T>,
                                               .keeps = keeps,
                                               .parts = Parts,
                                               .lane_cols = LaneCols,
                                               .warpgroups = Warpgroups,
                                               .depth = Depth,
                                               .stages = Stages};
  static constexpr int products = Products;

  // Of the thread block.
  static constexpr int block_slab = config.slab();
  static constexpr int consumers = 4 * Warpgroups, producers = config.producers;  // warps
  static constexpr int depth = Depth;
  static constexpr int stages = Stages;

  // Of a consumer: all parts, and 8 * LaneCols neighbouring columns.
  static constexpr int parts = Parts;
  static constexpr int vector = LaneCols;
  static constexpr int words = words_for<T, vector>;
  static constexpr int slab = 8 * vector, piece = slab, pieces = 1;
  static constexpr int steps = vector / 2;  // products of 64 columns

  using word = word_of<T>;
  using sum = float;
  using sums = float[parts][pieces][steps][4];

  // A stage: 8 * Depth rows of B; the tiles of its groups, zeros included; their low parts.
  static constexpr int rows = 8 * Depth;
  static constexpr int row_bytes = block_slab * static_cast<int>(sizeof(T));
  static constexpr int chunks = row_bytes / 16;  // of a row
  static constexpr int tiles_at = static_cast<int>(config.b_bytes());
  static constexpr int tiles_bytes = static_cast<int>(config.tile_bytes());
  static constexpr int low_parts_at = tiles_at + tiles_bytes;
  static constexpr int stage_bytes = static_cast<int>(config.stage_bytes());
  static constexpr int all_stages = Stages * stage_bytes;

  // Behind the stages, for each producer: what it has to know of the next stages.
  static constexpr int slots = config.slots;
  static constexpr int groups_at = 4 * rows;
  static constexpr int numbers_bytes = static_cast<int>(config.numbers_bytes());
  static constexpr int numbers_of_warp = slots * numbers_bytes;
  static constexpr int numbers_at = all_stages;
  static constexpr int barriers_at = numbers_at + producers * numbers_of_warp;

  // A tile in shared memory: pieces of 8 rows by 16 bytes, two of them in fp32.
  static constexpr int tile_bytes = forms::mma_tile_values * static_cast<int>(sizeof(T));
  static constexpr int group_bytes = Parts * tile_bytes;
  static constexpr int groups_of_product = config.groups_of_product();

  /// Where chunk `chunk` of 16 bytes of row `row` of B lies in a stage. Lanes of four t and two g load at once, of rows
  /// t in fp32, else 2t + x: the exclusive or spreads them over all banks.
  static __device__ int place_of_chunk(int row, int chunk) {
    const int turn = sizeof(T) == 4 ? 2 * (row & 3) : row & 6;
    return row * row_bytes + (chunk ^ turn) * 16;
  }
};

}  // namespace bcsc::kernels::cuda
