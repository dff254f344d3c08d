// Conjugate gradients for operators: every way to iterate, every preconditioner, every correction.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>

#include "bcsc/cg.hpp"
#include "bcsc/preconditioners.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {

namespace {

// --- What a solve is made of ----------------------------------------------------------------------------------------

/// Z = 2 D^-1 R by a callable on the host: correct up to a factor, which CG does not see, and never capturable.
template <class T>
linear_operator<T> host_jacobi(const context& ctx, const sparse_case& a) {
  std::vector<T> inverse(static_cast<std::size_t>(a.rows), T{0});
  for (const triplet& e : a.entries) {
    if (e.row == e.col) inverse[static_cast<std::size_t>(e.row)] = static_cast<T>(2 / e.value);
  }
  return {ctx,
          a.rows,
          a.cols,
          [inverse](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z, const apply_options&) {
            for (std::int64_t i = 0; i < z.rows; ++i) {
              for (std::int64_t j = 0; j < z.cols; ++j) {
                const T old = beta.value() != 0 ? beta.value() * z(i, j) : T{0};
                z(i, j) = alpha.value() * inverse[static_cast<std::size_t>(i)] * r(i, j) + old;
              }
            }
          },
          {.name = "Jacobi on the host"}};
}

enum class by { nothing, host_jacobi, chebyshev };

template <class T>
solved<T> solve_operators(const context& ctx, const sparse_case& a, const dense_table<T>& b, const cg_options& options,
                          by preconditioner = by::nothing, const dense_table<T>* guess = nullptr) {
  const auto csr = csr_of<T>(a);
  const spmm_plan<T> plan(ctx, csr, {.cols = std::max<std::int64_t>(1, b.cols), .deterministic = true});
  cg_operators<T> parts{plan};
  if (preconditioner == by::host_jacobi) parts.preconditioner = host_jacobi<T>(ctx, a);
  if (preconditioner == by::chebyshev) parts.preconditioner = chebyshev_preconditioner(ctx, csr, {.degree = 3});
  const placement lies{.padding = b.cols % 2 == 1 ? 3 : 0};
  operand<T> b_there(ctx, b, lies);
  operand<T> x_there = guess != nullptr ? operand<T>(ctx, *guess, lies) : operand<T>(ctx, b.rows, b.cols, lies);
  const dense_view<const T> b_view = b_there.view();
  solved<T> s{solve_cg(parts, b_view, x_there.view(), options), {}};
  s.x = x_there.read();
  return s;
}

template <class T>
dense_table<T> right_hand_sides(const sparse_case& a, std::int64_t k, std::uint64_t seed = 77) {
  return random_table<T>(a.rows, k, values::real, seed);
}

/// What is reported is what is so, and every column that is said to have converged has.
template <class T>
void expect_honest(const sparse_case& a, const dense_table<T>& b, const solved<T>& s, double tolerance) {
  const auto k = static_cast<std::size_t>(b.cols);
  ASSERT_EQ(s.result.true_residual.size(), k);
  ASSERT_EQ(s.result.column_reason.size(), k);
  ASSERT_EQ(s.result.column_iterations.size(), k);
  ASSERT_EQ(s.result.recurrence_residual.size(), k);
  EXPECT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations) + 1);
  bool all = true;
  for (std::size_t j = 0; j < k; ++j) {
    EXPECT_LE(s.result.column_iterations[j], s.result.iterations);
    const bool converged = s.result.column_reason[j] == cg_stop::converged;
    all = all && converged;
    EXPECT_EQ(converged, s.result.true_residual[j] <= tolerance) << "column " << j;
    const auto exact = true_residual(a, b, s.x, static_cast<std::int64_t>(j));
    if (std::isnan(s.result.true_residual[j]) || std::isnan(static_cast<double>(exact.relative))) continue;
    EXPECT_LE(std::fabs(s.result.true_residual[j] - exact.relative), 4 * exact.rounding) << "column " << j;
  }
  EXPECT_EQ(s.result.reason == cg_stop::converged, all);
}

