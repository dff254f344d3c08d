// Advice on matrices where the answer is clear, and its numbers against plain counting.
#include "bcsc/advise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/order.hpp"
#include "test/support/battery.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

template <class T>
csr_matrix<T> diagonal(std::int64_t rows) {
  std::vector<std::int32_t> row_ptr(std::size_t(rows) + 1), col_ind(static_cast<std::size_t>(rows));
  std::iota(row_ptr.begin(), row_ptr.end(), 0);
  std::iota(col_ind.begin(), col_ind.end(), 0);
  return {rows, rows, row_ptr, col_ind, std::vector<T>(std::size_t(rows), T{1})};
}

const height_advice& at_height(const advice& a, std::int64_t m_block) {
  return *std::ranges::find(a.heights, m_block, &height_advice::m_block);
}

bool says(const advice& a, const std::string& words) {
  return std::ranges::any_of(a.reasons, [&](const std::string& r) { return r.find(words) != std::string::npos; });
}

TEST(advise, a_full_matrix_is_dense) {
  const advice a = advise(generate::uniform<float>(300, 300, 0.2, 1));
  EXPECT_EQ(a.verdict, format_verdict::dense);
  EXPECT_EQ(a.dense_bytes, 300 * 300 * 4);
  EXPECT_NEAR(a.density, 0.8, 0.02);
  EXPECT_TRUE(says(a, "dense product"));
  EXPECT_FALSE(a.reorder || a.balance || a.follow_structure || a.dense_first);
}

TEST(advise, a_diagonal_is_csr_at_every_height) {
  const advice a = advise(diagonal<double>(100000));
  EXPECT_EQ(a.verdict, format_verdict::csr);
  EXPECT_EQ(a.m_block, 1);
  EXPECT_EQ(a.csr_bytes, footprint::csr(100000, 100000, value_type::fp64));
  for (const height_advice& h : a.heights) EXPECT_DOUBLE_EQ(h.reuse, 1);
  EXPECT_FALSE(a.reorder);
  EXPECT_TRUE(says(a, "CSR"));
}

TEST(advise, elasticity_shares_columns) {
  const auto mesh = generate::elasticity<float>(12, 12, 12);
  const advice a = advise(mesh, {.cols = 64});
  EXPECT_EQ(a.verdict, format_verdict::bcsc);
  EXPECT_GT(a.m_block, 1);
  EXPECT_GT(at_height(a, a.m_block).reuse, 3);
  EXPECT_FALSE(a.reorder);
  EXPECT_FALSE(a.balance);
}

TEST(advise, a_shuffled_mesh_is_to_be_ordered) {
  const auto mesh = generate::elasticity<float>(8, 8, 8);
  std::vector<std::int64_t> order(std::size_t(mesh.rows()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  test_random random(2);
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[std::size_t(random.below(std::int64_t(i)))]);
  const advice a = advise(permute_rows(mesh, order), {.cols = 64, .cache_bytes = 0});
  EXPECT_TRUE(a.reorder);
  EXPECT_GT(a.reordered_reuse, 2 * at_height(a, a.m_block).reuse);
  EXPECT_TRUE(says(a, "ordered by similarity"));
  EXPECT_EQ(advise(permute_rows(mesh, order), {.cols = 64, .try_orders = false}).reordered_reuse, 0);
}

TEST(advise, uniform_sparsity_has_no_order_to_find) {
  const advice a = advise(generate::uniform<float>(1024, 1024, 0.99, 1), {.cols = 128});
  EXPECT_LT(at_height(a, 4).reuse, 1.05);
  EXPECT_FALSE(a.reorder || a.balance || a.follow_structure);
  // At heights where rows share nothing, it is CSR.
  const std::int64_t low[] = {1, 2, 4};
  const advice of_low = advise(generate::uniform<float>(1024, 1024, 0.99, 1), {.cols = 128, .m_blocks = low});
  EXPECT_EQ(of_low.verdict, format_verdict::csr);
  EXPECT_EQ(of_low.m_block, 1);
}

TEST(advise, a_power_law_graph_is_uneven) {
  const std::int64_t heights[] = {1, 32};
  const advice a = advise(generate::rmat<float>(13, 16, 1), {.cols = 32, .cache_bytes = 0, .m_blocks = heights});
  EXPECT_EQ(a.verdict, format_verdict::bcsc);
  EXPECT_EQ(a.m_block, 32);
  EXPECT_TRUE(a.balance);
  EXPECT_TRUE(says(a, "balanced"));
}

TEST(advise, next_to_no_work_is_negligible) {
  for (const char* name : {"0x0", "5x0", "no_entries", "1x1", "ragged"}) {
    for (const sparse_case& c : battery(values::real)) {
      if (c.name != name) continue;
      const advice a = advise(csr_of<float>(c));
      EXPECT_EQ(a.verdict, format_verdict::negligible) << name;
      EXPECT_EQ(a.reasons.size(), 1u);
      EXPECT_EQ(a.heights.size(), 8u);
    }
  }
  EXPECT_EQ(to_string(format_verdict::negligible), "negligible");
}

TEST(advise, numbers_agree_with_counting) {
  const auto mesh = generate::elasticity<double>(5, 4, 4);
  for (const std::int64_t cache : {std::int64_t{0}, std::int64_t{1} << 40}) {
    const advice a = advise(mesh, {.cols = 10, .cache_bytes = cache, .cache_cost = 0.5});
    EXPECT_EQ(a.heights.size(), 8u);
    std::int64_t min_bytes = a.heights.front().bytes;
    double min_traffic = a.heights.front().traffic.total();
    for (const height_advice& h : a.heights) {
      const auto compact = to_compact(mesh, {.m_block = h.m_block, .narrow_columns = true});
      EXPECT_EQ(h.bytes, compact.view().bytes()) << h.m_block;
      EXPECT_EQ(h.nnzc, compact.nnzc());
      // Every column of the mesh has an entry: the first read of each row of B, then the rest, in full or at half cost.
      const double first = static_cast<double>(mesh.cols()), again = static_cast<double>(h.nnzc) - first;
      EXPECT_DOUBLE_EQ(h.traffic.b, 80 * (first + again * (cache == 0 ? 1 : 0.5)));
      EXPECT_DOUBLE_EQ(h.traffic.c, 80.0 * static_cast<double>(mesh.rows()));
      EXPECT_DOUBLE_EQ(h.traffic.a, static_cast<double>(h.bytes));
      min_bytes = std::min(min_bytes, h.bytes);
      min_traffic = std::min(min_traffic, h.traffic.total());
    }
    EXPECT_EQ(at_height(a, a.min_bytes).bytes, min_bytes);
    EXPECT_EQ(at_height(a, a.min_traffic).traffic.total(), min_traffic);
  }
  const advice wide = advise(mesh, {.narrow_columns = false});
  EXPECT_EQ(at_height(wide, 8).bytes, viewed(to_compact(mesh, {.m_block = 8})).bytes());
}

TEST(advise, refuses_what_makes_no_sense) {
  const auto a = diagonal<float>(4);
  const std::int64_t none[] = {0}, too_high[] = {65537};
  const advise_options wrong[] = {
      {.cols = 0}, {.cache_bytes = -1}, {.cache_cost = 2}, {.m_blocks = none}, {.m_blocks = too_high}};
  for (const advise_options& options : wrong) {
    try {
      advise(a, options);
      ADD_FAILURE() << "taken";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("advise_options::"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace bcsc::test
