// MMA tiles against their definition: every entry of the matrix in its place, nothing else, groups full and in order.
#include "kernels/forms/mma_tiles/mma_tiles.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "core/checked.hpp"
#include "test/support/battery.hpp"
#include "test/support/mma_cuts.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

std::vector<std::int64_t> uneven_boundaries(std::int64_t rows, std::int64_t m_block) {
  test_random random(static_cast<std::uint64_t>(rows + m_block));
  std::vector<std::int64_t> begin{0};
  while (begin.back() < rows) begin.push_back(std::min(rows, begin.back() + 1 + random.below(m_block)));
  return begin;
}

using position = std::pair<std::int64_t, std::int64_t>;

/// What the MMA tiles say, entry by entry: each position that a mask has. Checks on the way that every group is one of
/// its row block's, that tiles follow each other without a gap and that what no mask has is zero.
template <class T>
std::map<position, T> read_back(const forms::mma_tiles_matrix<T>& f) {
  std::map<position, T> entries;
  std::int64_t next_group = 0, next_tile = 0;
  for (const forms::mma_tiles_item& item : f.items) {
    EXPECT_EQ(item.first_group, next_group);
    EXPECT_LE(item.first_group, item.end_group);
    next_group = item.end_group;
    for (std::int64_t g = item.first_group; g < item.end_group; ++g) {
      const forms::mma_tiles_group& group = f.groups.at(static_cast<std::size_t>(g));
      EXPECT_EQ(group.first_tile, next_tile);
      EXPECT_NE(group.parts, 0u);
      EXPECT_EQ(group.parts >> f.height / 8, 0u);
      for (int part = 0; part < f.height / 8; ++part) {
        if ((group.parts >> part & 1u) == 0) continue;
        bool any = false;
        for (int row = 0; row < 8; ++row) {
          for (int k = 0; k < 8; ++k) {
            const T value = f.tiles.at(static_cast<std::size_t>(next_tile * 64 + row * 8 + k));
            if ((f.masks.at(static_cast<std::size_t>(next_tile)) >> (row * 8 + k) & 1u) == 0) {
              EXPECT_EQ(value, T{0});
              continue;
            }
            any = true;
            EXPECT_LT(8 * part + row, item.num_rows);
            const std::int64_t col = f.col_ind.at(static_cast<std::size_t>(g * 8 + k));
            const bool is_new = entries.insert({{item.first_row + 8 * part + row, col}, value}).second;
            EXPECT_TRUE(is_new) << "stored twice: row " << item.first_row + 8 * part + row << ", column " << col;
          }
        }
        EXPECT_TRUE(any) << "a tile of zeros";
        ++next_tile;
      }
    }
  }
  EXPECT_EQ(next_group, f.num_groups());
  EXPECT_EQ(next_tile, f.num_tiles());
  EXPECT_EQ(next_tile, std::ssize(f.masks));
  return entries;
}

/// The non-empty columns of rows [first, last), by definition.
std::set<std::int64_t> columns_of(const sparse_case& a, std::int64_t first, std::int64_t last) {
  std::set<std::int64_t> columns;
  for (const triplet& e : a.entries) {
    if (e.row >= first && e.row < last) columns.insert(e.col);
  }
  return columns;
}