template <class T>
void expect_solved(const sparse_case& a, const dense_table<T>& b, const solved<T>& s, double tolerance) {
  expect_honest(a, b, s, tolerance);
  EXPECT_EQ(s.result.reason, cg_stop::converged) << to_string(s.result.reason);
}

// --- Methods x preconditioners x columns x types x places ------------------------------------------------------------

struct method_case {
  place where;
  value_type type;
  cg_method method;
  cg_beta beta;
  by preconditioner;
  std::int64_t k, check_every;
};

std::string name_of(const testing::TestParamInfo<method_case>& info) {
  const method_case& c = info.param;
  const char* const preconditioners[] = {"plain", "host", "chebyshev"};
  return to_string(c.where) + "_" + std::string(to_string(c.type)) + "_" + std::string(to_string(c.method)) +
         (c.beta == cg_beta::polak_ribiere ? "_pr_" : "_fr_") + preconditioners[static_cast<int>(c.preconditioner)] +
         "_k" + std::to_string(c.k) + "_every" + std::to_string(c.check_every);
}

std::vector<method_case> method_cases() {
  std::vector<method_case> all;
  for (const place where : {place::cpu_two_threads, place::gpu}) {
    for (const value_type type : {value_type::fp32, value_type::fp64}) {
      for (const by preconditioner : {by::nothing, by::host_jacobi, by::chebyshev}) {
        if (where == place::gpu && preconditioner == by::host_jacobi) continue;  // its memory is the host's
        for (const std::int64_t k : {1, 3, 16}) {
          all.push_back({where, type, cg_method::block, cg_beta::fletcher_reeves, preconditioner, k, 0});
          for (const cg_beta beta : {cg_beta::fletcher_reeves, cg_beta::polak_ribiere}) {
            for (const std::int64_t every : {0, 1, 7}) {
              all.push_back({where, type, cg_method::simultaneous, beta, preconditioner, k, every});
            }
          }
        }
      }
    }
  }
  return all;
}

