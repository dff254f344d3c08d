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
  value_type type;

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
  /// Thread blocks that fit a multiprocessor by their registers; the compiler is held to it.
  constexpr int blocks_by_registers() const {
    const int blocks = 65536 / (registers() * block_threads());
    return blocks < 32 ? blocks : 32;
  }
  std::string label() const {
    return "tiled-m" + std::to_string(tile_rows()) + "-n" + std::to_string(tile_cols()) + "-k" +
           std::to_string(k_tile) + "-x" + std::to_string(threads_x) + "-y" + std::to_string(threads_y) +
           (stages == 2 ? "-s2" : "");
  }
  constexpr bool valid() const {
    return block_threads() >= 32 && block_threads() % 32 == 0 && block_threads() <= 1024 && items_x >= 1 &&
           items_y >= 1 && k_tile >= 8 && k_tile % 8 == 0 && (stages == 1 || stages == 2) && registers() <= 255 &&
           blocks_by_registers() >= 1 && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto tiled_configs() {
  if constexpr (built_space == space::few) {
    return std::array<tiled_config, 4>{
        {{8, 16, 1, 1, 32, 1, {}}, {16, 8, 4, 4, 16, 1, {}}, {16, 16, 4, 8, 16, 1, {}}, {32, 2, 4, 4, 16, 2, {}}}};
  } else if constexpr (built_space == space::tuned) {
    return std::array<tiled_config, 12>{{
        // x, y, items x, items y, k, stages. Low tiles, and small thread blocks that hide the latency of the gather.
        // The best twelve lose 0.2 % to the 56 measured (docs/history, 30)
        {8, 4, 4, 1, 16, 2, {}},
        {8, 8, 1, 1, 32, 2, {}},
        {32, 2, 4, 4, 32, 1, {}},
        {8, 4, 4, 2, 16, 1, {}},
        {16, 16, 4, 4, 32, 1, {}},
        {32, 2, 4, 4, 16, 1, {}},
        {32, 2, 4, 2, 16, 2, {}},
        {8, 8, 1, 2, 32, 1, {}},
        {16, 8, 8, 4, 32, 1, {}},
        {32, 2, 8, 4, 16, 1, {}},
        {8, 4, 1, 1, 16, 1, {}},
        {32, 4, 4, 2, 16, 2, {}},
    }};
  } else {
    std::array<tiled_config, 3 * 3 * 5 * 5 * 3 * 2> all{};
    std::size_t at = 0;
    for (int x : {8, 16, 32}) {
      for (int y : {8, 16, 32}) {
        for (int ix : {1, 2, 4, 8, 16}) {
          for (int iy : {1, 2, 4, 8, 16}) {
            for (int k : {8, 16, 32}) {
              for (int stages : {1, 2}) all[at++] = {x, y, ix, iy, k, stages, {}};
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
