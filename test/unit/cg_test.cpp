#include "bcsc/cg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "bcsc/device.hpp"
#include "bcsc/files.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"
#include "test/support/paths.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {

namespace {

// --- Every system x columns x preconditioner x place ----------------------------------------------------------------

struct solve_case {
  place where;
  value_type type;
  std::size_t system;
  std::int64_t k;
  preconditioner precondition;
};

std::string name_of(const testing::TestParamInfo<solve_case>& info) {
  const solve_case& c = info.param;
  return to_string(c.where) + "_" + std::string(to_string(c.type)) + "_" + systems()[c.system].a.name + "_k" +
         std::to_string(c.k) + (c.precondition == preconditioner::jacobi ? "_jacobi" : "_plain");
}

std::vector<solve_case> solve_cases() {
  std::vector<solve_case> all;
  for (place where : {place::cpu_one_thread, place::cpu_two_threads, place::gpu, place::gpu_staged}) {
    for (value_type type : {value_type::fp32, value_type::fp64}) {
      for (std::size_t system = 0; system < systems().size(); ++system) {
        for (std::int64_t k : {1, 2, 3, 8, 33}) {
          all.push_back({where, type, system, k, preconditioner::jacobi});
          // Unscaled, the badly scaled system is beyond fp32.
          if (type == value_type::fp64 || systems()[system].condition < 1e4) {
            all.push_back({where, type, system, k, preconditioner::none});
          }
        }
      }
    }
  }
  return all;
}

/// A placement for each number of columns, so that all of them are used.
placement placement_for(std::int64_t k) {
  switch (k) {
    case 1:
      return {layout::col_major, 0, 0};
    case 2:
      return {layout::row_major, 5, 1};
    case 3:
      return {layout::col_major, 7, 3};
    default:
      return {layout::row_major, 0, 0};
  }
}

template <class T>
void check_solve(const solve_case& c, const context& ctx) {
  const system_case& system = systems()[c.system];
  const auto b = random_table<T>(system.a.rows, c.k, values::real, 31 + static_cast<std::uint64_t>(c.k));
  cg_options options = default_options<T>();
  options.precondition = c.precondition;
  const auto s = solve(c.where, ctx, system.a, b, options, placement_for(c.k));
  expect_converged(system.a, b, s, options);

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

class cg_solve_test : public testing::TestWithParam<solve_case> {};

TEST_P(cg_solve_test, converges_to_the_true_residual) {
  const std::optional<context> ctx = context_at(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  GetParam().type == value_type::fp32 ? check_solve<float>(GetParam(), *ctx) : check_solve<double>(GetParam(), *ctx);
}

INSTANTIATE_TEST_SUITE_P(systems, cg_solve_test, testing::ValuesIn(solve_cases()), name_of);

// --- How it ends: each on every place, in either type ---------------------------------------------------------------

using ending = std::pair<place, value_type>;

class cg_ending_test : public testing::TestWithParam<ending> {
 protected:
  place where() const { return GetParam().first; }
  /// Calls check(T{}, ctx) with the case's type; skips where its place is missing.
  template <class Check>
  void run(const Check& check) {
    const std::optional<context> ctx = context_at(where());
    BCSC_SKIP_WITHOUT_GPU(ctx);
    GetParam().second == value_type::fp32 ? check(float{}, *ctx) : check(double{}, *ctx);
  }
};

std::vector<ending> endings() {
  std::vector<ending> all;
  for (place where : {place::cpu_one_thread, place::cpu_two_threads, place::gpu, place::gpu_staged}) {
    for (value_type type : {value_type::fp32, value_type::fp64}) all.emplace_back(where, type);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(places, cg_ending_test, testing::ValuesIn(endings()),
                         [](const testing::TestParamInfo<ending>& info) {
                           return to_string(info.param.first) + "_" + std::string(to_string(info.param.second));
                         });

template <class T>
dense_table<T> right_hand_sides(const sparse_case& a, std::int64_t k) {
  return random_table<T>(a.rows, k, values::real, 77);
}

template <class T>
std::vector<T> column(const dense_table<T>& table, std::int64_t j) {
  std::vector<T> entries;
  for (std::int64_t i = 0; i < table.rows; ++i) entries.push_back(table(i, j));
  return entries;
}

template <class T>
void set_column(dense_table<T>& table, std::int64_t j, const std::vector<T>& entries) {
  for (std::int64_t i = 0; i < table.rows; ++i) table(i, j) = entries[static_cast<std::size_t>(i)];
}

TEST_P(cg_ending_test, zero_right_hand_sides_give_zero_at_once) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(9, 7);
    const dense_table<T> b(a.rows, 3), guess = right_hand_sides<T>(a, 3);
    for (bool with_guess : {false, true}) {
      cg_options options = default_options<T>();
      options.use_initial_guess = with_guess;
      const auto s = solve(where(), ctx, a, b, options, {}, &guess);
      EXPECT_EQ(s.result.reason, cg_stop::converged);
      EXPECT_EQ(s.result.iterations, 0);
      EXPECT_EQ(s.x.at, b.at);
      EXPECT_EQ(s.result.true_residual, std::vector<double>(3, 0.0));
      EXPECT_EQ(s.result.history, std::vector<double>{0.0});
    }
  });
}

TEST_P(cg_ending_test, a_zero_column_among_others_rests_at_zero) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(9, 7);
    auto b = right_hand_sides<T>(a, 4);
    set_column(b, 2, std::vector<T>(static_cast<std::size_t>(a.rows), T{0}));
    const auto s = solve(where(), ctx, a, b, default_options<T>());
    EXPECT_EQ(s.result.reason, cg_stop::converged);
    EXPECT_EQ(column(s.x, 2), column(b, 2));
    EXPECT_EQ(s.result.true_residual[2], 0);
    for (std::int64_t j : {0, 1, 3}) {
      const auto exact = true_residual(a, b, s.x, j);
      EXPECT_LE(exact.relative, tolerance_for<T> + exact.rounding);
    }
  });
}

