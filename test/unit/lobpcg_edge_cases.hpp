#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "test/support/code_of.hpp"
#include "test/unit/lobpcg_cases.hpp"

/// Pencils at the edge: a B of low rank, and numbers whose squares leave the range of their type.
namespace bcsc::test {

// --- A B of low rank ------------------------------------------------------------------------------------------------

/// What a B of low rank is made of: so many entries of the diagonal, evenly spread.
inline MatrixXd point_masses(std::int64_t n, std::int64_t rank) {
  MatrixXd b = MatrixXd::Zero(n, n);
  for (std::int64_t i = 0; i < rank; ++i) b(i * (n / rank), i * (n / rank)) = 1 + 0.25 * static_cast<double>(i % 3);
  return b;
}

/// The finite eigenvalues of A x = lambda B x, ascending, A positive definite, in the span of `within`.
template <class T>
std::vector<double> finite_eigenvalues(const pencil& p, std::int64_t rank, const MatrixXd& within) {
  const MatrixXd a = within.transpose() * rounded<T>(p.a) * within, b = within.transpose() * rounded<T>(*p.b) * within;
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(b, a);
  std::vector<double> values;
  for (std::int64_t j = 0; j < rank; ++j) values.push_back(1 / oracle.eigenvalues()(a.rows() - 1 - j));
  return values;
}

template <class T>
void expect_finite_pairs_of_low_rank(place where, const context& ctx) {
  for (const std::int64_t rank : {1, 4, 9, 12}) {
    const pencil p{"", laplace(12, 10), point_masses(120, rank)};
    const std::vector<double> exact = finite_eigenvalues<T>(p, rank, MatrixXd::Identity(120, 120));
    for (const std::int64_t k : {std::int64_t{1}, std::min<std::int64_t>(rank, 3), rank}) {
      for (const std::int64_t num_guards : {-1, 0}) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", k " + std::to_string(k));
        lobpcg_options<T> options;
        options.num_guards = num_guards;
        const auto s = solve<T>(where, ctx, p, k, options);
        EXPECT_EQ(s.result.reason, lobpcg_stop::converged) << bcsc::to_string(s.result.reason);
        EXPECT_EQ(s.result.num_converged, k);
        EXPECT_EQ(std::ssize(s.result.history), s.result.iterations + 1);
        expect_true(p, s);
        for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
          EXPECT_NEAR(s.result.values[j] / exact[j], 1, 2e3 * default_tolerance<T>) << j;
        }
      }
    }
  }
}

template <class T>
void expect_infinite_pairs_beyond_the_rank(place where, const context& ctx) {
  constexpr std::int64_t rank = 4, k = 7;
  const pencil p{"", laplace(12, 10), point_masses(120, rank)};
  const std::vector<double> exact = finite_eigenvalues<T>(p, rank, MatrixXd::Identity(120, 120));
  const auto s = solve<T>(where, ctx, p, k);
  EXPECT_EQ(s.result.reason, lobpcg_stop::b_not_positive_definite) << bcsc::to_string(s.result.reason);
  EXPECT_EQ(s.result.num_converged, rank);
  for (std::size_t j = 0; j < k; ++j) {
    if (j < rank) {
      EXPECT_NEAR(s.result.values[j] / exact[j], 1, 2e3 * default_tolerance<T>) << j;
      EXPECT_LE(s.result.residual[j], default_tolerance<T>);
    } else {
      EXPECT_EQ(s.result.values[j], std::numeric_limits<double>::infinity());
      EXPECT_TRUE(std::isnan(s.result.residual[j]));
    }
  }
  EXPECT_TRUE(s.x.allFinite());
}

template <class T>
void expect_constraints_to_confine_at_low_rank(place where, const context& ctx, std::uint64_t seed) {
  constexpr std::int64_t rank = 6, k = 3, count = 2;
  const pencil p{"", laplace(12, 10), point_masses(120, rank)};
  const MatrixXd y = rounded<T>(random_matrix(120, count, seed));
  // Any vectors, of which A's complement is another than B's.
  const MatrixXd by = rounded<T>(*p.b) * y;
  const MatrixXd q = Eigen::HouseholderQR<MatrixXd>(by).householderQ();
  const std::vector<double> exact = finite_eigenvalues<T>(p, k, q.rightCols(120 - count));
  dense_table<T> given(120, count);
  for (std::int64_t i = 0; i < 120; ++i) {
    for (std::int64_t j = 0; j < count; ++j) given(i, j) = static_cast<T>(y(i, j));
  }
  operand<T> constraints(where == place::gpu ? ctx : context::cpu(1), given, {layout::col_major, 1, 0});
  lobpcg_options<T> options;
  options.constraints = constraints.view();
  const auto s = solve<T>(where, ctx, p, k, options);
  EXPECT_EQ(s.result.reason, lobpcg_stop::converged) << bcsc::to_string(s.result.reason);
  for (std::size_t j = 0; j < k; ++j) EXPECT_NEAR(s.result.values[j] / exact[j], 1, 2e3 * default_tolerance<T>) << j;
  EXPECT_LE((by.transpose() * s.x).cwiseAbs().maxCoeff(), 300 * unit<T>);
}

// --- Sizes ----------------------------------------------------------------------------------------------------------

template <class T>
void expect_vectors_of_any_size_to_do(place where, const context& ctx) {
  const pencil p{"", laplace(13, 9)};
  const auto all = solve<T>(where, ctx, p, 5);
  const double size = std::is_same_v<T, float> ? 1e30 : 1e200;
  for (const double factor : {size, 1 / size}) {
    const MatrixXd start = factor * random_matrix(p.n(), 3, 6);
    expect_converged(p, solve<T>(where, ctx, p, 3, {}, &start), lobpcg_options<T>{});

    dense_table<T> y(p.n(), 1);
    for (std::int64_t i = 0; i < p.n(); ++i) y(i, 0) = static_cast<T>(factor * all.x(i, 0));
    operand<T> constraints(where == place::gpu ? ctx : context::cpu(1), y, {layout::col_major, 1, 0});
    lobpcg_options<T> options;
    options.constraints = constraints.view();
    EXPECT_NEAR(solve<T>(where, ctx, p, 1, options).result.values[0], all.result.values[1], 100 * default_tolerance<T>);
  }
}

template <class T>
void expect_refusal_of_scales(place where, const context& ctx) {
  const MatrixXd a = laplace(11, 10), one = MatrixXd::Identity(110, 110);
  const bool is_fp32 = std::is_same_v<T, float>;
  const std::pair<double, double> refused[] = {
      {is_fp32 ? 1e-36 : 1e-160, 1}, {is_fp32 ? 1e36 : 1e158, 1}, {is_fp32 ? 1e20 : 1, is_fp32 ? 1e-30 : 1e-290}};
  for (const std::int64_t k : {3, 80}) {
    for (const auto& [of_a, of_b] : refused) {
      const pencil p{"", of_a * a, of_b * mass(110)};
      EXPECT_EQ(code_of([&] { solve<T>(where, ctx, p, k); }), errc::invalid_argument) << of_a << " " << of_b;
    }
    for (const double factor : {is_fp32 ? 1e-20 : 1e-100, is_fp32 ? 1e20 : 1e100}) {
      const pencil p{"", factor * a, one};
      const auto s = solve<T>(where, ctx, p, k);
      EXPECT_EQ(s.result.reason, lobpcg_stop::converged) << factor << " " << bcsc::to_string(s.result.reason);
      EXPECT_NEAR(s.result.values[0] / factor, spectrum_of<T>({"", a}).values(0), 100 * default_tolerance<T>);
    }
  }
}

}  // namespace bcsc::test