class cg_method_test : public testing::TestWithParam<method_case> {
 protected:
  template <class T>
  void check() {
    const method_case& c = GetParam();
    const auto ctx = context_at(c.where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    cg_options options;
    options.tolerance = tolerance_for<T>;
    options.method = c.method;
    options.beta = c.beta;
    options.check_every = c.check_every;
    for (const system_case& system : systems()) {
      if (std::is_same_v<T, float> && system.condition > 1e4) continue;
      SCOPED_TRACE(system.a.name);
      const auto b = right_hand_sides<T>(system.a, c.k);
      const auto s = solve_operators(*ctx, system.a, b, options, c.preconditioner);
      expect_solved(system.a, b, s, options.tolerance);
      const auto wanted = direct_solution(system.a, b);
      for (std::int64_t j = 0; j < c.k; ++j) {
        long double error = 0, size = 0;
        for (std::int64_t i = 0; i < system.a.rows; ++i) {
          error += (s.x(i, j) - wanted(i, j)) * (s.x(i, j) - wanted(i, j));
          size += wanted(i, j) * wanted(i, j);
        }
        EXPECT_LE(std::sqrt(error / size), 2 * system.condition * options.tolerance) << "column " << j;
      }
    }
  }
};

TEST_P(cg_method_test, solves_every_system) { GetParam().type == value_type::fp32 ? check<float>() : check<double>(); }

INSTANTIATE_TEST_SUITE_P(cases, cg_method_test, testing::ValuesIn(method_cases()), name_of);

// --- Looking less often ---------------------------------------------------------------------------------------------

class cg_places_test : public testing::TestWithParam<place> {
 protected:
  void run(const std::function<void(const context&)>& check) {
    const auto ctx = context_at(GetParam());
    BCSC_SKIP_WITHOUT_GPU(ctx);
    check(*ctx);
  }
};
INSTANTIATE_TEST_SUITE_P(places, cg_places_test, testing::Values(place::cpu_two_threads, place::gpu),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(cg_places_test, how_often_the_host_looks_changes_no_bit) {
  run([](const context& ctx) {
    const sparse_case a = laplace(17, 12);
    auto b = right_hand_sides<double>(a, 5);
    for (std::int64_t i = 0; i < a.rows; ++i) b(i, 3) = 0;
    for (const by preconditioner : {by::nothing, by::chebyshev}) {
      cg_options options;
      options.tolerance = 1e-9;
      options.check_every = 1;
      const auto wanted = solve_operators(ctx, a, b, options, preconditioner);
      expect_solved(a, b, wanted, options.tolerance);
      for (const std::int64_t every : {0, 2, 5, 8, 64, 5000}) {
        options.check_every = every;
        const auto got = solve_operators(ctx, a, b, options, preconditioner);
        EXPECT_EQ(got.x.at, wanted.x.at) << every;
        EXPECT_EQ(got.result.history, wanted.result.history) << every;
        EXPECT_EQ(got.result.iterations, wanted.result.iterations) << every;
        EXPECT_EQ(got.result.column_iterations, wanted.result.column_iterations) << every;
        EXPECT_EQ(got.result.reason, wanted.result.reason) << every;
      }
    }
  });
}

// A report of more than one copy, windows of 50 iterations in a log of 64.
TEST_P(cg_places_test, reads_a_wide_log_as_the_ring_that_it_is) {
  run([](const context& ctx) {
    const sparse_case a = tridiagonal(300, 2.0005);
    const auto b = right_hand_sides<double>(a, 80);
    cg_options options;
    options.tolerance = 1e-9;
    options.correction = cg_correction::recompute(50);
    options.check_every = 1;
    const auto wanted = solve_operators(ctx, a, b, options);
    EXPECT_GT(wanted.result.iterations, 128);
    options.check_every = 64;
    const auto got = solve_operators(ctx, a, b, options);
    EXPECT_EQ(got.x.at, wanted.x.at);
    EXPECT_EQ(got.result.history, wanted.result.history);
  });
}

/// One column spans the space that CG has, so it takes as many iterations; Jacobi's diagonal is far from 1.
TEST_P(cg_places_test, a_block_of_one_with_jacobi_is_cg) {
  run([](const context& ctx) {
    sparse_case a = laplace(20, 20);
    const auto size_of = [](std::int64_t i) { return i % 3 == 0 ? 50.0 : 1.0; };
    for (triplet& e : a.entries) e.value *= size_of(e.row) * size_of(e.col);
    cg_options options = default_options<double>();
    options.max_iterations = 500;
    const auto b = right_hand_sides<double>(a, 1);
    const auto alone = solve(GetParam(), ctx, a, b, options);
    options.method = cg_method::block;
    const auto block = solve(GetParam(), ctx, a, b, options);
    EXPECT_EQ(alone.result.reason, cg_stop::converged);
    EXPECT_EQ(block.result.reason, cg_stop::converged);
    EXPECT_NEAR(static_cast<double>(block.result.iterations), static_cast<double>(alone.result.iterations), 2);
    const auto together = solve(GetParam(), ctx, a, right_hand_sides<double>(a, 6, 78), options);
    EXPECT_EQ(together.result.reason, cg_stop::converged);
    EXPECT_LT(together.result.iterations, alone.result.iterations);
  });
}

TEST_P(cg_places_test, progress_hears_of_every_iteration_however_rarely_the_host_looks) {
  run([](const context& ctx) {
    const sparse_case a = tridiagonal(150, 2.02);
    std::vector<double> heard;
    cg_options options;
    options.check_every = 6;
    options.progress = [&](std::int64_t iteration, double residual) {
      heard.push_back(residual);
      EXPECT_EQ(iteration, std::ssize(heard));
      return iteration < 10;
    };
    const auto b = right_hand_sides<double>(a, 2);
    const auto s = solve_operators(ctx, a, b, options);
    EXPECT_EQ(s.result.reason, cg_stop::cancelled);
    EXPECT_EQ(s.result.iterations, 12) << "those under way when it said no are finished";
    EXPECT_EQ(heard.size(), 10u);
    expect_honest(a, b, s, options.tolerance);
    EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(2, cg_stop::cancelled));
  });
}

// --- Columns that go wrong ------------------------------------------------------------------------------------------

class cg_columns_test : public testing::TestWithParam<std::tuple<place, cg_method>> {
 protected:
  void run(const std::function<void(const context&, cg_options)>& check) {
    const auto ctx = context_at(std::get<0>(GetParam()));
    BCSC_SKIP_WITHOUT_GPU(ctx);
    cg_options options;
    options.tolerance = 1e-10;
    options.method = std::get<1>(GetParam());
    check(*ctx, options);
  }
};
INSTANTIATE_TEST_SUITE_P(methods, cg_columns_test,
                         testing::Combine(testing::Values(place::cpu_two_threads, place::gpu),
                                          testing::Values(cg_method::simultaneous, cg_method::block)),
                         [](const auto& info) {
                           return to_string(std::get<0>(info.param)) + "_" +
                                  std::string(to_string(std::get<1>(info.param)));
                         });

TEST_P(cg_columns_test, nan_zero_and_easy_columns_do_not_disturb_the_others) {
  run([](const context& ctx, const cg_options& options) {
    const sparse_case a = laplace(12, 10);
    auto b = right_hand_sides<double>(a, 6);
    b(4, 1) = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t i = 0; i < a.rows; ++i) b(i, 2) = 0;
    for (std::int64_t y = 0; y < 10; ++y) {  // an eigenvector: solved in one step
      for (std::int64_t x = 0; x < 12; ++x) {
        b(y * 12 + x, 4) =
            std::sin(M_PI * static_cast<double>(x + 1) / 13) * std::sin(M_PI * static_cast<double>(y + 1) / 11);
      }
    }
    const auto s = solve_operators(ctx, a, b, options);
    expect_honest(a, b, s, options.tolerance);
    EXPECT_EQ(s.result.reason, cg_stop::not_finite);
    for (const std::size_t j : {0u, 2u, 3u, 4u, 5u}) EXPECT_EQ(s.result.column_reason[j], cg_stop::converged) << j;
    EXPECT_EQ(s.result.column_reason[1], cg_stop::not_finite);
    EXPECT_EQ(s.result.column_iterations[2], 0);
    EXPECT_LE(s.result.column_iterations[4], 2);
    for (std::int64_t i = 0; i < a.rows; ++i) EXPECT_EQ(s.x(i, 2), 0);
  });
}

