#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Row-wise: a team of `groups` x `lanes` threads of one warp walks a piece of a row of A
/// (kernels/forms/row_stream/operand.hpp). Its lanes stand side by side along a row of B with `items` columns each; its
/// groups share the piece's entries, and each has `unroll` of them under way at once.
namespace bcsc::kernels::tables {

struct rowwise_config {
  int lanes;      ///< across N
  int items;      ///< columns of C a lane owns
  int groups;     ///< of a team: where `lanes` alone leave too few bytes under way, or rows are long
  int unroll;     ///< entries of a group under way
  int warps = 4;  ///< of a thread block; they share nothing but L1
  int depth;      ///< the most pieces a team takes one after the other, the next one's entries fetched meanwhile
  min_blocks_by_size min_blocks = {};
  bool squeezed = false;  ///< min_blocks leaves fewer registers than a thread would take; the label says so
  int labelled = 0;  ///< squeezed, too; the blocks that the label names where min_blocks has changed since: results
                     ///< and costs know configs by their labels
  value_type type = {};

  constexpr int tile_rows() const { return 1; }
  constexpr int tile_cols() const { return lanes * items; }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int team_threads() const { return lanes * groups; }
  constexpr int teams() const { return block_threads() / team_threads(); }
  /// Entries of a piece that a team multiplies at a step: a piece should hold few steps (row_stream_options::split).
  constexpr int columns_at_once() const { return groups * unroll; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  /// Where C goes through it or teams share a row: the sums of one piece of each team, and the rows they belong to.
  constexpr std::int64_t shared_bytes() const {
    return std::int64_t{teams()} * ((tile_cols() + 1) * bytes_of_sum(type) + std::int64_t{sizeof(std::int32_t)});
  }
  /// The most values of B that a load may bring: so many divide a lane's columns, in 16 bytes at the most.
  constexpr int widest_load() const { return std::min(items & -items, 16 / static_cast<int>(size_of(type))); }
  /// Columns of a column-major B that a tile takes where they lie: one a lane, for those of a lane lie a constant
  /// apart.
  constexpr int strided_cols() const { return lanes; }
  /// Registers of a thread: its sums, the values of B and the entries under way, those fetched ahead, and what the rest
  /// was seen to want.
  constexpr int registers() const {
    if (is_narrow(type)) return items + items * unroll / 2 + 3 * unroll + 40;  // two values in one, then as floats
    const int size = static_cast<int>(size_of(type)) / 4;
    return items * (unroll + 1) * size + unroll * (2 * size + 1) + 28 + 8 * size;
  }
  constexpr int resident_blocks() const { return min_blocks.of(type); }
  std::string label() const {
    return "rowwise-l" + std::to_string(lanes) + "-i" + std::to_string(items) + "-g" + std::to_string(groups) + "-u" +
           std::to_string(unroll) + "-w" + std::to_string(warps) + "-d" + std::to_string(depth) +
           (labelled != 0 ? "-b" + std::to_string(labelled)
            : squeezed    ? "-b" + std::to_string(min_blocks.of_4_bytes)
                          : "");
  }
  constexpr bool valid() const {
    // Groups halve what they have until each lane is left with its share.
    const bool shared_out = groups == 1 ? items >= 1 && items <= 16 : power_of_two_up_to(items, 16);
    return power_of_two_up_to(lanes, 32) && shared_out && power_of_two_up_to(groups, 32) &&
           power_of_two_up_to(unroll, 16) && unroll >= 2 && power_of_two_up_to(warps, 32) && team_threads() <= 32 &&
           depth >= 1 && min_blocks.valid() && registers() <= 255 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto rowwise_configs() {
  if constexpr (built_space == space::few) {
    return std::array<rowwise_config, 6>{{
        {.lanes = 1, .items = 1, .groups = 8, .unroll = 2, .depth = 4, .min_blocks = {10, 8}},
        {.lanes = 2, .items = 4, .groups = 4, .unroll = 2, .depth = 4, .min_blocks = {9, 6}},
        {.lanes = 8, .items = 4, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {8, 5}, .squeezed = true},
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 4, .depth = 2, .min_blocks = {5, 3}},
        {.lanes = 16, .items = 1, .groups = 2, .unroll = 4, .depth = 1, .min_blocks = {9, 6}},
        {.lanes = 8, .items = 3, .groups = 1, .unroll = 4, .depth = 2, .min_blocks = {8, 5}},
    }};
  } else if constexpr (built_space == space::tuned) {
    return std::array<rowwise_config, 45>{{
        // N = 1: rows of a few entries, short, medium, long ones
        {.lanes = 1, .items = 1, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {9, 6}},
        {.lanes = 1, .items = 1, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {9, 6}},
        {.lanes = 1, .items = 1, .groups = 8, .unroll = 4, .depth = 4, .min_blocks = {9, 6}},
        {.lanes = 1, .items = 1, .groups = 32, .unroll = 4, .depth = 2, .min_blocks = {10, 8}},
        // N = 2 .. 4: short, graphs, networks, long
        {.lanes = 1, .items = 4, .groups = 4, .unroll = 2, .depth = 8, .min_blocks = {10, 6}},
        {.lanes = 1, .items = 4, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {10, 5}, .squeezed = true},
        {.lanes = 1, .items = 4, .groups = 8, .unroll = 2, .depth = 4, .min_blocks = {12, 6}, .squeezed = true},
        {.lanes = 1, .items = 4, .groups = 32, .unroll = 2, .depth = 2, .min_blocks = {9, 6}},
        // N = 8: short, short, graphs, long
        {.lanes = 2, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {5, 3}},
        {.lanes = 2, .items = 4, .groups = 4, .unroll = 2, .depth = 8, .min_blocks = {10, 6}},
        {.lanes = 2, .items = 4, .groups = 2, .unroll = 4, .depth = 4, .min_blocks = {10, 5}, .squeezed = true},
        {.lanes = 2, .items = 4, .groups = 16, .unroll = 4, .depth = 2, .min_blocks = {8, 4}},
        // N = 16: short, stencils and graphs, long
        {.lanes = 4, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {5, 3}},
        {.lanes = 4, .items = 4, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {10, 5}, .squeezed = true},
        {.lanes = 4, .items = 4, .groups = 8, .unroll = 4, .depth = 2, .min_blocks = {8, 4}},
        // the same of fp64: a row of B by one load
        {.lanes = 8, .items = 2, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {12, 8}, .squeezed = true},
        // N = 32: short, graphs, networks, networks, meshes, stencils
        {.lanes = 8, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {5, 3}},
        {.lanes = 8, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {8, 4}, .squeezed = true},
        {.lanes = 8, .items = 4, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {8, 4}},
        {.lanes = 8, .items = 4, .groups = 4, .unroll = 8, .depth = 1, .min_blocks = {5, 3}},
        {.lanes = 4, .items = 8, .groups = 1, .unroll = 4, .depth = 8, .min_blocks = {5, 3}},
        {.lanes = 4, .items = 8, .groups = 1, .unroll = 2, .depth = 8, .min_blocks = {9, 4}, .squeezed = true},
        // odd N, where loads of B are of one value: many lanes side by side, and tiles a little above 32, 64, 128, 256
        {.lanes = 8, .items = 1, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {10, 6}},
        {.lanes = 16, .items = 2, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {8, 4}, .squeezed = true},
        {.lanes = 16, .items = 3, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {6, 3}, .squeezed = true},
        {.lanes = 32, .items = 2, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {8, 4}, .squeezed = true},
        {.lanes = 32, .items = 3, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {8, 5}, .squeezed = true},
        {.lanes = 32, .items = 5, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {6, 4}, .squeezed = true},
        {.lanes = 32, .items = 9, .groups = 1, .unroll = 2, .depth = 4, .min_blocks = {6, 4}, .squeezed = true},
        // N = 64: graphs, any, stencils, long
        {.lanes = 16, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {8, 4}, .squeezed = true},
        {.lanes = 8, .items = 8, .groups = 1, .unroll = 4, .depth = 8, .min_blocks = {7, 3}, .labelled = 6},
        {.lanes = 8, .items = 8, .groups = 1, .unroll = 2, .depth = 8, .min_blocks = {9, 4}, .squeezed = true},
        {.lanes = 8, .items = 8, .groups = 4, .unroll = 4, .depth = 2, .min_blocks = {5, 3}},
        // N = 128: stencils, networks, neighbours that share an L1, meshes, stencils, few and long
        {.lanes = 32, .items = 4, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {10, 5}, .squeezed = true},
        {.lanes = 32, .items = 4, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {8, 4}, .squeezed = true},
        {.lanes = 32, .items = 4, .groups = 1, .unroll = 8, .warps = 8, .depth = 2, .min_blocks = {2, 1}},
        {.lanes = 16, .items = 8, .groups = 1, .unroll = 4, .depth = 8, .min_blocks = {7, 3}, .labelled = 6},
        {.lanes = 16, .items = 8, .groups = 1, .unroll = 2, .depth = 8, .min_blocks = {9, 4}, .squeezed = true},
        {.lanes = 16, .items = 8, .groups = 1, .unroll = 8, .depth = 2, .min_blocks = {3, 2}},
        {.lanes = 16, .items = 8, .groups = 2, .unroll = 4, .depth = 2, .min_blocks = {5, 3}},
        // N >= 256: any, neighbours that share an L1, long, stencils
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {6, 3}, .squeezed = true},
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 4, .warps = 16, .depth = 2, .min_blocks = {1, 1}},
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 8, .depth = 2, .min_blocks = {3, 2}},
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 2, .depth = 4, .min_blocks = {9, 4}, .squeezed = true},
        {.lanes = 32, .items = 16, .groups = 1, .unroll = 2, .depth = 4, .min_blocks = {5, 3}},
    }};
  } else {
    std::array<rowwise_config, 9 * 4 * 4 * 2> all{};
    std::size_t at = 0;
    constexpr int shapes[][2] = {{1, 1}, {1, 4}, {2, 4}, {4, 4}, {8, 4}, {16, 4}, {32, 1}, {32, 4}, {32, 8}};
    for (const auto& [lanes, items] : shapes) {
      for (int groups : {1, 2, 4, 16}) {
        for (int unroll : {2, 4, 8, 16}) {
          for (int warps : {4, 16}) {
            all[at++] = with_blocks_by_registers(rowwise_config{
                .lanes = lanes, .items = items, .groups = groups, .unroll = unroll, .warps = warps, .depth = 4});
          }
        }
      }
    }
    return all;
  }
}

