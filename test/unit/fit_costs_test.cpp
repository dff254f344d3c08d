// The fit of costs to times, and what a calibration makes of the costs that were there before.
#include "lib/tune/fit_costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/choice.hpp"
#include "lib/choice/registry.hpp"

namespace bcsc {
namespace {

using tuning::timed_case;

constexpr choice::cost_terms true_costs{3, 0.5, 0, 0.25, 0, 0.125, 1, 0, 2, 0, 0.5, 4};

TEST(solve, recovers_the_costs_that_times_were_made_of) {
  std::mt19937 random(1);
  std::vector<choice::cost_terms> terms(60);
  std::vector<double> times;
  for (choice::cost_terms& row : terms) {
    for (double& term : row) term = static_cast<double>(random() % 1000) * 1e-2;
    times.push_back(choice::us_by_terms(0, true_costs, row));
  }
  const choice::cost_terms found = tuning::solve(terms, times);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], true_costs[i], 1e-4) << i;
}

TEST(solve, knows_no_negative_costs_and_leaves_out_what_never_occurs) {
  // y = 2 x0 - x1: the best without negatives is all in x0.
  std::vector<choice::cost_terms> terms{{1, 1}, {2, 1}, {3, 1}};
  const choice::cost_terms found = tuning::solve(terms, {1, 3, 5});
  EXPECT_NEAR(found[0], (1 * 1 + 2 * 3 + 3 * 5) / 14.0, 1e-6);
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], 0) << i;
}

/// Products of all kinds on CPU configs, each taking `factor` times what built-in costs say.
class cpu_calibration : public testing::Test {
 protected:
  static constexpr std::int64_t num_products = 80;

  template <class Factor>
  static std::vector<timed_case> timed(Factor factor) {
    const choice::cost_table& built_in = choice::built_in_costs(backend::cpu);
    std::vector<timed_case> cases;
    for (std::int64_t i = 0; i < num_products; ++i) {
      const std::int64_t rows = 1000 + 517 * i, nnz = rows * (2 + i % 13), n = std::int64_t{1} << (i % 10);
      timed_case one{.matrix = "made up",
                     .cols = n,
                     .type = i % 2 == 0 ? value_type::fp32 : value_type::fp64,
                     .isa = core::best_cpu_isa(),
                     .threads = 1,
                     .shape = {},
                     .timings = {}};
      one.shape = {rows, rows, nnz, n, i % 2 == 0 ? 4 : 8, nnz / 2, 2 + i % 29};
      one.shape.read_by_height = {{1, nnz}, {4, nnz * 3 / 4}, {16, nnz / 2}};
      for (const choice::registered_kernel& kernel : choice::registry()) {
        const kernel_info& info = kernel.info;
        if (!kernel.family || info.type != one.type || info.index_bits != 32) continue;
        if (choice::takes_a_detour(info, n, info.m_tile)) continue;
        const block_statistics s{
            .m_block = info.m_tile, .num_row_blocks = rows / info.m_tile, .nnzc = nnz / 2 + nnz / (2 * info.m_tile)};
        const choice::cost_terms terms = choice::cpu_cost_terms_of(one.shape, info, s);
        const auto key = tuning::cost_key(one.type, info, n);
        const auto family = std::ranges::find(built_in.families, key, &tuning::key_of);
        one.timings.push_back({&info, terms, factor(info, n, choice::us_by_terms(0, family->us, terms))});
      }
      one.fastest = tuning::fastest_config(one).us;
      cases.push_back(std::move(one));
    }
    return cases;
  }
};

TEST_F(cpu_calibration, scales_all_costs_on_a_slower_machine) {
  const choice::cost_table& built_in = choice::built_in_costs(backend::cpu);
  const choice::kept_costs kept =
      tuning::correct(built_in, timed([](const kernel_info&, std::int64_t, double us) { return 3 * us; }));
  EXPECT_NEAR(kept.scale, 3, 0.1);
  ASSERT_EQ(kept.families.size(), built_in.families.size());
  for (std::size_t place = 0; place < kept.families.size(); ++place) {
    const choice::cost_terms &before = built_in.families[place].us, &now = kept.families[place].us;
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(now[i], 3 * before[i], 0.2 * 3 * before[i] + 1e-9);
  }
  EXPECT_EQ(std::ssize(kept.cases), num_products);
  for (const auto& one : kept.cases) {
    EXPECT_EQ(std::ssize(one.residuals), std::ranges::count(built_in.cpu_configs, one.type, &choice::cpu_config::type));
  }
}