template <class T, class I>
void check(const sparse_case& a, std::int64_t m_block, bool own_heights, bool narrow, std::int64_t dense_from,
           const forms::mma_tiles_options& options) {
  SCOPED_TRACE(a.name + ", m_block " + std::to_string(m_block) + (own_heights ? " at most" : "") + ", " +
               words(options));
  const auto boundaries = own_heights ? uneven_boundaries(a.rows, m_block) : std::vector<std::int64_t>{};
  const auto compact = to_compact(csr_of<T, I>(a), {m_block, boundaries, dense_from, narrow && a.cols <= 65536});
  const auto f = forms::to_mma_tiles(compact.view(), options);

  EXPECT_EQ(f.rows, a.rows);
  EXPECT_EQ(f.cols, a.cols);
  EXPECT_EQ(f.height, m_block <= 8 ? 8 : m_block <= 16 ? 16 : m_block <= 32 ? 32 : m_block <= 64 ? 64 : 128);

  std::map<position, T> wanted;
  for (const triplet& e : a.entries) wanted[{e.row, e.col}] = static_cast<T>(e.value);
  EXPECT_EQ(read_back(f), wanted);

  std::map<std::int64_t, std::int64_t> groups_from;  // by first row
  for (const forms::mma_tiles_item& item : f.items) groups_from[item.first_row] += item.end_group - item.first_group;
  std::int64_t longest = 0;
  for (const auto& [first_row, groups] : groups_from) longest = std::max(longest, groups);
  const std::int64_t max_groups = longest > options.max_whole ? options.max_groups : 0;

  // Row blocks: all rows once, their columns in as few groups as hold them, the last filled with its last column.
  std::int64_t row = 0, slots = 0;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < f.items.size();) {
    const forms::mma_tiles_item first = f.items[i];
    ASSERT_EQ(first.first_row, row);
    row += first.num_rows;
    std::size_t pieces = 1;
    while (i + pieces < f.items.size() && f.items[i + pieces].first_row == first.first_row) ++pieces;
    const std::int64_t end = f.items[i + pieces - 1].end_group, groups = end - first.first_group;

    const auto columns = columns_of(a, first.first_row, row);
    const auto count = static_cast<std::int64_t>(columns.size());
    EXPECT_EQ(groups, (count + 7) / 8);
    std::set<std::int64_t> found;
    for (std::int64_t k = 0; k < 8 * groups; ++k) {
      const std::int64_t col = f.col_ind[static_cast<std::size_t>(8 * first.first_group + k)];
      if (k < count) {
        EXPECT_TRUE(found.insert(col).second);
      } else {
        EXPECT_EQ(col, f.col_ind[static_cast<std::size_t>(8 * first.first_group + count - 1)]);
      }
    }
    EXPECT_EQ(found, columns);

    const bool split = max_groups > 0 && groups > max_groups;
    EXPECT_EQ(static_cast<std::int64_t>(pieces), split ? (groups + max_groups - 1) / max_groups : 1);
    for (std::size_t p = 0; p < pieces; ++p) {
      const forms::mma_tiles_item& item = f.items[i + p];
      EXPECT_EQ(item.num_rows, first.num_rows);
      EXPECT_EQ(item.slot, split ? slots + static_cast<std::int64_t>(p) : -1);
      if (split) {
        EXPECT_LE(item.end_group - item.first_group, max_groups);
      }
    }
    if (split) {
      ASSERT_LT(sum, f.sums.size());
      EXPECT_EQ(f.sums[sum].first_row, first.first_row);
      EXPECT_EQ(f.sums[sum].num_rows, first.num_rows);
      EXPECT_EQ(f.sums[sum].first_slot, slots);
      EXPECT_EQ(f.sums[sum].num_slots, static_cast<std::int64_t>(pieces));
      slots += static_cast<std::int64_t>(pieces);
      ++sum;
    }
    i += pieces;
  }
  EXPECT_EQ(row, a.rows);
  EXPECT_EQ(sum, f.sums.size());
  EXPECT_EQ(slots, f.num_slots);
}

TEST(mma_tiles, hold_the_matrix) {
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.name == "explicit_zeros") continue;  // below
    std::uint64_t turn = 0;
    for (const std::int64_t m_block : {1, 5, 8, 16, 20, 32, 64, 70, 128}) {
      for (const auto& [max_groups, max_whole] : mma_cuts) {
        const bool own_heights = turn % 2 == 1, narrow = turn % 3 == 0;
        const forms::mma_tiles_options options{max_groups, turn % 7 != 0, max_whole};
        const std::int64_t dense_from = turn % 4 == 3 ? 3 : 0;
        if (turn % 5 < 3) {
          check<float, std::int32_t>(a, m_block, own_heights, narrow, dense_from, options);
        } else {
          check<double, std::int64_t>(a, m_block, own_heights, narrow, dense_from, options);
        }
        ++turn;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// A stored zero takes its column's place like any entry: update_values may fill it next.
TEST(mma_tiles, keep_columns_of_stored_zeros) {
  const sparse_case a{"zeros", 3, 9, {{0, 1, 0.0}, {1, 1, 2.0}, {2, 8, 0.0}}};
  const auto f = forms::to_mma_tiles(viewed(to_compact(csr_of<float>(a), {.m_block = 8})));
  ASSERT_EQ(f.num_groups(), 1);
  EXPECT_EQ(f.col_ind, (std::vector<std::int32_t>{1, 8, 8, 8, 8, 8, 8, 8}));
  EXPECT_EQ(f.tiles[8], 2.0f);
}

// Tiles for parts of a row block that no column of the group reaches do not exist: of two halves that share no column,
// each column has one tile, except in the group where one's columns end and the other's begin.
TEST(mma_tiles, have_no_tiles_for_rows_without_entries) {
  sparse_case a{"halves", 16, 200, {}};
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t k = 0; k < 44; ++k) a.entries.push_back({row, 4 * k + (row < 8 ? 0 : 1), 1.0});
  }
  const auto f = forms::to_mma_tiles(viewed(to_compact(csr_of<double>(a), {.m_block = 16})));
  EXPECT_EQ(f.num_groups(), 11);
  EXPECT_EQ(f.num_tiles(), 12);
  // In the order of the columns the halves alternate: every group reaches both.
  const auto by_column = forms::to_mma_tiles(viewed(to_compact(csr_of<double>(a), {.m_block = 16})), {0, false});
  EXPECT_EQ(by_column.num_tiles(), 22);
}

