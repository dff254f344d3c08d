// FMA tiles: every entry in a tile once, columns and parts as the layout says, no more tiles than parts that are
// reached, what may be fetched in advance, and what such tiles cannot hold.
#include "kernels/forms/fma_tiles/fma_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc::test {
namespace {

using forms::fma_tiles_matrix;
using forms::to_fma_tiles;

using entries = std::map<std::pair<std::int64_t, std::int64_t>, double>;

entries entries_of(const sparse_case& c) {
  entries all;
  for (const triplet& e : c.entries) all[{e.row, e.col}] += e.value;
  return all;
}

/// What the tiles hold. Fails where they are not as layout.hpp says.
template <class T>
entries unpack(const fma_tiles_matrix<T>& a) {
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  const int part_rows = forms::fma_part_rows(a.height), values = forms::fma_tile_values(a.height);
  entries found;
  std::int64_t tile = 0;
  for (std::size_t b = 0; b + 1 < a.blocks.size(); ++b) {
    const auto &block = a.blocks[b], &next = a.blocks[b + 1];
    EXPECT_EQ(block.first_tile, tile);
    EXPECT_LE(next.first_row - block.first_row, a.height);
    for (std::int64_t s = block.first_step; s < next.first_step; ++s) {
      const auto& columns = a.steps.at(at(s)).columns;
      const unsigned parts = forms::parts_of_first(columns[0]);
      EXPECT_NE(parts, 0u);
      EXPECT_LT(parts, 1u << forms::fma_parts(a.height));
      for (int part = 0; part < forms::max_fma_parts; ++part) {
        if ((parts >> part & 1u) == 0) continue;
        EXPECT_NE(a.masks.at(at(tile)), 0) << "a tile without an entry";
        for (int place = 0; place < values; ++place) {
          const T value = a.tiles.at(at(tile * values + place));
          const int k = place % 4;
          const std::int64_t row = block.first_row + part * part_rows + place / 4;
          const std::int64_t column = k == 0 ? forms::column_of_first(columns[0]) : columns[k];
          EXPECT_LT(column, a.cols);
          if ((a.masks.at(at(tile)) >> place & 1u) == 0) {
            EXPECT_EQ(value, T{0});
            continue;
          }
          EXPECT_LT(row, next.first_row);
          const bool is_new = found.emplace(std::pair(row, column), value).second;
          EXPECT_TRUE(is_new) << row << ", " << column << " twice";
        }
        ++tile;
      }
    }
  }
  EXPECT_EQ(tile, a.num_tiles());
  EXPECT_EQ(a.blocks.back().first_row, a.rows);
  EXPECT_EQ(a.blocks.back().first_step, a.num_steps());
  EXPECT_EQ(std::ssize(a.tiles), (a.num_tiles() + forms::spare_fma_tiles) * values);
  return found;
}

/// Row blocks of 1, 2, ... `most`, 1, 2, ... rows.
std::vector<std::int64_t> rising_heights(std::int64_t rows, std::int64_t most) {
  std::vector<std::int64_t> boundaries{0};
  for (std::int64_t height = 1; boundaries.back() < rows; height = height % most + 1) {
    boundaries.push_back(std::min(rows, boundaries.back() + height));
  }
  return boundaries;
}

template <class T>
fma_tiles_matrix<T> tiles_of(const sparse_case& c, std::int64_t height, bool own_heights = false) {
  const auto boundaries = own_heights ? rising_heights(c.rows, height) : std::vector<std::int64_t>{};
  const auto csr = csr_of<T>(c);
  const auto blocks = to_compact(csr.view(), {.m_block = height, .boundaries = boundaries});
  return to_fma_tiles(blocks.view());
}

TEST(fma_tiles, hold_every_entry_once) {
  for (const sparse_case& c : battery(values::small_integers)) {
    for (const std::int64_t height : {2, 3, 6, 8, 9, 12, 16}) {
      SCOPED_TRACE(c.name + ", height " + std::to_string(height));
      EXPECT_EQ(unpack(tiles_of<float>(c, height)), entries_of(c));
      EXPECT_EQ(unpack(tiles_of<double>(c, height, true)), entries_of(c));
      if (HasFailure()) return;
    }
  }
}

/// Nodes along a line, each joined with those up to two away: blocks of 3 x 3.
sparse_case nodes_of_three(std::int64_t nodes) {
  sparse_case c{"nodes", 3 * nodes, 3 * nodes, {}};
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i / 3 * 3 - 6); j < std::min(c.cols, i / 3 * 3 + 9); ++j) {
      c.entries.push_back({i, j, static_cast<double>((i * 7 + j) % 13 + 1)});
    }
  }
  return c;
}

TEST(fma_tiles, do_not_depend_on_the_number_of_threads) {
  const sparse_case c = nodes_of_three(9000);
  const auto by = [&](int threads) {
    const with_threads of_many(threads);
    return tiles_of<float>(c, 12);
  };
  const auto one = by(1);
  for (const int threads : thread_counts) {
    const auto again = by(threads);
    EXPECT_EQ(again.tiles, one.tiles) << threads << " threads";
    EXPECT_EQ(again.masks, one.masks) << threads << " threads";
    ASSERT_EQ(again.steps.size(), one.steps.size());
    EXPECT_EQ(std::memcmp(again.steps.data(), one.steps.data(), one.steps.size() * sizeof(one.steps[0])), 0);
    ASSERT_EQ(again.blocks.size(), one.blocks.size());
    EXPECT_EQ(std::memcmp(again.blocks.data(), one.blocks.data(), one.blocks.size() * sizeof(one.blocks[0])), 0);
  }
}

// Sorted by the parts they reach, 24 columns take 6 or 7 steps of hardly more tiles than there are nodes; as they stand
// they would cut through the nodes.
TEST(fma_tiles, of_nodes_with_three_unknowns_have_few_zeros) {
  const sparse_case c = nodes_of_three(400);
  const auto tiles = tiles_of<float>(c, 12);
  const double values = static_cast<double>(tiles.num_tiles() * forms::fma_tile_values(12));
  EXPECT_GT(static_cast<double>(c.entries.size()) / values, 0.75);
}

TEST(fma_tiles, refuse_what_they_cannot_hold) {
  const sparse_case one{"one", 40, 3, {{0, 0, 1.0}}};
  EXPECT_EQ(code_of([&] { (void)tiles_of<float>(one, 17); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)tiles_of<float>(one, 1); }), errc::invalid_argument);
  sparse_case wide = one;
  wide.cols = forms::max_fma_columns;
  EXPECT_EQ(unpack(tiles_of<float>(wide, 12)), entries_of(wide));
  wide.cols += 1;
  EXPECT_EQ(code_of([&] { (void)tiles_of<float>(wide, 12); }), errc::size_overflow);
}

}  // namespace
}  // namespace bcsc::test
