// Conjugate gradients by the C interface, judged in long double from the triplets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "test/unit/capi_systems.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double untouched = -77;

/// What a solve of k right-hand sides tells, column by column.
struct told_columns {
  std::vector<double> residuals, recurrence, history;
  std::vector<std::int64_t> iterations;
  std::vector<int> reasons;
  std::string inner;

  told_columns(std::int64_t k, std::size_t max_history)
      : residuals(static_cast<std::size_t>(k), untouched),
        recurrence(residuals),
        history(max_history, untouched),
        iterations(residuals.size(), -1),
        reasons(residuals.size(), -1),
        inner(100, '?') {}

  void ask(bcsc_cg_options& options) {
    options.true_residuals = residuals.data();
    options.recurrence_residuals = recurrence.data();
    options.column_iterations = iterations.data();
    options.column_reasons = reasons.data();
    options.history = history.data();
    options.max_history = static_cast<std::int64_t>(history.size());
    options.inner_text = inner.data();
    options.inner_text_bytes = inner.size();
  }
  bool is_untouched() const {
    const auto all = [](const auto& numbers, auto value) {
      return std::ranges::all_of(numbers, [&](auto x) { return x == value; });
    };
    return all(residuals, untouched) && all(recurrence, untouched) && all(history, untouched) && all(iterations, -1) &&
           all(reasons, -1) && all(inner, '?');
  }
};

enum class way { plan, diagonal, plan_operator, function, matrix };
constexpr way ways[] = {way::plan, way::diagonal, way::plan_operator, way::function, way::matrix};

class capi_cg : public ::testing::Test {
 protected:
  static constexpr std::int64_t k = 3;
  capi_cg()
      : made_(bcsc_context_cpu(2, &context_)),
        a_(context_, laplace(17, 12)),
        b_(random_table<double>(a_.a.rows, k, values::real, 9)),
        x_(a_.a.rows, k, untouched),
        told_(k, 400) {
    EXPECT_EQ(made_, BCSC_OK);
    options_.tolerance = 1e-10;
  }
  ~capi_cg() override { bcsc_context_free(context_); }

  int solve(way by) { return solve(by, a_); }
  int solve(way by, c_system<double>& a, int order = BCSC_ROW_MAJOR) {
    const double* const b = b_.at.data();
    double* const x = x_.at.data();
    const std::int64_t ld = order == BCSC_ROW_MAJOR ? b_.cols : b_.rows, cols = b_.cols;
    switch (by) {
      case way::plan:
        return bcsc_solve_cg(a.plan, cols, nullptr, b, ld, x, ld, order, &result_, &options_);
      case way::diagonal:
        return bcsc_solve_cg(a.plan, cols, a.diagonal().data(), b, ld, x, ld, order, &result_, &options_);
      case way::plan_operator:
        return bcsc_solve_cg_operator(a.of_plan, cols, b, ld, x, ld, order, &result_, &options_);
      case way::function:
        return bcsc_solve_cg_operator(a.of_function, cols, b, ld, x, ld, order, &result_, &options_);
      case way::matrix:
        return bcsc_solve_cg_matrix(context_, a.matrix, cols, b, ld, x, ld, order, &result_, &options_);
    }
    return -1;
  }

  /// That the solution is one, and that what was told of it is true.
  void expect_solved() {
    EXPECT_EQ(result_.reason, BCSC_CG_CONVERGED);
    double largest = 0;
    for (std::int64_t j = 0; j < b_.cols; ++j) {
      SCOPED_TRACE("column " + std::to_string(j));
      const auto at = static_cast<std::size_t>(j);
      const auto exact = true_residual(a_.a, b_, x_, j);
      EXPECT_LE(exact.relative, options_.tolerance + exact.rounding);
      EXPECT_LE(std::fabs(told_.residuals[at] - exact.relative), exact.rounding);
      EXPECT_LE(told_.recurrence[at], 10 * options_.tolerance);
      EXPECT_EQ(told_.reasons[at], BCSC_CG_CONVERGED);
      EXPECT_GT(told_.iterations[at], 0);
      EXPECT_LE(told_.iterations[at], result_.iterations);
      largest = std::max(largest, told_.residuals[at]);
    }
    EXPECT_EQ(result_.true_residual, largest);
    EXPECT_EQ(result_.recurrence_residual, *std::ranges::max_element(told_.recurrence));
    EXPECT_GT(result_.num_products, result_.iterations);
  }

