// How many threads work is worth, and that each does its part.
#include "core/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/by_all.hpp"
#include "core/crew.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc {
namespace {

using core::team;
using core::team_for;

TEST(team, is_one_thread_or_all) {
  for (const team& all : test::teams()) {
    int before = 1;
    for (double seconds = 1e-8; seconds < 1; seconds *= 1.3) {
      const team chosen = team_for(seconds, all);
      EXPECT_TRUE(chosen.threads == 1 || chosen.threads == all.threads) << seconds << " s, " << test::words(all);
      EXPECT_EQ(chosen.own, chosen.threads > 1 ? all.own : nullptr) << seconds << " s, " << test::words(all);
      EXPECT_GE(chosen.threads, before) << seconds << " s, " << test::words(all);  // more work, never fewer threads
      before = chosen.threads;
    }
  }
}

TEST(team, costs_less_than_it_saves) {
  core::crew sixteen(16);
  EXPECT_EQ(team_for(0, {16}).threads, 1);
  EXPECT_EQ(team_for(1e-6, {16}).threads, 1);
  EXPECT_EQ(team_for(20e-6, {16}).threads, 16);
  EXPECT_EQ(team_for(4e-6, {2}).threads, 2);
  EXPECT_EQ(team_for(4e-6, {16}).threads, 1);  // to fork and join sixteen takes longer
  EXPECT_EQ(team_for(4e-6, {16, &sixteen}).threads, 16);
  EXPECT_EQ(team_for(0.5e-6, {16, &sixteen}).threads, 1);
}

TEST(team, of_a_crew_s_thread_is_that_thread) {
  core::crew two(2);
  std::vector<int> threads(2);
  core::by_all({2, &two},
               [&](int thread, int) { threads[static_cast<std::size_t>(thread)] = core::default_team().threads; });
  EXPECT_EQ(threads, std::vector<int>(2, 1));
  EXPECT_GE(core::default_team().threads, 1);
}

TEST(team, does_every_part_once) {
  for (const team& who : test::teams()) {
    std::vector<std::atomic<int>> parts(static_cast<std::size_t>(who.threads));
    std::atomic<int> others = 0;
    core::by_all(who, [&](int thread, int threads) {
      ++parts[static_cast<std::size_t>(thread)];
      others += threads > who.threads;
    });
    EXPECT_EQ(others, 0) << test::words(who);
    EXPECT_EQ(parts[0], 1) << test::words(who);
    // OpenMP may give fewer threads.
    for (const auto& part : parts) EXPECT_LE(part, 1) << test::words(who);
    if (who.own == nullptr) continue;
    for (const auto& part : parts) EXPECT_EQ(part, 1) << test::words(who);
  }
}

TEST(team, visits_each_once) {
  for (const team& who : test::teams()) {
    for (const std::int64_t n : {0, 1, 2, 60, 61, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
      core::for_each(who, n, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      for (const auto& v : visits) ASSERT_EQ(v, 1) << n << ", " << test::words(who);
    }
  }
}

}  // namespace
}  // namespace bcsc
