// Who wins, who drops out and when it ends, by a clock that the tests make.
#include "lib/tune/contest.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "test/unit/scripted_clock.hpp"

namespace bcsc::test {
namespace {

using tuning::contest_rules;

/// A contest among products named by their number.
std::vector<tuning::contest_result> contest_of(scripted_clock& script, std::size_t num, const contest_rules& rules) {
  std::vector<tuning::contestant> all;
  for (std::size_t i = 0; i < num; ++i) all.push_back({std::to_string(i), {}});
  const auto watch = script.maker()(all);
  return tuning::contest(*watch, num, rules);
}

TEST(contest, is_won_by_the_fastest) {
  for (std::size_t fastest = 0; fastest < 9; ++fastest) {
    scripted_clock script;
    script.others[std::to_string(fastest)] = 0.9e-5;
    const auto result = contest_of(script, 9, {});
    EXPECT_EQ(tuning::winner_of(result), fastest);
    EXPECT_DOUBLE_EQ(result[fastest].seconds(), 0.9e-5);
    EXPECT_GE(result[fastest].samples.size(), 3u);
  }
}

TEST(contest, keeps_the_first_against_noise) {
  scripted_clock script;
  script.others["1"] = 0.996e-5;
  EXPECT_EQ(tuning::winner_of(contest_of(script, 2, {})), 0u);
  script.others["1"] = 0.99e-5;
  EXPECT_EQ(tuning::winner_of(contest_of(script, 2, {})), 1u);
  script.others["2"] = 0.989e-5;
  EXPECT_EQ(tuning::winner_of(contest_of(script, 3, {})), 2u) << "of the others the fastest, by however little";
}

TEST(contest, does_not_mind_outliers) {
  scripted_clock script;
  script.others["1"] = 0.9e-5;
  script.disturb["1"] = 3;
  const auto result = contest_of(script, 3, {.budget_seconds = 1, .max_rounds = 9});
  EXPECT_EQ(tuning::winner_of(result), 1u);
  EXPECT_DOUBLE_EQ(result[1].seconds(), 0.9e-5);
}

TEST(contest, begins_nothing_after_its_budget) {
  for (const double budget : {1e-4, 1e-3, 1e-2, 0.1}) {
    for (const double each : {1e-6, 1e-4, 3e-3, 2e-2}) {
      scripted_clock script;
      script.usual = each;
      const contest_rules rules{.budget_seconds = budget, .budget_products = 0, .max_rounds = 1000};
      const auto result = contest_of(script, 4, rules);
      // What is begun is ended: two products to begin with, or one sample.
      EXPECT_LE(script.total, budget + std::max(2 * each, rules.sample_seconds + each)) << budget << " of " << each;
      EXPECT_GT(result[0].seconds(), 0) << "the first is run in any case";
    }
  }
}

TEST(contest, has_room_for_its_products) {
  scripted_clock script;
  script.usual = 1e-3;
  const contest_rules rules{.budget_seconds = 1e-3, .budget_products = 40, .max_rounds = 1000};
  contest_of(script, 4, rules);
  EXPECT_GE(script.total, 40e-3);
  EXPECT_LE(script.total, 43e-3);
}

TEST(contest, is_patient_with_what_is_disturbed) {
  for (const double patience : {1.0, 4.0}) {
    scripted_clock script;
    script.disturb["0"] = script.disturb["1"] = 2;
    const contest_rules rules{.budget_seconds = 5e-3, .budget_products = 0, .patience = patience, .max_rounds = 1000};
    contest_of(script, 2, rules);
    // Every second sample takes ten times as long, so that 5.5 times what is charged has passed.
    EXPECT_NEAR(script.total, patience * rules.budget_seconds, 1.1e-3);
  }
}

TEST(contest, leaves_half_a_round_until_there_are_finalists) {
  scripted_clock script;
  for (int i = 0; i < 32; ++i) script.others[std::to_string(i)] = (40 - i) * 1e-6;
  const auto result =
      contest_of(script, 32, {.budget_seconds = 10, .budget_products = 0, .max_rounds = 10, .num_finalists = 4});
  std::map<std::size_t, int> with_samples;
  for (const auto& s : result) ++with_samples[s.samples.size()];
  // 16 after the first rough times, 8 and 4 after two rounds; then those that are within a fifth of the fastest.
  EXPECT_EQ(with_samples[0], 16);
  EXPECT_EQ(with_samples[1], 8);
  EXPECT_EQ(with_samples[2], 4);
  EXPECT_EQ(tuning::winner_of(result), 31u);
  EXPECT_FALSE(result[31].dropped);
  EXPECT_TRUE(result[0].dropped);
}

TEST(contest, interleaves_and_turns_round) {
  scripted_clock script;
  contest_of(script, 2, {.budget_seconds = 1, .budget_products = 0, .max_rounds = 4});
  EXPECT_EQ(fmt::format("{}", fmt::join(script.asked, "")),
            "0011"
            "01100110");
}

}  // namespace
}  // namespace bcsc::test
