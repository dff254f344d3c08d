#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Hopper's tensor cores by warpgroups (wgmma, compute capability 9.0 alone), for matrices that are nearly dense: A in
/// MMA tiles of row blocks of 64 or 128 rows (kernels/forms/mma_tiles/layout.hpp), which are laid out with their zeros
/// in shared memory, where a thread block stages rows of B as well.
namespace bcsc::kernels::tables {

struct wgmma_config {
  value_type type = value_type::fp32;
  accuracy keeps = accuracy::full;
  int parts;       ///< 8-row parts of a row block: 8 or 16
  int lane_cols;   ///< columns of C that a lane owns: 2 or 4, in products of 64 columns for every two
  int warpgroups;  ///< of a thread block that multiply, sharing the columns: four warps each
  int depth;       ///< groups of columns in a stage
  int stages;      ///< of which one is multiplied, and the others are on their way

  static constexpr int producers = 4;  ///< warps that fill the stages: one more warpgroup
  static constexpr int slots = 4;      ///< stages of which they know the numbers

  constexpr int size() const { return static_cast<int>(size_of(type)); }
  /// Groups that one product takes.
  constexpr int groups_of_product() const { return is_narrow(type) ? 2 : 1; }
  constexpr int slab() const { return 32 * lane_cols * warpgroups; }

  constexpr int tile_rows() const { return 8 * parts; }
  constexpr int tile_cols() const { return slab(); }
  constexpr int strided_cols() const { return 0; }
  constexpr int block_threads() const { return 128 * warpgroups + 32 * producers; }
  constexpr int columns_at_once() const { return 8 * depth; }
  constexpr int num_stages() const { return stages; }
  constexpr int index_width() const { return 32; }
  constexpr int products() const { return type == value_type::fp32 && keeps == accuracy::full ? 3 : 1; }
  /// Of the error bound (kernel_info::bound): each of the products of a stage, which are summed from zero, loses what
  /// lies below the largest, with what has been added before; and for fp32 what the split loses.
  constexpr int more_terms() const { return 2 * (columns_at_once() + 1) + (products() == 3 ? 16 : 3); }
  constexpr int resident_blocks() const { return 1; }

  /// Registers of a thread: consumers take over what producers, launched with as many, leave.
  static constexpr int producer_registers = 56;
  constexpr int consumer_registers() const {
    const int at_launch = 65536 / block_threads() / 8 * 8;
    const int left = (at_launch * block_threads() - 32 * producers * producer_registers) / (128 * warpgroups) / 8 * 8;
    return left < 240 ? left : 240;
  }

  /// Of 16 bytes in a row of B, and as many of them as producers copy side by side: of eight rows or more.
  constexpr int chunks() const { return slab() * size() / 16; }
  constexpr int copied_chunks() const { return chunks() < 4 * producers ? chunks() : 4 * producers; }
  constexpr std::int64_t b_bytes() const { return std::int64_t{8} * depth * slab() * size(); }
  /// Of the tiles of a stage; in 3xTF32 as many more hold their low parts.
  constexpr std::int64_t tile_bytes() const { return std::int64_t{64} * depth * parts * size(); }
  constexpr std::int64_t stage_bytes() const { return b_bytes() + tile_bytes() * (products() == 3 ? 2 : 1); }
  /// What a producer has to know of a stage: its columns and groups.
  constexpr std::int64_t numbers_bytes() const { return std::int64_t{4} * 8 * depth + std::int64_t{8} * depth; }
  static constexpr std::int64_t barrier_bytes = 8;
  constexpr std::int64_t shared_bytes() const {
    return stages * (stage_bytes() + 2 * barrier_bytes) + producers * slots * numbers_bytes() +
           warpgroups * barrier_bytes;
  }

  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    std::string name = type == value_type::fp16   ? "wgmma-f16"
                       : type == value_type::bf16 ? "wgmma-bf16"
                       : keeps == accuracy::full  ? "wgmma-3xtf32"
                                                  : "wgmma-tf32";
    return name + "-m" + number(tile_rows()) + "-n" + number(slab()) + "-w" + number(warpgroups) + "-k" +
           number(columns_at_once()) + "-s" + number(stages);
  }
  constexpr bool valid() const {
    const int chunks_of_tile = 4 * size();
    return type != value_type::fp64 && (type == value_type::fp32 || keeps == accuracy::full) &&
           (parts == 8 || parts == 16) && (lane_cols == 2 || lane_cols == 4) && warpgroups >= 1 && warpgroups <= 4 &&
           depth >= 1 && depth <= 16 && depth % groups_of_product() == 0 && stages >= 3 && stages <= 8 &&
           depth * parts * chunks_of_tile % (32 * producers) == 0 && chunks() % copied_chunks() == 0 &&
           8 * depth % (32 * producers / copied_chunks()) == 0 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto wgmma_table() {
  constexpr auto tf32 = accuracy::tf32;
  if constexpr (built_space == space::few) {
    return std::array<wgmma_config, 3>{{
        {.parts = 8, .lane_cols = 2, .warpgroups = 2, .depth = 2, .stages = 3},
        {.parts = 16, .lane_cols = 2, .warpgroups = 1, .depth = 2, .stages = 3},
        {.keeps = tf32, .parts = 8, .lane_cols = 4, .warpgroups = 1, .depth = 4, .stages = 4},
    }};
  } else {
    return std::array<wgmma_config, 6>{{
        {.parts = 16, .lane_cols = 2, .warpgroups = 2, .depth = 4, .stages = 4},
        {.parts = 8, .lane_cols = 2, .warpgroups = 2, .depth = 4, .stages = 4},
        {.parts = 8, .lane_cols = 4, .warpgroups = 2, .depth = 4, .stages = 4},
        {.keeps = tf32, .parts = 16, .lane_cols = 2, .warpgroups = 2, .depth = 4, .stages = 4},
        {.keeps = tf32, .parts = 8, .lane_cols = 2, .warpgroups = 2, .depth = 8, .stages = 4},
        {.keeps = tf32, .parts = 8, .lane_cols = 4, .warpgroups = 2, .depth = 4, .stages = 4},
    }};
  }
}

/// Of fp16, and the same of bf16.
consteval auto narrow_wgmma_table(value_type type) {
  if constexpr (built_space == space::few) {
    return std::array<wgmma_config, 2>{{
        {.type = type, .parts = 8, .lane_cols = 2, .warpgroups = 1, .depth = 4, .stages = 3},
        {.type = type, .parts = 16, .lane_cols = 4, .warpgroups = 1, .depth = 2, .stages = 3},
    }};
  } else {
    return std::array<wgmma_config, 3>{{
        {.type = type, .parts = 16, .lane_cols = 2, .warpgroups = 2, .depth = 8, .stages = 4},
        {.type = type, .parts = 8, .lane_cols = 2, .warpgroups = 2, .depth = 8, .stages = 4},
        {.type = type, .parts = 8, .lane_cols = 4, .warpgroups = 2, .depth = 8, .stages = 4},
    }};
  }
}

struct wgmma : algorithm {
  static constexpr const char* name = "wgmma";
  static constexpr operand_form form = operand_form::staged_tiles;
  static constexpr int compute_capability = 90;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs =
      join(wgmma_table(), join(narrow_wgmma_table(value_type::fp16), narrow_wgmma_table(value_type::bf16)));
};

}  // namespace bcsc::kernels::tables
