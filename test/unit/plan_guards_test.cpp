// What guards a plan where a slip would go unseen: operands that share memory, B's layout, the workspace of one caller,
// the least predicted time, and the diagonal that the solvers ask about.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "lib/choice/choice.hpp"
#include "lib/plan/access.hpp"
#include "lib/plan/run_checks.hpp"

namespace bcsc {
namespace {

/// Two column ranges of one row-major array of 4 x 10, each [first, first + width).
struct ranges {
  std::int64_t b_first, b_width, c_first, c_width;
};

class column_ranges : public ::testing::TestWithParam<ranges> {};

TEST_P(column_ranges, overlap_if_and_only_if_they_share_a_column) {
  const auto [b_first, b_width, c_first, c_width] = GetParam();
  std::vector<double> array(40);
  const dense_view<const double> b(array.data() + b_first, 4, b_width, 10), c(array.data() + c_first, 4, c_width, 10);
  const bool shared = std::max(b_first, c_first) < std::min(b_first + b_width, c_first + c_width);
  EXPECT_EQ(plan::overlap(b, c), shared);
  EXPECT_EQ(plan::overlap(c, b), shared);
}

INSTANTIATE_TEST_SUITE_P(array, column_ranges,
                         ::testing::Values(ranges{5, 3, 2, 4}, ranges{5, 3, 2, 3}, ranges{2, 4, 5, 3},
                                           ranges{0, 5, 5, 5}, ranges{0, 6, 5, 5}, ranges{0, 10, 9, 1},
                                           ranges{9, 1, 0, 9}, ranges{3, 1, 3, 1}));

TEST(plan_guards, refuse_the_other_layout_of_b_both_ways) {
  std::vector<float> b(6), c(6);
  for (const layout planned : {layout::row_major, layout::col_major}) {
    const layout other = planned == layout::row_major ? layout::col_major : layout::row_major;
    const auto check = [&](layout given) {
      plan::check_operands<float>(3, 2, {b.data(), 2, 2, given}, {c.data(), 3, 2}, planned, true);
    };
    EXPECT_NO_THROW(check(planned));
    try {
      check(other);
      ADD_FAILURE() << "B " << to_string(other) << " was taken by a plan for " << to_string(planned);
    } catch (const error& refusal) {
      EXPECT_EQ(refusal.code(), errc::layout_mismatch);
    }
  }
}

/// The plan's own workspace serves one caller at a time: of concurrent callers, each is either refused or right.
TEST(plan_guards, sixteen_bits_add_no_other_block) {
  const csr_matrix<half> a(1, 1, {0, 1}, {0}, {half(2.0f)});
  const spmm_plan<half> made(context::cpu(), a.view(), {.cols = 1});
  const half b(3.0f), z(5.0f);
  half c(7.0f);
  const dense_view<const half> on_b(&b, 1, 1);
  const dense_view<half> on_c(&c, 1, 1);
  try {
    plan::access<half>::run(made, 1, on_b, 1, on_c, {}, {.z = &z});
    FAIL() << "was added";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unsupported);
  }
  plan::access<half>::run(made, 1, on_b, 1, on_c, {}, {});
  EXPECT_EQ(static_cast<float>(c), 13.0f);
}

TEST(plan_guards, two_callers_never_share_the_plans_own_workspace) {
  constexpr std::int64_t size = 3000, cols = 16, num_callers = 4, num_runs = 100;
  std::vector<std::int32_t> row_ptr(size + 1), col_ind(size);
  for (std::int32_t i = 0; i < size; ++i) {
    row_ptr[static_cast<std::size_t>(i) + 1] = i + 1;
    col_ind[static_cast<std::size_t>(i)] = i;
  }
  const csr_matrix<float> identity(size, size, row_ptr, col_ind, std::vector<float>(size, 1.0f));
  const spmm_plan<float> plan(context::cpu(1), identity, {.cols = cols, .b_layout = layout::col_major});
  ASSERT_GT(plan.workspace_bytes(), 0u);

  std::atomic<std::int64_t> num_right{0}, num_wrong{0}, num_other_errors{0};
  std::vector<std::thread> callers;
  for (std::int64_t caller = 0; caller < num_callers; ++caller) {
    callers.emplace_back([&, caller] {
      dense_matrix<float> b(size, cols, layout::col_major), c(size, cols);
      std::fill_n(b.data(), size * cols, static_cast<float>(caller + 1));
      for (std::int64_t run = 0; run < num_runs; ++run) {
        try {
          plan.run(1.0f, b.view(), 0.0f, c.view());
        } catch (const error& refusal) {
          if (refusal.code() != errc::workspace_in_use) ++num_other_errors;
          continue;
        }
        const bool right = std::all_of(c.data(), c.data() + size * cols,
                                       [&](float value) { return value == static_cast<float>(caller + 1); });
        ++(right ? num_right : num_wrong);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(num_other_errors, 0);
  EXPECT_GT(num_right, 0);
}

/// Concurrent runs and updates: each C is the product with the values of one update, among those possible at its time.
TEST(plan_guards, new_values_come_whole_and_in_time) {
  constexpr std::int64_t size = 3000, cols = 8, num_runners = 3;
  constexpr int num_updates = 200;
  std::vector<std::int32_t> row_ptr(size + 1), col_ind(size);
  for (std::int32_t i = 0; i < size; ++i) {
    row_ptr[static_cast<std::size_t>(i) + 1] = i + 1;
    col_ind[static_cast<std::size_t>(i)] = size - 1 - i;
  }
  const auto times = [&](int factor) {
    return csr_matrix<float>(size, size, row_ptr, col_ind, std::vector<float>(size, static_cast<float>(factor)));
  };
  for (const bool is_transposed : {false, true}) {
    spmm_plan<float> plan(context::cpu(1), times(0), {.cols = cols});
    if (is_transposed) plan = std::move(*plan.transposed());
    std::atomic<int> begun{0}, done{0};
    std::atomic<std::int64_t> num_wrong{0}, num_runs{0};
    std::vector<std::thread> runners;
    for (std::int64_t runner = 0; runner < num_runners; ++runner) {
      runners.emplace_back([&] {
        dense_matrix<float> b(size, cols), c(size, cols);
        std::fill_n(b.data(), size * cols, 1.0f);
        while (done < num_updates) {
          const int least = done;
          plan.run(1.0f, b.view(), 0.0f, c.view());
          const int most = begun;
          const float got = c.data()[0];
          const bool whole = std::all_of(c.data(), c.data() + size * cols, [&](float x) { return x == got; });
          num_wrong += whole && static_cast<float>(least) <= got && got <= static_cast<float>(most) ? 0 : 1;
          ++num_runs;
        }
      });
    }
    // Against runs that never pause, which would keep an unfair lock to themselves.
    for (int k = 1; k <= num_updates; ++k) {
      begun = k;
      plan.update_values(times(k));
      done = k;
    }
    for (std::thread& runner : runners) runner.join();
    EXPECT_EQ(num_wrong, 0);
    EXPECT_GT(num_runs, 0);
  }
}

TEST(plan_guards, the_choice_has_the_least_predicted_time) {
  for (const std::int64_t cols : {1, 8, 32, 128, 512}) {
    const choice::problem p{
        .where = backend::cpu, .type = value_type::fp32, .rows = 4000, .inner = 4000, .nnz = 100000, .cols = cols};
    const auto kernels = choice::candidates(p, {});
    std::vector<block_statistics> statistics;
    for (const std::int64_t height : choice::heights(kernels, {})) {
      statistics.push_back({height, (4000 + height - 1) / height, 100000 / std::min<std::int64_t>(height, 10),
                            static_cast<double>(std::min<std::int64_t>(height, 10)), 100 * height, 1.5});
    }
    const choice::decision chosen = choice::choose(p, {}, kernels, statistics);
    const choice::problem known = choice::with_experience(choice::with_statistics(p, statistics));
    double least = -1, taken = -1;
    for (const auto* kernel : kernels) {
      for (const block_statistics& s : statistics) {
        if (s.m_block != kernel->info.m_tile) continue;
        const double seconds = choice::predict(known, *kernel, s);
        if (least < 0 || seconds < least) least = seconds;
        if (kernel == chosen.kernel && s.m_block == chosen.m_block) taken = seconds;
      }
    }
    EXPECT_EQ(taken, least) << "N = " << cols << ", chosen: " << chosen.kernel->info.name;
  }
}

TEST(pattern_statistics, a_missing_diagonal_entry_is_not_positive) {
  // Row 1 has no diagonal entry, but positive ones on both sides of it.
  const csr_matrix<double> a(3, 3, {0, 1, 3, 4}, {0, 0, 2, 2}, {1, 1, 1, 1});
  EXPECT_FALSE(analyse_pattern(a.view()).positive_diagonal);
  const csr_matrix<double> whole(3, 3, {0, 1, 4, 5}, {0, 0, 1, 2, 2}, {1, 1, 1, 1, 1});
  EXPECT_TRUE(analyse_pattern(whole.view()).positive_diagonal);
}

}  // namespace
}  // namespace bcsc