/// Of fp16 and bf16: 8 columns a lane, where a load takes 16 bytes.
consteval auto rowwise_narrow_configs() {
  if constexpr (built_space == space::few) {
    return std::array<rowwise_config, 4>{{
        {.lanes = 1, .items = 2, .groups = 8, .unroll = 2, .depth = 4, .min_blocks = {9}},
        {.lanes = 2, .items = 8, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {6}},
        {.lanes = 16, .items = 8, .groups = 1, .unroll = 4, .depth = 2, .min_blocks = {6}},
        {.lanes = 8, .items = 4, .groups = 2, .unroll = 4, .depth = 2, .min_blocks = {8}},
    }};
  } else {
    return std::array<rowwise_config, 11>{{
        // N = 1, 2: rows of a few entries, short, long ones; up to 8
        {.lanes = 1, .items = 2, .groups = 1, .unroll = 4, .depth = 4, .min_blocks = {8}},
        {.lanes = 1, .items = 2, .groups = 4, .unroll = 4, .depth = 4, .min_blocks = {8}},
        {.lanes = 1, .items = 2, .groups = 8, .unroll = 4, .depth = 4, .min_blocks = {8}},
        {.lanes = 1, .items = 8, .groups = 8, .unroll = 4, .depth = 4, .min_blocks = {6}},
        // N = 16: long
        {.lanes = 2, .items = 8, .groups = 16, .unroll = 4, .depth = 2, .min_blocks = {6}},
        // N = 32: short, long
        {.lanes = 4, .items = 8, .groups = 2, .unroll = 8, .depth = 4, .min_blocks = {4}},
        {.lanes = 4, .items = 8, .groups = 8, .unroll = 4, .depth = 2, .min_blocks = {6}},
        // N = 64
        {.lanes = 8, .items = 8, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {4}},
        // N = 128
        {.lanes = 16, .items = 8, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {4}},
        {.lanes = 16, .items = 8, .groups = 2, .unroll = 8, .depth = 2, .min_blocks = {4}},
        // N >= 256
        {.lanes = 32, .items = 8, .groups = 1, .unroll = 8, .depth = 4, .min_blocks = {4}},
    }};
  }
}

struct rowwise : algorithm {
  static constexpr const char* name = "rowwise";
  static constexpr operand_form form = operand_form::row_stream;
  static constexpr bool batches = true;
  static constexpr bool deterministic = true;
  static constexpr auto configs = join(
      expand_configs<count_configs(rowwise_configs())>(rowwise_configs()),
      expand_configs<count_configs(rowwise_narrow_configs(), narrow_types)>(rowwise_narrow_configs(), narrow_types));
};

}  // namespace bcsc::kernels::tables