TEST_P(cg_ending_test, a_solution_given_as_guess_is_left_as_it_is) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(12, 10);
    const auto b = right_hand_sides<T>(a, 2);
    const auto first = solve(where(), ctx, a, b, default_options<T>());
    cg_options options = default_options<T>();
    options.use_initial_guess = true;
    options.tolerance *= 10;  // a GPU may round the same residual differently
    const auto again = solve(where(), ctx, a, b, options, {}, &first.x);
    EXPECT_EQ(again.result.reason, cg_stop::converged);
    EXPECT_EQ(again.result.iterations, 0);
    EXPECT_EQ(again.result.num_products, 1) << "one product, for the residual of the guess";
    EXPECT_EQ(again.x.at, first.x.at);
  });
}

TEST_P(cg_ending_test, a_column_that_has_converged_rests_bit_for_bit) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(12, 10);
    const auto b = right_hand_sides<T>(a, 3);
    const auto first = solve(where(), ctx, a, b, default_options<T>());
    dense_table<T> guess(a.rows, 3);
    set_column(guess, 1, column(first.x, 1));  // done from the start; its neighbours start at 0
    cg_options options = default_options<T>();
    options.use_initial_guess = true;
    options.tolerance *= 2;
    const auto s = solve(where(), ctx, a, b, options, {}, &guess);
    EXPECT_EQ(s.result.reason, cg_stop::converged);
    EXPECT_GT(s.result.iterations, 5);
    EXPECT_EQ(column(s.x, 1), column(first.x, 1));
  });
}

TEST_P(cg_ending_test, a_good_guess_saves_iterations_and_a_guess_not_asked_for_is_ignored) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = tridiagonal(150, 2.02);
    const auto b = right_hand_sides<T>(a, 2);
    const auto cold = solve(where(), ctx, a, b, default_options<T>());
    auto near = cold.x;
    for (T& entry : near.at) entry *= T{1.001};
    cg_options options = default_options<T>();
    const auto ignored = solve(where(), ctx, a, b, options, {}, &near);
    EXPECT_EQ(ignored.x.at, cold.x.at);
    EXPECT_EQ(ignored.result.history, cold.result.history);
    options.use_initial_guess = true;
    const auto warm = solve(where(), ctx, a, b, options, {}, &near);
    expect_converged(a, b, warm, options);
    EXPECT_LT(warm.result.iterations, cold.result.iterations);
    EXPECT_LT(warm.result.history.front(), 0.1);
  });
}

