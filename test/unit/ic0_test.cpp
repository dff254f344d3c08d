// The incomplete Cholesky factorisation, against dense matrices.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <optional>

#include "bcsc/generate.hpp"
#include "bcsc/preconditioners.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/preconditioner_support.hpp"

namespace bcsc::test {

namespace {

class an_ic0 : public testing::TestWithParam<backend> {
 protected:
  std::optional<context> ctx = context_of(GetParam());
};

/// L L', from what the operator does.
Eigen::MatrixXd product_of_factors(const linear_operator<double>& m) { return dense_of(m).inverse(); }

/// Rows and columns of unlike size, which the factorisation scales.
sparse_case uneven(sparse_case a) {
  const auto size = [](std::int64_t i) { return std::pow(10.0, static_cast<double>(i * 7 % 11) / 5); };
  for (triplet& e : a.entries) e.value *= size(e.row) * size(e.col);
  return a;
}

TEST_P(an_ic0, is_a_on_its_pattern_without_fill) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = uneven(laplace({.nx = 6, .ny = 5, .nz = 4, .across = 0.3}));
  const Eigen::MatrixXd full = to_eigen(a), m = product_of_factors(ic0_preconditioner(*ctx, csr_of<double>(a)));
  const Eigen::VectorXd size = full.diagonal().cwiseSqrt();
  const Eigen::MatrixXd l = m.llt().matrixL();
  double beside = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double apart = std::abs(m(i, j) - full(i, j)) / (size(i) * size(j));
      if (full(i, j) != 0) {
        EXPECT_LT(apart, 1e-12) << i << " " << j;
      } else {
        EXPECT_LT(std::abs(l(i, j)) / size(i), 1e-12) << i << " " << j;
        beside = std::max(beside, apart);
      }
    }
  }
  EXPECT_GT(beside, 1e-3) << "it is incomplete";
}

/// A tridiagonal matrix has no fill, and an arrow none if it points down.
TEST_P(an_ic0, is_exact_where_there_is_no_fill) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  sparse_case arrow{"arrow", 200, 200, {}};
  for (std::int64_t i = 0; i < 199; ++i) {
    arrow.entries.push_back({i, i, 2});
    arrow.entries.push_back({i, 199, 0.1});
  }
  for (std::int64_t j = 0; j < 199; ++j) arrow.entries.push_back({199, j, 0.1});
  arrow.entries.push_back({199, 199, 3});
  for (const sparse_case& a : {uneven(laplace({.nx = 300, .ny = 1, .nz = 1})), uneven(arrow)}) {
    EXPECT_EQ(count_iterations(a, ic0_preconditioner(*ctx, csr_of<double>(a))), 1);
  }
}

TEST_P(an_ic0, treats_each_vector_alike) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto a = generate::elasticity<double>(6, 3, 3);
  const auto m = ic0_preconditioner(*ctx, a);
  const auto r = random_block(a.rows(), 17, 3);
  const auto together = apply(m, r);
  for (std::int64_t j = 0; j < r.cols; ++j) {
    dense_table<double> one(r.rows, 1);
    for (std::int64_t i = 0; i < r.rows; ++i) one(i, 0) = r(i, j);
    const auto alone = apply(m, one);
    for (std::int64_t i = 0; i < r.rows; ++i) {
      ASSERT_NEAR(alone(i, 0), together(i, j), GetParam() == backend::cpu ? 0 : 1e-10 * std::abs(alone(i, 0)) + 1e-12);
    }
  }
}

/// Kershaw's matrix (1978): positive definite, and the last pivot is negative.
TEST_P(an_ic0, shifts_the_diagonal_where_a_pivot_is_not_positive) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = from_entries(4, {{0, 0, 3},
                                         {0, 1, -2},
                                         {0, 3, 2},
                                         {1, 0, -2},
                                         {1, 1, 3},
                                         {1, 2, -2},
                                         {2, 1, -2},
                                         {2, 2, 3},
                                         {2, 3, -2},
                                         {3, 0, 2},
                                         {3, 2, -2},
                                         {3, 3, 3}});
  const auto m = ic0_preconditioner(*ctx, csr_of<double>(a));
  EXPECT_EQ(m.describe().find("shift 0,"), std::string::npos) << m.describe();
  EXPECT_NE(m.describe().find("shift 0."), std::string::npos) << m.describe();
  expect_symmetric_positive(m, 1e-13);
  EXPECT_LE(count_iterations(a, m), 5);
}

TEST_P(an_ic0, begins_with_the_shift_that_it_is_given) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 5, .ny = 1, .nz = 1});
  const Eigen::MatrixXd full = to_eigen(a);
  const auto m = ic0_preconditioner(*ctx, csr_of<double>(a), {.shift = 0.25});
  const Eigen::MatrixXd shifted = full + 0.25 * Eigen::MatrixXd(full.diagonal().asDiagonal());
  EXPECT_LT((product_of_factors(m) - shifted).norm(), 1e-12);
  EXPECT_NE(m.describe().find("shift 0.25"), std::string::npos) << m.describe();
}

INSTANTIATE_TEST_SUITE_P(backends, an_ic0, testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

/// Two levels of 20,000 rows that are worked off in pieces, and chains that are not.
TEST(ic0, is_the_same_for_any_number_of_threads) {
  constexpr std::int64_t half = 20000;
  sparse_case wide{"two levels", 2 * half, 2 * half, {}};
  for (std::int64_t i = 0; i < 2 * half; ++i) {
    std::vector<triplet> row{{i, i, 5}};
    const std::int64_t first = i < half ? half : 0;
    for (const std::int64_t step : {0, 17, 4711}) {
      // The same couples, seen from either side.
      const std::int64_t other = i < half ? (i + step) % half : (i - half - step + half) % half;
      row.push_back({i, first + other, 1.0 / static_cast<double>(2 + step % 5)});
    }
    std::ranges::sort(row, {}, &triplet::col);
    wide.entries.insert(wide.entries.end(), row.begin(), row.end());
  }
  for (const sparse_case& a : {wide, laplace({.nx = 20, .ny = 19, .nz = 18})}) {
    const auto r = random_block(a.rows, 3, 7);
    const auto one = apply(ic0_preconditioner(context::cpu(1), csr_of<double>(a)), r);
    for (const int threads : {2, 3, 16}) {
      EXPECT_EQ(apply(ic0_preconditioner(context::cpu(threads), csr_of<double>(a)), r).at, one.at) << threads;
    }
  }
}

TEST(ic0, saves_iterations_on_a_grid) {
  const sparse_case a = laplace({.nx = 24, .ny = 24, .nz = 24});
  const auto csr = csr_of<double>(a);
  const context ctx = context::cpu(2);
  EXPECT_LT(2 * count_iterations(a, ic0_preconditioner(ctx, csr)),
            count_iterations(a, jacobi_preconditioner(ctx, csr)));
}

}  // namespace

}  // namespace bcsc::test
