// Statistics of patterns and blocks against plain counting over the entries.
#include "bcsc/analysis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

class analysis : public ::testing::TestWithParam<sparse_case> {};

TEST_P(analysis, pattern_agrees_with_counting) {
  const sparse_case& c = GetParam();
  const pattern_statistics facts = analyse_pattern(viewed(csr_of<double>(c)));

  std::map<std::int64_t, std::int64_t> row_nnz, col_nnz;
  std::map<std::pair<std::int64_t, std::int64_t>, double> at;
  std::int64_t bandwidth = 0;
  for (const triplet& e : c.entries) {
    ++row_nnz[e.row];
    ++col_nnz[e.col];
    at[{e.row, e.col}] = e.value;
    bandwidth = std::max(bandwidth, std::abs(e.row - e.col));
  }
  std::int64_t least = c.rows > 0 ? std::numeric_limits<std::int64_t>::max() : 0, most = 0;
  double squares = 0;
  const double mean = c.rows > 0 ? static_cast<double>(c.entries.size()) / static_cast<double>(c.rows) : 0;
  bool positive_diagonal = c.rows == c.cols, pattern = c.rows == c.cols, value = pattern;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const std::int64_t count = row_nnz.contains(i) ? row_nnz.at(i) : 0;
    least = std::min(least, count);
    most = std::max(most, count);
    squares += (static_cast<double>(count) - mean) * (static_cast<double>(count) - mean);
  }
  for (std::int64_t i = 0; i < c.rows && positive_diagonal; ++i) {
    positive_diagonal = at.contains({i, i}) && at.at({i, i}) > 0;
  }
  for (const auto& [where, x] : at) {
    const auto mirrored = at.find({where.second, where.first});
    pattern = pattern && mirrored != at.end();
    value = value && mirrored != at.end() && mirrored->second == x;
  }

  EXPECT_EQ(facts.rows, c.rows);
  EXPECT_EQ(facts.cols, c.cols);
  EXPECT_EQ(facts.nnz, std::ssize(c.entries));
  EXPECT_EQ(facts.empty_rows, c.rows - std::ssize(row_nnz));
  EXPECT_EQ(facts.empty_cols, c.cols - std::ssize(col_nnz));
  EXPECT_EQ(facts.row_min, least);
  EXPECT_EQ(facts.row_max, most);
  EXPECT_DOUBLE_EQ(facts.row_mean, mean);
  EXPECT_NEAR(facts.row_sd, c.rows > 0 ? std::sqrt(squares / static_cast<double>(c.rows)) : 0, 1e-9);
  EXPECT_EQ(facts.bandwidth, bandwidth);
  EXPECT_EQ(facts.pattern_symmetric, pattern);
  EXPECT_EQ(facts.value_symmetric, value);
  EXPECT_EQ(facts.positive_diagonal, positive_diagonal);
}

TEST_P(analysis, blocks_agree_with_counting) {
  const sparse_case& c = GetParam();
  const std::vector<std::int64_t> m_blocks{1, 2, 3, 8, 32, 64, 1000, std::int64_t{1} << 40};
  const auto facts = analyse_blocks(viewed(csr_of<float, std::int64_t>(c)), std::span(m_blocks));
  ASSERT_EQ(facts.size(), m_blocks.size());
  for (std::size_t k = 0; k < m_blocks.size(); ++k) {
    SCOPED_TRACE(m_blocks[k]);
    std::set<std::pair<std::int64_t, std::int64_t>> columns;
    std::map<std::int64_t, std::int64_t> block_nnz, block_nnzc;
    for (const triplet& e : c.entries) {
      const std::int64_t block = e.row / m_blocks[k];
      block_nnzc[block] += columns.insert({block, e.col}).second;
      ++block_nnz[block];
    }
    std::int64_t heaviest = 0, widest = 0;
    for (const auto& [block, nnz] : block_nnz) heaviest = std::max(heaviest, nnz);
    for (const auto& [block, nnzc] : block_nnzc) widest = std::max(widest, nnzc);
    const std::int64_t num_blocks = (c.rows + m_blocks[k] - 1) / m_blocks[k];
    const auto nnz = static_cast<double>(c.entries.size());
    EXPECT_EQ(facts[k].m_block, m_blocks[k]);
    EXPECT_EQ(facts[k].num_row_blocks, num_blocks);
    EXPECT_EQ(facts[k].nnzc, std::ssize(columns));
    EXPECT_EQ(facts[k].max_block_nnz, heaviest);
    EXPECT_EQ(facts[k].max_block_nnzc, widest);
    EXPECT_DOUBLE_EQ(facts[k].reuse, nnz > 0 ? nnz / static_cast<double>(columns.size()) : 0);
    EXPECT_DOUBLE_EQ(facts[k].skew,
                     nnz > 0 ? static_cast<double>(heaviest) / (nnz / static_cast<double>(num_blocks)) : 0);
    EXPECT_EQ(facts[k].nnzc, to_bcsc(csr_of<float, std::int64_t>(c), m_blocks[k]).nnzc());
  }
}

TEST_P(analysis, grid_agrees_with_counting) {
  const sparse_case& c = GetParam();
  for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 5}, {64, 64}, {1000, 3}}) {
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(height * width));
    for (const triplet& e : c.entries) {
      ++wanted[static_cast<std::size_t>(e.row * height / c.rows * width + e.col * width / c.cols)];
    }
    EXPECT_EQ(pattern_grid(viewed(csr_of<float>(c)), height, width), wanted) << height << " x " << width;
  }
}