TEST_P(cg_ending_test, columns_together_do_as_each_alone) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = with_eigenvalues("random", geometric(60, 1e3), 5);
    const std::int64_t k = 5;
    const auto b = right_hand_sides<T>(a, k);
    const auto together = solve(where(), ctx, a, b, default_options<T>());
    expect_converged(a, b, together, default_options<T>());
    std::int64_t longest = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      dense_table<T> alone(a.rows, 1);
      set_column(alone, 0, column(b, j));
      const auto s = solve(where(), ctx, a, alone, default_options<T>());
      longest = std::max(longest, s.result.iterations);
      for (std::int64_t i = 0; i < a.rows; ++i) {
        EXPECT_NEAR(s.x(i, 0), together.x(i, j), 1e3 * tolerance_for<T> * std::sqrt(a.rows)) << "column " << j;
      }
    }
    // One product an iteration, however many columns share it.
    EXPECT_NEAR(static_cast<double>(together.result.iterations), static_cast<double>(longest), 2 + 0.1 * longest);
    EXPECT_LE(together.result.num_products, together.result.iterations + 4);
  });
}

TEST_P(cg_ending_test, an_indefinite_matrix_is_found_out) {
  run([&]<class T>(T, const context& ctx) {
    auto eigenvalues = geometric(40, 10);
    for (std::size_t i = 0; i < eigenvalues.size(); i += 2) eigenvalues[i] *= -1;
    const sparse_case a = with_eigenvalues("indefinite", eigenvalues, 6);
    cg_options options = default_options<T>();
    options.precondition = preconditioner::none;
    const auto b = right_hand_sides<T>(a, 3);
    const auto s = solve(where(), ctx, a, b, options);
    EXPECT_EQ(s.result.reason, cg_stop::not_positive_definite);
    EXPECT_LT(s.result.iterations, 100);
    EXPECT_EQ(s.result.num_products, s.result.iterations + 3) << "two ask whether A is symmetric";
    for (std::int64_t j = 0; j < b.cols; ++j) {
      const auto exact = true_residual(a, b, s.x, j);
      EXPECT_NEAR(s.result.true_residual[static_cast<std::size_t>(j)], exact.relative, exact.rounding);
    }
  });
}

TEST_P(cg_ending_test, a_negative_definite_matrix_is_found_out) {
  run([&]<class T>(T, const context& ctx) {
    sparse_case a = laplace(6, 6);
    for (triplet& e : a.entries) e.value = -e.value;
    cg_options options = default_options<T>();
    options.precondition = preconditioner::none;
    const auto s = solve(where(), ctx, a, right_hand_sides<T>(a, 2), options);
    EXPECT_EQ(s.result.reason, cg_stop::not_positive_definite);
    EXPECT_EQ(s.result.iterations, 1);
    EXPECT_EQ(s.x.at, dense_table<T>(a.rows, 2).at) << "no step may be taken along such a direction";
  });
}

/// The Laplace matrix with its fifth diagonal entry replaced, or left out.
sparse_case with_diagonal_entry(std::optional<double> entry) {
  sparse_case a = laplace(6, 6);
  std::erase_if(a.entries, [&](const triplet& e) { return !entry && e.row == 5 && e.col == 5; });
  for (triplet& e : a.entries) {
    if (e.row == 5 && e.col == 5) e.value = *entry;
  }
  return a;
}

TEST_P(cg_ending_test, jacobi_refuses_a_diagonal_that_is_not_positive) {
  run([&]<class T>(T, const context& ctx) {
    for (const std::optional<double>& entry :
         {std::optional<double>(-4.0), std::optional<double>(0.0), std::optional<double>()}) {
      const sparse_case a = with_diagonal_entry(entry);
      const auto b = right_hand_sides<T>(a, 2);
      const auto s = solve(where(), ctx, a, b, default_options<T>());
      EXPECT_EQ(s.result.reason, cg_stop::not_positive_definite);
      EXPECT_EQ(s.result.iterations, 0);
      EXPECT_EQ(s.result.true_residual, std::vector<double>(2, 1.0)) << "x is 0";
      EXPECT_EQ(s.x.at, dense_table<T>(a.rows, 2).at);

      cg_options options = default_options<T>();
      options.use_initial_guess = true;
      const auto guess = random_table<T>(a.rows, 2, values::real, 9);
      const auto kept = solve(where(), ctx, a, b, options, {}, &guess);
      EXPECT_EQ(kept.result.reason, cg_stop::not_positive_definite);
      EXPECT_EQ(kept.x.at, guess.at);
      const auto exact = true_residual(a, b, guess, 1);
      EXPECT_NEAR(kept.result.true_residual[1], exact.relative, exact.rounding);
    }
  });
}

