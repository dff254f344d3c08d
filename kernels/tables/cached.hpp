#pragma once

#include <array>
#include <string>

#include "kernels/tables/row.hpp"

/// Row-wise with rows of B in shared memory: a thread block takes a slab of `lanes` 16-byte vectors of B's columns. A
/// team of `groups` x `lanes` threads of one warp walks a piece of a row of A (kernels/cached_operand.hpp).
namespace bcsc::kernels::tables {

struct cached_row {
  int lanes;   ///< across a slab, 16 bytes of B each: 8 fill a wavefront of shared memory
  int groups;  ///< of a team: they share a piece's entries
  int unroll;  ///< entries of a group, in shared memory, under way
  int cold;    ///< entries of a group, elsewhere, under way
  int warps;   ///< of a thread block, where all rows of B that are met lie in shared memory
  int stages;  ///< panels that lie in shared memory at once: with 2 one is copied while the other is read
  int kib;     ///< of shared memory, for all panels
  value_type type;

  constexpr int items() const { return 16 / static_cast<int>(size_of(type)); }
  constexpr int tile_rows() const { return 1; }
  constexpr int tile_cols() const { return lanes * items(); }
  constexpr int block_threads() const { return 32 * warps; }
  constexpr int team_threads() const { return lanes * groups; }
  /// Warps of a thread block that asks for others as well: each needs some registers more.
  constexpr int warps_with_cold() const {
    const int most = size_of(type) == 4 ? 24 : 20;
    return warps < most ? warps : most;
  }
  /// Entries of a piece that a team multiplies at a step.
  constexpr int columns_at_once() const { return groups * unroll; }
  constexpr int num_stages() const { return stages; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const { return std::int64_t{kib} * 1024; }
  std::string label() const {
    return "cached-l" + std::to_string(lanes) + "-g" + std::to_string(groups) + "-u" + std::to_string(unroll) + "-c" +
           std::to_string(cold) + "-w" + std::to_string(warps) + "-s" + std::to_string(stages) + "-k" +
           std::to_string(kib);
  }
  constexpr bool valid() const {
    const auto power_of_two = [](int value, int least, int most) {
      return value >= least && value <= most && (value & (value - 1)) == 0;
    };
    return power_of_two(lanes, 1, 16) && power_of_two(groups, 1, 32) && team_threads() <= 32 &&
           power_of_two(unroll, 2, 16) && power_of_two(cold, 2, 16) && warps >= 1 && warps <= 32 && stages >= 1 &&
           stages <= 2 && kib >= 1 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto cached_configs() {
  if constexpr (built_space == space::few) {
    return std::array<cached_row, 4>{
        {{8, 4, 4, 2, 4, 2, 4, {}}, {8, 2, 2, 4, 2, 1, 2, {}}, {2, 16, 2, 2, 2, 1, 1, {}}, {4, 2, 4, 2, 1, 2, 1, {}}}};
  } else {
    return std::array<cached_row, 14>{{
        // lanes, groups, unroll, cold, warps, stages, KiB
        // graphs: 128, 64 and 32 bytes of a row of B, for short rows and for long ones
        {8, 1, 4, 4, 16, 1, 224, {}},
        {8, 2, 4, 4, 20, 1, 224, {}},
        {8, 4, 2, 2, 24, 1, 224, {}},
        {4, 1, 4, 4, 16, 1, 224, {}},
        {4, 2, 4, 4, 20, 1, 224, {}},
        {4, 4, 2, 2, 24, 1, 224, {}},
        {2, 2, 4, 4, 20, 1, 224, {}},
        // networks
        {8, 4, 4, 2, 32, 1, 224, {}},
        {8, 4, 4, 2, 32, 2, 224, {}},
        {8, 4, 8, 2, 16, 2, 224, {}},
        {4, 8, 4, 2, 32, 1, 224, {}},
        {4, 8, 4, 2, 32, 2, 224, {}},
        {4, 8, 8, 2, 16, 1, 224, {}},
        {2, 16, 4, 2, 32, 1, 224, {}},
    }};
  }
}

struct cached : algorithm {
  static constexpr const char* name = "cached";
  static constexpr operand_form form = operand_form::cached;
  static constexpr bool deterministic = true;
  static constexpr auto rows = expand_rows<count_rows(cached_configs())>(cached_configs());
};

}  // namespace bcsc::kernels::tables
