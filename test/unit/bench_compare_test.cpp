#include "bench/harness/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace bcsc::bench {
namespace {

// --- The interval ---------------------------------------------------------------------------------------------------

/// Two-tailed critical values of U at 0.01, as printed in tables: the interval leaves out one ratio more at each end.
class critical_values : public testing::TestWithParam<std::pair<int, std::size_t>> {};

TEST_P(critical_values, TellWhichRatiosTheIntervalLeavesOut) {
  const auto [n, critical] = GetParam();
  std::vector<double> before, after, ratios;
  for (int i = 0; i < n; ++i) {
    before.push_back(1 + 0.01 * i);
    after.push_back(1.003 + 0.0137 * i);
  }
  for (const double a : after) {
    for (const double b : before) ratios.push_back(a / b);
  }
  std::ranges::sort(ratios);
  const auto found = estimate_ratio(before, after, 0.99);
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->low, ratios[critical]);
  EXPECT_DOUBLE_EQ(found->high, ratios[ratios.size() - 1 - critical]);
}

INSTANTIATE_TEST_SUITE_P(tables, critical_values,
                         testing::Values(std::pair(5, 0), std::pair(6, 2), std::pair(8, 7), std::pair(10, 16),
                                         std::pair(15, 51), std::pair(20, 105)));

TEST(interval, FewSamplesGiveNone) {
  const std::vector<double> four{1, 1.1, 1.2, 1.3};
  EXPECT_FALSE(estimate_ratio(four, four, 0.99).has_value());
  EXPECT_FALSE(estimate_ratio({}, four, 0.99).has_value());
  EXPECT_EQ(judge_change(std::nullopt, {}), change::unclear);
}

TEST(interval, ManySamplesAreJudgedByTheNormalDistribution) {
  std::vector<double> before, after;
  for (int i = 0; i < 1000; ++i) {
    before.push_back(1 + 1e-5 * i);
    after.push_back(1.1 * (1 + 1e-5 * i));
  }
  const auto found = estimate_ratio(before, after, 0.99);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->estimate, 1.1, 1e-3);
  EXPECT_LT(found->low, 1.1);
  EXPECT_GT(found->low, 1.095);
  EXPECT_GT(found->high, 1.1);
  EXPECT_LT(found->high, 1.105);
}

TEST(interval, OneLateSampleMovesNothing) {
  std::vector<double> before(10), after;
  for (int i = 0; i < 10; ++i) before[static_cast<std::size_t>(i)] = 1 + 0.001 * i;
  after = before;
  after[3] = 50;
  EXPECT_EQ(judge_change(estimate_ratio(before, after, 0.99), {}), change::same);
}

struct judged {
  double low, high;
  change verdict;
};
class verdict_of : public testing::TestWithParam<judged> {};

TEST_P(verdict_of, AnInterval) {
  const judged& p = GetParam();
  EXPECT_EQ(judge_change(ratio_interval{(p.low + p.high) / 2, p.low, p.high}, {}), p.verdict);
}

INSTANTIATE_TEST_SUITE_P(intervals, verdict_of,
                         testing::Values(judged{0.99, 1.01, change::same}, judged{1.005, 1.03, change::same},
                                         judged{1.021, 1.04, change::slower}, judged{1.5, 3, change::slower},
                                         judged{0.96, 0.98, change::faster}, judged{0.1, 0.2, change::faster},
                                         judged{0.9, 1.1, change::unclear}, judged{1.01, 1.06, change::unclear},
                                         judged{0.94, 0.99, change::unclear}));

// --- Samples that a file does not hold ------------------------------------------------------------------------------

TEST(quantiles, GiveSamplesWithTheSameQuantiles) {
  const time_statistics exact = summarise({1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}, 1);
  time_statistics known = exact;
  known.samples.clear();
  const time_statistics again = summarise(samples_of(known), 1);
  EXPECT_EQ(again.num_samples, 11);
  for (const auto member : {&time_statistics::median, &time_statistics::min, &time_statistics::max,
                            &time_statistics::p10, &time_statistics::p90}) {
    EXPECT_DOUBLE_EQ(again.*member, exact.*member);
  }
  known.num_samples = 1;
  EXPECT_EQ(samples_of(known), std::vector<double>{exact.median});
}

// --- Two runs -------------------------------------------------------------------------------------------------------

/// Runs as a GPU gives them: each line of each run has an offset of its own (where its arrays came to lie, clocks),
/// each sample some noise, and one in twenty is late.
class machine {
 public:
  explicit machine(std::uint64_t seed) : random_(seed) {}