TEST_P(cg_columns_test, an_indefinite_matrix_is_named) {
  run([](const context& ctx, const cg_options& options) {
    auto eigenvalues = geometric(40, 10);
    for (std::size_t i = 0; i < eigenvalues.size(); i += 2) eigenvalues[i] *= -1;
    const sparse_case a = with_eigenvalues("indefinite", eigenvalues, 6);
    const auto b = right_hand_sides<double>(a, 3);
    const auto s = solve_operators(ctx, a, b, options);
    EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(3, cg_stop::not_positive_definite));
    expect_honest(a, b, s, options.tolerance);
  });
}

/// diag(1, 2, ..., -3): only a right-hand side with a part in the last row meets its negative entry.
TEST_P(cg_columns_test, one_meets_an_indefinite_direction_and_the_others_converge) {
  run([](const context& ctx, cg_options options) {
    sparse_case a{"one negative entry", 12, 12, {}};
    for (std::int64_t i = 0; i < 12; ++i) a.entries.push_back({i, i, i == 11 ? -3.0 : 1.0 + static_cast<double>(i)});
    auto b = right_hand_sides<double>(a, 3);
    b(11, 0) = b(11, 2) = 0;
    std::int64_t heard = 0;
    options.progress = [&](std::int64_t iteration, double) { return iteration == ++heard; };
    auto guess = right_hand_sides<double>(a, 3);
    guess(11, 0) = guess(11, 2) = 0;
    for (const bool guesses : {false, true}) {
      options.use_initial_guess = guesses;
      heard = 0;
      const auto s = solve_operators(ctx, a, b, options, by::nothing, &guess);
      EXPECT_EQ(s.result.column_reason,
                (std::vector{cg_stop::converged, cg_stop::not_positive_definite, cg_stop::converged}));
      EXPECT_EQ(s.result.reason, cg_stop::not_positive_definite);
      EXPECT_EQ(heard, s.result.iterations);
      EXPECT_EQ(std::ssize(s.result.history), s.result.iterations + 1);
      expect_honest(a, b, s, 1e-10);
    }
  });
}

