#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/cg.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

/// Systems for conjugate gradients, and the oracle that judges their solutions.
namespace bcsc::test {

// --- Systems: triplets, so that the residuals below are computed from what the test itself wrote down ---------------

struct system_case {
  sparse_case a;
  double condition;  ///< an upper bound
};

/// Every entry of a dense symmetric table.
inline sparse_case sparse_from(std::string name, const dense_table<double>& table) {
  sparse_case a{std::move(name), table.rows, table.cols, {}};
  for (std::int64_t i = 0; i < table.rows; ++i) {
    for (std::int64_t j = 0; j < table.cols; ++j) {
      if (table(i, j) != 0) a.entries.push_back({i, j, table(i, j)});
    }
  }
  return a;
}

inline sparse_case tridiagonal(std::int64_t n, double diagonal) {
  dense_table<double> table(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    table(i, i) = diagonal;
    if (i > 0) table(i, i - 1) = table(i - 1, i) = -1;
  }
  return sparse_from("tridiagonal", table);
}

inline sparse_case laplace(std::int64_t width, std::int64_t height) {
  dense_table<double> table(width * height, width * height);
  for (std::int64_t i = 0; i < width * height; ++i) {
    table(i, i) = 4;
    if (i % width > 0) table(i, i - 1) = table(i - 1, i) = -1;
    if (i >= width) table(i, i - width) = table(i - width, i) = -1;
  }
  return sparse_from("laplace", table);
}

/// H D H with a random reflection H: dense, with exactly the eigenvalues given.
inline sparse_case with_eigenvalues(std::string name, const std::vector<double>& eigenvalues, std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(eigenvalues.size());
  test_random random(seed);
  std::vector<double> v(eigenvalues.size());
  double square = 0;
  for (double& entry : v) {
    entry = random.real();
    square += entry * entry;
  }
  const auto reflection = [&](std::int64_t i, std::int64_t j) {
    return (i == j ? 1.0 : 0.0) - 2 * v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)] / square;
  };
  dense_table<double> table(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      for (std::int64_t m = 0; m < n; ++m) {
        table(i, j) += reflection(i, m) * eigenvalues[static_cast<std::size_t>(m)] * reflection(m, j);
      }
      table(j, i) = table(i, j);
    }
  }
  return sparse_from(std::move(name), table);
}

inline std::vector<double> geometric(std::int64_t n, double condition) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(std::pow(condition, -static_cast<double>(i) / (n - 1)));
  return values;
}

/// S A S, S diagonal from 10^-decades/2 to 10^decades/2: easy again once Jacobi has taken S away.
inline sparse_case badly_scaled(sparse_case a, double decades) {
  a.name = "badly_scaled";
  const auto scale = [&](std::int64_t i) {
    return std::pow(10.0, decades * (static_cast<double>(i * 37 % a.rows) / a.rows - 0.5));
  };
  for (triplet& e : a.entries) e.value *= scale(e.row) * scale(e.col);
  return a;
}

inline const std::vector<system_case>& systems() {
  static const std::vector<system_case> all{
      {tridiagonal(150, 2.02), 210},
      {laplace(17, 12), 150},
      {with_eigenvalues("random", geometric(60, 1e3), 5), 1e3},
      {badly_scaled(laplace(13, 11), 2), 1.3e6},
  };
  return all;
}

// --- The oracle: residuals and solutions in long double, from the triplets ------------------------------------------

template <class T>
struct residual_of {
  long double relative;  ///< ||b - A x|| / ||b||
  long double rounding;  ///< by how much a residual computed in T may differ
};

template <class T>
residual_of<T> true_residual(const sparse_case& a, const dense_table<T>& b, const dense_table<T>& x, std::int64_t j) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<long double> r(n), magnitude(n);
  std::vector<int> terms(n, 0);
  long double square_b = 0;
  for (std::size_t i = 0; i < n; ++i) {
    r[i] = b(static_cast<std::int64_t>(i), j);
    magnitude[i] = std::fabs(r[i]);
    square_b += r[i] * r[i];
  }
  for (const triplet& e : a.entries) {
    const auto i = static_cast<std::size_t>(e.row);
    const long double term = static_cast<long double>(static_cast<T>(e.value)) * x(e.col, j);
    r[i] -= term;
    magnitude[i] += std::fabs(term);
    ++terms[i];
  }
  const long double u = std::numeric_limits<T>::epsilon() / 2;
  long double square = 0, rounding = 0;
  for (std::size_t i = 0; i < n; ++i) {
    square += r[i] * r[i];
    const long double error = (terms[i] + 3) * u * magnitude[i];
    rounding += error * error;
  }
  return {std::sqrt(square / square_b), std::sqrt(rounding / square_b)};
}

