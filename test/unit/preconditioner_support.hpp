#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bcsc/linear_operator.hpp"
#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

/// Systems, and conjugate gradients of the tests' own, to judge preconditioners by.
namespace bcsc::test {

inline dense_table<double> random_block(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  dense_table<double> table(rows, cols);
  for (double& entry : table.at) entry = random.real();
  return table;
}

/// Finite differences of -div(diag(1, across, across) grad) on a grid; Neumann borders make it singular.
struct grid {
  std::int64_t nx, ny, nz;
  double across = 1;
  bool neumann = false;
};

inline sparse_case laplace(const grid& g) {
  sparse_case a{"laplace", g.nx * g.ny * g.nz, g.nx * g.ny * g.nz, {}};
  const std::int64_t sizes[] = {g.nx, g.ny, g.nz}, steps[] = {1, g.nx, g.nx * g.ny};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double diagonal = 0;
    std::vector<triplet> row;
    for (int axis = 0; axis < 3; ++axis) {
      const double weight = axis == 0 ? 1 : g.across;
      const std::int64_t at = i / steps[axis] % sizes[axis];
      for (const std::int64_t side : {-1, 1}) {
        const bool is_inside = at + side >= 0 && at + side < sizes[axis];
        if (is_inside) row.push_back({i, i + side * steps[axis], -weight});
        if (is_inside || (!g.neumann && sizes[axis] > 1)) diagonal += weight;
      }
    }
    row.push_back({i, i, diagonal});
    std::sort(row.begin(), row.end(), [](const triplet& x, const triplet& y) { return x.col < y.col; });
    a.entries.insert(a.entries.end(), row.begin(), row.end());
  }
  return a;
}

inline sparse_case from_entries(std::int64_t n, std::vector<triplet> entries) {
  return {"entries", n, n, std::move(entries)};
}

inline Eigen::MatrixXd to_eigen(const sparse_case& a) {
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(a.rows, a.cols);
  for (const triplet& e : a.entries) dense(e.row, e.col) += e.value;
  return dense;
}

/// op applied to a block of vectors, as a solver would apply it.
template <class T>
dense_table<double> apply(const linear_operator<T>& op, const dense_table<double>& x, const placement& lies = {}) {
  dense_table<T> narrow(x.rows, x.cols);
  for (std::size_t i = 0; i < x.at.size(); ++i) narrow.at[i] = static_cast<T>(x.at[i]);
  operand<T> from(op.where(), narrow, lies), to(op.where(), op.rows(), x.cols, lies);
  op.apply(T(1), from.view(), T(0), to.view());
  const dense_table<T> got = to.read();
  dense_table<double> wide(op.rows(), x.cols);
  for (std::size_t i = 0; i < got.at.size(); ++i) wide.at[i] = static_cast<double>(got.at[i]);
  return wide;
}

template <class T>
Eigen::MatrixXd dense_of(const linear_operator<T>& op) {
  dense_table<double> unit(op.cols(), op.cols());
  for (std::int64_t i = 0; i < op.cols(); ++i) unit(i, i) = 1;
  const dense_table<double> columns = apply(op, unit);
  Eigen::MatrixXd dense(op.rows(), op.cols());
  for (std::int64_t i = 0; i < op.rows(); ++i) {
    for (std::int64_t j = 0; j < op.cols(); ++j) dense(i, j) = columns(i, j);
  }
  return dense;
}

inline double inner(const dense_table<double>& x, const dense_table<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.at.size(); ++i) sum += x.at[i] * y.at[i];
  return sum;
}

/// A x from the triplets.
inline dense_table<double> times(const sparse_case& a, const dense_table<double>& x) {
  dense_table<double> y(a.rows, x.cols);
  for (const triplet& e : a.entries) {
    for (std::int64_t j = 0; j < x.cols; ++j) y(e.row, j) += e.value * x(e.col, j);
  }
  return y;
}

/// Iterations of preconditioned conjugate gradients until ||r|| <= tolerance ||b||, for a random solution; 999 if that
/// takes longer. One column, on the host.
template <class T>
int count_iterations(const sparse_case& a, const linear_operator<T>& m, double tolerance = 1e-10) {
  dense_table<double> r = times(a, random_block(a.rows, 1, 5)), p(a.rows, 1);
  const double first = std::sqrt(inner(r, r));
  double rz = 1;
  for (int iteration = 0; iteration < 999; ++iteration) {
    if (!(std::sqrt(inner(r, r)) > tolerance * first)) return iteration;
    const dense_table<double> z = apply(m, r);
    const double former = rz;
    rz = inner(r, z);
    for (std::int64_t i = 0; i < a.rows; ++i) p(i, 0) = z(i, 0) + (iteration > 0 ? rz / former : 0) * p(i, 0);
    const dense_table<double> q = times(a, p);
    const double alpha = rz / inner(p, q);
    if (!std::isfinite(alpha)) return 999;
    for (std::int64_t i = 0; i < a.rows; ++i) r(i, 0) -= alpha * q(i, 0);
  }
  return 999;
}

/// Fails unless <Mx, y> = <x, My> and <Mx, x> > 0 for random x and y.
template <class T>
void expect_symmetric_positive(const linear_operator<T>& m, double tolerance) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto x = random_block(m.cols(), 1, seed), y = random_block(m.cols(), 1, 100 + seed);
    const auto mx = apply(m, x), my = apply(m, y);
    const double size = std::sqrt(inner(mx, mx) * inner(y, y));
    EXPECT_NEAR(inner(mx, y), inner(x, my), tolerance * size) << "seed " << seed;
    EXPECT_GT(inner(mx, x), 0) << "seed " << seed;
  }
}

}  // namespace bcsc::test
