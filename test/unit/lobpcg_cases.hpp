#pragma once

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bcsc/lobpcg.hpp"
#include "test/support/battery.hpp"
#include "test/support/lapack.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

/// Pencils, places to solve them, and Eigen's dense solvers as the oracle.
namespace bcsc::test {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// --- Pencils --------------------------------------------------------------------------------------------------------

/// A and B as the test itself wrote them down; no B: the identity.
struct pencil {
  std::string name;
  MatrixXd a;
  std::optional<MatrixXd> b = {};
  std::int64_t n() const { return a.rows(); }
};

inline MatrixXd laplace(std::int64_t width, std::int64_t height) {
  MatrixXd a = MatrixXd::Zero(width * height, width * height);
  for (std::int64_t i = 0; i < width * height; ++i) {
    a(i, i) = 4;
    if (i % width > 0) a(i, i - 1) = a(i - 1, i) = -1;
    if (i >= width) a(i, i - width) = a(i - width, i) = -1;
  }
  return a;
}

/// The mass matrix of linear elements on a line, of uneven lengths.
inline MatrixXd mass(std::int64_t n) {
  MatrixXd b = MatrixXd::Zero(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double length = 1 + 0.5 * std::sin(static_cast<double>(i));
    b(i, i) += 2 * length;
    if (i + 1 < n) {
      b(i + 1, i + 1) += 2 * length;
      b(i, i + 1) = b(i + 1, i) = length;
    }
  }
  return b;
}

inline MatrixXd random_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  MatrixXd m(rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) m(i, j) = random.real();
  }
  return m;
}

inline MatrixXd with_eigenvalues(const VectorXd& values, std::uint64_t seed) {
  const std::int64_t n = values.size();
  const MatrixXd q = Eigen::HouseholderQR<MatrixXd>(random_matrix(n, n, seed)).householderQ();
  const MatrixXd a = q * values.asDiagonal() * q.transpose();
  return (a + a.transpose()) / 2;
}

inline VectorXd evenly(std::int64_t n, double from, double to) { return VectorXd::LinSpaced(n, from, to); }

/// Three groups of four that differ by 1e-6, then the rest.
inline VectorXd clustered(std::int64_t n) {
  VectorXd values = evenly(n, 5, 10);
  for (std::int64_t j = 0; j < 12; ++j) {
    values(j) = 1 + static_cast<double>(j / 4) + 1e-6 * static_cast<double>(j % 4);
  }
  return values;
}

/// Laplace's matrix of a ring of rings: eigenvalue 0, most of the others in pairs.
inline MatrixXd graph_laplacian(std::int64_t width, std::int64_t height) {
  MatrixXd a = MatrixXd::Zero(width * height, width * height);
  const auto join = [&](std::int64_t i, std::int64_t j) {
    a(i, i) += 1, a(j, j) += 1;
    a(i, j) -= 1, a(j, i) -= 1;
  };
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      join(y * width + x, y * width + (x + 1) % width);
      join(y * width + x, (y + 1) % height * width + x);
    }
  }
  return a;
}

inline const std::vector<pencil>& pencils() {
  static const std::vector<pencil> all{
      {"laplace", laplace(17, 12)},
      {"multiple", laplace(11, 11)},
      {"laplace_mass", laplace(14, 9), mass(126)},
      {"graph", graph_laplacian(12, 8)},
      {"clustered", with_eigenvalues(clustered(90), 3)},
      {"indefinite", with_eigenvalues(evenly(80, -4, 6), 4)},
      {"indefinite_mass", with_eigenvalues(evenly(75, -4, 6), 5), mass(75)},
      {"identity", MatrixXd::Identity(60, 60)},
      {"zero", MatrixXd::Zero(50, 50)},
  };
  return all;
}

inline sparse_case sparse_of(const MatrixXd& m) {
  sparse_case a{"", m.rows(), m.cols(), {}};
  for (std::int64_t i = 0; i < m.rows(); ++i) {
    for (std::int64_t j = 0; j < m.cols(); ++j) {
      if (m(i, j) != 0) a.entries.push_back({i, j, m(i, j)});
    }
  }
  return a;
}

// --- The oracle -----------------------------------------------------------------------------------------------------

template <class T>
MatrixXd rounded(const MatrixXd& m) {
  return m.cast<T>().template cast<double>();
}

/// All eigenvalues of the pencil as T holds it, ascending; and what bounds say about its size.
struct spectrum {
  VectorXd values;
  double norm_a, norm_b = 1, min_b = 1;
};

template <class T>
spectrum spectrum_of(const pencil& p) {
  const MatrixXd a = rounded<T>(p.a);
  spectrum s;
  s.norm_a = Eigen::SelfAdjointEigenSolver<MatrixXd>(a).eigenvalues().cwiseAbs().maxCoeff();
  if (!p.b) {
    s.values = Eigen::SelfAdjointEigenSolver<MatrixXd>(a).eigenvalues();
    return s;
  }
  const MatrixXd b = rounded<T>(*p.b);
  const VectorXd of_b = Eigen::SelfAdjointEigenSolver<MatrixXd>(b).eigenvalues();
  s.norm_b = of_b.maxCoeff(), s.min_b = of_b.minCoeff();
  s.values = Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd>(a, b).eigenvalues();
  return s;
}

// --- Where a solve runs ---------------------------------------------------------------------------------------------

