#pragma once

#include <array>
#include <string>

#include "kernels/forms/bricks/layout.hpp"
#include "kernels/tables/config.hpp"

/// Brickwise: for matrices of grids. A thread block walks through a brick of neighbouring rows, layer by layer
/// (kernels/forms/bricks/layout.hpp), copies the rows of B that the next layer reads for the first time into slots of
/// shared memory while it multiplies this one from there, and has a team of `lanes` threads for each row.
namespace bcsc::kernels::tables {

struct brickwise_config {
  int lanes;   ///< across N
  int pieces;  ///< of 16 bytes that a lane owns of a row of C
  int slots;   ///< for rows of B (bricks_options::slots)
  int warps = 4;
  min_blocks_by_size min_blocks = {};
  value_type type = {};

  constexpr int size() const { return static_cast<int>(size_of(type)); }
  constexpr int fetches() const { return forms::max_fetches_for(slots); }
  constexpr int entries() const { return forms::max_entries_for(slots); }

  constexpr int row_bytes() const { return 16 * lanes * pieces; }
  constexpr int tile_rows() const { return 1; }
  constexpr int tile_cols() const { return row_bytes() / size(); }
  constexpr int strided_cols() const { return 0; }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int columns_at_once() const { return slots; }
  constexpr int num_stages() const { return 2; }
  constexpr int index_width() const { return 32; }
  constexpr int resident_blocks() const { return min_blocks.of(type); }

  /// Of this layer and the next: its rows, the slots and the values of its entries.
  constexpr int rows_bytes() const { return (forms::max_layer_rows + forms::brick_row_grain) * 8; }
  constexpr int slots_bytes() const { return 2 * entries(); }
  constexpr int stage_bytes() const { return rows_bytes() + slots_bytes() + size() * entries(); }
  /// Of those and the one behind them: the layer, and the rows of B to be copied for it.
  constexpr int list_bytes() const { return static_cast<int>(sizeof(forms::brick_layer)) + 8 * fetches(); }
  constexpr std::int64_t shared_bytes() const { return slots * row_bytes() + 2 * stage_bytes() + 3 * list_bytes(); }

  std::string label() const {
    const auto number = [](int n) { return std::to_string(n); };
    return "brickwise-l" + number(lanes) + "-p" + number(pieces) + "-s" + number(slots) + "-w" + number(warps);
  }
  constexpr bool valid() const {
    return (type == value_type::fp32 || type == value_type::fp64) && power_of_two_up_to(lanes, 32) &&
           power_of_two_up_to(pieces, 4) && lanes * pieces <= 32 && slots >= 40 && slots % 40 == 0 &&
           slots <= forms::max_brick_slots && warps >= 1 && warps <= 16 && min_blocks.valid() &&
           shared_bytes() <= max_shared_bytes;
  }
};

consteval auto brickwise_configs() {
  if constexpr (built_space == space::few) {
    return std::array<brickwise_config, 3>{{
        {.lanes = 4, .pieces = 2, .slots = 80, .warps = 2, .min_blocks = {4, 4}},
        {.lanes = 8, .pieces = 1, .slots = 40, .min_blocks = {4, 4}},
        {.lanes = 1, .pieces = 4, .slots = 40, .warps = 1, .min_blocks = {4, 4}},
    }};
  } else {
    return std::array<brickwise_config, 1>{{
        {.lanes = 4, .pieces = 2, .slots = 320, .min_blocks = {4, 4}},
    }};
  }
}

struct brickwise : algorithm {
  static constexpr const char* name = "brickwise";
  static constexpr operand_form form = operand_form::bricks;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs = expand_configs<count_configs(brickwise_configs())>(brickwise_configs());
};

}  // namespace bcsc::kernels::tables