TEST(mma_tiles, row_blocks_of_about_one_length_are_cut_into_equally_many_pieces) {
  for (const std::int64_t blocks : {1, 4, 16, 32, 33, 60}) {
    for (const std::int64_t tiles : {1, 2}) {
      SCOPED_TRACE(std::to_string(blocks) + " row blocks, " + std::to_string(tiles) + " tiles of C");
      constexpr std::int64_t groups = 1000;  // of the mean row block
      const std::int64_t most = forms::max_staged_groups_for(8 * groups * blocks, blocks, tiles);
      const std::int64_t pieces = core::ceil_div(groups, most);
      if (most == 32) continue;  // as short as is worth it
      EXPECT_LE(pieces * blocks * tiles, 132);
      EXPECT_GT((pieces + 1) * blocks * tiles, 132);
      // Of few pieces those that are a sixth longer or shorter, of many those that are a hundredth.
      const std::int64_t off = pieces <= 3 ? groups / 6 : groups / 150;
      EXPECT_EQ(core::ceil_div(groups + off, most), pieces);
      if (pieces > 1) {
        EXPECT_EQ(core::ceil_div(groups - off, most), pieces);
      }
    }
  }
  EXPECT_EQ(forms::max_staged_groups_for(8 * 1000 * 200, 200, 1), 2000);  // enough row blocks: the heavy ones alone
}

TEST(mma_tiles, row_blocks_of_up_to_two_pieces_are_left_whole) {
  for (const std::int64_t longest : {16, 17, 32, 33, 40}) {
    SCOPED_TRACE(std::to_string(longest) + " groups");
    std::vector<triplet> entries;
    for (std::int64_t j = 0; j < 8 * 17; ++j) entries.push_back({0, j, 1});
    for (std::int64_t j = 0; j < 8 * longest; ++j) entries.push_back({8, j, 1});
    const auto compact = to_compact(csr_of<float>({"two_row_blocks", 9, 8 * 40, entries}), {.m_block = 8});
    const auto f = forms::to_mma_tiles(compact.view(), forms::mma_cut_for(compact.nnzc()));
    // If one is cut, so is the other, which is longer than a piece.
    EXPECT_EQ(std::ssize(f.sums), longest > 32 ? 2 : 0);
    EXPECT_EQ(std::ssize(f.items), longest > 32 ? 2 + 3 : 2);
  }
  // Of many groups a piece is a two-thousandth.
  EXPECT_EQ(forms::mma_cut_for(8 * 100000).max_groups, 50);
  EXPECT_EQ(forms::mma_cut_for(8 * 100000).max_whole, 100);
}

TEST(mma_tiles, refuse_what_they_cannot_hold) {
  const auto compact = to_compact(csr_of<float>(battery(values::real).back()), {.m_block = 129});
  EXPECT_THROW(forms::to_mma_tiles(compact.view()), error);
  const auto small = to_compact(csr_of<float>(battery(values::real).back()), {.m_block = 8});
  EXPECT_THROW(forms::to_mma_tiles(small.view(), {-1}), error);
  EXPECT_THROW(forms::to_mma_tiles(small.view(), {1, true, -1}), error);
}

}  // namespace
}  // namespace bcsc::test