/// Both ends free: the constant vector is in the null space.
sparse_case free_chain(std::int64_t n) {
  sparse_case a = tridiagonal(n, 2);
  a.entries.front().value = 1;
  a.entries.back().value = 1;
  return a;
}

TEST_P(cg_columns_test, a_singular_consistent_system_is_solved) {
  run([](const context& ctx, const cg_options& options) {
    const sparse_case a = free_chain(64);
    dense_table<double> b(a.rows, 3);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      b(i, 0) = i % 2 == 0 ? 1 : -1;
      b(i, 1) = i < 32 ? 1 : -1;
      b(i, 2) = i % 4 < 2 ? 3 : -3;
    }
    expect_solved(a, b, solve_operators(ctx, a, b, options), options.tolerance);
  });
}

TEST_P(cg_columns_test, a_singular_inconsistent_system_is_named) {
  run([](const context& ctx, cg_options options) {
    options.max_iterations = 2000;
    for (const std::int64_t n : {16, 64}) {
      const sparse_case a = free_chain(n);
      const auto b = right_hand_sides<double>(a, 2);
      const auto s = solve_operators(ctx, a, b, options);
      EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(2, cg_stop::inconsistent))
          << to_string(s.result.column_reason[0]) << ", " << to_string(s.result.column_reason[1]);
      expect_honest(a, b, s, options.tolerance);
    }
  });
}

TEST_P(cg_columns_test, one_is_inconsistent_and_the_others_converge) {
  run([](const context& ctx, const cg_options& options) {
    const sparse_case a = free_chain(64);
    dense_table<double> b(a.rows, 3);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      b(i, 0) = i % 2 == 0 ? 1 : -1;
      b(i, 1) = i == 5 ? 1 : 0;
      b(i, 2) = i < 32 ? 1 : -1;
    }
    const auto s = solve_operators(ctx, a, b, options);
    EXPECT_EQ(s.result.column_reason, (std::vector{cg_stop::converged, cg_stop::inconsistent, cg_stop::converged}));
    expect_honest(a, b, s, options.tolerance);
  });
}

/// A grid whose boundary is free: the constant vector is in the null space.
sparse_case free_grid(std::int64_t width, std::int64_t height) {
  sparse_case a{"free grid", width * height, width * height, {}};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::vector<std::int64_t> beside;
    if (i >= width) beside.push_back(i - width);
    if (i % width > 0) beside.push_back(i - 1);
    if (i % width + 1 < width) beside.push_back(i + 1);
    if (i + width < a.rows) beside.push_back(i + width);
    a.entries.push_back({i, i, static_cast<double>(beside.size())});
    for (const std::int64_t j : beside) a.entries.push_back({i, j, -1});
  }
  return a;
}

/// Along it the residual grows so slowly that nothing but the curvature tells.
TEST_P(cg_columns_test, a_null_space_is_found_before_thousands_of_iterations) {
  run([](const context& ctx, const cg_options& options) {
    const sparse_case a = free_grid(100, 80);
    const auto b = right_hand_sides<double>(a, 3);
    const auto s = solve_operators(ctx, a, b, options);
    EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(3, cg_stop::inconsistent));
    EXPECT_LT(s.result.iterations, 1500);
    expect_honest(a, b, s, options.tolerance);
  });
}

