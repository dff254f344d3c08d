#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bcsc/capi.h"
#include "test/support/lapack.hpp"

namespace {

constexpr std::int64_t n = 30;

/// -1 2 -1 as plain arrays, and as a function that counts its calls and may fail.
struct chain {
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  int calls = 0, fails_at = -1, fails_with = 0;

  chain() {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = std::max<std::int64_t>(0, i - 1); j < std::min(n, i + 2); ++j) {
        col_ind.push_back(static_cast<std::int32_t>(j));
        values.push_back(i == j ? 2 : -1);
      }
      row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
    }
  }

  bcsc_csr_arrays csr() const {
    bcsc_csr_arrays arrays{};
    arrays.size = sizeof arrays;
    arrays.value_type = BCSC_FP64;
    arrays.rows = arrays.cols = n;
    arrays.nnz = static_cast<std::int64_t>(values.size());
    arrays.row_ptr = row_ptr.data();
    arrays.col_ind = col_ind.data();
    arrays.values = values.data();
    return arrays;
  }

  static int apply(void* data, int64_t k, const void* alpha, const void* x, int64_t ldx, const void* beta, void* y,
                   int64_t ldy, int in_place, void*) {
    auto& self = *static_cast<chain*>(data);
    EXPECT_EQ(in_place, 0);
    if (self.calls++ == self.fails_at) return self.fails_with;
    const auto* const from = static_cast<const double*>(x);
    auto* const to = static_cast<double*>(y);
    const double factor = *static_cast<const double*>(alpha), old = *static_cast<const double*>(beta);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        double sum = 2 * from[i * ldx + j];
        if (i > 0) sum -= from[(i - 1) * ldx + j];
        if (i + 1 < n) sum -= from[(i + 1) * ldx + j];
        to[i * ldy + j] = factor * sum + (old != 0 ? old * to[i * ldy + j] : 0);
      }
    }
    return 0;
  }
};

double eigenvalue(std::int64_t j) { return 2 - 2 * std::cos(std::acos(-1.0) * static_cast<double>(j + 1) / (n + 1)); }

class capi_lobpcg : public testing::Test {
 protected:
  capi_lobpcg() {
    EXPECT_EQ(bcsc_context_cpu(1, &context_), BCSC_OK);
    const bcsc_csr_arrays arrays = chain_.csr();
    EXPECT_EQ(bcsc_sparse_csr(&arrays, &matrix_), BCSC_OK);
    EXPECT_EQ(bcsc_plan_create(context_, matrix_, &plan_, nullptr), BCSC_OK);
    EXPECT_EQ(bcsc_operator_plan(plan_, &of_plan_), BCSC_OK);
    EXPECT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP64, chain::apply, &chain_, &of_function_), BCSC_OK);
    options_.size = sizeof options_;
    result_.size = sizeof result_;
  }
  ~capi_lobpcg() override {
    bcsc_operator_free(of_function_);
    bcsc_operator_free(of_plan_);
    bcsc_plan_free(plan_);
    bcsc_sparse_free(matrix_);
    bcsc_context_free(context_);
  }
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
  int solve(bcsc_operator of, std::int64_t k = 3) {
    return bcsc_solve_lobpcg(of, k, values_, residuals_, x_, n, BCSC_COL_MAJOR, &result_, &options_);
  }
  bool says(const std::string& words) const { return std::string(bcsc_last_error()).find(words) != std::string::npos; }

  chain chain_;
  bcsc_context context_ = nullptr;
  bcsc_sparse matrix_ = nullptr;
  bcsc_plan plan_ = nullptr;
  bcsc_operator of_plan_ = nullptr, of_function_ = nullptr;
  bcsc_lobpcg_options options_{};
  bcsc_lobpcg_result result_{};
  double values_[n] = {}, residuals_[n] = {}, x_[n * n] = {};
};

