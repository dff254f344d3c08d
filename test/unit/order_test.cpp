// Orders of rows and boundaries of row blocks: valid for every matrix of the battery, the same for any number of
// threads, and a gain where there is one to be had.
#include "bcsc/order.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

using boundaries = std::vector<std::int64_t>;

std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  test_random random(seed);
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(order[std::size_t(i)], order[std::size_t(random.below(i + 1))]);
  return order;
}

/// Non-empty columns of the row blocks between `cuts`, by counting.
template <class T, class I>
std::int64_t count_columns(const csr_view<T, I>& a, const boundaries& cuts) {
  std::int64_t count = 0;
  for (std::size_t b = 0; b + 1 < cuts.size(); ++b) {
    std::set<I> columns(a.col_ind.begin() + a.row_ptr[std::size_t(cuts[b])],
                        a.col_ind.begin() + a.row_ptr[std::size_t(cuts[b + 1])]);
    count += std::ssize(columns);
  }
  return count;
}

void expect_cuts(const boundaries& cuts, std::int64_t rows, std::int64_t m_block) {
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front(), 0);
  EXPECT_EQ(cuts.back(), rows);
  for (std::size_t b = 1; b < cuts.size(); ++b) {
    EXPECT_GT(cuts[b], cuts[b - 1]);
    EXPECT_LE(cuts[b] - cuts[b - 1], m_block);
  }
}

class ordering : public ::testing::TestWithParam<sparse_case> {};

TEST_P(ordering, is_a_permutation_and_permutes_rows) {
  const sparse_case& c = GetParam();
  const auto csr = csr_of<double, std::int64_t>(c);
  const auto order = order_rows_by_similarity(csr);
  ASSERT_EQ(std::ssize(order), c.rows);
  ASSERT_EQ(std::ssize(std::set(order.begin(), order.end())), c.rows);

  const auto permuted = permute_rows(csr, order);
  validate(permuted.view());
  std::map<std::pair<std::int64_t, std::int64_t>, double> wanted, got;
  for (const triplet& e : c.entries) wanted[{e.row, e.col}] = e.value;
  const auto view = permuted.view();
  bool entries_ended = false;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const auto first = std::size_t(view.row_ptr[std::size_t(i)]), last = std::size_t(view.row_ptr[std::size_t(i) + 1]);
    EXPECT_FALSE(entries_ended && last > first) << "a row with entries behind an empty one, at " << i;
    entries_ended |= first == last;
    for (auto k = first; k < last; ++k) got[{order[std::size_t(i)], view.col_ind[k]}] = view.values[k];
  }
  EXPECT_EQ(got, wanted);
}

TEST_P(ordering, boundaries_cut_all_rows_and_make_a_valid_matrix) {
  const sparse_case& c = GetParam();
  const auto csr = csr_of<float>(c);
  for (const std::int64_t m_block : {1, 2, 7, 32, 1000}) {
    SCOPED_TRACE(m_block);
    const boundaries balanced = balanced_boundaries(csr.view(), m_block);
    const boundaries structural = structural_boundaries(csr.view(), m_block);
    for (const boundaries& cuts : {balanced, structural}) {
      expect_cuts(cuts, c.rows, m_block);
      const auto compact = to_compact(csr, {.m_block = m_block, .boundaries = cuts});
      validate(compact.view());
      EXPECT_EQ(compact.nnzc(), count_columns(csr.view(), cuts));
    }
    for (std::int64_t row = 0; row < c.rows; row += m_block) {
      EXPECT_TRUE(std::binary_search(balanced.begin(), balanced.end(), row)) << row;
    }
  }
}