TEST_P(cg_ending_test, a_nan_in_one_right_hand_side_stays_there) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(9, 7);
    for (T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
      auto b = right_hand_sides<T>(a, 3);
      b(4, 1) = bad;
      const auto s = solve(where(), ctx, a, b, default_options<T>());
      EXPECT_EQ(s.result.reason, cg_stop::not_finite);
      EXPECT_TRUE(std::isnan(s.result.true_residual[1]));
      for (std::int64_t j : {0, 2}) {
        const auto exact = true_residual(a, b, s.x, j);
        EXPECT_LE(exact.relative, tolerance_for<T> + exact.rounding) << "column " << j;
      }
    }
  });
}

TEST_P(cg_ending_test, a_nan_in_the_matrix_is_not_finite) {
  run([&]<class T>(T, const context& ctx) {
    for (preconditioner precondition : {preconditioner::none, preconditioner::jacobi}) {
      const sparse_case a = with_diagonal_entry(std::numeric_limits<double>::quiet_NaN());
      cg_options options = default_options<T>();
      options.precondition = precondition;
      const auto s = solve(where(), ctx, a, right_hand_sides<T>(a, 2), options);
      EXPECT_EQ(s.result.reason, cg_stop::not_finite);
      EXPECT_LE(s.result.iterations, 1);
    }
  });
}

TEST_P(cg_ending_test, iterations_are_limited) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = tridiagonal(150, 2.02);
    const auto b = right_hand_sides<T>(a, 2);
    for (std::int64_t limit : {0, 1, 7}) {
      cg_options options = default_options<T>();
      options.max_iterations = limit;
      const auto s = solve(where(), ctx, a, b, options);
      EXPECT_EQ(s.result.reason, cg_stop::max_iterations);
      EXPECT_EQ(s.result.iterations, limit);
      EXPECT_EQ(s.result.num_products, limit == 0 ? 0 : limit + 1);
      EXPECT_EQ(s.result.history.size(), static_cast<std::size_t>(limit) + 1);
      for (std::int64_t j = 0; j < 2; ++j) {
        const auto exact = true_residual(a, b, s.x, j);
        EXPECT_NEAR(s.result.true_residual[static_cast<std::size_t>(j)], exact.relative, exact.rounding);
      }
    }
  });
}

TEST_P(cg_ending_test, progress_hears_every_iteration_and_may_cancel) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = tridiagonal(150, 2.02);
    const auto b = right_hand_sides<T>(a, 2);
    std::vector<double> heard;
    cg_options options = default_options<T>();
    options.progress = [&](std::int64_t iteration, double residual) {
      heard.push_back(residual);
      EXPECT_EQ(iteration, static_cast<std::int64_t>(heard.size()));
      return iteration < 4;
    };
    const auto s = solve(where(), ctx, a, b, options);
    EXPECT_EQ(s.result.reason, cg_stop::cancelled);
    EXPECT_EQ(s.result.iterations, 4);
    EXPECT_EQ(s.result.history.front(), 1.0);
    EXPECT_EQ(heard, std::vector<double>(s.result.history.begin() + 1, s.result.history.end()));
    const auto exact = true_residual(a, b, s.x, 0);
    EXPECT_NEAR(s.result.true_residual[0], exact.relative, exact.rounding);
  });
}

TEST_P(cg_ending_test, beyond_the_precision_it_stagnates) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = with_eigenvalues("random", geometric(60, 1e3), 5);
    const auto b = right_hand_sides<T>(a, 3);
    cg_options options = default_options<T>();
    options.tolerance = std::is_same_v<T, float> ? 1e-10 : 1e-18;
    const auto s = solve(where(), ctx, a, b, options);
    EXPECT_EQ(s.result.reason, cg_stop::stagnated);
    EXPECT_LT(s.result.iterations, options.max_iterations / 5);
    for (std::int64_t j = 0; j < b.cols; ++j) {
      const auto exact = true_residual(a, b, s.x, j);
      EXPECT_LE(exact.relative, 4 * exact.rounding) << "as far as the precision goes";
      EXPECT_NEAR(s.result.true_residual[static_cast<std::size_t>(j)], exact.relative, exact.rounding);
    }
  });
}

TEST_P(cg_ending_test, jacobi_pays_on_a_badly_scaled_matrix) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = badly_scaled(laplace(13, 11), 2);
    const auto b = right_hand_sides<T>(a, 2);
    cg_options options = default_options<T>();
    const auto with = solve(where(), ctx, a, b, options);
    expect_converged(a, b, with, options);
    options.precondition = preconditioner::none;
    const auto without = solve(where(), ctx, a, b, options);
    EXPECT_LT(4 * with.result.iterations, without.result.iterations);
  });
}

