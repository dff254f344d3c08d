#include "lib/solvers/small_dense.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "lib/solvers/dense_pencil.hpp"
#include "lib/solvers/lapack.hpp"
#include "lib/solvers/rayleigh_ritz.hpp"
#include "test/support/lapack.hpp"
#include "test/support/oracle.hpp"

namespace bcsc::test {

namespace {

using Eigen::MatrixXd;
using solvers::small_matrix;

MatrixXd eigen_of(const small_matrix& a) {
  MatrixXd m(a.rows(), a.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) m(i, j) = a(i, j);
  }
  return m;
}

small_matrix small_of(const MatrixXd& m) {
  small_matrix a(m.rows(), m.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) a(i, j) = m(i, j);
  }
  return a;
}

MatrixXd random_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  MatrixXd m(rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) m(i, j) = random.real();
  }
  return m;
}

MatrixXd random_symmetric(std::int64_t n, std::uint64_t seed) {
  const MatrixXd m = random_matrix(n, n, seed);
  return m + m.transpose();
}

MatrixXd random_definite(std::int64_t n, std::uint64_t seed) {
  const MatrixXd m = random_matrix(n, n, seed);
  return m * m.transpose() + MatrixXd::Identity(n, n);
}

class small_dense_test : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
  std::int64_t n() const { return GetParam(); }
  double tolerance() const { return 1e-13 * static_cast<double>(n() + 1) * static_cast<double>(n() + 1); }
};

INSTANTIATE_TEST_SUITE_P(sizes, small_dense_test, testing::Values(0, 1, 2, 3, 7, 24, 60));

TEST_P(small_dense_test, products_are_those_of_eigen) {
  for (const std::int64_t inner : {0, 1, 5}) {
    const MatrixXd a = random_matrix(n(), inner, 1), b = random_matrix(inner, n() + 2, 2);
    const MatrixXd c = eigen_of(solvers::product(small_of(a), small_of(b)));
    EXPECT_LE((c - a * b).cwiseAbs().sum(), tolerance());
    const MatrixXd d = eigen_of(solvers::transposed_product(small_of(b), small_of(a.transpose())));
    EXPECT_LE((d - b.transpose() * a.transpose()).cwiseAbs().sum(), tolerance());
  }
}

TEST_P(small_dense_test, eigenpairs_are_those_of_eigen) {
  const MatrixXd a = random_symmetric(n(), 3);
  const auto found = solvers::symmetric_eigen(small_of(a));
  ASSERT_EQ(static_cast<std::int64_t>(found.values.size()), n());
  if (n() == 0) return;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> oracle(a);
  const MatrixXd v = eigen_of(found.vectors);
  for (std::int64_t j = 0; j < n(); ++j) {
    EXPECT_NEAR(found.values[static_cast<std::size_t>(j)], oracle.eigenvalues()(j), tolerance());
    EXPECT_LE((a * v.col(j) - found.values[static_cast<std::size_t>(j)] * v.col(j)).norm(), tolerance());
  }
  EXPECT_LE((v.transpose() * v - MatrixXd::Identity(n(), n())).norm(), tolerance());
}

TEST_P(small_dense_test, a_cholesky_factor_solves_from_both_sides) {
  const MatrixXd a = random_definite(n(), 4), b = random_matrix(n(), 3, 5);
  const auto l = solvers::cholesky(small_of(a));
  ASSERT_TRUE(l);
  if (n() == 0) return;
  const MatrixXd wanted = a.llt().matrixL();
  EXPECT_LE((eigen_of(*l) - wanted).norm(), tolerance());
  EXPECT_LE((wanted * eigen_of(solvers::solve_lower(*l, small_of(b))) - b).norm(), tolerance());
  EXPECT_LE((wanted.transpose() * eigen_of(solvers::solve_lower_transposed(*l, small_of(b))) - b).norm(), tolerance());
  MatrixXd indefinite = a;
  indefinite(n() - 1, n() - 1) = -1;
  EXPECT_FALSE(solvers::cholesky(small_of(indefinite)));
}

