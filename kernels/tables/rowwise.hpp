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
  int lanes;   ///< across N
  int items;   ///< columns of C a lane owns
  int groups;  ///< of a team: where `lanes` alone leave too few bytes under way, or rows are long
  int unroll;  ///< entries of a group under way
  int warps;   ///< of a thread block; they share nothing but L1
  int depth;   ///< the most pieces a team takes one after the other, the next one's entries fetched meanwhile
  value_type type;
  int blocks = 0;  ///< that a multiprocessor holds at least, of fewer registers each; half as many of 8-byte values

  constexpr int tile_rows() const { return 1; }
  constexpr int tile_cols() const { return lanes * items; }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int team_threads() const { return lanes * groups; }
  constexpr int teams() const { return block_threads() / team_threads(); }
  /// Entries of a piece that a team multiplies at a step: a piece should hold few steps (row_stream_options::split).
  constexpr int columns_at_once() const { return groups * unroll; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  /// Where C goes through it: the sums of one piece of each team, and the rows they belong to.
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
  /// Thread blocks that fit a multiprocessor by their registers; the compiler is held to it.
  constexpr int blocks_by_registers() const {
    const int allocated = (registers() + 7) / 8 * 8;
    const int fit = 65536 / (allocated * block_threads());
    const int most = 2048 / block_threads();
    const int least = size_of(type) > 4 ? blocks / 2 : blocks;
    return std::max({1, least, std::min(fit, most)});
  }
  std::string label() const {
    return "rowwise-l" + std::to_string(lanes) + "-i" + std::to_string(items) + "-g" + std::to_string(groups) + "-u" +
           std::to_string(unroll) + "-w" + std::to_string(warps) + "-d" + std::to_string(depth) +
           (blocks > 0 ? "-b" + std::to_string(blocks) : "");
  }
  constexpr bool valid() const {
    // Groups halve what they have until each lane is left with its share.
    const bool shared_out = groups == 1 ? items >= 1 && items <= 16 : power_of_two_up_to(items, 16);
    return power_of_two_up_to(lanes, 32) && shared_out && power_of_two_up_to(groups, 32) &&
           power_of_two_up_to(unroll, 16) && unroll >= 2 && power_of_two_up_to(warps, 32) && team_threads() <= 32 &&
           depth >= 1 && registers() <= 255 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto rowwise_configs() {
  if constexpr (built_space == space::few) {
    return std::array<rowwise_config, 6>{{{1, 1, 8, 2, 4, 4, {}},
                                          {2, 4, 4, 2, 4, 4, {}},
                                          {8, 4, 4, 4, 4, 4, {}, 6},
                                          {32, 8, 1, 4, 4, 2, {}},
                                          {16, 1, 2, 4, 4, 1, {}},
                                          {8, 3, 1, 4, 4, 2, {}}}};
  } else if constexpr (built_space == space::tuned) {
    return std::array<rowwise_config, 44>{{
        // lanes, items, groups, unroll, warps, depth, type, blocks
        // N = 1: rows of a few entries, short, medium, long ones
        {1, 1, 1, 4, 4, 4, {}},
        {1, 1, 4, 4, 4, 4, {}},
        {1, 1, 8, 4, 4, 4, {}},
        {1, 1, 32, 4, 4, 2, {}},
        // N = 2 .. 4: short, graphs, networks, long
        {1, 4, 4, 2, 4, 8, {}},
        {1, 4, 4, 4, 4, 4, {}, 10},
        {1, 4, 8, 2, 4, 4, {}, 12},
        {1, 4, 32, 2, 4, 2, {}},
        // N = 8: short, short, graphs, long
        {2, 4, 1, 8, 4, 4, {}},
        {2, 4, 4, 2, 4, 8, {}},
        {2, 4, 2, 4, 4, 4, {}, 10},
        {2, 4, 16, 4, 4, 2, {}},
        // N = 16: short, stencils and graphs, long
        {4, 4, 1, 8, 4, 4, {}},
        {4, 4, 1, 4, 4, 4, {}, 10},
        {4, 4, 8, 4, 4, 2, {}},
        // N = 32: short, graphs, networks, networks, meshes, stencils
        {8, 4, 1, 8, 4, 4, {}},
        {8, 4, 1, 8, 4, 4, {}, 8},
        {8, 4, 4, 4, 4, 4, {}},
        {8, 4, 4, 8, 4, 1, {}},
        {4, 8, 1, 4, 4, 8, {}},
        {4, 8, 1, 2, 4, 8, {}, 9},
        // odd N, where loads of B are of one value: many lanes side by side, and tiles a little above 32, 64, 128, 256
        {8, 1, 4, 4, 4, 4, {}},
        {16, 2, 1, 8, 4, 4, {}, 8},
        {16, 3, 1, 8, 4, 4, {}, 6},
        {32, 2, 1, 8, 4, 4, {}, 8},
        {32, 3, 1, 4, 4, 4, {}, 8},
        {32, 5, 1, 4, 4, 4, {}, 6},
        {32, 9, 1, 2, 4, 4, {}, 6},
        // N = 64: graphs, any, stencils, long
        {16, 4, 1, 8, 4, 4, {}, 8},
        {8, 8, 1, 4, 4, 8, {}, 6},
        {8, 8, 1, 2, 4, 8, {}, 9},
        {8, 8, 4, 4, 4, 2, {}},
        // N = 128: stencils, networks, neighbours that share an L1, meshes, stencils, few and long
        {32, 4, 1, 4, 4, 4, {}, 10},
        {32, 4, 1, 8, 4, 4, {}, 8},
        {32, 4, 1, 8, 8, 2, {}},
        {16, 8, 1, 4, 4, 8, {}, 6},
        {16, 8, 1, 2, 4, 8, {}, 9},
        {16, 8, 1, 8, 4, 2, {}},
        {16, 8, 2, 4, 4, 2, {}},
        // N >= 256: any, neighbours that share an L1, long, stencils
        {32, 8, 1, 4, 4, 4, {}, 6},
        {32, 8, 1, 4, 16, 2, {}},
        {32, 8, 1, 8, 4, 2, {}},
        {32, 8, 1, 2, 4, 4, {}, 9},
        {32, 16, 1, 2, 4, 4, {}},
    }};
  } else {
    std::array<rowwise_config, 9 * 4 * 4 * 2> all{};
    std::size_t at = 0;
    constexpr int shapes[][2] = {{1, 1}, {1, 4}, {2, 4}, {4, 4}, {8, 4}, {16, 4}, {32, 1}, {32, 4}, {32, 8}};
    for (const auto& [lanes, items] : shapes) {
      for (int groups : {1, 2, 4, 16}) {
        for (int unroll : {2, 4, 8, 16}) {
          for (int warps : {4, 16}) all[at++] = {lanes, items, groups, unroll, warps, 4, {}};
        }
      }
    }
    return all;
  }
}

/// Of fp16 and bf16: 8 columns a lane, where a load takes 16 bytes.
consteval auto rowwise_narrow_configs() {
  if constexpr (built_space == space::few) {
    return std::array<rowwise_config, 4>{
        {{1, 2, 8, 2, 4, 4, {}}, {2, 8, 4, 4, 4, 4, {}}, {16, 8, 1, 4, 4, 2, {}}, {8, 4, 2, 4, 4, 2, {}}}};
  } else {
    return std::array<rowwise_config, 11>{{
        // lanes, items, groups, unroll, warps, depth
        // N = 1, 2: rows of a few entries, short, long ones; up to 8
        {1, 2, 1, 4, 4, 4, {}},
        {1, 2, 4, 4, 4, 4, {}},
        {1, 2, 8, 4, 4, 4, {}},
        {1, 8, 8, 4, 4, 4, {}},
        // N = 16: long
        {2, 8, 16, 4, 4, 2, {}},
        // N = 32: short, long
        {4, 8, 2, 8, 4, 4, {}},
        {4, 8, 8, 4, 4, 2, {}},
        // N = 64
        {8, 8, 1, 8, 4, 4, {}},
        // N = 128
        {16, 8, 1, 8, 4, 4, {}},
        {16, 8, 2, 8, 4, 2, {}},
        // N >= 256
        {32, 8, 1, 8, 4, 4, {}},
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
