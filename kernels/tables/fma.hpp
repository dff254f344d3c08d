#pragma once

#include <array>
#include <string>

#include "kernels/forms/fma_tiles/layout.hpp"
#include "kernels/tables/config.hpp"

/// Plain cores, A in FMA tiles (kernels/forms/fma_tiles/layout.hpp): a warp multiplies one row block, in parts of
/// neighbouring rows that share their columns, by 32 * lane_cols columns of B, all its sums in registers.
namespace bcsc::kernels::tables {

struct fma_config {
  int height;          ///< rows of a row block; those of a part follow from it (forms::fma_part_rows)
  int lane_cols;       ///< columns of C that a lane owns
  int warps = 4;       ///< of a thread block; they share nothing but L1
  int min_blocks = 1;  ///< minimum resident thread blocks, as in __launch_bounds__
  value_type type = value_type::fp32;

  constexpr int part_rows() const { return forms::fma_part_rows(height); }
  constexpr int parts() const { return forms::fma_parts(height); }
  constexpr int size() const { return static_cast<int>(size_of(type)); }

  constexpr int tile_rows() const { return height; }
  constexpr int tile_cols() const { return 32 * lane_cols; }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int teams() const { return warps; }
  static constexpr int depth = 1;  ///< row blocks that a team takes one after the other
  constexpr int columns_at_once() const { return forms::fma_step_columns; }
  constexpr int num_stages() const { return ring_chunks; }
  constexpr int index_width() const { return 32; }
  constexpr int strided_cols() const { return 0; }
  constexpr int resident_blocks() const { return min_blocks; }

  /// A warp's tiles on their way: chunks of eight in a ring, whose beginning stands once more behind its end, so that a
  /// step's tiles follow each other.
  static constexpr int ring_chunks = 4, chunk_tiles = 8;
  constexpr int tile_bytes() const { return part_rows() * forms::fma_step_columns * size(); }
  constexpr int chunk_bytes() const { return chunk_tiles * tile_bytes(); }
  constexpr int ring_bytes() const { return ring_chunks * chunk_bytes(); }
  constexpr int step_bytes() const { return (parts() + 1) * tile_bytes(); }  ///< and one tile more
  constexpr std::int64_t shared_bytes() const { return std::int64_t{warps} * (ring_bytes() + step_bytes()); }

  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    return "fma-m" + number(height) + "-n" + number(tile_cols()) + "-r" + number(part_rows()) + "-w" + number(warps);
  }
  constexpr bool valid() const {
    return (type == value_type::fp32 || type == value_type::fp64) && height >= 2 && height <= forms::max_fma_height &&
           height % part_rows() == 0 && power_of_two_up_to(lane_cols, 8) && warps >= 1 && warps <= 16 &&
           min_blocks >= 1 && min_blocks <= 32 && step_bytes() <= chunk_bytes() && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto fma_table() {
  constexpr auto fp64 = value_type::fp64;
  if constexpr (built_space == space::few) {
    return std::array<fma_config, 4>{{
        {.height = 12, .lane_cols = 1, .warps = 2, .min_blocks = 4},
        {.height = 6, .lane_cols = 4, .warps = 3, .min_blocks = 2},
        {.height = 16, .lane_cols = 8, .warps = 1, .min_blocks = 4},
        {.height = 9, .lane_cols = 2, .warps = 2, .min_blocks = 4, .type = fp64},
    }};
  } else {
    return std::array<fma_config, 6>{{
        // nodes of three unknowns
        {.height = 12, .lane_cols = 1, .min_blocks = 8},
        {.height = 12, .lane_cols = 4, .min_blocks = 4},
        {.height = 9, .lane_cols = 4, .min_blocks = 4},
        // parts of two rows: nodes of two or four unknowns, stencils
        {.height = 8, .lane_cols = 2, .min_blocks = 7},
        {.height = 8, .lane_cols = 4, .min_blocks = 4},
        // fp64
        {.height = 9, .lane_cols = 2, .min_blocks = 4, .type = fp64},
    }};
  }
}

struct fma : algorithm {
  static constexpr const char* name = "fma";
  static constexpr operand_form form = operand_form::fma_tiles;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs = fma_table();
};

}  // namespace bcsc::kernels::tables
