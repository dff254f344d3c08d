#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Tensor cores: A in MMA tiles (kernels/forms/mma_tiles/layout.hpp); a warp multiplies one row block of 8 * parts rows
/// by `slab` columns of B, all its sums in registers. fp32 by three TF32 products (full accuracy) or one (tf32), fp64,
/// fp16 and bf16 by their own.
namespace bcsc::kernels::tables {

struct mma_config {
  value_type type = value_type::fp32;
  accuracy keeps = accuracy::full;
  int parts;            ///< 8-row parts of a row block: 1, 2, 4 or 8
  int slab;             ///< columns of C that a warp owns
  int warps_m;          ///< warps of a thread block along the row blocks,
  int warps_n = 1;      ///< along the slabs,
  int warps_k = 1;      ///< and along the groups of columns of one row block: these add their sums up
  int ahead;            ///< groups whose rows of B are under way while one is multiplied
  bool staged = false;  ///< through shared memory (cp.async), or straight to registers
  int min_blocks = 1;   ///< minimum resident thread blocks, as in __launch_bounds__

  /// Neighbouring columns of B that a lane loads: 16 bytes, or fewer where the slab is too narrow for that.
  constexpr int columns_of_lane() const {
    const int columns = 16 / static_cast<int>(size_of(type));
    return 8 * columns <= slab ? columns : slab / 8;
  }
  constexpr int columns_of_piece() const { return 8 * columns_of_lane(); }

  constexpr int tile_rows() const { return 8 * parts; }
  constexpr int tile_cols() const { return slab; }
  /// Columns of a column-major B that a tile takes where they lie; none where more are better packed anyway, nor
  /// through shared memory, where each value would be a copy of its own.
  constexpr int strided_cols() const { return slab <= 64 && !staged ? slab : 0; }
  constexpr int warps() const { return warps_m * warps_n * warps_k; }
  constexpr int teams() const { return warps_m * warps_n; }
  static constexpr int depth = 1;  ///< row blocks that a team takes one after the other
  constexpr int block_threads() const { return 32 * warps(); }
  constexpr int columns_at_once() const { return 8; }
  constexpr int num_stages() const { return ahead + 1; }
  constexpr int index_width() const { return 32; }
  constexpr int products() const { return type == value_type::fp32 && keeps == accuracy::full ? 3 : 1; }
  /// Of the error bound (kernel_info::bound): where the unit adds up a group from zero, it cuts off what lies below the
  /// largest of the 8 products.
  constexpr int more_terms() const { return products() == 3 || is_narrow(type) ? 16 : 3; }

  /// A warp's buffers of B and A: one more than are under way, so that the one being read is not written.
  constexpr std::int64_t stage_bytes() const {
    return staged ? std::int64_t{ahead + 1} * (8 * slab + 64 * parts) * size_of(type) : 0;
  }
  /// The sums that warps hand over.
  constexpr std::int64_t sum_bytes() const {
    return std::int64_t{warps_m} * warps_n * (warps_k - 1) * tile_rows() * slab * bytes_of_sum(type);
  }
  constexpr std::int64_t shared_bytes() const { return warps() * stage_bytes() + sum_bytes(); }