enum class place { cpu_one_thread, cpu_two_threads, gpu, gpu_staged };

inline std::string to_string(place where) {
  constexpr const char* names[] = {"cpu1", "cpu2", "gpu", "gpu_staged"};
  return names[static_cast<int>(where)];
}

inline std::optional<context> context_at(place where) {
  if (where == place::cpu_one_thread) return context::cpu(1);
  if (where == place::cpu_two_threads) return context::cpu(2);
  return context_of(backend::cuda);
}

inline constexpr place all_places[] = {place::cpu_one_thread, place::cpu_two_threads, place::gpu, place::gpu_staged};

template <class T>
linear_operator<T> operator_of(const context& ctx, const MatrixXd& m, std::int64_t cols = 8) {
  return linear_operator<T>(spmm_plan<T>(ctx, csr_of<T, std::int32_t>(sparse_of(m)), {.cols = cols}));
}

template <class T>
struct solved {
  lobpcg_result result;
  MatrixXd x;
};

/// Solves through operands of any layout; outside X nothing may be written.
template <class T>
solved<T> solve(place where, const context& ctx, const pencil& p, std::int64_t k, lobpcg_options<T> options = {},
                const MatrixXd* start = nullptr) {
  const context memory = where == place::gpu ? ctx : context::cpu(1);
  const placement lies = k % 2 == 0 ? placement{layout::col_major, 3, 1} : placement{layout::row_major, 2, 0};
  dense_table<T> given(p.n(), k);
  for (std::int64_t i = 0; start != nullptr && i < p.n(); ++i) {
    for (std::int64_t j = 0; j < k; ++j) given(i, j) = static_cast<T>((*start)(i, j));
  }
  options.use_initial_guess = start != nullptr;
  if (p.b) options.b = operator_of<T>(ctx, *p.b);
  operand<T> x(memory, given, lies);
  solved<T> s{solve_lobpcg(operator_of<T>(ctx, p.a), x.view(), options), MatrixXd(p.n(), k)};
  const dense_table<T> found = x.read();
  for (std::int64_t i = 0; i < p.n(); ++i) {
    for (std::int64_t j = 0; j < k; ++j) s.x(i, j) = static_cast<double>(found(i, j));
  }
  return s;
}

template <class T>
constexpr double unit = std::numeric_limits<T>::epsilon();
template <class T>
constexpr double default_tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-10;

/// Whatever the reason: residuals and lengths are those of the vectors.
template <class T>
void expect_true(const pencil& p, const solved<T>& s) {
  const std::int64_t n = p.n(), k = s.x.cols();
  const spectrum exact = spectrum_of<T>(p);
  const MatrixXd a = rounded<T>(p.a), b = p.b ? rounded<T>(*p.b) : MatrixXd::Identity(n, n);
  ASSERT_EQ(std::ssize(s.result.values), k);
  ASSERT_EQ(std::ssize(s.result.residual), k);
  for (std::int64_t j = 0; j < k; ++j) {
    const double value = s.result.values[static_cast<std::size_t>(j)];
    const VectorXd x = s.x.col(j);
    const double scale = (exact.norm_a + std::abs(value) * exact.norm_b) * x.norm();
    const double residual = scale > 0 ? (a * x - value * (b * x)).norm() / scale : 0;
    const double told = s.result.residual[static_cast<std::size_t>(j)], rounding = 40 * unit<T>;
    // The norms are estimated from below, but hardly by more than half.
    EXPECT_LE(residual, told + rounding) << "pair " << j;
    EXPECT_GE(residual * 3 + rounding, told) << "pair " << j;
  }
  EXPECT_LE((s.x.transpose() * b * s.x - MatrixXd::Identity(k, k)).cwiseAbs().maxCoeff(), 300 * unit<T>);
  EXPECT_GE(s.result.norm_a, 0.4 * exact.norm_a);
  EXPECT_LE(s.result.norm_a, exact.norm_a * (1 + 100 * unit<T>));
}

/// A converged solve has the wanted end of the spectrum, each eigenvalue as often as it is there.
template <class T>
void expect_converged(const pencil& p, const solved<T>& s, const lobpcg_options<T>& options) {
  EXPECT_EQ(s.result.reason, lobpcg_stop::converged) << bcsc::to_string(s.result.reason);
  expect_true(p, s);
  const spectrum exact = spectrum_of<T>(p);
  const double tolerance = options.tolerance != 0 ? options.tolerance : default_tolerance<T>;
  EXPECT_EQ(s.result.tolerance, tolerance);
  EXPECT_EQ(s.result.num_converged, s.x.cols());
  EXPECT_EQ(std::ssize(s.result.history), s.result.iterations + 1);
  for (std::int64_t j = 0; j < s.x.cols(); ++j) {
    const double value = s.result.values[static_cast<std::size_t>(j)];
    const double wanted = exact.values(options.which == spectrum_end::largest ? p.n() - 1 - j : j);
    // ||B^-1/2 r|| bounds the error where B^1/2 x has length 1.
    const double bound = (tolerance + 100 * unit<T>)*(exact.norm_a + std::abs(value) * exact.norm_b) / exact.min_b;
    EXPECT_LE(std::abs(value - wanted), bound) << "pair " << j;
    EXPECT_LE(s.result.residual[static_cast<std::size_t>(j)], tolerance);
  }
}

}  // namespace bcsc::test