TEST_P(ordering, balanced_row_blocks_hold_no_more_than_they_may) {
  const sparse_case& c = GetParam();
  const auto csr = csr_of<float>(c);
  for (const auto& [m_block, factor] : {std::pair<std::int64_t, double>{32, 2}, {8, 1}, {64, 1.5}}) {
    const double num_blocks = static_cast<double>((c.rows + m_block - 1) / m_block);
    const double most = factor * static_cast<double>(csr.nnz()) / std::max(1.0, num_blocks);
    const boundaries cuts = balanced_boundaries(csr.view(), m_block, {.factor = factor});
    for (std::size_t b = 0; b + 1 < cuts.size(); ++b) {
      const auto held = csr.view().row_ptr[std::size_t(cuts[b + 1])] - csr.view().row_ptr[std::size_t(cuts[b])];
      EXPECT_TRUE(held <= most || cuts[b + 1] - cuts[b] == 1) << "row block " << b << " holds " << held;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(battery, ordering, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& info) { return "m_" + info.param.name; });

TEST(order, shuffled_blocks_find_together_again) {
  // 40 groups of 16 rows; a group's rows share 24 of its 30 columns each.
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  test_random random(5);
  for (std::int64_t row = 0; row < 640; ++row) {
    for (std::int64_t k = 0; k < 24; ++k) positions.insert({row, row / 16 * 30 + random.below(30)});
  }
  const auto blocks = csr_of<float>(make_case("blocks", 640, 1200, positions, values::real, 1));
  const auto mixed = permute_rows(blocks, shuffled(640, 9));
  const auto identity = [] {
    std::vector<std::int64_t> order(640);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
  }();
  const double whole = compare_orders(blocks.view(), identity, 16).before.reuse;
  const order_comparison regained = compare_orders(mixed.view(), order_rows_by_similarity(mixed), 16);
  EXPECT_LT(regained.before.reuse, 0.25 * whole);
  EXPECT_GT(regained.after.reuse, 0.9 * whole);
  EXPECT_DOUBLE_EQ(regained.gain(), regained.after.reuse / regained.before.reuse);
  EXPECT_EQ(regained.after.nnzc,
            analyse_blocks(viewed(permute_rows(mixed, order_rows_by_similarity(mixed))), std::vector<std::int64_t>{16})
                .front()
                .nnzc);
}

TEST(order, a_shuffled_mesh_regains_most_of_its_reuse) {
  const auto mesh = generate::elasticity<float>(8, 8, 8);
  const auto mixed = permute_rows(mesh, shuffled(mesh.rows(), 3));
  const std::vector<std::int64_t> heights{32};
  const double natural = analyse_blocks(mesh.view(), heights).front().reuse;
  const order_comparison regained = compare_orders(mixed.view(), order_rows_by_similarity(mixed), 32);
  EXPECT_LT(regained.before.reuse, 0.35 * natural);
  EXPECT_GT(regained.after.reuse, 0.7 * natural);
}

TEST(order, empty_matrices_gain_nothing) {
  const auto none = csr_of<float>(sparse_case{"none", 3, 3, {}});
  EXPECT_EQ(order_rows_by_similarity(none), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(compare_orders(none.view(), std::vector<std::int64_t>{2, 1, 0}, 2).gain(), 1.0);
}

TEST(order, does_not_depend_on_threads) {
  const auto graph = generate::rmat<float>(15, 40, 1);  // so many entries that all threads take part
  std::vector<std::vector<std::int64_t>> results;
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    results.push_back(order_rows_by_similarity(graph));
    const boundaries structural = structural_boundaries(graph.view(), 32);
    results.back().insert(results.back().end(), structural.begin(), structural.end());
    EXPECT_TRUE(results.back() == results.front()) << threads << " threads";
  }
}

TEST(order, structural_cuts_follow_nodes_and_supernodes) {
  // Groups of rows with equal columns, no column shared by two groups: cuts that split no group exist.
  const std::vector<std::int64_t> groups{5, 3, 8, 8, 1, 1, 6, 7, 2, 8, 4, 4};
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  std::set<std::int64_t> starts{0};
  std::int64_t row = 0, col = 0;
  for (const std::int64_t height : groups) {
    for (std::int64_t i = 0; i < height; ++i, ++row) {
      for (std::int64_t j = 0; j < 9; ++j) positions.insert({row, col + j});
    }
    col += 9;
    starts.insert(row);
  }
  const auto a = csr_of<float>(make_case("groups", row, col, positions, values::real, 1));
  const boundaries cuts = structural_boundaries(a.view(), 8);
  expect_cuts(cuts, row, 8);
  for (const std::int64_t cut : cuts) EXPECT_TRUE(starts.contains(cut)) << cut;
  EXPECT_EQ(count_columns(a.view(), cuts), 9 * std::ssize(groups));  // each group whole: each column once
  EXPECT_LE(std::ssize(cuts) - 1, 9);                                // and no more row blocks than that takes

  // Three rows of a node stay together although 32 is not a multiple of 3.
  const auto mesh = generate::elasticity<float>(4, 6, 6);
  const boundaries of_nodes = structural_boundaries(mesh.view(), 32);
  for (const std::int64_t cut : of_nodes) EXPECT_EQ(cut % 3, 0);
}

/// The least cost of cutting, by trying every way.
TEST(order, structural_cuts_are_the_best_of_all) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::int64_t rows = 11;
    const sparse_case c = make_case("small", rows, 9, scatter(rows, 9, 50, seed), values::real, 1);
    std::vector<std::set<std::int64_t>> columns(rows);
    for (const triplet& e : c.entries) columns[std::size_t(e.row)].insert(e.col);
    const auto cost = [&](const boundaries& cuts) {
      std::int64_t sum = 4 * (std::ssize(cuts) - 2);
      for (std::size_t b = 1; b + 1 < cuts.size(); ++b) {
        for (const std::int64_t col : columns[std::size_t(cuts[b])]) {
          sum += columns[std::size_t(cuts[b]) - 1].contains(col);
        }
      }
      return sum;
    };
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int choice = 0; choice < 1 << (rows - 1); ++choice) {
      boundaries cuts{0};
      for (std::int64_t row = 1; row < rows; ++row) {
        if (choice >> (row - 1) & 1) cuts.push_back(row);
      }
      cuts.push_back(rows);
      bool low = true;
      for (std::size_t b = 1; b < cuts.size(); ++b) low &= cuts[b] - cuts[b - 1] <= 4;
      if (low) least = std::min(least, cost(cuts));
    }
    EXPECT_EQ(cost(structural_boundaries(viewed(csr_of<float>(c)), 4)), least) << "seed " << seed;
  }
}

