#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Tensor cores, for matrices that are nearly dense: A in MMA tiles of high row blocks
/// (kernels/forms/mma_tiles/layout.hpp); a thread block stages the rows of B that its row block needs in shared memory,
/// a few groups of columns at a time, and all its warps multiply from there. The same products as `mma`.
namespace bcsc::kernels::tables {

struct staged_config {
  value_type type = value_type::fp32;
  accuracy keeps = accuracy::full;
  int parts;           ///< 8-row parts of a row block: 8 or 16
  int slab;            ///< columns of C that a thread block owns
  int warps_m;         ///< warps of a thread block that share the parts,
  int warps_n = 1;     ///< the columns,
  int warps_k = 1;     ///< and the groups of a stage: these add their sums up at the end
  int depth;           ///< groups of columns in a stage
  int stages;          ///< of which one is multiplied while the others are on their way
  int min_blocks = 1;  ///< minimum resident thread blocks, as in __launch_bounds__

  constexpr int size() const { return static_cast<int>(size_of(type)); }
  /// Groups that one step multiplies: products of fp16 and bf16 take two groups, and two of them are summed from zero.
  constexpr int groups_of_step() const { return is_narrow(type) ? 4 : 1; }
  constexpr int columns_of_lane() const { return 16 / size(); }
  constexpr int columns_of_piece() const { return 8 * columns_of_lane(); }

  constexpr int tile_rows() const { return 8 * parts; }
  constexpr int tile_cols() const { return slab; }
  constexpr int strided_cols() const { return 0; }
  constexpr int warps() const { return warps_m * warps_n * warps_k; }
  constexpr int block_threads() const { return 32 * warps(); }
  constexpr int columns_at_once() const { return 8 * depth; }
  constexpr int num_stages() const { return stages; }
  constexpr int index_width() const { return 32; }
  constexpr int products() const { return type == value_type::fp32 && keeps == accuracy::full ? 3 : 1; }
  /// Of the error bound (kernel_info::bound): each of the products that the unit adds up from zero, 8 or 32 with what
  /// it has added before, loses what lies below the largest.
  constexpr int more_terms() const { return products() == 3 ? 16 : is_narrow(type) ? 66 : 3; }
  constexpr int resident_blocks() const { return min_blocks; }

  /// Of 16 bytes in a row of B, and as many of them as threads copy side by side: of eight rows or more, which differ
  /// in where they begin in shared memory.
  constexpr int chunks() const { return slab * size() / 16; }
  constexpr int copied_chunks() const { return chunks() < block_threads() / 8 ? chunks() : block_threads() / 8; }

