#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Warp-centric: each logical warp takes whole non-empty columns of the row block; the tile of C lies in shared memory
/// and is updated with shared-memory atomics. Source: NTUA thesis; best there: N = 8: lanes 8, warps 16..32,
/// m_tile 16..64; N = 16: lanes 16, warps 16, m_tile 32..64; N >= 32: lanes 32, warps 8, m_tile 64; networks: lanes 16,
/// warps 16, m_tile 64..128.
namespace bcsc::kernels::tables {

struct warp_config {
  int m_tile;
  int n_tile;  ///< columns of C in the tile; a lane strides over n_tile / lanes of them
  int warps;   ///< logical warps of a thread block
  int lanes;   ///< threads of a logical warp: 8, 16 or 32
  value_type type = {};

  constexpr std::int64_t shared_bytes() const { return std::int64_t{m_tile} * n_tile * size_of(type); }
  constexpr int tile_rows() const { return m_tile; }
  constexpr int tile_cols() const { return n_tile; }
  constexpr int block_threads() const { return warps * lanes; }
  constexpr int columns_at_once() const { return warps; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return 32; }
  std::string label() const {
    return "warp-m" + std::to_string(m_tile) + "-n" + std::to_string(n_tile) + "-w" + std::to_string(warps) + "-l" +
           std::to_string(lanes);
  }
  constexpr bool valid() const {
    return m_tile >= 1 && (lanes == 8 || lanes == 16 || lanes == 32) && n_tile >= lanes && n_tile % lanes == 0 &&
           block_threads() >= 32 && block_threads() % 32 == 0 && block_threads() <= 1024 &&
           shared_bytes() <= max_shared_bytes;
  }
};

consteval auto warp_configs() {
  if constexpr (built_space == space::few) {
    return std::array<warp_config, 3>{{
        {.m_tile = 16, .n_tile = 8, .warps = 16, .lanes = 8},
        {.m_tile = 32, .n_tile = 16, .warps = 16, .lanes = 16},
        {.m_tile = 64, .n_tile = 64, .warps = 8, .lanes = 32},
    }};
  } else if constexpr (built_space == space::tuned) {
    // The best twelve lose 0.1 % to the twenty measured.
    return std::array<warp_config, 12>{{
        {.m_tile = 16, .n_tile = 8, .warps = 16, .lanes = 8},
        {.m_tile = 64, .n_tile = 8, .warps = 16, .lanes = 8},
        {.m_tile = 16, .n_tile = 8, .warps = 32, .lanes = 8},
        {.m_tile = 64, .n_tile = 8, .warps = 32, .lanes = 8},
        {.m_tile = 32, .n_tile = 16, .warps = 16, .lanes = 16},
        {.m_tile = 64, .n_tile = 32, .warps = 16, .lanes = 16},
        {.m_tile = 32, .n_tile = 32, .warps = 8, .lanes = 32},
        {.m_tile = 32, .n_tile = 64, .warps = 8, .lanes = 32},
        {.m_tile = 32, .n_tile = 128, .warps = 8, .lanes = 32},
        {.m_tile = 64, .n_tile = 128, .warps = 8, .lanes = 32},
        {.m_tile = 128, .n_tile = 32, .warps = 16, .lanes = 32},
        {.m_tile = 256, .n_tile = 32, .warps = 16, .lanes = 32},
    }};
  } else {
    std::array<warp_config, 8 * 5 * 4 * 3> all{};
    std::size_t at = 0;
    for (int m : {4, 8, 16, 32, 64, 128, 256, 512}) {
      for (int n : {8, 16, 32, 64, 128}) {
        for (int w : {4, 8, 16, 32}) {
          for (int l : {8, 16, 32}) all[at++] = {.m_tile = m, .n_tile = n, .warps = w, .lanes = l};
        }
      }
    }
    return all;
  }
}

struct warp : algorithm {
  static constexpr const char* name = "warp";
  static constexpr bool deterministic = false;  // the order of the atomic additions varies
  static constexpr auto configs = expand_configs<count_configs(warp_configs())>(warp_configs());
};

}  // namespace bcsc::kernels::tables
