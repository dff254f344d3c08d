#pragma once

#include <array>
#include <string>

#include "kernels/tables/config.hpp"

/// Naive: one thread owns one column of the tile of C and walks all non-zeros of the row block.
/// Source: NTUA thesis; best there: m_tile 16 (networks), 8 (SuiteSparse), threads = min(N, 256).
namespace bcsc::kernels::tables {

struct naive_config {
  int m_tile;           ///< rows of C in the thread's private buffer
  int threads;          ///< = n_tile
  int index_bits = 32;  ///< 64: for matrices whose sizes or non-zeros do not fit 32 bits
  value_type type = {};

  constexpr std::int64_t shared_bytes() const { return std::int64_t{m_tile} * threads * size_of(type); }
  constexpr int tile_rows() const { return m_tile; }
  constexpr int tile_cols() const { return threads; }
  constexpr int block_threads() const { return threads; }
  constexpr int columns_at_once() const { return 1; }
  constexpr int num_stages() const { return 1; }
  constexpr int index_width() const { return index_bits; }
  std::string label() const {
    return "naive-m" + std::to_string(m_tile) + "-t" + std::to_string(threads) + (index_bits == 64 ? "-i64" : "");
  }
  constexpr bool valid() const {
    return m_tile >= 1 && threads >= 8 && threads <= 1024 && threads % 8 == 0 &&
           (index_bits == 32 || index_bits == 64) && shared_bytes() <= max_shared_bytes;
  }
};

consteval auto naive_configs() {
  if constexpr (built_space == space::few) {
    return std::array<naive_config, 3>{{
        {.m_tile = 8, .threads = 32},
        {.m_tile = 16, .threads = 128},
        {.m_tile = 8, .threads = 64, .index_bits = 64},
    }};
  } else if constexpr (built_space == space::tuned) {
    // The best eight lose nothing to all 38 on the 80 products measured.
    return std::array<naive_config, 10>{{
        {.m_tile = 8, .threads = 8},
        {.m_tile = 8, .threads = 16},
        {.m_tile = 8, .threads = 32},
        {.m_tile = 8, .threads = 64},
        {.m_tile = 8, .threads = 128},
        {.m_tile = 8, .threads = 256},
        {.m_tile = 16, .threads = 32},
        {.m_tile = 16, .threads = 128},
        {.m_tile = 8, .threads = 32, .index_bits = 64},
        {.m_tile = 8, .threads = 128, .index_bits = 64},
    }};
  } else {
    std::array<naive_config, 6 * 6 + 2> all{};
    std::size_t at = 0;
    for (int m : {8, 16, 32, 64, 128, 256}) {
      for (int t : {8, 16, 32, 64, 128, 256}) all[at++] = {.m_tile = m, .threads = t};
    }
    all[at++] = {.m_tile = 8, .threads = 32, .index_bits = 64};
    all[at++] = {.m_tile = 8, .threads = 128, .index_bits = 64};
    return all;
  }
}

struct naive : algorithm {
  static constexpr const char* name = "naive";
  static constexpr bool deterministic = true;
  static constexpr auto configs = expand_configs<count_configs(naive_configs())>(naive_configs());
};

}  // namespace bcsc::kernels::tables