  constexpr int resident_blocks() const { return min_blocks; }
  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    std::string name = type == value_type::fp64   ? "mma-f64"
                       : type == value_type::fp16 ? "mma-f16"
                       : type == value_type::bf16 ? "mma-bf16"
                       : keeps == accuracy::full  ? "mma-3xtf32"
                                                  : "mma-tf32";
    name += "-m" + number(tile_rows()) + "-n" + number(slab) + "-w" + number(warps_m) + "x" + number(warps_n) + "x" +
            number(warps_k) + (staged ? "-s" : "-r") + number(ahead);
    return name;
  }
  constexpr bool valid() const {
    // An even number of columns a lane: products are two columns of it.
    return (type == value_type::fp32 || keeps == accuracy::full) && slab % 16 == 0 && columns_of_lane() % 2 == 0 &&
           (parts == 1 || parts == 2 || parts == 4 || parts == 8) && slab >= columns_of_piece() &&
           slab % columns_of_piece() == 0 && warps_m >= 1 && warps_n >= 1 && warps_k >= 1 && warps() <= 16 &&
           ahead >= 1 && ahead <= 4 && min_blocks >= 1 && min_blocks <= 32 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto mma_table() {
  constexpr auto fp64 = value_type::fp64;
  constexpr auto tf32 = accuracy::tf32;
  if constexpr (built_space == space::few) {
    return std::array<mma_config, 5>{{
        {.parts = 2, .slab = 32, .warps_m = 2, .warps_k = 2, .ahead = 1, .min_blocks = 5},
        {.parts = 2, .slab = 16, .warps_m = 2, .ahead = 1, .min_blocks = 12},
        {.parts = 4, .slab = 64, .warps_m = 2, .ahead = 2, .staged = true, .min_blocks = 6},
        {.keeps = tf32, .parts = 1, .slab = 128, .warps_m = 2, .warps_n = 2, .ahead = 1, .min_blocks = 4},
        {.type = fp64, .parts = 2, .slab = 32, .warps_m = 2, .ahead = 1, .min_blocks = 9},
    }};
  } else {
    // One group ahead leaves registers for more thread blocks, which hide what loads take (docs/history, 116).
    return std::array<mma_config, 25>{{
        // N up to 16: half of a wider slab would be idle
        {.parts = 1, .slab = 16, .warps_m = 4, .ahead = 2, .min_blocks = 8},
        {.parts = 2, .slab = 16, .warps_m = 4, .ahead = 1, .min_blocks = 8},
        {.parts = 4, .slab = 16, .warps_m = 4, .ahead = 1, .min_blocks = 6},
        {.type = fp64, .parts = 1, .slab = 16, .warps_m = 4, .ahead = 2, .min_blocks = 8},
        {.type = fp64, .parts = 2, .slab = 16, .warps_m = 4, .ahead = 1, .min_blocks = 8},
        // N up to 32: many warps, A's bytes count, so low parts
        {.parts = 1, .slab = 32, .warps_m = 4, .ahead = 2, .min_blocks = 5},
        {.parts = 2, .slab = 32, .warps_m = 2, .ahead = 1, .min_blocks = 12},
        {.parts = 4, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 5},
        {.parts = 4, .slab = 32, .warps_m = 2, .ahead = 1, .min_blocks = 8},
        // 64 columns: B's slab stays in L2 where 128 would not
        {.parts = 1, .slab = 64, .warps_m = 4, .ahead = 2, .min_blocks = 4},
        {.parts = 2, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 4},
        {.parts = 4, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 3},
        // 128 columns
        {.parts = 1, .slab = 128, .warps_m = 4, .ahead = 1, .min_blocks = 4},
        // one product
        {.keeps = tf32, .parts = 2, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 8},
        {.keeps = tf32, .parts = 4, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 6},
        {.keeps = tf32, .parts = 4, .slab = 32, .warps_m = 4, .ahead = 2, .min_blocks = 4},
        {.keeps = tf32, .parts = 2, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 5},
        {.keeps = tf32, .parts = 4, .slab = 64, .warps_m = 2, .ahead = 1, .min_blocks = 8},
        {.keeps = tf32, .parts = 4, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 3},
        // fp64
        {.type = fp64, .parts = 1, .slab = 32, .warps_m = 4, .ahead = 2, .min_blocks = 4},
        {.type = fp64, .parts = 2, .slab = 32, .warps_m = 2, .warps_k = 2, .ahead = 1, .min_blocks = 4},
        {.type = fp64, .parts = 2, .slab = 32, .warps_m = 2, .ahead = 1, .min_blocks = 10},
        {.type = fp64, .parts = 2, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 3},
        {.type = fp64, .parts = 4, .slab = 32, .warps_m = 2, .ahead = 1, .min_blocks = 6},
        {.type = fp64, .parts = 4, .slab = 64, .warps_m = 2, .ahead = 2, .staged = true, .min_blocks = 4},
    }};
  }
}

/// Of fp16, and the same of bf16.
consteval auto narrow_mma_table(value_type type) {
  if constexpr (built_space == space::few) {
    return std::array<mma_config, 4>{{
        {.type = type, .parts = 2, .slab = 32, .warps_m = 2, .warps_k = 2, .ahead = 1, .min_blocks = 7},
        {.type = type, .parts = 1, .slab = 128, .warps_m = 2, .warps_n = 2, .ahead = 2, .min_blocks = 4},
        {.type = type, .parts = 4, .slab = 64, .warps_m = 2, .ahead = 2, .staged = true, .min_blocks = 8},
        {.type = type, .parts = 2, .slab = 32, .warps_m = 2, .ahead = 1, .staged = true, .min_blocks = 12},
    }};
  } else {
    return std::array<mma_config, 10>{{
        {.type = type, .parts = 1, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 10},
        {.type = type, .parts = 2, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 8},
        {.type = type, .parts = 4, .slab = 32, .warps_m = 4, .ahead = 1, .min_blocks = 6},
        {.type = type, .parts = 4, .slab = 32, .warps_m = 2, .warps_k = 2, .ahead = 2, .min_blocks = 4},
        {.type = type, .parts = 1, .slab = 64, .warps_m = 4, .ahead = 2, .min_blocks = 5},
        {.type = type, .parts = 2, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 6},
        {.type = type, .parts = 4, .slab = 64, .warps_m = 4, .ahead = 1, .min_blocks = 4},
        {.type = type, .parts = 1, .slab = 128, .warps_m = 4, .ahead = 2, .min_blocks = 4},
        {.type = type, .parts = 2, .slab = 128, .warps_m = 4, .ahead = 1, .min_blocks = 3},
        {.type = type, .parts = 2, .slab = 128, .warps_m = 2, .ahead = 3, .staged = true, .min_blocks = 8},
    }};
  }
}

struct mma : algorithm {
  static constexpr const char* name = "mma";
  static constexpr operand_form form = operand_form::mma_tiles;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs =
      join(mma_table(), join(narrow_mma_table(value_type::fp16), narrow_mma_table(value_type::bf16)));
};

}  // namespace bcsc::kernels::tables