TEST_P(cg_ending_test, a_singular_but_consistent_system_is_solved) {
  run([&]<class T>(T, const context& ctx) {
    sparse_case a = tridiagonal(64, 2);  // both ends free: the constant vector is in the kernel
    a.entries.front().value = 1;
    a.entries.back().value = 1;
    dense_table<T> b(a.rows, 2);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      b(i, 0) = static_cast<T>(i % 2 == 0 ? 1 : -1);  // orthogonal to it
      b(i, 1) = static_cast<T>(i < 32 ? 1 : -1);
    }
    const cg_options options = default_options<T>();
    expect_converged(a, b, solve(where(), ctx, a, b, options), options);
  });
}

TEST_P(cg_ending_test, a_singular_inconsistent_system_ends) {
  run([&]<class T>(T, const context& ctx) {
    sparse_case a = tridiagonal(64, 2);
    a.entries.front().value = 1;
    a.entries.back().value = 1;
    const auto b = right_hand_sides<T>(a, 2);
    cg_options options = default_options<T>();
    options.max_iterations = 500;
    const auto s = solve(where(), ctx, a, b, options);
    EXPECT_NE(s.result.reason, cg_stop::converged);
    EXPECT_LE(s.result.iterations, 500);
  });
}

TEST_P(cg_ending_test, nothing_to_solve) {
  run([&]<class T>(T, const context& ctx) {
    for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 3}, {30, 0}}) {
      const sparse_case a = n == 0 ? sparse_case{"empty", 0, 0, {}} : laplace(6, 5);
      const auto s = solve(where(), ctx, a, dense_table<T>(n, k), default_options<T>());
      EXPECT_EQ(s.result.reason, cg_stop::converged);
      EXPECT_EQ(s.result.iterations, 0);
      EXPECT_EQ(s.result.num_products, 0);
      EXPECT_EQ(s.result.true_residual, std::vector<double>(static_cast<std::size_t>(k), 0.0));
    }
  });
}

TEST_P(cg_ending_test, wide_indices_change_nothing) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(12, 10);
    const auto b = right_hand_sides<T>(a, 3);
    const auto narrow = solve<T, std::int32_t>(where(), ctx, a, b, default_options<T>());
    const auto wide = solve<T, std::int64_t>(where(), ctx, a, b, default_options<T>());
    expect_converged(a, b, wide, default_options<T>());
    EXPECT_EQ(wide.result.iterations, narrow.result.iterations);
  });
}

TEST_P(cg_ending_test, a_run_repeats_bit_for_bit) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = laplace(17, 12);
    const auto b = right_hand_sides<T>(a, 4);
    cg_options options = default_options<T>();
    options.plan.deterministic = true;
    const auto first = solve(where(), ctx, a, b, options), second = solve(where(), ctx, a, b, options);
    EXPECT_EQ(first.x.at, second.x.at);
    EXPECT_EQ(first.result.history, second.result.history);
  });
}

/// As solve(), with an existing plan; only Jacobi needs the diagonal.
template <class T>
solved<T> solve_with(place where, const spmm_plan<T>& plan, std::span<const T> diagonal, const dense_table<T>& b,
                     const cg_options& options) {
  const context memory = operands_at(where, plan.where());
  operand<T> b_there(memory, b, {});
  operand<T> x_there(memory, b.rows, b.cols, {});
  const dense_view<const T> b_view = b_there.view();
  solved<T> s{solve_cg(plan, diagonal, b_view, x_there.view(), options), {}};
  s.x = x_there.read();
  return s;
}

TEST_P(cg_ending_test, a_plan_serves_one_solve_after_the_other) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a = badly_scaled(laplace(13, 11), 1);
    const auto csr = csr_of<T>(a);
    const auto diagonal = diagonal_of(ctx, csr);
    for (const op transpose : {op::none, op::transpose}) {  // A is symmetric
      const plan_options planning{.cols = 3, .transpose = transpose, .deterministic = true};
      const spmm_plan<T> plan(ctx, csr, planning);
      for (const preconditioner by : {preconditioner::jacobi, preconditioner::none}) {
        for (const std::int64_t k : {3, 1}) {
          const auto b = right_hand_sides<T>(a, k);
          cg_options options = default_options<T>();
          options.precondition = by;
          options.plan = planning;
          const std::span<const T> given = by == preconditioner::jacobi ? diagonal : std::span<const T>();
          const auto s = solve_with<T>(where(), plan, given, b, options);
          expect_converged(a, b, s, options);
          EXPECT_EQ(s.result.facts.kernel.name, plan.facts().kernel.name);
          if (transpose == op::none && k == 3) {
            const auto alone = solve(where(), ctx, a, b, options);
            EXPECT_EQ(s.x.at, alone.x.at) << "another solution than without the plan";
            EXPECT_EQ(s.result.history, alone.result.history);
          }
        }
      }
    }
  });
}