TEST_P(small_dense_test, whitening_keeps_what_is_independent) {
  if (n() == 0) {
    EXPECT_EQ(solvers::whiten(small_matrix(0, 0), 1e-12).rank(), 0);
    return;
  }
  // n independent vectors of lengths from 1e-6 to 1e6, a copy of each, a sum, and nothing.
  MatrixXd x = random_matrix(100, n(), 6);
  for (std::int64_t j = 0; j < n(); ++j) x.col(j) *= std::pow(10.0, static_cast<double>(j * 5 % 13 - 6));
  MatrixXd all(100, 2 * n() + 2);
  all << x, -3 * x, x.rowwise().sum(), MatrixXd::Zero(100, 1);
  const auto white = solvers::whiten(small_of(all.transpose() * all), 1e-12);
  ASSERT_EQ(white.rank(), n());
  EXPECT_LE(std::abs(white.smallest), 1e-12);
  const MatrixXd q = all * eigen_of(white.transform);
  EXPECT_LE((q.transpose() * q - MatrixXd::Identity(n(), n())).norm(), 1e-6);
  const MatrixXd left = q * (q.transpose() * x) - x;
  for (std::int64_t j = 0; j < n(); ++j) EXPECT_LE(left.col(j).norm(), 1e-6 * x.col(j).norm());
}

TEST(whiten_test, names_a_negative_direction) {
  BCSC_SKIP_WITHOUT_LAPACK();
  small_matrix gram(2, 2);
  gram(0, 0) = gram(1, 1) = 1;
  gram(0, 1) = gram(1, 0) = 2;
  const auto white = solvers::whiten(gram, 1e-12);
  EXPECT_EQ(white.rank(), 1);
  EXPECT_NEAR(white.smallest, -1.0 / 3, 1e-14);
}

TEST(whiten_test, drops_vectors_shorter_than_they_may_be) {
  BCSC_SKIP_WITHOUT_LAPACK();
  small_matrix gram(3, 3);
  gram(0, 0) = 4, gram(1, 1) = 1e-20, gram(2, 2) = -1;
  const double least[] = {0, 1e-19, 0};
  EXPECT_EQ(solvers::whiten(gram, 1e-12).rank(), 2);
  EXPECT_EQ(solvers::whiten(gram, 1e-12, least).rank(), 1);
}

// --- Rayleigh-Ritz --------------------------------------------------------------------------------------------------

class rayleigh_ritz_test : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
};
INSTANTIATE_TEST_SUITE_P(ends, rayleigh_ritz_test, testing::Bool());

TEST_P(rayleigh_ritz_test, takes_the_wanted_end_of_the_span) {
  constexpr std::int64_t n = 40, s = 12, m = 4;
  const bool largest = GetParam();
  const MatrixXd a = random_symmetric(n, 7), b = random_definite(n, 8), basis = random_matrix(n, s, 9);
  const std::vector<std::int64_t> active{0, 1, 3};
  const auto step = solvers::rayleigh_ritz(
      {small_of(basis.transpose() * a * basis), small_of(basis.transpose() * b * basis)}, m, largest, active);
  ASSERT_TRUE(step);
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(basis.transpose() * a * basis,
                                                                  basis.transpose() * b * basis);
  const MatrixXd x = basis * eigen_of(step->x), p = basis * eigen_of(step->p);
  for (std::int64_t j = 0; j < m; ++j) {
    EXPECT_NEAR(step->values[static_cast<std::size_t>(j)], oracle.eigenvalues()(largest ? s - 1 - j : j), 1e-10);
  }
  EXPECT_LE((x.transpose() * b * x - MatrixXd::Identity(m, m)).norm(), 1e-10);
  ASSERT_EQ(p.cols(), 3);
  EXPECT_LE((p.transpose() * b * p - MatrixXd::Identity(3, 3)).norm(), 1e-10);
  EXPECT_LE((p.transpose() * b * x).norm(), 1e-10);
  // The former X's share of a new vector lies in what is kept: the new vectors and p.
  MatrixXd kept(n, m + 3);
  kept << x, p;
  for (const std::int64_t j : active) {
    const Eigen::VectorXd former = basis.leftCols(m) * eigen_of(step->x).topRows(m).col(j);
    EXPECT_LE((kept * kept.colPivHouseholderQr().solve(former) - former).norm(), 1e-9 * former.norm());
  }
}

