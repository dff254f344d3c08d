// Grids found by their diagonals, and their rows in bricks: on the host and, where there is one, on the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/order.hpp"
#include "converters/formats/grid.hpp"
#include "converters/formats/structure.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

using converters::find_grid;
using converters::grid;

template <class T, class I>
grid grid_of(const csr_matrix<T, I>& a) {
  return find_grid(converters::structure_of(a.view()));
}

std::vector<std::int64_t> order_in_bricks(const grid& g, std::int64_t rows) {
  std::vector<std::int64_t> order;
  for (std::int64_t place = 0; place < rows; ++place) order.push_back(converters::row_in_bricks(g, place));
  return order;
}

struct known_grid {
  std::string specification;
  grid found;
};

const std::vector<known_grid>& grids() {
  static const std::vector<known_grid> all{
      {"stencil5:100,100", {100, 100, 1}},  {"stencil5:37,61", {37, 61, 1}},
      {"stencil9:1000,9", {1000, 9, 1}},    {"stencil9:64,64", {64, 64, 1}},
      {"stencil7:20,20,20", {20, 20, 20}},  {"stencil7:9,17,31", {9, 17, 31}},
      {"stencil27:16,12,20", {16, 12, 20}}, {"elasticity:15,9,11,dof=1", {12, 10, 15}},
  };
  return all;
}

TEST(find_grid, knows_stencils_and_meshes) {
  for (const known_grid& known : grids()) {
    SCOPED_TRACE(known.specification);
    const auto a = generate::from_specification<float>(known.specification);
    const grid found = grid_of(a);
    EXPECT_EQ(found.x, known.found.x);
    EXPECT_EQ(found.y, known.found.y);
    EXPECT_EQ(found.z, known.found.z);
    EXPECT_EQ(grid_of(cast<double, std::int64_t>(a)), found);
  }
}

TEST(find_grid, takes_nothing_else_for_one) {
  for (const char* specification :
       {"banded:20000,20", "banded:20000,1", "uniform:4096,4096,0.9", "uniform:3000,2000,0.99", "rmat:13,8",
        "blocks:2000,5,5,5", "hypersparse:50000,50000,20000", "linking:30000,9000,1,9,2000", "nm:1024,1024,2,4",
        "stencil5:20,20", "stencil5:4,4000", "stencil7:3,3,400", "elasticity:12,12,12", "elasticity:10,12,14,dof=2"}) {
    EXPECT_FALSE(grid_of(generate::from_specification<float>(specification)).exists()) << specification;
  }
  EXPECT_FALSE(grid_of(csr_matrix<float>(0, 0, {0}, {}, {})).exists());
  const csr_matrix<float> empty(5000, 5000, std::vector<std::int32_t>(5001, 0), {}, {});
  EXPECT_FALSE(grid_of(empty).exists());
}

TEST(find_grid, does_not_know_one_whose_rows_were_shuffled) {
  const auto a = generate::from_specification<float>("stencil7:20,20,20");
  std::vector<std::int64_t> order(8000);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937_64(1));
  EXPECT_FALSE(grid_of(permute_rows(a, order)).exists());
}

/// The diagonals with these offsets, of every row that they meet, and in one row of `every` so many random entries.
csr_matrix<float> diagonals(std::int32_t rows, const std::vector<std::int32_t>& offsets, std::int32_t every = 1,
                            int elsewhere = 0) {
  std::mt19937_64 random(1);
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  for (std::int32_t row = 0; row < rows; ++row) {
    std::set<std::int32_t> cols;
    for (const std::int32_t offset : offsets) {
      for (const std::int32_t col : {row - offset, row + offset}) {
        if (col >= 0 && col < rows) cols.insert(col);
      }
    }
    for (int k = 0; row % every == 0 && k < elsewhere; ++k) {
      cols.insert(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(rows)));
    }
    col_ind.insert(col_ind.end(), cols.begin(), cols.end());
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  const auto nnz = col_ind.size();
  return {rows, rows, row_ptr, col_ind, std::vector<float>(nnz, 1)};
}

TEST(find_grid, forgives_a_few_entries_elsewhere) {
  EXPECT_EQ(grid_of(diagonals(6400, {0, 1, 80}, 10, 1)), (grid{80, 80, 1}));
  EXPECT_EQ(grid_of(diagonals(8000, {0, 1, 20, 400}, 5, 2)), (grid{20, 20, 20}));
  EXPECT_FALSE(grid_of(diagonals(6400, {0, 1, 80}, 1, 2)).exists());
}