TEST_P(cg_ending_test, the_diagonal_is_zero_where_nothing_is_stored) {
  run([&]<class T>(T, const context& ctx) {
    const sparse_case a{"gaps", 4, 5, {{0, 0, 2}, {0, 1, 7}, {2, 1, 7}, {2, 2, -3}, {2, 4, 7}, {3, 2, 7}}};
    const std::vector<T> expected{2, 0, -3, 0};
    EXPECT_EQ(diagonal_of(ctx, csr_of<T>(a)), expected);
    EXPECT_EQ(diagonal_of(ctx, (csr_of<T, std::int64_t>(a))), expected);
    if (ctx.kind() == backend::cuda) {
      const auto there = upload(ctx, csr_of<T>(a));
      EXPECT_EQ(diagonal_of(ctx, there.view()), expected);
    }
  });
}

struct plan_refusal {
  const char* name;
  errc code;
  plan_options planning;
  std::int64_t rows, cols;      ///< of A
  std::int64_t diagonal, of_b;  ///< lengths
};
class cg_plan_refusal_test : public testing::TestWithParam<plan_refusal> {};

TEST_P(cg_plan_refusal_test, has_its_code_and_leaves_x_alone) {
  const auto& [name, code, planning, rows, cols, num_diagonal, rows_of_b] = GetParam();
  sparse_case a{"diagonal", rows, cols, {}};
  for (std::int64_t i = 0; i < std::min(rows, cols); ++i) a.entries.push_back({i, i, 2});
  const spmm_plan<double> plan(context::cpu(1), csr_of<double>(a), planning);
  const std::vector<double> diagonal(static_cast<std::size_t>(num_diagonal), 2.0);
  const std::vector<double> b(static_cast<std::size_t>(2 * rows_of_b), 1.0);
  std::vector<double> x(b.size(), -5.0);
  try {
    (void)solve_cg(plan, diagonal, dense_view<const double>(b.data(), rows_of_b, 2),
                   dense_view<double>(x.data(), rows_of_b, 2));
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
  }
  EXPECT_EQ(x, std::vector<double>(b.size(), -5.0));
}

INSTANTIATE_TEST_SUITE_P(
    plans, cg_plan_refusal_test,
    testing::Values(plan_refusal{"no_diagonal", errc::size_mismatch, {}, 8, 8, 0, 8},
                    plan_refusal{"short_diagonal", errc::size_mismatch, {}, 8, 8, 7, 8},
                    plan_refusal{"long_diagonal", errc::size_mismatch, {}, 8, 8, 9, 8},
                    plan_refusal{"not_square", errc::size_mismatch, {}, 8, 9, 8, 8},
                    plan_refusal{"rows_of_b", errc::size_mismatch, {}, 8, 8, 8, 7},
                    plan_refusal{
                        "column_major_plan", errc::layout_mismatch, {.b_layout = layout::col_major}, 8, 8, 8, 8}),
    [](const testing::TestParamInfo<plan_refusal>& info) { return std::string(info.param.name); });

TEST(cg_test, a_plan_that_was_moved_from_is_refused) {
  spmm_plan<double> plan(context::cpu(1), csr_of<double>(laplace(3, 3)), {});
  const spmm_plan<double> other(std::move(plan));
  double x[9], b[9] = {};
  try {
    (void)solve_cg(plan, {}, dense_view<const double>(b, 9, 1), dense_view<double>(x, 9, 1));  // NOLINT: on purpose
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_argument);
  }
}

/// Enough entries that all threads take part in the product, and enough rows that they do in the rest.
TEST(cg_test, a_solution_does_not_depend_on_the_threads) {
  constexpr std::int64_t width = 300, rows = 300 * 250;
  sparse_case a{"large laplace", rows, rows, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i >= width) a.entries.push_back({i, i - width, -1});
    if (i % width > 0) a.entries.push_back({i, i - 1, -1});
    a.entries.push_back({i, i, 4});
    if (i % width < width - 1) a.entries.push_back({i, i + 1, -1});
    if (i + width < rows) a.entries.push_back({i, i + width, -1});
  }
  const auto b = right_hand_sides<double>(a, 8);
  cg_options options;
  options.max_iterations = 5;
  std::optional<solved<double>> alone;
  for (const context& ctx : cpu_contexts()) {
    const auto s = solve(place::cpu_one_thread, ctx, a, b, options);
    if (!alone) alone = s;
    EXPECT_TRUE(s.x.at == alone->x.at) << ctx.describe();
    EXPECT_EQ(s.result.history, alone->result.history) << ctx.describe();
  }
}