/// A zero on the diagonal: x grows by a factor in each iteration, and would do so until it overflows.
TEST_P(cg_columns_test, an_inconsistent_system_ends_before_x_overflows) {
  run([](const context& ctx, const cg_options& options) {
    for (const std::int64_t n : {10, 50, 300}) {
      sparse_case a{"diagonal with a zero", n, n, {}};
      for (std::int64_t i = 0; i < n; ++i) a.entries.push_back({i, i, i == 7 ? 0.0 : 1.0 + static_cast<double>(i)});
      const auto b = right_hand_sides<double>(a, 2);
      const auto s = solve_operators(ctx, a, b, options);
      EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(2, cg_stop::inconsistent));
      EXPECT_LT(s.result.iterations, 3 * n + 20);
      for (const double x : s.x.at) EXPECT_TRUE(std::isfinite(x));
      expect_honest(a, b, s, options.tolerance);
    }
  });
}

TEST_P(cg_columns_test, a_matrix_that_is_not_symmetric_is_named) {
  run([](const context& ctx, cg_options options) {
    options.max_iterations = 300;
    for (const double skew : {3.0, 0.7}) {
      sparse_case a = tridiagonal(100, 2.02);
      for (triplet& e : a.entries) {
        if (e.row < e.col) e.value += skew;
      }
      const auto b = right_hand_sides<double>(a, 2);
      const auto s = solve_operators(ctx, a, b, options);
      EXPECT_EQ(s.result.reason, cg_stop::not_symmetric) << to_string(s.result.reason);
      expect_honest(a, b, s, options.tolerance);
    }
  });
}

TEST_P(cg_columns_test, beyond_the_precision_it_stagnates) {
  run([](const context& ctx, cg_options options) {
    const sparse_case a = with_eigenvalues("random", geometric(60, 1e3), 5);
    const auto b = right_hand_sides<double>(a, 3);
    options.tolerance = 1e-18;
    const auto s = solve_operators(ctx, a, b, options);
    EXPECT_EQ(s.result.reason, cg_stop::stagnated) << to_string(s.result.reason);
    expect_honest(a, b, s, options.tolerance);
    for (const double residual : s.result.true_residual) EXPECT_LT(residual, 1e-12);
  });
}

TEST_P(cg_columns_test, a_restart_goes_on_from_x) {
  run([](const context& ctx, cg_options options) {
    const sparse_case a = laplace(17, 12);
    auto b = right_hand_sides<double>(a, 3);
    for (std::int64_t i = 0; i < a.rows; ++i) b(i, 1) = 0;
    const auto whole = solve_operators(ctx, a, b, options);
    options.max_iterations = whole.result.iterations / 2;
    const auto half = solve_operators(ctx, a, b, options);
    EXPECT_EQ(half.result.reason, cg_stop::max_iterations);
    expect_honest(a, b, half, options.tolerance);
    options.max_iterations = 10000;
    options.use_initial_guess = true;
    auto guess = half.x;
    guess(3, 1) = 5;  // x of a zero right-hand side is zero, whatever the guess
    const auto rest = solve_operators(ctx, a, b, options, by::nothing, &guess);
    expect_solved(a, b, rest, options.tolerance);
    EXPECT_LT(rest.result.history.front(), 0.5);
    EXPECT_LT(rest.result.iterations, whole.result.iterations);
    EXPECT_EQ(rest.x(3, 1), 0);
  });
}