TEST(find_grid, wants_the_neighbours_of_a_grid) {
  EXPECT_FALSE(grid_of(diagonals(6400, {0, 80})).exists());                  // none on the line
  EXPECT_FALSE(grid_of(diagonals(6400, {0, 1, 2, 80})).exists());            // the second, too
  EXPECT_FALSE(grid_of(diagonals(8200, {0, 1, 20, 410})).exists());          // a plane of twenty lines and a half
  EXPECT_FALSE(grid_of(diagonals(8000, {0, 1, 4, 80})).exists());            // lines too short
  EXPECT_EQ(grid_of(diagonals(8013, {0, 1, 20, 400})), (grid{20, 20, 20}));  // and some rows beyond
}

TEST(row_in_bricks, is_a_permutation_that_leaves_what_is_beyond_the_grid) {
  for (const grid& g :
       {grid{8, 8, 1}, grid{13, 7, 1}, grid{9, 5, 1}, grid{4, 4, 4}, grid{5, 6, 7}, grid{9, 17, 31}, grid{100, 1, 1}}) {
    for (const std::int64_t beyond : {0, 1, 29}) {
      const std::int64_t rows = g.rows() + beyond;
      std::vector<std::int64_t> order = order_in_bricks(g, rows);
      ASSERT_EQ(order.size(), static_cast<std::size_t>(rows));
      for (std::int64_t i = g.rows(); i < rows; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
      std::ranges::sort(order);
      for (std::int64_t i = 0; i < rows; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST(row_in_bricks, fills_one_brick_after_the_other) {
  // 64 rows in a cube of 4 nodes a side, of which x runs fastest.
  const auto order = order_in_bricks({8, 12, 16}, 8 * 12 * 16);
  for (std::int64_t brick = 0; brick < 2 * 3 * 4; ++brick) {
    const std::int64_t x0 = brick % 2 * 4, y0 = brick / 2 % 3 * 4, z0 = brick / 6 * 4;
    for (std::int64_t i = 0; i < 64; ++i) {
      const std::int64_t x = x0 + i % 4, y = y0 + i / 4 % 4, z = z0 + i / 16;
      ASSERT_EQ(order[static_cast<std::size_t>(64 * brick + i)], x + 8 * (y + 12 * z));
    }
  }
}

TEST(row_in_bricks, fills_boxes_of_any_shape) {
  using converters::brick_shape;
  for (const grid& g : {grid{13, 7, 1}, grid{9, 17, 11}, grid{40, 66, 1}}) {
    for (const brick_shape& b :
         {brick_shape{8, 8, 5}, brick_shape{32, 64, 1}, brick_shape{1, 1, 1}, brick_shape{3, 2, 100}}) {
      SCOPED_TRACE(testing::Message() << g.x << " x " << g.y << " x " << g.z << " by " << b.x << " x " << b.y << " x "
                                      << b.z);
      // Box by box, then node by node, the last axis first.
      using where = std::array<std::int64_t, 6>;
      std::vector<std::pair<where, std::int64_t>> sorted;
      for (std::int64_t row = 0; row < g.rows(); ++row) {
        const std::int64_t i = row % g.x, j = row / g.x % g.y, k = row / g.x / g.y;
        sorted.push_back({{k / b.z, j / b.y, i / b.x, k, j, i}, row});
      }
      std::ranges::sort(sorted);
      for (std::size_t place = 0; place < sorted.size(); ++place) {
        ASSERT_EQ(converters::row_in_bricks(g, b, std::int64_t(place)), sorted[place].second);
      }
      EXPECT_EQ(converters::row_in_bricks(g, b, g.rows() + 5), g.rows() + 5);
    }
    EXPECT_EQ(converters::row_in_bricks(g, 70), converters::row_in_bricks(g, brick_of(g), 70));
  }
}

TEST(row_in_bricks, lets_64_rows_share_more_columns) {
  int num_compared = 0;
  for (const known_grid& known : grids()) {
    if (std::min({known.found.x, known.found.y}) < 16) continue;  // bricks are cut off at the sides
    const auto a = generate::from_specification<float>(known.specification);
    const auto reuse = compare_orders(a.view(), order_in_bricks(known.found, a.rows()), 64);
    EXPECT_GT(reuse.gain(), 1.25) << known.specification;
    ++num_compared;
  }
  EXPECT_GE(num_compared, 4);
}

TEST(find_grid, reads_it_from_a_gpu_as_well) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  const core::gpu::device_guard guard(device);
  for (const known_grid& known : grids()) {
    const auto a = generate::from_specification<float>(known.specification);
    const device_csr<float, std::int32_t> there(device, a.view());
    EXPECT_EQ(find_grid(converters::structure_of(there.view())), known.found) << known.specification;
  }
}

}  // namespace
}  // namespace bcsc::test
