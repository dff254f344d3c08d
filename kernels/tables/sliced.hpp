#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// A as row blocks side by side (kernels/forms/block_slices/layout.hpp), a lane of a warp each or `lanes` of them,
/// whose sums are added up: for one column, and for several that are column-major, since neighbouring lanes then read
/// neighbouring values of B.
namespace bcsc::kernels::tables {

struct sliced_config {
  int rows;       ///< of a row block: those that share a value of B
  int lanes;      ///< of a row block: where there are few, or long ones
  int cols = 1;   ///< of C that a lane computes at once
  int unroll;     ///< steps under way
  int warps = 4;  ///< of a thread block; they share nothing but L1
  int depth;      ///< the most slices a warp takes one after the other, the next one's steps fetched meanwhile
  min_blocks_by_size min_blocks = {};
  value_type type = {};

  constexpr int tile_rows() const { return rows; }
  constexpr int tile_cols() const { return cols; }
  constexpr int block_threads() const { return 32 * warps; }
  /// Row blocks that a thread block takes side by side.
  constexpr int teams() const { return block_threads() / lanes; }
  /// Columns of a row block that its lanes take at a step: A is stored for that.
  constexpr int columns_at_once() const { return lanes; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const { return 0; }
  constexpr int strided_cols() const { return cols; }
  constexpr int resident_blocks() const { return min_blocks.of(type); }
  std::string label() const {
    return "sliced-r" + std::to_string(rows) + "-l" + std::to_string(lanes) +
           (cols > 1 ? "-n" + std::to_string(cols) : "") + "-u" + std::to_string(unroll) + "-w" +
           std::to_string(warps) + "-d" + std::to_string(depth);
  }
  constexpr bool valid() const {
    // Each lane holds one of its warp's slices; of long row blocks, one of its thread block's.
    return rows >= 1 && rows <= 4 && power_of_two_up_to(lanes, 8) && power_of_two_up_to(cols, 32) && unroll >= 1 &&
           unroll <= 16 && power_of_two_up_to(warps, 32) && depth >= 1 && depth < 32 && min_blocks.valid();
  }
};

consteval auto sliced_configs() {
  if constexpr (built_space == space::few) {
    return std::array<sliced_config, 6>{{
        {.rows = 1, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {10, 8}},
        {.rows = 1, .lanes = 1, .cols = 8, .unroll = 2, .depth = 4, .min_blocks = {8, 6}},
        {.rows = 3, .lanes = 4, .cols = 4, .unroll = 1, .warps = 2, .depth = 1, .min_blocks = {16, 12}},
        {.rows = 1, .lanes = 8, .unroll = 2, .depth = 2, .min_blocks = {10, 8}},
        {.rows = 3, .lanes = 1, .unroll = 2, .depth = 4, .min_blocks = {10, 6}},
        {.rows = 4, .lanes = 2, .unroll = 2, .warps = 2, .depth = 1, .min_blocks = {16, 10}},
    }};
  } else {
    return std::array<sliced_config, 18>{{
        // scalar unknowns: stencils, longer rows, few or long rows
        {.rows = 1, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {10, 8}},
        {.rows = 1, .lanes = 1, .unroll = 8, .depth = 2, .min_blocks = {7, 5}},
        {.rows = 1, .lanes = 1, .unroll = 8, .warps = 2, .depth = 1, .min_blocks = {14, 10}},
        {.rows = 1, .lanes = 2, .unroll = 4, .depth = 4, .min_blocks = {10, 8}},
        {.rows = 1, .lanes = 4, .unroll = 4, .depth = 2, .min_blocks = {10, 8}},
        {.rows = 1, .lanes = 8, .unroll = 4, .warps = 2, .depth = 1, .min_blocks = {20, 16}},
        // rows that share their columns by twos, threes and fours
        {.rows = 2, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {9, 6}},
        {.rows = 3, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {8, 5}},
        {.rows = 3, .lanes = 4, .unroll = 2, .warps = 2, .depth = 1, .min_blocks = {20, 14}},
        {.rows = 4, .lanes = 2, .unroll = 2, .depth = 2, .min_blocks = {10, 6}},
        // several columns, column-major
        {.rows = 1, .lanes = 1, .cols = 4, .unroll = 4, .depth = 2, .min_blocks = {8, 6}},
        {.rows = 1, .lanes = 1, .cols = 8, .unroll = 2, .depth = 4, .min_blocks = {8, 6}},
        {.rows = 1, .lanes = 1, .cols = 16, .unroll = 1, .depth = 4, .min_blocks = {8, 5}},
        {.rows = 1, .lanes = 1, .cols = 16, .unroll = 2, .depth = 2, .min_blocks = {5, 3}},
        {.rows = 1, .lanes = 4, .cols = 8, .unroll = 2, .depth = 2, .min_blocks = {8, 5}},
        {.rows = 1, .lanes = 8, .cols = 4, .unroll = 2, .warps = 2, .depth = 1, .min_blocks = {20, 14}},
        {.rows = 3, .lanes = 1, .cols = 8, .unroll = 2, .depth = 2, .min_blocks = {6, 4}},
        {.rows = 3, .lanes = 4, .cols = 4, .unroll = 1, .warps = 2, .depth = 1, .min_blocks = {16, 12}},
    }};
  }
}

/// Of fp16 and bf16, whose values lie as they are.
consteval auto sliced_narrow_configs() {
  if constexpr (built_space == space::few) {
    return std::array<sliced_config, 2>{{
        {.rows = 1, .lanes = 2, .unroll = 4, .depth = 4, .min_blocks = {10}},
        {.rows = 3, .lanes = 1, .unroll = 2, .depth = 2, .min_blocks = {10}},
    }};
  } else {
    return std::array<sliced_config, 4>{{
        {.rows = 1, .lanes = 1, .unroll = 8, .depth = 4, .min_blocks = {8}},
        {.rows = 1, .lanes = 4, .unroll = 4, .depth = 2, .min_blocks = {10}},
        {.rows = 2, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {9}},
        {.rows = 3, .lanes = 1, .unroll = 4, .depth = 4, .min_blocks = {8}},
    }};
  }
}

struct sliced : algorithm {
  static constexpr const char* name = "sliced";
  static constexpr operand_form form = operand_form::block_slices;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs =
      join(expand_configs<count_configs(sliced_configs())>(sliced_configs()),
           expand_configs<count_configs(sliced_narrow_configs(), narrow_types)>(sliced_narrow_configs(), narrow_types));
};

}  // namespace bcsc::kernels::tables