TEST(order, refuses_what_makes_no_sense) {
  const auto a = csr_of<float>(battery(values::real)[8]);
  const auto v = a.view();
  const auto refused = [](auto call) { EXPECT_EQ(code_of(call), errc::invalid_argument); };
  std::vector<std::int64_t> order(std::size_t(a.rows()), 0);
  refused([&] { permute_rows(v, order); });
  refused([&] { permute_rows(v, std::span(order).first(3)); });
  std::iota(order.begin(), order.end(), std::int64_t{1});
  refused([&] { permute_rows(v, order); });
  refused([&] { order_rows_by_similarity(v, {.num_hashes = 1}); });
  refused([&] { order_rows_by_similarity(v, {.num_hashes = 65}); });
  refused([&] { order_rows_by_similarity(v, {.col_bucket = 0}); });
  refused([&] { balanced_boundaries(v, 0); });
  refused([&] { balanced_boundaries(v, 4, {.factor = 0.5}); });
  refused([&] { balanced_boundaries(v, 4, {.factor = std::numeric_limits<double>::quiet_NaN()}); });
  refused([&] { structural_boundaries(v, 0); });
  csr_view<float> on_device = v;
  on_device.space = memory_space::device;
  EXPECT_EQ(code_of([&] { order_rows_by_similarity(on_device); }), errc::wrong_memory_space);
}

}  // namespace
}  // namespace bcsc::test
