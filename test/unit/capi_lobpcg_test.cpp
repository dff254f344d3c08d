#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "test/support/lapack.hpp"
#include "test/unit/capi_systems.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {
namespace {

constexpr std::int64_t n = 30;

double eigenvalue(std::int64_t j) { return 2 - 2 * std::cos(std::acos(-1.0) * static_cast<double>(j + 1) / (n + 1)); }

class capi_lobpcg : public testing::Test {
 protected:
  capi_lobpcg() : made_(bcsc_context_cpu(1, &context_)), a_(context_, tridiagonal(n, 2)) { EXPECT_EQ(made_, BCSC_OK); }
  ~capi_lobpcg() override { bcsc_context_free(context_); }
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
  int solve(bcsc_operator of, std::int64_t k = 3) {
    return bcsc_solve_lobpcg(of, k, values_, residuals_, x_, n, BCSC_COL_MAJOR, &result_, &options_);
  }

  bcsc_context context_ = nullptr;
  int made_;
  c_system<double> a_;
  bcsc_lobpcg_options options_ = sized<bcsc_lobpcg_options>();
  bcsc_lobpcg_result result_ = sized<bcsc_lobpcg_result>();
  double values_[n] = {}, residuals_[n] = {}, x_[n * n] = {};
};

TEST_F(capi_lobpcg, finds_pairs_of_a_plan_and_of_a_function) {
  for (const bcsc_operator of : {a_.of_plan, a_.of_function}) {
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{3}, n}) {
      ASSERT_EQ(solve(of, k), BCSC_OK) << bcsc_last_error();
      EXPECT_EQ(result_.reason, BCSC_LOBPCG_CONVERGED);
      EXPECT_EQ(result_.num_converged, k);
      EXPECT_EQ(result_.tolerance, 1e-10);
      for (std::int64_t j = 0; j < k; ++j) {
        EXPECT_NEAR(values_[j], eigenvalue(j), 1e-9);
        EXPECT_LE(residuals_[j], 1e-10);
        const double first = std::abs(x_[j * n] / x_[j * n + 1]);  // sin(t) / sin(2 t)
        const double t = std::acos(-1.0) * static_cast<double>(j + 1) / (n + 1);
        EXPECT_NEAR(first / std::abs(std::sin(t) / std::sin(2 * t)), 1, 1e-6);
      }
    }
  }
}

TEST_F(capi_lobpcg, takes_its_options) {
  options_.which = BCSC_SPECTRUM_LARGEST;
  options_.scale = BCSC_RESIDUAL_EIGENVALUE;
  options_.tolerance = 1e-8;
  options_.num_guards = 2;
  options_.seed = 7;
  options_.precondition = nullptr;
  ASSERT_EQ(solve(a_.of_plan), BCSC_OK) << bcsc_last_error();
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], eigenvalue(n - 1 - j), 1e-7);
  EXPECT_EQ(result_.block_size, 5);
  EXPECT_EQ(result_.tolerance, 1e-8);

  // The three known ones as constraints, none of which is found again.
  const std::vector<double> known(x_, x_ + 3 * n);
  options_.constraints = known.data();
  options_.num_constraints = 3;
  options_.ld_constraints = n;
  options_.num_guards = -1;
  ASSERT_EQ(solve(a_.of_plan), BCSC_OK) << bcsc_last_error();
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], eigenvalue(n - 4 - j), 1e-6);
  EXPECT_EQ(result_.block_size, 3);

  // A as its own B: every eigenvalue is 1; and the callback stops it at once.
  options_ = sized<bcsc_lobpcg_options>();
  options_.b = a_.of_function;
  int told = 0;
  options_.progress_data = &told;
  options_.progress = [](void* data, int64_t, double, int64_t) { return ++*static_cast<int*>(data) < 1 ? 1 : 0; };
  ASSERT_EQ(solve(a_.of_plan), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(result_.reason, BCSC_LOBPCG_CANCELLED);
  EXPECT_EQ(told, 1);
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], 1, 1e-12);
}

TEST_F(capi_lobpcg, a_failing_callback_is_its_code) {
  for (const auto& [with, wanted] : {std::pair(int{BCSC_ERROR_OUT_OF_MEMORY}, int{BCSC_ERROR_OUT_OF_MEMORY}),
                                     {12345, int{BCSC_ERROR_INVALID_ARGUMENT}}}) {
    a_.product.calls = 0, a_.product.fails_at = 4, a_.product.fails_with = with;
    std::memset(values_, 0, sizeof values_);
    EXPECT_EQ(solve(a_.of_function), wanted);
    EXPECT_TRUE(says("callback returned " + std::to_string(with))) << bcsc_last_error();
    EXPECT_EQ(values_[0], 0);
    EXPECT_EQ(a_.product.calls, 5);
  }
}

TEST_F(capi_lobpcg, refuses_what_does_not_fit) {
  EXPECT_EQ(bcsc_solve_lobpcg(nullptr, 1, values_, nullptr, x_, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("a is null"));
  EXPECT_EQ(bcsc_solve_lobpcg(a_.of_plan, 1, nullptr, nullptr, x_, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(a_.of_plan, 1, values_, nullptr, nullptr, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(a_.of_plan, 1, values_, nullptr, x_, n, BCSC_COL_MAJOR, nullptr, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(a_.of_plan, 1, values_, nullptr, x_, n, 2, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(solve(a_.of_plan, n + 1), BCSC_ERROR_INVALID_ARGUMENT);
  options_.which = 2;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.which = 2"));
  options_.which = 0, options_.num_guards = -2;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  options_.num_guards = 0, options_.reserved = 1;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  options_.reserved = 0, options_.num_constraints = 1;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_BAD_LEADING_DIMENSION);
  options_.ld_constraints = n;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  options_.num_constraints = 0;

  bcsc_operator made = nullptr;
  ASSERT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP32, triplet_product<double>::apply, &a_.product, &made),
            BCSC_OK);
  options_.b = made;
  EXPECT_EQ(solve(a_.of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.b is of fp32: must be of fp64"));
  bcsc_operator_free(made);

  made = nullptr;
  EXPECT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP16, triplet_product<double>::apply, &a_.product, &made),
            BCSC_ERROR_UNSUPPORTED);
  EXPECT_EQ(bcsc_operator_callback(context_, -1, n, BCSC_FP64, triplet_product<double>::apply, &a_.product, &made),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP64, nullptr, &a_.product, &made),
            BCSC_ERROR_INVALID_ARGUMENT);
  bcsc_plan_options planning{};
  planning.size = sizeof planning;
  planning.b_layout = BCSC_COL_MAJOR;
  bcsc_plan by_columns = nullptr;
  ASSERT_EQ(bcsc_plan_create(context_, a_.matrix, &by_columns, &planning), BCSC_OK);
  EXPECT_EQ(bcsc_operator_plan(by_columns, &made), BCSC_ERROR_LAYOUT_MISMATCH);
  bcsc_plan_free(by_columns);
  EXPECT_EQ(bcsc_operator_plan(nullptr, &made), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  bcsc_operator_free(nullptr);
}

}  // namespace
}  // namespace bcsc::test