TEST_P(rayleigh_ritz_test, counts_dependent_vectors_once) {
  constexpr std::int64_t n = 30, m = 3;
  const MatrixXd a = random_symmetric(n, 10), half = random_matrix(n, 5, 11);
  MatrixXd basis(n, 10);
  basis << half, 2 * half;
  const solvers::basis_products products{small_of(basis.transpose() * a * basis), small_of(basis.transpose() * basis)};
  const auto step = solvers::rayleigh_ritz(products, m, GetParam(), {});
  ASSERT_TRUE(step);
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(half.transpose() * a * half, half.transpose() * half);
  for (std::int64_t j = 0; j < m; ++j) {
    EXPECT_NEAR(step->values[static_cast<std::size_t>(j)], oracle.eigenvalues()(GetParam() ? 4 - j : j), 1e-9);
  }
  EXPECT_FALSE(solvers::rayleigh_ritz(products, 6, GetParam(), {})) << "there are but 5";
}

// --- Dense pencils --------------------------------------------------------------------------------------------------

TEST(dense_pencil_test, a_singular_b_leaves_the_finite_eigenvalues) {
  BCSC_SKIP_WITHOUT_LAPACK();
  constexpr std::int64_t n = 12, rank = 7;
  const MatrixXd a = random_definite(n, 12), factor = random_matrix(n, rank, 13), b = factor * factor.transpose();
  const auto found =
      solvers::solve_pencil(small_of(a), small_of(b), small_matrix(n, 0), rank, spectrum_end::smallest, 1e-12);
  ASSERT_FALSE(found.objection);
  // B x = mu A x.
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(b, a);
  const MatrixXd x = eigen_of(found.vectors);
  for (std::int64_t j = 0; j < rank; ++j) {
    const double value = found.values[static_cast<std::size_t>(j)];
    EXPECT_NEAR(value * oracle.eigenvalues()(n - 1 - j), 1, 1e-9);
    EXPECT_LE((a * x.col(j) - value * b * x.col(j)).norm(), 1e-8 * value);
  }
  EXPECT_LE((x.transpose() * b * x - MatrixXd::Identity(rank, rank)).norm(), 1e-8);
  EXPECT_EQ(solvers::solve_pencil(small_of(a), small_of(b), small_matrix(n, 0), rank + 1, spectrum_end::smallest, 1e-12)
                .objection,
            lobpcg_stop::b_not_positive_definite);
  EXPECT_EQ(
      solvers::solve_pencil(small_of(a), small_of(b), small_matrix(n, 0), 1, spectrum_end::largest, 1e-12).objection,
      lobpcg_stop::b_not_positive_definite);
}

// --- Without LAPACK -------------------------------------------------------------------------------------------------

TEST(lapack_test, says_what_is_missing) {
  const solvers::lapack none{"libbcsc-no-such-library.so.3"};
  EXPECT_NE(none.why_not().find("libbcsc-no-such-library.so.3"), std::string::npos) << none.why_not();
  EXPECT_NE(solvers::why_no_lapack(none).find("liblapack3"), std::string::npos) << solvers::why_no_lapack(none);
  const solvers::lapack not_it{"libm.so.6"};
  EXPECT_NE(not_it.why_not().find("dsyevd_"), std::string::npos) << not_it.why_not();
  BCSC_SKIP_WITHOUT_LAPACK();
  const solvers::lapack second{"libbcsc-no-such-library.so.3", "liblapack.so.3", "libopenblas.so.0"};
  EXPECT_EQ(second.why_not(), "");
  EXPECT_EQ(solvers::why_no_lapack(), "");
}

}  // namespace

}  // namespace bcsc::test