/// The battery and what it lacks: symmetric matrices, with and without their last property.
std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  all.push_back({"symmetric", 3, 3, {{0, 0, 2}, {0, 2, -1}, {1, 1, 3}, {2, 0, -1}, {2, 2, 1}}});
  all.push_back({"symmetric_pattern_only", 3, 3, {{0, 0, 2}, {0, 2, -1}, {1, 1, 3}, {2, 0, 1}, {2, 2, 1}}});
  all.push_back({"symmetric_without_a_diagonal_entry", 3, 3, {{0, 0, 2}, {0, 2, -1}, {2, 0, -1}, {2, 2, 1}}});
  all.push_back({"symmetric_with_a_zero_on_the_diagonal", 2, 2, {{0, 0, 1}, {1, 1, 0}}});
  all.push_back({"symmetric_with_a_negative_diagonal", 2, 2, {{0, 0, 1}, {1, 1, -1}}});
  all.push_back({"same_counts_but_not_symmetric", 3, 3, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}}});
  return all;
}
INSTANTIATE_TEST_SUITE_P(battery, analysis, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return "m_" + info.param.name; });

TEST(analysis_limits, columns_far_beyond_the_entries_need_no_memory) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const csr_matrix<double, std::int64_t> a(3, far, {0, 2, 4, 5}, {5, far - 1, 0, far - 1, far - 1}, {1, 2, 3, 4, 5});
  EXPECT_EQ(analyse_pattern(a.view()).empty_cols, far - 3);
  EXPECT_EQ(analyse_pattern(a.view()).bandwidth, far - 1);
  const std::int64_t m_blocks[] = {1, 2, 3};
  const auto facts = analyse_blocks(a.view(), std::span<const std::int64_t>(m_blocks));
  EXPECT_EQ(facts[0].nnzc, 5);
  EXPECT_EQ(facts[1].nnzc, 4);
  EXPECT_EQ(facts[2].nnzc, 3);
}

TEST(analysis_limits, many_threads_count_what_one_counts) {
  test_random random(3);
  std::vector<triplet> entries;
  for (std::int64_t i = 0; i < 100000; ++i) {
    for (std::int64_t j = random.below(4); j < 200; j += 1 + random.below(40)) entries.push_back({i, j, 1});
  }
  const csr_matrix<float> large = csr_of<float>({"large", 100000, 210, entries});
  std::set<std::pair<std::int64_t, std::int64_t>> columns;
  for (const triplet& e : entries) columns.insert({e.row / 37, e.col});
  const std::int64_t m_blocks[] = {37};
  for (const int threads : thread_counts) {
    const with_threads of_many(threads);
    EXPECT_EQ(analyse_blocks(large.view(), std::span<const std::int64_t>(m_blocks))[0].nnzc, std::ssize(columns))
        << threads << " threads";
  }
}

TEST(analysis_limits, nan_is_symmetric_to_nothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const csr_matrix<double> a(2, 2, {0, 1, 2}, {1, 0}, {nan, nan});
  EXPECT_TRUE(analyse_pattern(a.view()).pattern_symmetric);
  EXPECT_FALSE(analyse_pattern(a.view()).value_symmetric);
}

TEST(analysis_limits, arguments_are_checked) {
  const csr_matrix<double> a(1, 1, {0, 1}, {0}, {1});
  const std::int64_t none[] = {8, 0};
  EXPECT_EQ(code_of([&] { analyse_blocks(a.view(), std::span<const std::int64_t>(none)); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { pattern_grid(a.view(), 0, 1); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { pattern_grid(a.view(), 1, -1); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { pattern_grid(a.view(), std::int64_t{1} << 40, std::int64_t{1} << 40); }),
            errc::size_overflow);
  const csr_view<double> on_device{.space = memory_space::device};
  EXPECT_EQ(code_of([&] { analyse_pattern(on_device); }), errc::wrong_memory_space);
  EXPECT_EQ(code_of([&] { analyse_blocks(on_device, {}); }), errc::wrong_memory_space);
  EXPECT_EQ(code_of([&] { pattern_grid(on_device, 1, 1); }), errc::wrong_memory_space);
}

TEST(roofline, counts_every_operand_once) {
  // 100 x 50 times 50 x 8, 600 non-zeros in 5000 bytes.
  const roofline_model fp32 = model_spmm(100, 50, 8, 600, 5000, value_type::fp32);
  EXPECT_DOUBLE_EQ(fp32.bytes, 5000 + 4 * 50 * 8 + 4 * 100 * 8);
  EXPECT_DOUBLE_EQ(fp32.flops, 2 * 600 * 8);
  EXPECT_DOUBLE_EQ(fp32.intensity(), fp32.flops / fp32.bytes);
  const roofline_model fp64 = model_spmm(100, 50, 8, 600, 5000, value_type::fp64, true);
  EXPECT_DOUBLE_EQ(fp64.bytes, 5000 + 8 * 50 * 8 + 2 * 8 * 100 * 8);
  EXPECT_DOUBLE_EQ(roofline_model{}.intensity(), 0);
  // Memory bound on a slow memory, compute bound on a fast one.
  EXPECT_DOUBLE_EQ(fp32.seconds(fp32.bytes, 1e30), 1);
  EXPECT_DOUBLE_EQ(fp32.seconds(1e30, fp32.flops / 2), 2);
}

}  // namespace
}  // namespace bcsc::test
