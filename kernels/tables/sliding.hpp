#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Tensor cores, for bands in fp64: A in MMA tiles (kernels/forms/mma_tiles/layout.hpp); a thread block takes one row
/// block after another and keeps the rows of B that it has read in shared memory, so that the next row block finds
/// those that it shares with this one. Some of its warps do nothing but copy, by Hopper's bulk copies, and the others
/// nothing but multiply.
namespace bcsc::kernels::tables {

struct sliding_config {
  value_type type = value_type::fp64;
  accuracy keeps = accuracy::full;
  int parts;           ///< 8-row parts of a row block
  int slab;            ///< columns of C that a thread block owns
  int warps_m;         ///< warps that multiply, sharing the parts
  int warps_n;         ///< and the columns
  int kept;            ///< rows of B that shared memory holds
  int depth;           ///< groups of columns in a stage, at most four
  int stages;          ///< of which one is multiplied while the others are on their way
  int min_blocks = 1;  ///< minimum resident thread blocks, as in __launch_bounds__

  static constexpr int producers = 4;  ///< warps that copy: one tiles, the others rows of B

  constexpr int size() const { return static_cast<int>(size_of(type)); }
  constexpr int columns_of_lane() const { return 16 / size(); }
  constexpr int columns_of_piece() const { return 8 * columns_of_lane(); }

  constexpr int tile_rows() const { return 8 * parts; }
  constexpr int tile_cols() const { return slab; }
  constexpr int strided_cols() const { return 0; }
  constexpr int consumers() const { return warps_m * warps_n; }
  constexpr int block_threads() const { return 32 * (consumers() + producers); }
  constexpr int columns_at_once() const { return 8 * depth; }
  constexpr int num_stages() const { return stages; }
  constexpr int index_width() const { return 32; }
  constexpr int more_terms() const { return 3; }  ///< of the error bound (kernel_info::bound)
  constexpr int resident_blocks() const { return min_blocks; }

  /// 16 bytes more than a row of B: rows that follow each other begin in different banks.
  constexpr int row_bytes() const { return slab * size() + 16; }
  constexpr std::int64_t kept_bytes() const { return std::int64_t{kept} * row_bytes(); }
  constexpr std::int64_t tile_bytes() const { return std::int64_t{64} * depth * parts * size(); }
  /// Tiles, groups, and in which slots the rows of B are.
  constexpr std::int64_t stage_bytes() const {
    return tile_bytes() + (std::int64_t{8} * depth + std::int64_t{4} * 8 * depth + 15) / 16 * 16;
  }
  static constexpr std::int64_t barrier_bytes = 8;
  constexpr std::int64_t shared_bytes() const { return kept_bytes() + stages * (stage_bytes() + 2 * barrier_bytes); }

  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    return "sliding-f64-m" + number(tile_rows()) + "-n" + number(slab) + "-w" + number(warps_m) + "x" +
           number(warps_n) + "-r" + number(kept) + "-k" + number(8 * depth) + "-s" + number(stages);
  }
  constexpr bool valid() const {
    return type == value_type::fp64 && keeps == accuracy::full && parts > 1 && power_of_two_up_to(parts, 16) &&
           warps_m >= 1 && warps_n >= 1 && consumers() <= 16 && parts % warps_m == 0 &&
           slab % (warps_n * columns_of_piece()) == 0 && kept >= 8 * depth && depth >= 1 && depth <= 4 && stages >= 2 &&
           stages <= 8 && min_blocks >= 1 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto sliding_table() {
  if constexpr (built_space == space::few) {
    return std::array<sliding_config, 3>{{
        {.parts = 8, .slab = 64, .warps_m = 4, .warps_n = 2, .kept = 96, .depth = 4, .stages = 3},
        {.parts = 4, .slab = 32, .warps_m = 1, .warps_n = 2, .kept = 64, .depth = 2, .stages = 4},
        {.parts = 2, .slab = 16, .warps_m = 2, .warps_n = 1, .kept = 32, .depth = 1, .stages = 2},
    }};
  } else {
    return std::array<sliding_config, 2>{{
        {.parts = 8, .slab = 128, .warps_m = 4, .warps_n = 4, .kept = 128, .depth = 4, .stages = 5},
        {.parts = 4, .slab = 64, .warps_m = 2, .warps_n = 2, .kept = 128, .depth = 4, .stages = 4, .min_blocks = 2},
    }};
  }
}

struct sliding : algorithm {
  static constexpr const char* name = "sliding";
  static constexpr operand_form form = operand_form::staged_tiles;
  static constexpr int compute_capability = 90;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs = sliding_table();
};

}  // namespace bcsc::kernels::tables