  run_result run(int num_lines, int num_samples, double factor, bool with_samples) {
    run_result made;
    made.matrices.push_back({.name = "a", .checksum = 1});
    for (int i = 0; i < num_lines; ++i) {
      case_result c{.cols = i + 1};
      entry_result plan{.name = "plan", .group = "plan", .ours = true};
      const double seconds = factor * 1e-5 * (1 + i % 7) * std::exp(0.004 * normal());
      const double spread = 0.004 * std::exp(0.55 * normal());
      std::vector<double> samples;
      for (int k = 0; k < num_samples; ++k) {
        const bool late = uniform() < 0.03;
        samples.push_back(seconds * std::exp(spread * normal()) * (late ? 1 + 0.15 * uniform() : 1));
      }
      plan.times[setting::warm] = summarise(std::move(samples), 1);
      if (!with_samples) plan.times[setting::warm]->samples.clear();
      c.entries.push_back(std::move(plan));
      made.cases.push_back(std::move(c));
    }
    return made;
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  std::mt19937_64 random_;
};

/// Number of samples; whether the files hold them.
class noise : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(noise, IsNoChangeAndFivePerCentAreFound) {
  const auto [num_samples, with_samples] = GetParam();
  constexpr int num_lines = 200, num_repetitions = 20;
  double same = 0, found = 0, sped_up = 0;
  for (int repetition = 0; repetition < num_repetitions; ++repetition) {
    machine m(static_cast<std::uint64_t>(repetition) + 1);
    const run_result before = m.run(num_lines, num_samples, 1, with_samples);
    const run_result after = m.run(num_lines, num_samples, 1, with_samples);
    const run_result slower = m.run(num_lines, num_samples, 1.05, with_samples);
    const run_comparison unchanged = compare_runs(before, after), changed = compare_runs(before, slower);
    same += static_cast<double>(unchanged.count(change::same, true));
    found += static_cast<double>(changed.count(change::slower, true));
    sped_up += static_cast<double>(compare_runs(slower, before).count(change::faster, true));
    EXPECT_TRUE(changed.is_worse());
    ASSERT_EQ(unchanged.lines.size(), std::size_t{num_lines});
    EXPECT_EQ(unchanged.lines.front().by_quantiles, !with_samples);
  }
  // A line through the quantiles of ten samples spreads one late sample over half of them.
  EXPECT_GE(same / (num_lines * num_repetitions), with_samples || num_samples > 10 ? 0.99 : 0.97);
  EXPECT_GE(found / (num_lines * num_repetitions), 0.95);
  EXPECT_GE(sped_up / (num_lines * num_repetitions), 0.95);
}

INSTANTIATE_TEST_SUITE_P(samples, noise, testing::Combine(testing::Values(10, 20), testing::Bool()));

TEST(comparison, AnEqualRunIsTheSameEverywhereItCanBeTold) {
  machine m(7);
  const run_result run = m.run(20, 10, 1, true);
  const run_comparison found = compare_runs(run, run);
  EXPECT_EQ(found.count(change::same, true), 20);
  EXPECT_FALSE(found.is_worse());
}

TEST(comparison, TellsWhatIsBrokenGoneAddedOrOfAnotherMatrix) {
  machine m(3);
  const run_result before = m.run(4, 10, 1, true);
  run_result after = before;
  after.cases[0].entries[0].status = entry_status::failed;
  after.cases.erase(after.cases.begin() + 1);
  after.cases.push_back(before.cases[3]);
  after.cases.back().cols = 99;
  run_comparison found = compare_runs(before, after);
  EXPECT_EQ(found.broken, std::vector<std::string>{"a N=1 fp32: plan"});
  EXPECT_EQ(found.gone, std::vector<std::string>{"a N=2 fp32: plan"});
  EXPECT_EQ(found.num_added, 1);
  EXPECT_EQ(found.lines.size(), 2u);
  EXPECT_TRUE(found.is_worse());

  after.matrices[0].checksum = 2;
  found = compare_runs(before, after);
  EXPECT_EQ(found.other_matrices, std::vector<std::string>{"a"});
  EXPECT_TRUE(found.lines.empty());
}

TEST(comparison, ARivalThatIsSlowerIsNoReasonToWorry) {
  machine m(4);
  run_result before = m.run(1, 10, 1, true), after = m.run(1, 10, 1.5, true);
  for (run_result* run : {&before, &after}) {
    run->cases[0].entries[0].ours = false;
    run->cases[0].entries[0].name = "alg2";
  }
  const run_comparison found = compare_runs(before, after);
  EXPECT_EQ(found.count(change::slower, false), 1);
  EXPECT_FALSE(found.is_worse());
}

TEST(comparison, TheBestConfigOfAKernelIsOneContender) {
  machine m(5);
  run_result before = m.run(1, 10, 1, true), after = m.run(1, 10, 1, true);
  before.cases[0].entries[0].name = "rowwise-1";
  after.cases[0].entries[0].name = "rowwise-2";
  for (run_result* run : {&before, &after}) run->cases[0].entries[0].group = "rowwise";
  const run_comparison found = compare_runs(before, after);
  ASSERT_EQ(found.lines.size(), 1u);
  EXPECT_EQ(found.lines[0].entry, "best rowwise");
}

}  // namespace
}  // namespace bcsc::bench