// --- Input that is refused ------------------------------------------------------------------------------------------

struct refusal {
  const char* name;
  errc code;
  /// Spoils one thing of a valid call.
  std::function<void(csr_view<double>& a, dense_view<const double>& b, dense_view<double>& x, cg_options& options)>
      spoil;
};

const std::vector<refusal>& refusals() {
  using matrix = csr_view<double>;
  using right = dense_view<const double>;
  using left = dense_view<double>;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static double tiny[16], huge[16];
  std::fill_n(tiny, 16, 1e-200);
  std::fill_n(huge, 16, 1e200);
  static const std::vector<refusal> all{
      {"not_square", errc::size_mismatch, [](matrix& a, right&, left&, cg_options&) { a.cols = 9; }},
      {"rows_of_b", errc::size_mismatch, [](matrix&, right& b, left&, cg_options&) { b.rows = 7; }},
      {"rows_of_x", errc::size_mismatch, [](matrix&, right&, left& x, cg_options&) { x.rows = 7; }},
      {"cols_differ", errc::size_mismatch, [](matrix&, right& b, left&, cg_options&) { b.cols = 1; }},
      {"negative_shape", errc::invalid_argument, [](matrix&, right& b, left&, cg_options&) { b.cols = -1; }},
      {"ld_of_b", errc::bad_leading_dimension, [](matrix&, right& b, left&, cg_options&) { b.ld = 1; }},
      {"ld_of_x", errc::bad_leading_dimension,
       [](matrix&, right&, left& x, cg_options&) {
         x = {x.data, x.rows, x.cols, 7, layout::col_major};
       }},
      {"null_b", errc::invalid_argument, [](matrix&, right& b, left&, cg_options&) { b.data = nullptr; }},
      {"null_x", errc::invalid_argument, [](matrix&, right&, left& x, cg_options&) { x.data = nullptr; }},
      {"huge_ld", errc::size_overflow,
       [](matrix&, right& b, left&, cg_options&) { b.ld = std::numeric_limits<std::int64_t>::max(); }},
      {"tolerance_zero", errc::invalid_argument, [](matrix&, right&, left&, cg_options& o) { o.tolerance = 0; }},
      {"tolerance_one", errc::invalid_argument, [](matrix&, right&, left&, cg_options& o) { o.tolerance = 1; }},
      {"tolerance_negative", errc::invalid_argument,
       [](matrix&, right&, left&, cg_options& o) { o.tolerance = -1e-8; }},
      {"tolerance_nan", errc::invalid_argument, [nan](matrix&, right&, left&, cg_options& o) { o.tolerance = nan; }},
      {"max_iterations_negative", errc::invalid_argument,
       [](matrix&, right&, left&, cg_options& o) { o.max_iterations = -1; }},
      {"no_such_kernel", errc::no_such_kernel,
       [](matrix&, right&, left&, cg_options& o) { o.plan.expert.kernel = "no such kernel"; }},
      {"norm_underflows", errc::invalid_argument, [](matrix&, right& b, left&, cg_options&) { b.data = tiny; }},
      {"norm_overflows", errc::invalid_argument, [](matrix&, right& b, left&, cg_options&) { b.data = huge; }},
  };
  return all;
}

class cg_refusal_test : public testing::TestWithParam<refusal> {};

TEST_P(cg_refusal_test, has_its_code_and_leaves_x_alone) {
  std::vector<std::int32_t> row_ptr{0, 1, 2, 3, 4, 5, 6, 7, 8}, col_ind{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> entries(8, 2.0), b_values(16, 1.0), x_values(16, -5.0);
  csr_view<double> a{8, 8, row_ptr, col_ind, entries};
  dense_view<const double> b(b_values.data(), 8, 2);
  dense_view<double> x(x_values.data(), 8, 2);
  cg_options options;
  GetParam().spoil(a, b, x, options);
  try {
    (void)solve_cg(context::cpu(1), a, b, x, options);
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), GetParam().code) << e.what();
    EXPECT_STRNE(e.what(), "");
  }
  EXPECT_EQ(x_values, std::vector<double>(16, -5.0));
}

