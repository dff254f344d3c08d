#include "lib/solvers/pivoted_cholesky.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "test/support/oracle.hpp"

namespace bcsc::solvers {

namespace {

coefficients random_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test::test_random random(seed);
  coefficients a(rows, cols);
  for (double& entry : a.at) entry = random.real();
  return a;
}

/// A' B, summed in long double.
coefficients cross(const coefficients& a, const coefficients& b) {
  coefficients c(a.cols, b.cols);
  for (std::int64_t i = 0; i < a.cols; ++i) {
    for (std::int64_t j = 0; j < b.cols; ++j) {
      long double sum = 0;
      for (std::int64_t l = 0; l < a.rows; ++l) sum += static_cast<long double>(a(l, i)) * b(l, j);
      c(i, j) = static_cast<double>(sum);
    }
  }
  return c;
}

coefficients identity(std::int64_t n) {
  coefficients one(n, n);
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

double largest_difference(const coefficients& a, const coefficients& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  double largest = 0;
  for (std::size_t i = 0; i < a.at.size(); ++i) largest = std::max(largest, std::fabs(a.at[i] - b.at[i]));
  return largest;
}

TEST(pivoted_cholesky, factors_what_has_full_rank) {
  for (const std::int64_t n : {1, 2, 7, 40}) {
    SCOPED_TRACE(n);
    const coefficients w = random_matrix(3 * n + 5, n, 4), g = cross(w, w);
    const pivoted_cholesky c(g, 1e-13);
    ASSERT_EQ(c.rank(), n);
    EXPECT_LT(largest_difference(cross(c.factor(), c.factor()), g), 1e-13 * static_cast<double>(w.rows));
    const coefficients q = w * c.whitening();
    EXPECT_LT(largest_difference(cross(q, q), identity(n)), 1e-11);
    EXPECT_LT(largest_difference(q * c.factor(), w), 1e-12);
    EXPECT_LT(largest_difference(c.inverse() * g, identity(n)), 1e-10);
    std::vector<std::int64_t> each = c.order;
    std::ranges::sort(each);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(each[static_cast<std::size_t>(i)], i);
  }
}

/// Columns of very different length, one of them twice, one a combination and one of zeros.
TEST(pivoted_cholesky, leaves_out_what_depends) {
  coefficients w = random_matrix(60, 7, 5);
  for (std::int64_t i = 0; i < w.rows; ++i) {
    w(i, 1) *= 1e9;
    w(i, 2) *= 1e-9;
    w(i, 3) = -5 * w(i, 0);
    w(i, 4) = 0;
    w(i, 6) = w(i, 0) - 2 * w(i, 5);
  }
  const pivoted_cholesky c(cross(w, w), 1e-13);
  ASSERT_EQ(c.rank(), 4);
  EXPECT_GT(c.least, 0.01);
  EXPECT_LT(std::fabs(c.rejected), 1e-13);
  const coefficients q = w * c.whitening();
  EXPECT_LT(largest_difference(cross(q, q), identity(4)), 1e-12);
  const coefficients back = q * c.factor();
  for (std::int64_t j = 0; j < w.cols; ++j) {
    const double length = std::sqrt(cross(w, w)(j, j));
    for (std::int64_t i = 0; i < w.rows; ++i) EXPECT_NEAR(back(i, j), w(i, j), 1e-12 * length) << j;
  }
}

TEST(pivoted_cholesky, says_how_near_to_dependent) {
  for (const double apart : {1e-2, 1e-4, 1e-6}) {
    coefficients w = random_matrix(50, 2, 6);
    const coefficients noise = random_matrix(50, 1, 7);
    for (std::int64_t i = 0; i < w.rows; ++i) w(i, 1) = w(i, 0) + apart * noise(i, 0);
    const pivoted_cholesky c(cross(w, w), 1e-13);
    ASSERT_EQ(c.rank(), 2) << apart;
    EXPECT_LT(c.least, 10 * apart * apart);
    EXPECT_GT(c.least, apart * apart / 10);
  }
}

TEST(pivoted_cholesky, knows_an_indefinite_matrix) {
  coefficients g = identity(3);
  g(0, 1) = g(1, 0) = 2;
  EXPECT_LT(pivoted_cholesky(g, 1e-13).rejected, -1);
}

TEST(pivoted_cholesky, takes_no_pivot_below_its_floor) {
  coefficients g = identity(3);
  g(1, 1) = 1e-8;
  const std::vector<double> floors(3, 1e-6);
  const pivoted_cholesky c(g, 1e-13, floors);
  EXPECT_EQ(c.rank(), 2);
  EXPECT_EQ(std::ranges::count(c.order, 1), 0);
  const coefficients inverse = c.inverse();
  EXPECT_EQ(inverse(1, 1), 0);
  EXPECT_EQ(inverse(0, 0), 1);
}

TEST(pivoted_cholesky, of_nothing) {
  EXPECT_EQ(pivoted_cholesky(coefficients(0, 0), 1e-13).rank(), 0);
  EXPECT_EQ(pivoted_cholesky(coefficients(3, 3), 1e-13).rank(), 0);
}

TEST(orthonormal_basis, spans_the_columns_and_drops_what_depends) {
  coefficients a = random_matrix(9, 5, 8);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    a(i, 1) *= 1e-12;  // a short one counts as much
    a(i, 3) = a(i, 0) + a(i, 2);
    a(i, 4) = 0;
  }
  const coefficients q = orthonormal_basis(a, 1e-10);
  ASSERT_EQ(q.rows, 9);
  ASSERT_EQ(q.cols, 3);
  EXPECT_LT(largest_difference(cross(q, q), identity(3)), 1e-14);
  const coefficients back = q * cross(q, a);
  for (std::int64_t j = 0; j < a.cols; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) EXPECT_NEAR(back(i, j), a(i, j), j == 1 ? 1e-26 : 1e-13);
  }
}

TEST(coefficients, that_are_not_finite_are_found) {
  coefficients a(2, 2);
  EXPECT_TRUE(all_finite(a));
  a(1, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(all_finite(a));
  a(1, 0) = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(all_finite(a));
}

}  // namespace

}  // namespace bcsc::solvers