  constexpr std::int64_t b_bytes() const { return std::int64_t{8} * depth * slab * size(); }
  constexpr std::int64_t tile_bytes() const { return std::int64_t{64} * depth * parts * size(); }
  constexpr std::int64_t stage_bytes() const { return b_bytes() + tile_bytes() + (depth + 1) / 2 * 16; }
  /// The sums that warps hand over, where the stages were.
  constexpr std::int64_t sum_bytes() const {
    return std::int64_t{warps_k - 1} * tile_rows() * slab * bytes_of_sum(type);
  }
  constexpr std::int64_t shared_bytes() const {
    return stages * stage_bytes() > sum_bytes() ? stages * stage_bytes() : sum_bytes();
  }

  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    std::string name = type == value_type::fp64   ? "staged-f64"
                       : type == value_type::fp16 ? "staged-f16"
                       : type == value_type::bf16 ? "staged-bf16"
                       : keeps == accuracy::full  ? "staged-3xtf32"
                                                  : "staged-tf32";
    name += "-m" + number(tile_rows()) + "-n" + number(slab) + "-w" + number(warps_m) + "x" + number(warps_n) + "x" +
            number(warps_k) + "-k" + number(8 * depth) + "-s" + number(stages);
    return name;
  }
  constexpr bool valid() const {
    return (type == value_type::fp32 || keeps == accuracy::full) && (parts == 8 || parts == 16) && warps_m >= 1 &&
           warps_n >= 1 && warps_k >= 1 && warps() <= 16 && parts % warps_m == 0 &&
           slab % (warps_n * columns_of_piece()) == 0 && depth >= 1 && depth <= 16 &&
           depth % (groups_of_step() * warps_k) == 0 && stages >= 2 && stages <= 8 && chunks() % copied_chunks() == 0 &&
           block_threads() % copied_chunks() == 0 && 8 * depth % (block_threads() / copied_chunks()) == 0 &&
           min_blocks >= 1 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto staged_table() {
  constexpr auto fp64 = value_type::fp64;
  constexpr auto tf32 = accuracy::tf32;
  if constexpr (built_space == space::few) {
    return std::array<staged_config, 3>{{
        {.parts = 16, .slab = 64, .warps_m = 2, .warps_k = 2, .depth = 2, .stages = 3, .min_blocks = 1},
        {.type = fp64, .parts = 8, .slab = 64, .warps_m = 2, .warps_n = 2, .depth = 4, .stages = 3, .min_blocks = 1},
        {.keeps = tf32, .parts = 8, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 4, .stages = 2, .min_blocks = 1},
    }};
  } else {
    return std::array<staged_config, 10>{{
        {.type = fp64, .parts = 8, .slab = 32, .warps_m = 4, .depth = 4, .stages = 2, .min_blocks = 4},
        {.type = fp64, .parts = 8, .slab = 64, .warps_m = 4, .warps_n = 2, .depth = 4, .stages = 3, .min_blocks = 2},
        {.type = fp64, .parts = 8, .slab = 128, .warps_m = 2, .warps_n = 4, .depth = 4, .stages = 2, .min_blocks = 2},
        {.parts = 16, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 4, .stages = 3, .min_blocks = 2},
        {.parts = 16, .slab = 64, .warps_m = 2, .warps_k = 4, .depth = 8, .stages = 4, .min_blocks = 1},
        {.parts = 8, .slab = 64, .warps_m = 1, .warps_k = 4, .depth = 8, .stages = 3, .min_blocks = 2},
        {.keeps = tf32, .parts = 16, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 4, .stages = 3, .min_blocks = 2},
        {.keeps = tf32, .parts = 16, .slab = 64, .warps_m = 2, .warps_k = 4, .depth = 8, .stages = 4, .min_blocks = 1},
        {.keeps = tf32, .parts = 8, .slab = 64, .warps_m = 1, .warps_k = 4, .depth = 8, .stages = 3, .min_blocks = 2},
        {.keeps = tf32, .parts = 8, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 2, .stages = 4, .min_blocks = 3},
    }};
  }
}

/// Of fp16, and the same of bf16.
consteval auto narrow_staged_table(value_type type) {
  if constexpr (built_space == space::few) {
    return std::array<staged_config, 2>{{
        {.type = type, .parts = 16, .slab = 64, .warps_m = 4, .depth = 4, .stages = 3, .min_blocks = 1},
        {.type = type,
         .parts = 8,
         .slab = 128,
         .warps_m = 1,
         .warps_n = 2,
         .warps_k = 2,
         .depth = 8,
         .stages = 2,
         .min_blocks = 1},
    }};
  } else {
    return std::array<staged_config, 3>{{
        {.type = type, .parts = 16, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 8, .stages = 3, .min_blocks = 2},
        {.type = type, .parts = 16, .slab = 64, .warps_m = 2, .warps_k = 4, .depth = 16, .stages = 4, .min_blocks = 1},
        {.type = type, .parts = 8, .slab = 128, .warps_m = 2, .warps_n = 2, .depth = 4, .stages = 4, .min_blocks = 3},
    }};
  }
}

struct staged : algorithm {
  static constexpr const char* name = "staged";
  static constexpr operand_form form = operand_form::staged_tiles;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs =
      join(staged_table(), join(narrow_staged_table(value_type::fp16), narrow_staged_table(value_type::bf16)));
};

}  // namespace bcsc::kernels::tables