TEST_P(cg_columns_test, nothing_to_solve) {
  run([](const context& ctx, const cg_options& options) {
    for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 3}, {30, 0}}) {
      const sparse_case a = n == 0 ? sparse_case{"empty", 0, 0, {}} : laplace(6, 5);
      const auto s = solve_operators(ctx, a, dense_table<double>(n, k), options);
      EXPECT_EQ(s.result.reason, cg_stop::converged);
      EXPECT_EQ(s.result.column_reason, std::vector<cg_stop>(static_cast<std::size_t>(k), cg_stop::converged));
    }
    const sparse_case one{"1x1", 1, 1, {{0, 0, 4}}};
    const auto b = right_hand_sides<double>(one, 3);
    expect_solved(one, b, solve_operators(ctx, one, b, options), options.tolerance);
  });
}

// --- Blocks ---------------------------------------------------------------------------------------------------------

TEST(cg_block, dependent_right_hand_sides_are_right) {
  const sparse_case a = laplace(12, 10);
  cg_options options;
  options.tolerance = 1e-10;
  options.method = cg_method::block;
  for (const double apart : {0.0, 1e-14, 1e-10, 1e-6, 1e-3}) {
    SCOPED_TRACE(apart);
    auto b = right_hand_sides<double>(a, 5);
    const auto noise = right_hand_sides<double>(a, 1, 5);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      b(i, 1) = b(i, 0) + apart * noise(i, 0);                // nearly equal
      b(i, 2) = -3e7 * b(i, 0);                               // the same but for its size
      b(i, 4) = b(i, 0) - 2 * b(i, 3) + apart * noise(i, 0);  // a combination
    }
    for (const by preconditioner : {by::nothing, by::host_jacobi}) {
      const auto s = solve_operators(context::cpu(2), a, b, options, preconditioner);
      expect_solved(a, b, s, options.tolerance);
      if (apart != 0) continue;
      for (std::int64_t i = 0; i < a.rows; ++i) EXPECT_NEAR(s.x(i, 1), s.x(i, 0), 1e-8);
    }
  }
}

TEST(cg_block, columns_that_are_not_finite_break_no_block) {
  const sparse_case a = laplace(12, 10);
  auto b = right_hand_sides<double>(a, 4);
  dense_table<double> finite(a.rows, 2);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    finite(i, 0) = b(i, 0);
    finite(i, 1) = b(i, 3);
  }
  b(4, 1) = b(7, 2) = std::numeric_limits<double>::quiet_NaN();
  const cg_options options{.tolerance = 1e-10, .method = cg_method::block};
  const auto all = solve_operators(context::cpu(1), a, b, options);
  const auto some = solve_operators(context::cpu(1), a, finite, options);
  EXPECT_EQ(all.result.column_reason,
            (std::vector{cg_stop::converged, cg_stop::not_finite, cg_stop::not_finite, cg_stop::converged}));
  EXPECT_EQ(all.result.iterations, some.result.iterations);
}

TEST(cg_block, a_cancelled_solve_does_not_begin_once_more) {
  const sparse_case a = laplace(12, 10);
  auto b = right_hand_sides<double>(a, 4);
  b(4, 1) = b(7, 2) = std::numeric_limits<double>::quiet_NaN();
  std::int64_t heard = 0;
  const auto s = solve_operators(
      context::cpu(1), a, b,
      {.tolerance = 1e-10, .progress = [&](std::int64_t, double) { return ++heard < 5; }, .method = cg_method::block});
  EXPECT_EQ(s.result.reason, cg_stop::cancelled);
  EXPECT_EQ(s.result.iterations, 5);
  EXPECT_EQ(heard, 5);
  EXPECT_LT(s.result.true_residual[0], 1) << "x is the last iterate";
  expect_honest(a, b, s, 1e-10);
}

TEST(cg_block, takes_more_right_hand_sides_than_unknowns) {
  const sparse_case a = laplace(3, 2);
  const auto b = right_hand_sides<double>(a, 16);
  const auto s = solve_operators(context::cpu(1), a, b, {.tolerance = 1e-12, .method = cg_method::block});
  expect_solved(a, b, s, 1e-12);
  EXPECT_LE(s.result.iterations, 3) << "six vectors span the space";
}