TEST_F(capi_lobpcg, finds_pairs_of_a_plan_and_of_a_function) {
  for (const bcsc_operator of : {of_plan_, of_function_}) {
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
  ASSERT_EQ(solve(of_plan_), BCSC_OK) << bcsc_last_error();
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], eigenvalue(n - 1 - j), 1e-7);
  EXPECT_EQ(result_.block_size, 5);
  EXPECT_EQ(result_.tolerance, 1e-8);

  // The three known ones as constraints, none of which is found again.
  const std::vector<double> known(x_, x_ + 3 * n);
  options_.constraints = known.data();
  options_.num_constraints = 3;
  options_.ld_constraints = n;
  options_.num_guards = -1;
  ASSERT_EQ(solve(of_plan_), BCSC_OK) << bcsc_last_error();
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], eigenvalue(n - 4 - j), 1e-6);
  EXPECT_EQ(result_.block_size, 3);

  // A as its own B: every eigenvalue is 1; and the callback stops it at once.
  options_ = {};
  options_.size = sizeof options_;
  options_.b = of_function_;
  int told = 0;
  options_.progress_data = &told;
  options_.progress = [](void* data, int64_t, double, int64_t) { return ++*static_cast<int*>(data) < 1 ? 1 : 0; };
  ASSERT_EQ(solve(of_plan_), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(result_.reason, BCSC_LOBPCG_CANCELLED);
  EXPECT_EQ(told, 1);
  for (std::int64_t j = 0; j < 3; ++j) EXPECT_NEAR(values_[j], 1, 1e-12);
}

TEST_F(capi_lobpcg, a_failing_callback_is_its_code) {
  for (const auto& [with, wanted] : {std::pair(int{BCSC_ERROR_OUT_OF_MEMORY}, int{BCSC_ERROR_OUT_OF_MEMORY}),
                                     {12345, int{BCSC_ERROR_INVALID_ARGUMENT}}}) {
    chain_.calls = 0, chain_.fails_at = 4, chain_.fails_with = with;
    std::memset(values_, 0, sizeof values_);
    EXPECT_EQ(solve(of_function_), wanted);
    EXPECT_TRUE(says("callback returned " + std::to_string(with))) << bcsc_last_error();
    EXPECT_EQ(values_[0], 0);
    EXPECT_EQ(chain_.calls, 5);
  }
}

TEST_F(capi_lobpcg, refuses_what_does_not_fit) {
  EXPECT_EQ(bcsc_solve_lobpcg(nullptr, 1, values_, nullptr, x_, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("a is null"));
  EXPECT_EQ(bcsc_solve_lobpcg(of_plan_, 1, nullptr, nullptr, x_, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(of_plan_, 1, values_, nullptr, nullptr, n, BCSC_COL_MAJOR, &result_, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(of_plan_, 1, values_, nullptr, x_, n, BCSC_COL_MAJOR, nullptr, nullptr),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_solve_lobpcg(of_plan_, 1, values_, nullptr, x_, n, 2, &result_, nullptr), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(solve(of_plan_, n + 1), BCSC_ERROR_INVALID_ARGUMENT);
  options_.which = 2;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.which = 2"));
  options_.which = 0, options_.num_guards = -2;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_INVALID_ARGUMENT);
  options_.num_guards = 0, options_.reserved = 1;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_INVALID_ARGUMENT);
  options_.reserved = 0, options_.num_constraints = 1;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_BAD_LEADING_DIMENSION);
  options_.ld_constraints = n;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_INVALID_ARGUMENT);
  options_.num_constraints = 0;

  bcsc_operator made = nullptr;
  ASSERT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP32, chain::apply, &chain_, &made), BCSC_OK);
  options_.b = made;
  EXPECT_EQ(solve(of_plan_), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(says("options.b is of fp32: must be of fp64"));
  bcsc_operator_free(made);

  made = nullptr;
  EXPECT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP16, chain::apply, &chain_, &made), BCSC_ERROR_UNSUPPORTED);
  EXPECT_EQ(bcsc_operator_callback(context_, -1, n, BCSC_FP64, chain::apply, &chain_, &made),
            BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(bcsc_operator_callback(context_, n, n, BCSC_FP64, nullptr, &chain_, &made), BCSC_ERROR_INVALID_ARGUMENT);
  bcsc_plan_options planning{};
  planning.size = sizeof planning;
  planning.b_layout = BCSC_COL_MAJOR;
  bcsc_plan by_columns = nullptr;
  ASSERT_EQ(bcsc_plan_create(context_, matrix_, &by_columns, &planning), BCSC_OK);
  EXPECT_EQ(bcsc_operator_plan(by_columns, &made), BCSC_ERROR_LAYOUT_MISMATCH);
  bcsc_plan_free(by_columns);
  EXPECT_EQ(bcsc_operator_plan(nullptr, &made), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(made, nullptr);
  bcsc_operator_free(nullptr);
}

}  // namespace