/// A^-1 b by a dense Cholesky factorisation in long double.
template <class T>
dense_table<long double> direct_solution(const sparse_case& a, const dense_table<T>& b) {
  const std::int64_t n = a.rows;
  dense_table<long double> l(n, n), x(n, b.cols);
  for (const triplet& e : a.entries) l(e.row, e.col) = static_cast<T>(e.value);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t m = 0; m < j; ++m) l(j, j) -= l(j, m) * l(j, m);
    l(j, j) = std::sqrt(l(j, j));
    for (std::int64_t i = j + 1; i < n; ++i) {
      for (std::int64_t m = 0; m < j; ++m) l(i, j) -= l(i, m) * l(j, m);
      l(i, j) /= l(j, j);
    }
  }
  for (std::int64_t c = 0; c < b.cols; ++c) {
    for (std::int64_t i = 0; i < n; ++i) {
      x(i, c) = b(i, c);
      for (std::int64_t m = 0; m < i; ++m) x(i, c) -= l(i, m) * x(m, c);
      x(i, c) /= l(i, i);
    }
    for (std::int64_t i = n; i-- > 0;) {
      for (std::int64_t m = i + 1; m < n; ++m) x(i, c) -= l(m, i) * x(m, c);
      x(i, c) /= l(i, i);
    }
  }
  return x;
}

// --- Where a solve runs, and where its operands lie -----------------------------------------------------------------

enum class place { cpu_one_thread, cpu_two_threads, gpu, gpu_staged };

inline std::string to_string(place where) {
  switch (where) {
    case place::cpu_one_thread:
      return "cpu1";
    case place::cpu_two_threads:
      return "cpu2";
    case place::gpu:
      return "gpu";
    case place::gpu_staged:
      return "gpu_staged";
  }
  return "?";
}

inline std::optional<context> context_at(place where) {
  switch (where) {
    case place::cpu_one_thread:
      return context::cpu(1);
    case place::cpu_two_threads:
      return context::cpu(2);
    default:
      return context_of(backend::cuda);
  }
}

/// Memory of B and X.
inline context operands_at(place where, const context& ctx) { return where == place::gpu ? ctx : context::cpu(1); }

template <class T>
struct solved {
  cg_result result;
  dense_table<T> x;
};

/// Solves through operands of any layout; outside X nothing may be written.
template <class T, class I = std::int32_t>
solved<T> solve(place where, const context& ctx, const sparse_case& a, const dense_table<T>& b,
                const cg_options& options, const placement& lies = {}, const dense_table<T>* guess = nullptr) {
  const context memory = operands_at(where, ctx);
  operand<T> b_there(memory, b, lies);
  operand<T> x_there = guess ? operand<T>(memory, *guess, lies) : operand<T>(memory, b.rows, b.cols, lies);
  const dense_view<const T> b_view = b_there.view();
  solved<T> s{solve_cg<T, I>(ctx, csr_of<T, I>(a), b_view, x_there.view(), options), {}};
  s.x = x_there.read();
  return s;
}

template <class T>
constexpr double tolerance_for = std::is_same_v<T, float> ? 1e-4 : 1e-10;

template <class T>
cg_options default_options() {
  cg_options options;
  options.tolerance = tolerance_for<T>;
  options.check_every = 1;  // so that no product is more than an iteration needs
  return options;
}

/// What holds for every converged solve.
template <class T>
void expect_converged(const sparse_case& a, const dense_table<T>& b, const solved<T>& s, const cg_options& options) {
  EXPECT_EQ(s.result.reason, cg_stop::converged) << to_string(s.result.reason);
  ASSERT_EQ(s.result.true_residual.size(), static_cast<std::size_t>(b.cols));
  for (std::int64_t j = 0; j < b.cols; ++j) {
    const auto exact = true_residual(a, b, s.x, j);
    const double told = s.result.true_residual[static_cast<std::size_t>(j)];
    EXPECT_LE(told, options.tolerance) << "column " << j;
    EXPECT_LE(exact.relative, options.tolerance + exact.rounding) << "column " << j;
    EXPECT_LE(std::fabs(told - exact.relative), exact.rounding) << "column " << j;
  }
  EXPECT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations) + 1);
  EXPECT_GT(s.result.num_products, s.result.iterations) << "the true residual was never computed";
  // Looked at less often, columns have stopped before the host sees it; it then waits for what it has submitted.
  const std::int64_t under_way = options.check_every == 1 ? 0 : 8 + s.result.iterations / 10;
  EXPECT_LE(s.result.num_products, s.result.iterations + s.result.num_replacements + 2 + under_way) << "too many";
  EXPECT_LE(s.result.num_replacements, 6);
  EXPECT_GE(s.result.seconds, 0);
  EXPECT_EQ(s.result.facts.rows, a.rows);
}

}  // namespace bcsc::test