TEST(cg_block, repeats_bit_for_bit) {
  const sparse_case a = laplace(17, 12);
  const auto b = right_hand_sides<double>(a, 7);
  const cg_options options{.tolerance = 1e-10, .method = cg_method::block};
  const auto first = solve_operators(context::cpu(2), a, b, options);
  const auto second = solve_operators(context::cpu(2), a, b, options);
  EXPECT_EQ(first.x.at, second.x.at);
  EXPECT_EQ(first.result.history, second.result.history);
}

/// One search space finds what k separate ones find later.
TEST(cg_block, takes_fewer_iterations) {
  const sparse_case a = laplace(30, 30);
  const auto b = right_hand_sides<double>(a, 16);
  cg_options options;
  options.tolerance = 1e-10;
  const auto apart = solve_operators(context::cpu(2), a, b, options);
  options.method = cg_method::block;
  const auto together = solve_operators(context::cpu(2), a, b, options);
  expect_solved(a, b, apart, options.tolerance);
  expect_solved(a, b, together, options.tolerance);
  EXPECT_LE(together.result.iterations, 0.5 * static_cast<double>(apart.result.iterations))
      << together.result.iterations << " and " << apart.result.iterations;
}

// --- What others bring ----------------------------------------------------------------------------------------------

TEST_P(cg_columns_test, what_a_callable_throws_reaches_the_caller) {
  run([](const context& ctx, const cg_options& options) {
    const sparse_case a = laplace(4, 4);
    operand<double> b(ctx, right_hand_sides<double>(a, 2), {}), x(ctx, a.rows, 2, {});
    int calls = 0;
    const linear_operator<double> throws(ctx, a.rows, a.cols, [&](auto&&...) {
      if (++calls == 1) throw std::domain_error("no such product");
    });
    const dense_view<const double> b_view = b.view();
    EXPECT_THROW((void)solve_cg(throws, b_view, x.view(), options), std::domain_error);
    EXPECT_EQ(calls, 1);
  });
}

TEST(cg_operators, that_do_not_fit_are_refused) {
  const auto ctx = context::cpu(1);
  const spmm_plan<double> six(ctx, csr_of<double>(laplace(3, 2)), {}), four(ctx, csr_of<double>(laplace(2, 2)), {});
  const spmm_plan<float> narrow(ctx, csr_of<float>(laplace(2, 2)), {});
  std::vector<double> b(6, 1.0), x(6, -5.0);
  const auto refusal = [&](const cg_operators<double>& parts, const cg_options& options) {
    return code_of([&] {
      (void)solve_cg(parts, dense_view<const double>(b.data(), 6, 1), dense_view<double>(x.data(), 6, 1), options);
    });
  };
  const cg_operators<double> alone{six};
  EXPECT_EQ(refusal({.a = four}, {}), errc::size_mismatch);
  EXPECT_EQ(refusal({.a = six, .preconditioner = linear_operator<double>(four)}, {}), errc::size_mismatch);
  EXPECT_EQ(refusal({.a = six, .inner = linear_operator<float>(narrow)}, {}), errc::size_mismatch);
  EXPECT_EQ(refusal(alone, {.check_every = -1}), errc::invalid_argument);
  for (const double share : {0.0, 1.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal(alone, {.correction = cg_correction::reliable(share)}), errc::invalid_argument);
  }
  EXPECT_EQ(refusal(alone, {.correction = cg_correction::recompute(0)}), errc::invalid_argument);
  EXPECT_EQ(refusal(alone, {.correction = cg_correction::refine(0.1)}), errc::invalid_argument) << "no inner operator";
  EXPECT_EQ(refusal(alone, {.method = cg_method::block, .correction = cg_correction::refine(0.1)}),
            errc::invalid_argument);
  EXPECT_EQ(x, std::vector<double>(6, -5.0));
}

}  // namespace

}  // namespace bcsc::test