INSTANTIATE_TEST_SUITE_P(inputs, cg_refusal_test, testing::ValuesIn(refusals()),
                         [](const testing::TestParamInfo<refusal>& info) { return std::string(info.param.name); });

TEST(cg_test, names_of_the_reasons_differ) {
  const std::map<cg_stop, std::string_view> names{{cg_stop::converged, "converged"},
                                                  {cg_stop::max_iterations, "max_iterations"},
                                                  {cg_stop::not_positive_definite, "not_positive_definite"},
                                                  {cg_stop::stagnated, "stagnated"},
                                                  {cg_stop::not_finite, "not_finite"},
                                                  {cg_stop::cancelled, "cancelled"},
                                                  {cg_stop::inconsistent, "inconsistent"}};
  for (const auto& [reason, name] : names) EXPECT_EQ(to_string(reason), name);
}

TEST(cg_test, b_may_be_overwritten_with_x) {
  const sparse_case a = laplace(9, 7);
  const auto b = right_hand_sides<double>(a, 2);
  solved<double> s{{}, b};
  const dense_view<double> both(s.x.at.data(), a.rows, 2);
  s.result =
      solve_cg(context::cpu(2), csr_of<double>(a), dense_view<const double>(both), both, default_options<double>());
  expect_converged(a, b, s, default_options<double>());
}

template <class Element>
std::span<const Element> view_of(const core::device_buffer<Element>& buffer) {
  return {buffer.data(), static_cast<std::size_t>(buffer.size())};
}

TEST(cg_test, the_matrix_may_lie_on_the_gpu) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace(12, 10);
  const auto host = csr_of<double>(a);
  const int device = ctx->device().device;
  const core::device_buffer<std::int32_t> row_ptr(device, host.view().row_ptr), col_ind(device, host.view().col_ind);
  const core::device_buffer<double> entries(device, host.view().values);
  const csr_view<double> there{a.rows,           a.cols,           view_of(row_ptr),
                               view_of(col_ind), view_of(entries), memory_space::device};
  const auto b = right_hand_sides<double>(a, 3);
  solved<double> s{{}, dense_table<double>(a.rows, 3)};
  s.result = solve_cg(*ctx, there, dense_view<const double>(b.at.data(), a.rows, 3),
                      dense_view<double>(s.x.at.data(), a.rows, 3), default_options<double>());
  expect_converged(a, b, s, default_options<double>());
}

TEST(cg_test, a_cpu_context_refuses_device_memory) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace(4, 4);
  const auto b = right_hand_sides<double>(a, 1);
  operand<double> there(*ctx, b, {});
  dense_table<double> x(a.rows, 1);
  const dense_view<const double> b_view = there.view();
  try {
    (void)solve_cg(context::cpu(1), csr_of<double>(a), b_view, dense_view<double>(x.at.data(), a.rows, 1));
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::wrong_memory_space);
  }
}

// --- Real matrices --------------------------------------------------------------------------------------------------

using real_case = std::pair<place, const char*>;
class cg_real_test : public testing::TestWithParam<real_case> {};

TEST_P(cg_real_test, converges) {
  const auto& [where, name] = GetParam();
  const auto folder = matrices_folder();
  if (!folder) GTEST_SKIP() << "needs the folder of matrices (BCSC_MATRICES)";
  const std::optional<context> ctx = context_at(where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto coo = read_coo<double>(*folder / name);
  sparse_case a{name, coo.rows(), coo.cols(), {}};
  for (std::size_t e = 0; e < static_cast<std::size_t>(coo.nnz()); ++e) {
    a.entries.push_back({coo.view().row_ind[e], coo.view().col_ind[e], coo.view().values[e]});
  }
  const auto b = right_hand_sides<double>(a, 4);
  cg_options options;
  options.tolerance = 1e-9;
  expect_converged(a, b, solve(where, *ctx, a, b, options), options);
}

INSTANTIATE_TEST_SUITE_P(matrices, cg_real_test,
                         testing::Values(real_case{place::cpu_two_threads, "bcsstk16.mtx.gz"},
                                         real_case{place::cpu_two_threads, "1138_bus.mtx.gz"},
                                         real_case{place::gpu, "bcsstk16.mtx.gz"},
                                         real_case{place::gpu, "1138_bus.mtx.gz"}),
                         [](const testing::TestParamInfo<real_case>& info) {
                           const std::string file = info.param.second;
                           return to_string(info.param.first) + "_" + file.substr(0, file.find('.'));
                         });

}  // namespace

}  // namespace bcsc::test