TEST_F(cpu_calibration, moves_the_costs_of_what_is_slow_here) {
  const choice::cost_table& built_in = choice::built_in_costs(backend::cpu);
  const auto cases = timed(
      [](const kernel_info& kernel, std::int64_t, double us) { return kernel.algorithm == "rows" ? 2 * us : us; });
  const choice::kept_costs kept = tuning::correct(built_in, cases);
  EXPECT_NEAR(kept.scale, 1, 0.05);
  // By how much products of each algorithm are predicted to take longer, in the mean.
  std::map<std::string, std::pair<double, int>> logs;
  for (const timed_case& c : cases) {
    for (const tuning::timing& t : c.timings) {
      const auto key = tuning::cost_key(c.type, *t.config, c.cols);
      const auto family = std::ranges::find(built_in.families, key, &tuning::key_of);
      const auto& now = kept.families[static_cast<std::size_t>(family - built_in.families.begin())].us;
      auto& [sum, count] = logs[t.config->algorithm];
      sum += std::log(choice::us_by_terms(0, now, t.terms) / choice::us_by_terms(0, family->us, t.terms));
      ++count;
    }
  }
  const auto mean = [&](const char* of) { return std::exp(logs[of].first / logs[of].second); };
  EXPECT_GT(mean("rows"), 1.1) << "against the belief that each of its costs is right";
  EXPECT_LT(mean("rows"), 2.05);
  EXPECT_NEAR(mean("blocks"), 1, 0.05);
  // The rest is in the residuals.
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto place = choice::place_of(*cases[i].timings.front().config, cases[i].cols, built_in.cpu_configs);
    ASSERT_TRUE(place);
    const tuning::timing& t = cases[i].timings.front();
    const auto key = tuning::cost_key(cases[i].type, *t.config, cases[i].cols);
    const auto family = std::ranges::find(built_in.families, key, &tuning::key_of);
    const auto& cost = kept.families[static_cast<std::size_t>(family - built_in.families.begin())];
    const double us =
        choice::us_by_terms(cost.min_us, cost.us, t.terms) * std::exp(choice::log_of(kept.cases[i].residuals[*place]));
    EXPECT_NEAR(us / t.us, 1, 0.02);
  }
}

TEST_F(cpu_calibration, of_nothing_changes_nothing) {
  const choice::kept_costs kept = tuning::correct(choice::built_in_costs(backend::cpu), {});
  EXPECT_FALSE(kept.has_costs());
  EXPECT_TRUE(kept.cases.empty());
  EXPECT_EQ(kept.scale, 1);
}

TEST(tiles_that_hold_all_columns, share_the_least_of_their_times) {
  kernel_info narrow{.m_tile = 1, .n_tile = 32}, wide{.m_tile = 1, .n_tile = 128}, high{.m_tile = 2, .n_tile = 128};
  narrow.algorithm = wide.algorithm = high.algorithm = "rows";
  timed_case one{.matrix = "",
                 .cols = 32,
                 .type = value_type::fp32,
                 .isa = {},
                 .threads = 1,
                 .shape = {},
                 .timings = {{&narrow, {}, 5}, {&wide, {}, 4}, {&high, {}, 7}}};
  tuning::share_times_of_equals(one);
  EXPECT_EQ(one.timings[0].us, 4);
  EXPECT_EQ(one.timings[2].us, 7);
  one.cols = 64;
  one.timings[0].us = 9;
  tuning::share_times_of_equals(one);
  EXPECT_EQ(one.timings[0].us, 9) << "takes two passes";
}

}  // namespace
}  // namespace bcsc
