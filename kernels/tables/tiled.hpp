#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Tiled: for each k_tile non-empty columns of the row block, the rows of B are gathered and the columns of A expanded
/// into dense shared-memory tiles; threads_y x threads_x threads own items_y x items_x sums each, in pieces of up to 16
/// bytes at strides of threads_y and threads_x pieces. Source: NTUA thesis; the first configs are the best it found for
/// each N.
namespace bcsc::kernels::tables {

struct tiled_config {
  int threads_x, threads_y;
  int items_x, items_y;
  int k_tile;
  int stages;  ///< shared-memory buffers: 2 loads the next group while this one is multiplied
  min_blocks_by_size min_blocks = {};
  value_type type = {};

  constexpr int tile_rows() const { return threads_y * items_y; }
  constexpr int tile_cols() const { return threads_x * items_x; }
  constexpr int block_threads() const { return threads_x * threads_y; }
  constexpr int columns_at_once() const { return k_tile; }
  constexpr int num_stages() const { return stages; }
  constexpr int index_width() const { return 32; }
  constexpr std::int64_t shared_bytes() const {
    return std::int64_t{stages} * k_tile * (tile_rows() + tile_cols()) * size_of(type);
  }
  /// Registers of a thread: its sums, the fragments of A and B, and what the rest was seen to want.
  constexpr int registers() const {
    const int size = static_cast<int>(size_of(type));
    return (items_x * items_y + items_x + items_y) * size / 4 + 24 + 4 * size;
  }
  constexpr int resident_blocks() const { return min_blocks.of(type); }
  std::string label() const {
    return "tiled-m" + std::to_string(tile_rows()) + "-n" + std::to_string(tile_cols()) + "-k" +
           std::to_string(k_tile) + "-x" + std::to_string(threads_x) + "-y" + std::to_string(threads_y) +
           (stages == 2 ? "-s2" : "");
  }
  constexpr bool valid() const {
    return block_threads() >= 32 && block_threads() % 32 == 0 && block_threads() <= 1024 && items_x >= 1 &&
           items_y >= 1 && k_tile >= 8 && k_tile % 8 == 0 && (stages == 1 || stages == 2) && registers() <= 255 &&
           min_blocks.valid() && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto tiled_configs() {
  if constexpr (built_space == space::few) {
    return std::array<tiled_config, 4>{{
        {.threads_x = 8, .threads_y = 16, .items_x = 1, .items_y = 1, .k_tile = 32, .stages = 1, .min_blocks = {11, 8}},
        {.threads_x = 16, .threads_y = 8, .items_x = 4, .items_y = 4, .k_tile = 16, .stages = 1, .min_blocks = {8, 4}},
        {.threads_x = 16, .threads_y = 16, .items_x = 4, .items_y = 8, .k_tile = 16, .stages = 1, .min_blocks = {3, 1}},
        {.threads_x = 32, .threads_y = 2, .items_x = 4, .items_y = 4, .k_tile = 16, .stages = 2, .min_blocks = {16, 9}},
    }};
  } else if constexpr (built_space == space::tuned) {
    return std::array<tiled_config, 12>{{
        // Low tiles, and small thread blocks that hide the latency of the gather.
        // The best twelve lose 0.2 % to the 56 measured (docs/history, 30)
        {.threads_x = 8, .threads_y = 4, .items_x = 4, .items_y = 1, .k_tile = 16, .stages = 2, .min_blocks = {32, 27}},
        {.threads_x = 8, .threads_y = 8, .items_x = 1, .items_y = 1, .k_tile = 32, .stages = 2, .min_blocks = {23, 16}},
        {.threads_x = 32, .threads_y = 2, .items_x = 4, .items_y = 4, .k_tile = 32, .stages = 1, .min_blocks = {16, 9}},
        {.threads_x = 8, .threads_y = 4, .items_x = 4, .items_y = 2, .k_tile = 16, .stages = 1, .min_blocks = {32, 24}},
        {.threads_x = 16, .threads_y = 16, .items_x = 4, .items_y = 4, .k_tile = 32, .stages = 1, .min_blocks = {4, 2}},
        {.threads_x = 32, .threads_y = 2, .items_x = 4, .items_y = 4, .k_tile = 16, .stages = 1, .min_blocks = {16, 9}},
        {.threads_x = 32,
         .threads_y = 2,
         .items_x = 4,
         .items_y = 2,
         .k_tile = 16,
         .stages = 2,
         .min_blocks = {18, 12}},
        {.threads_x = 8, .threads_y = 8, .items_x = 1, .items_y = 2, .k_tile = 32, .stages = 1, .min_blocks = {22, 15}},
        {.threads_x = 16, .threads_y = 8, .items_x = 8, .items_y = 4, .k_tile = 32, .stages = 1, .min_blocks = {6, 3}},
        {.threads_x = 32, .threads_y = 2, .items_x = 8, .items_y = 4, .k_tile = 16, .stages = 1, .min_blocks = {12, 7}},
        {.threads_x = 8, .threads_y = 4, .items_x = 1, .items_y = 1, .k_tile = 16, .stages = 1, .min_blocks = {32, 32}},
        {.threads_x = 32, .threads_y = 4, .items_x = 4, .items_y = 2, .k_tile = 16, .stages = 2, .min_blocks = {9, 6}},
    }};
  } else {
    std::array<tiled_config, 3 * 3 * 5 * 5 * 3 * 2> all{};
    std::size_t at = 0;
    for (int x : {8, 16, 32}) {
      for (int y : {8, 16, 32}) {
        for (int ix : {1, 2, 4, 8, 16}) {
          for (int iy : {1, 2, 4, 8, 16}) {
            for (int k : {8, 16, 32}) {
              for (int stages : {1, 2}) {
                all[at++] = with_blocks_by_registers(tiled_config{
                    .threads_x = x, .threads_y = y, .items_x = ix, .items_y = iy, .k_tile = k, .stages = stages});
              }
            }
          }
        }
      }
    }
    return all;
  }
}

struct tiled : algorithm {
  static constexpr const char* name = "tiled";
  static constexpr bool deterministic = true;
  static constexpr bool stored_entries_only = false;
  static constexpr auto configs = expand_configs<count_configs(tiled_configs())>(tiled_configs());
};

}  // namespace bcsc::kernels::tables