  bcsc_context context_ = nullptr;
  const int made_;
  c_system<double> a_;
  dense_table<double> b_, x_;
  told_columns told_;
  bcsc_cg_options options_ = sized<bcsc_cg_options>();
  bcsc_cg_result result_ = sized<bcsc_cg_result>();
};

TEST_F(capi_cg, every_way_to_give_a_solves_and_tells) {
  told_.ask(options_);
  for (const way by : ways) {
    SCOPED_TRACE(static_cast<int>(by));
    std::ranges::fill(told_.history, untouched);
    ASSERT_EQ(solve(by), BCSC_OK) << bcsc_last_error();
    expect_solved();
    EXPECT_EQ(*std::ranges::max_element(told_.iterations), result_.iterations);
    EXPECT_NEAR(told_.history.front(), 1, 1e-12);  // x = 0
    const auto end = told_.history.begin() + result_.iterations + 1;
    EXPECT_TRUE(std::all_of(told_.history.begin(), end, [](double r) { return r > 0 && r < 100; }));
    EXPECT_TRUE(std::all_of(end, told_.history.end(), [](double r) { return r == untouched; }));
    EXPECT_LE(*(end - 1), 1e-10);
    const char* const words = by == way::function ? "a callable" : by == way::plan_operator ? "a plan" : "fp64";
    EXPECT_NE(told_.inner.find(words), std::string::npos) << told_.inner;
  }
  // Column-major, no options, and nothing asked for.
  const auto exact = direct_solution(a_.a, b_);
  dense_table<double> by_columns(k, a_.a.rows), x(k, a_.a.rows);
  for (std::int64_t i = 0; i < a_.a.rows; ++i) {
    for (std::int64_t j = 0; j < k; ++j) by_columns(j, i) = b_(i, j);
  }
  ASSERT_EQ(bcsc_solve_cg_matrix(context_, a_.matrix, k, by_columns.at.data(), a_.a.rows, x.at.data(), a_.a.rows,
                                 BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_OK)
      << bcsc_last_error();
  for (std::int64_t i = 0; i < a_.a.rows; ++i) {
    for (std::int64_t j = 0; j < k; ++j) EXPECT_NEAR(x(j, i), static_cast<double>(exact(i, j)), 1e-5);
  }
}

TEST_F(capi_cg, block_iterations_are_fewer) {
  told_.ask(options_);
  ASSERT_EQ(solve(way::function), BCSC_OK);
  const std::int64_t side_by_side = result_.iterations;
  options_.method = BCSC_CG_METHOD_BLOCK;
  ASSERT_EQ(solve(way::function), BCSC_OK) << bcsc_last_error();
  expect_solved();
  EXPECT_LT(result_.iterations, side_by_side);
}

/// A preconditioner that is not the same twice.
TEST_F(capi_cg, polak_ribiere_bears_a_preconditioner_that_changes) {
  struct changing {
    std::int64_t rows;
    int calls = 0;
  } state{a_.a.rows};
  const bcsc_apply apply = [](void* data, int64_t cols, const void* alpha, const void* r, int64_t ldr, const void*,
                              void* z, int64_t ldz, int, void*) {
    auto& self = *static_cast<changing*>(data);
    ++self.calls;
    for (std::int64_t i = 0; i < self.rows; ++i) {
      const double factor = (i * 7 + self.calls * 13) % 5 == 0 ? 0.4 : 0.25;
      for (std::int64_t j = 0; j < cols; ++j) {
        static_cast<double*>(z)[i * ldz + j] =
            *static_cast<const double*>(alpha) * factor * static_cast<const double*>(r)[i * ldr + j];
      }
    }
    return int{BCSC_OK};
  };
  ASSERT_EQ(bcsc_operator_callback(context_, a_.a.rows, a_.a.rows, BCSC_FP64, apply, &state, &options_.precondition),
            BCSC_OK);
  told_.ask(options_);
  options_.max_iterations = 5000;
  std::int64_t iterations[2];
  for (const int beta : {BCSC_CG_BETA_FLETCHER_REEVES, BCSC_CG_BETA_POLAK_RIBIERE}) {
    options_.beta = beta;
    state.calls = 0;
    for (const way by : {way::plan, way::function, way::matrix}) {
      ASSERT_EQ(solve(by), BCSC_OK) << bcsc_last_error();
      EXPECT_GT(state.calls, 0);
      iterations[beta] = result_.iterations;
    }
  }
  expect_solved();
  EXPECT_LT(2 * iterations[1], iterations[0]);
  bcsc_operator_free(options_.precondition);
}

TEST_F(capi_cg, corrections_replace_the_residual) {
  told_.ask(options_);
  ASSERT_EQ(solve(way::function), BCSC_OK);
  EXPECT_LE(result_.num_replacements, 2);
  options_.correction = BCSC_CG_CORRECTION_RECOMPUTE;
  options_.correction_when = 7;
  ASSERT_EQ(solve(way::function), BCSC_OK) << bcsc_last_error();
  expect_solved();
  EXPECT_GE(result_.num_replacements, result_.iterations / 7 - 1);
  options_.correction = BCSC_CG_CORRECTION_RELIABLE;
  options_.correction_when = 0.1;
  ASSERT_EQ(solve(way::function), BCSC_OK) << bcsc_last_error();
  expect_solved();
  EXPECT_GE(result_.num_replacements, 6);  // 1 to 1e-10
  EXPECT_LE(result_.num_replacements, 11);
}

/// The host looks at the residuals after so many products.
TEST_F(capi_cg, looks_as_seldom_as_it_is_told) {
  struct first_look {
    const triplet_product<double>* product;
    int products = -1, calls = 0;
  } look{&a_.product};
  options_.progress_data = &look;
  options_.progress = [](void* data, int64_t iteration, double residual) {
    auto& seen = *static_cast<first_look*>(data);
    if (seen.calls++ == 0) seen.products = seen.product->calls;
    EXPECT_EQ(iteration, seen.calls);
    EXPECT_GT(residual, 0);
    return 1;
  };
  for (const int every : {1, 11}) {
    options_.check_every = every;
    look = {&a_.product};
    a_.product.calls = 0;
    ASSERT_EQ(solve(way::function), BCSC_OK) << bcsc_last_error();
    EXPECT_GE(look.products, every);
    EXPECT_LT(look.products, every + 3);
    EXPECT_EQ(look.calls, result_.iterations);
    EXPECT_EQ(a_.product.calls, result_.num_products);
  }
}

TEST_F(capi_cg, starts_where_it_is_told) {
  told_.ask(options_);
  for (const way by : ways) {
    ASSERT_EQ(solve(by), BCSC_OK);
    const std::int64_t from_zero = result_.iterations;
    for (double& entry : x_.at) entry += 1e-7;
    options_.use_initial_guess = 1;
    ASSERT_EQ(solve(by), BCSC_OK);
    EXPECT_LT(result_.iterations, from_zero / 2 + 2);
    EXPECT_LT(told_.history.front(), 1e-4);
    expect_solved();
    options_.use_initial_guess = 0;
  }
}

TEST_F(capi_cg, each_right_hand_side_ends_by_itself) {
  told_.ask(options_);
  for (std::int64_t i = 0; i < b_.rows; ++i) b_(i, 1) = 0;
  b_(5, 2) = nan;
  for (const way by : ways) {
    ASSERT_EQ(solve(by), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(told_.reasons, (std::vector<int>{BCSC_CG_CONVERGED, BCSC_CG_CONVERGED, BCSC_CG_NOT_FINITE}));
    EXPECT_EQ(result_.reason, BCSC_CG_NOT_FINITE);
    EXPECT_GT(told_.iterations[0], 0);
    EXPECT_EQ(told_.iterations[1], 0);
    EXPECT_EQ(told_.residuals[1], 0);
    EXPECT_LE(true_residual(a_.a, b_, x_, 0).relative, 2e-10L);
    EXPECT_TRUE(std::isnan(result_.true_residual));
  }
  // None at all is solved at once, and told of nowhere.
  ASSERT_EQ(bcsc_solve_cg_operator(a_.of_plan, 0, nullptr, 1, nullptr, 1, BCSC_ROW_MAJOR, &result_, &options_), BCSC_OK)
      << bcsc_last_error();
  EXPECT_EQ(result_.reason, BCSC_CG_CONVERGED);
  EXPECT_EQ(result_.true_residual, 0);
}

// --- Less precision within the iteration ----------------------------------------------------------------------------

TEST_F(capi_cg, a_matrix_is_rounded_and_says_so) {
  options_.tolerance = 1e-12;
  told_.ask(options_);
  struct rounding {
    int inner, correction;
    double when;
    const char* words;
  };
  for (const auto& [inner, correction, when, words] :
       {rounding{BCSC_CG_INNER_FP32, BCSC_CG_CORRECTION_REFINE, 0.01, "fp32"},
        {BCSC_CG_INNER_AS_GIVEN, BCSC_CG_CORRECTION_REFINE, 0.01, "fp32"},
        {BCSC_CG_INNER_TF32, BCSC_CG_CORRECTION_RELIABLE, 0.01, "fp32"},
        {BCSC_CG_INNER_TF32X3, BCSC_CG_CORRECTION_RELIABLE, 0.01, "fp32"},
        {BCSC_CG_INNER_BF16, BCSC_CG_CORRECTION_REFINE, 0.1, "A rounded to bf16"}}) {
    SCOPED_TRACE(inner);
    options_.inner = inner;
    options_.correction = correction;
    options_.correction_when = when;
    ASSERT_EQ(solve(way::matrix), BCSC_OK) << bcsc_last_error();
    expect_solved();
    EXPECT_GE(result_.num_replacements, 3);
    EXPECT_NE(told_.inner.find(words), std::string::npos) << told_.inner;
  }
  char few[4] = "???";
  options_.inner_text = few;
  options_.inner_text_bytes = 3;
  ASSERT_EQ(solve(way::matrix), BCSC_OK);
  EXPECT_STREQ(few, "A ");
  // What has no room is left out.
  options_.max_history = 2;
  std::ranges::fill(told_.history, untouched);
  ASSERT_EQ(solve(way::matrix), BCSC_OK);
  EXPECT_NE(told_.history[1], untouched);
  EXPECT_EQ(told_.history[2], untouched);
}

TEST_F(capi_cg, takes_operators_of_less_precision) {
  c_system<float> narrow(context_, a_.a);
  sparse_case quarter{"quarter", a_.a.rows, a_.a.rows, {}};
  for (std::int64_t i = 0; i < quarter.rows; ++i) quarter.entries.push_back({i, i, 0.25});
  c_system<double> m(context_, quarter);
  c_system<float> narrow_m(context_, quarter);
  options_.tolerance = 1e-12;
  told_.ask(options_);
  options_.inner_operator = narrow.of_function;
  options_.correction = BCSC_CG_CORRECTION_RELIABLE;
  options_.correction_when = 0.01;
  options_.precondition = m.of_function;
  for (const way by : {way::plan, way::function}) {
    narrow.product.calls = m.product.calls = narrow_m.product.calls = 0;
    ASSERT_EQ(solve(by), BCSC_OK) << bcsc_last_error();
    expect_solved();
    EXPECT_GE(narrow.product.calls, result_.iterations);
    EXPECT_GE(m.product.calls, result_.iterations);
  }
  a_.product.calls = m.product.calls = 0;
  options_.correction = BCSC_CG_CORRECTION_REFINE;
  options_.inner_precondition = narrow_m.of_function;
  ASSERT_EQ(solve(way::function), BCSC_OK) << bcsc_last_error();
  expect_solved();
  EXPECT_GE(narrow_m.product.calls, result_.iterations);
  EXPECT_EQ(m.product.calls, 0);
  EXPECT_LT(a_.product.calls, result_.num_replacements + 3);
}

// --- Failures -------------------------------------------------------------------------------------------------------

TEST_F(capi_cg, a_failing_callback_leaves_everything_as_it_was) {
  told_.ask(options_);
  for (const auto& [with, wanted] : {std::pair(int{BCSC_ERROR_OUT_OF_MEMORY}, int{BCSC_ERROR_OUT_OF_MEMORY}),
                                     {4711, int{BCSC_ERROR_INVALID_ARGUMENT}}}) {
    a_.product.calls = 0, a_.product.fails_at = 4, a_.product.fails_with = with;
    result_.iterations = 123;
    EXPECT_EQ(solve(way::function), wanted);
    EXPECT_TRUE(says("callback returned " + std::to_string(with))) << bcsc_last_error();
    EXPECT_EQ(a_.product.calls, 5);
    EXPECT_TRUE(told_.is_untouched());
    EXPECT_EQ(result_.iterations, 123);
    EXPECT_EQ(x_.at, dense_table<double>(x_.rows, x_.cols, untouched).at);
  }
  options_.progress = [](void*, int64_t, double) -> int { throw 1; };
  EXPECT_EQ(solve(way::plan_operator), BCSC_ERROR_INTERNAL);
  EXPECT_TRUE(told_.is_untouched());
}

/// Structs of the header before all this was there, followed by memory that is not theirs.
TEST_F(capi_cg, an_older_caller_is_served_as_ever) {
  ASSERT_EQ(offsetof(bcsc_cg_options, method), 48u);
  ASSERT_EQ(offsetof(bcsc_cg_result, num_replacements), 48u);
  std::memset(&options_.method, 0xff, sizeof options_ - 48);
  std::memset(&result_.num_replacements, 0xff, sizeof result_ - 48);
  options_.size = result_.size = 48;
  for (const way by : ways) {
    ASSERT_EQ(solve(by), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(result_.reason, BCSC_CG_CONVERGED);
    EXPECT_EQ(result_.size, 48u);
    EXPECT_EQ(result_.num_replacements, -1);
    EXPECT_LE(true_residual(a_.a, b_, x_, 0).relative, 2e-10L);
  }
}

TEST_F(capi_cg, a_newer_caller_is_served_unless_it_asks_for_more) {
  struct {
    bcsc_cg_options known = sized<bcsc_cg_options>();
    std::int64_t more = 0;
  } newer;
  newer.known.size = sizeof newer;
  const auto call = [&] {
    return bcsc_solve_cg_operator(a_.of_plan, k, b_.at.data(), k, x_.at.data(), k, BCSC_ROW_MAJOR, &result_,
                                  &newer.known);
  };
  EXPECT_EQ(call(), BCSC_OK) << bcsc_last_error();
  newer.more = 1;
  EXPECT_EQ(call(), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.size = " + std::to_string(sizeof newer))) << bcsc_last_error();
}

TEST_F(capi_cg, refuses_what_is_no_system) {
  const double* const b = b_.at.data();
  double* const x = x_.at.data();
  const bcsc_operator a = a_.of_plan;
  EXPECT_EQ(bcsc_solve_cg_operator(a, k, b, k, x, k, BCSC_ROW_MAJOR, nullptr, nullptr), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("result is null"));
  EXPECT_EQ(bcsc_solve_cg_operator(a, k, nullptr, k, x, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("B.data is null"));
  EXPECT_EQ(bcsc_solve_cg_operator(a, k, b, k, nullptr, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("X.data is null"));
  EXPECT_EQ(bcsc_solve_cg_operator(a, k, b, k - 1, x, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_BAD_LEADING_DIMENSION);
  EXPECT_EQ(bcsc_solve_cg_operator(a, -1, b, k, x, k, BCSC_ROW_MAJOR, &result_, nullptr), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("204 x -1"));
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(bcsc_solve_cg_operator(a, huge, b, huge, x, huge, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_SIZE_OVERFLOW);
  EXPECT_EQ(bcsc_solve_cg_matrix(context_, nullptr, k, b, k, x, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("matrix is null"));
  for (const int order : {-1, 2}) {
    EXPECT_EQ(bcsc_solve_cg_matrix(context_, a_.matrix, k, b, k, x, k, order, &result_, nullptr),
              BCSC_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(says("layout = " + std::to_string(order)));
  }
  bcsc_sparse blocks = nullptr;
  ASSERT_EQ(bcsc_sparse_to_bcsc(a_.matrix, 4, &blocks), BCSC_OK);
  EXPECT_EQ(bcsc_solve_cg_matrix(context_, blocks, k, b, k, x, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_UNSUPPORTED);
  EXPECT_TRUE(says("matrix is bcsc of fp64"));
  bcsc_sparse_free(blocks);
  auto by_columns = sized<bcsc_plan_options>();
  by_columns.b_layout = BCSC_COL_MAJOR;
  bcsc_plan plan = nullptr;
  ASSERT_EQ(bcsc_plan_create(context_, a_.matrix, &plan, &by_columns), BCSC_OK);
  EXPECT_EQ(bcsc_solve_cg(plan, k, nullptr, b, k, x, k, BCSC_ROW_MAJOR, &result_, nullptr), BCSC_ERROR_LAYOUT_MISMATCH);
  bcsc_plan_free(plan);
  c_system<double> other(context_, laplace(3, 3));
  options_.precondition = other.of_plan;
  EXPECT_EQ(solve(way::function), BCSC_ERROR_SIZE_MISMATCH);
  EXPECT_EQ(solve(way::matrix), BCSC_ERROR_SIZE_MISMATCH);
  EXPECT_EQ(x_.at, dense_table<double>(x_.rows, x_.cols, untouched).at);
}

}  // namespace
}  // namespace bcsc::test
