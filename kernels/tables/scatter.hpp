#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"
#include "kernels/tables/cpu.hpp"

/// Scatter: C = alpha * A' * B + beta * C from A as another kernel stores it. Row m of A adds to the rows of C that its
/// entries name: nothing is gathered, and no second copy of A is needed. Only spmm_plan::transposed() takes these
/// configs.
namespace bcsc::kernels::tables {

/// On a GPU, from the stream of pieces of rows (kernels/forms/row_stream/operand.hpp): a team of `groups` x `lanes`
/// threads of one warp takes a piece of a row of A. Its lanes stand side by side along a row of B with `items` columns
/// each; its groups share the piece's entries, and each has `unroll` of them under way.
struct scatter_config {
  int lanes;   ///< across N
  int items;   ///< columns of B that a lane holds
  int groups;  ///< of a team: where `lanes` alone leave too few threads, or rows are long
  int unroll;  ///< entries of a group fetched at once
  int warps;   ///< of a thread block; they share nothing
  int depth;   ///< the most pieces a team takes one after the other
  value_type type = {};

  constexpr int tile_rows() const { return 1; }
  constexpr int tile_cols() const { return lanes * items; }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int team_threads() const { return lanes * groups; }
  constexpr int teams() const { return block_threads() / team_threads(); }
  constexpr int columns_at_once() const { return groups * unroll; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const { return 0; }
  std::string label() const {
    return "scatter-l" + std::to_string(lanes) + "-i" + std::to_string(items) + "-g" + std::to_string(groups) + "-u" +
           std::to_string(unroll) + "-w" + std::to_string(warps) + "-d" + std::to_string(depth);
  }
  constexpr bool valid() const {
    return power_of_two_up_to(lanes, 32) && power_of_two_up_to(items, 8) && power_of_two_up_to(groups, 32) &&
           power_of_two_up_to(unroll, 16) && unroll >= 2 && power_of_two_up_to(warps, 32) && team_threads() <= 32 &&
           depth >= 1;
  }
};

consteval auto scatter_configs() {
  if constexpr (built_space == space::few) {
    return std::array<scatter_config, 4>{{
        {.lanes = 1, .items = 1, .groups = 8, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 2, .items = 4, .groups = 4, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 8, .items = 4, .groups = 4, .unroll = 4, .warps = 4, .depth = 1},
        {.lanes = 32, .items = 4, .groups = 1, .unroll = 4, .warps = 4, .depth = 2},
    }};
  } else {
    return std::array<scatter_config, 14>{{
        // N = 1: short rows, long ones
        {.lanes = 1, .items = 1, .groups = 4, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 1, .items = 1, .groups = 32, .unroll = 2, .warps = 4, .depth = 2},
        // N = 2 .. 4
        {.lanes = 1, .items = 4, .groups = 4, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 1, .items = 4, .groups = 32, .unroll = 2, .warps = 4, .depth = 2},
        // N = 8
        {.lanes = 2, .items = 4, .groups = 4, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 2, .items = 4, .groups = 16, .unroll = 2, .warps = 4, .depth = 2},
        // N = 16
        {.lanes = 4, .items = 4, .groups = 4, .unroll = 2, .warps = 4, .depth = 4},
        {.lanes = 4, .items = 4, .groups = 8, .unroll = 4, .warps = 4, .depth = 2},
        // N = 32: short, long
        {.lanes = 8, .items = 4, .groups = 2, .unroll = 4, .warps = 4, .depth = 4},
        {.lanes = 8, .items = 4, .groups = 4, .unroll = 8, .warps = 4, .depth = 2},
        // N = 64
        {.lanes = 16, .items = 4, .groups = 1, .unroll = 4, .warps = 4, .depth = 4},
        {.lanes = 16, .items = 4, .groups = 2, .unroll = 8, .warps = 4, .depth = 2},
        // N >= 128
        {.lanes = 32, .items = 4, .groups = 1, .unroll = 4, .warps = 4, .depth = 4},
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 4, .warps = 4, .depth = 2},
    }};
  }
}

/// Atomic additions to C come in any order.
struct scatter : algorithm {
  static constexpr bool transposes = true;
  static constexpr const char* name = "scatter";
  static constexpr operand_form form = operand_form::row_stream;
  static constexpr bool deterministic = false;
  static constexpr auto configs = expand_configs<count_configs(scatter_configs())>(scatter_configs());
};

/// On the CPU, from compact BCSC of any height: each thread owns rows and columns of C and reads what of A reaches
/// them. n_tile: columns of C done before the next non-zeros of A are read.
struct cpu_scatter_config : cpu_config {
  std::string label() const { return "scatter-n" + std::to_string(n_tile) + (index_bits == 64 ? "-i64" : ""); }
  constexpr bool valid() const { return m_tile == 1 && n_tile >= 16 && n_tile % 16 == 0; }
};

consteval auto cpu_scatter_configs() {
  if constexpr (built_space == space::few) {
    return cpu_grid<cpu_scatter_config>(std::array{1}, std::array{128});
  } else {
    return cpu_grid<cpu_scatter_config>(std::array{1}, std::array{64, 256});
  }
}

struct cpu_scatter : algorithm {
  static constexpr bool transposes = true;
  static constexpr const char* name = "scatter";
  static constexpr bool deterministic = true;
  static constexpr auto configs = expand_configs<count_configs(cpu_scatter_configs())>(cpu_scatter_configs());
};

}  // namespace bcsc::kernels::tables
