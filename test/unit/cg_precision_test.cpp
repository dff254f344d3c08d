// Conjugate gradients whose products are computed in less precision: what is claimed is what is so.
#include <gtest/gtest.h>

#include <cmath>

#include "bcsc/cg.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/preconditioners.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {

namespace {

/// The least-squares support vector machine of m points in d dimensions with a linear kernel: X X' + I / C.
sparse_case support_vectors(std::int64_t m, std::int64_t d, double c) {
  test_random random(3);
  dense_table<double> points(m, d), q(m, m);
  for (double& x : points.at) x = random.real();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      for (std::int64_t f = 0; f < d; ++f) q(i, j) += points(i, f) * points(j, f) / static_cast<double>(d);
    }
    q(i, i) += 1 / c;
  }
  return sparse_from("support vectors", q);
}

struct correction_row {
  const char* name;
  cg_correction correction;
};
const correction_row corrections[] = {{"none", {}},
                                      {"recompute", cg_correction::recompute(20)},
                                      {"reliable", cg_correction::reliable(0.1)},
                                      {"refine", cg_correction::refine(0.1)}};

struct precision_case {
  place where;
  cg_inner inner;
  std::size_t correction;
  cg_beta beta;
  cg_method method;
};

std::vector<precision_case> precision_cases() {
  std::vector<precision_case> all;
  for (const place where : {place::cpu_two_threads, place::gpu}) {
    for (const cg_inner inner :
         {cg_inner::as_given, cg_inner::fp32, cg_inner::tf32, cg_inner::tf32x3, cg_inner::bf16}) {
      for (std::size_t correction = 0; correction < std::size(corrections); ++correction) {
        for (const cg_beta beta : {cg_beta::fletcher_reeves, cg_beta::polak_ribiere}) {
          all.push_back({where, inner, correction, beta, cg_method::simultaneous});
        }
        if (correction == 3) continue;  // refine() is of simultaneous iterations
        all.push_back({where, inner, correction, cg_beta::fletcher_reeves, cg_method::block});
      }
    }
  }
  return all;
}

class cg_precision_test : public testing::TestWithParam<precision_case> {};

/// In fp64 whatever the products are in: A of fp64 condition 100, tolerance far below fp32's precision.
TEST_P(cg_precision_test, reaches_the_true_residual_of_fp64) {
  const precision_case& c = GetParam();
  const auto ctx = context_at(c.where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = support_vectors(120, 30, 10);
  const auto b = random_table<double>(a.rows, 3, values::real, 9);
  cg_options options;
  options.tolerance = 1e-11;
  options.method = c.method;
  options.inner = c.inner;
  options.beta = c.beta;
  options.correction = corrections[c.correction].correction;
  const auto s = solve(c.where, *ctx, a, b, options);
  EXPECT_EQ(s.result.reason, cg_stop::converged) << to_string(s.result.reason) << ": " << s.result.inner;
  EXPECT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations) + 1);
  EXPECT_LT(s.result.iterations, 400);
  for (std::int64_t j = 0; j < b.cols; ++j) {
    const auto exact = true_residual(a, b, s.x, j);
    EXPECT_LE(exact.relative, options.tolerance + exact.rounding);
    EXPECT_NEAR(s.result.true_residual[static_cast<std::size_t>(j)], exact.relative, exact.rounding);
  }
  const bool rounds =
      c.inner != cg_inner::as_given || corrections[c.correction].correction.by == cg_correction::kind::refine;
  EXPECT_EQ(s.result.inner.find("fp64") == std::string::npos, rounds) << s.result.inner;
  if (rounds) {
    EXPECT_GT(s.result.num_replacements, 0) << "one run of fp32 cannot get there";
  }
  if (c.inner == cg_inner::bf16) {
    EXPECT_NE(s.result.inner.find("rounded to bf16"), std::string::npos);
  }
  if (ctx->kind() == backend::cpu) {
    EXPECT_EQ(s.result.inner.find("TF32"), std::string::npos) << "a CPU has none";
  }
}

INSTANTIATE_TEST_SUITE_P(cases, cg_precision_test, testing::ValuesIn(precision_cases()), [](const auto& info) {
  const precision_case& c = info.param;
  return to_string(c.where) + "_" + std::string(to_string(c.inner)) + "_" + corrections[c.correction].name +
         (c.beta == cg_beta::polak_ribiere ? "_pr" : "_fr") + (c.method == cg_method::block ? "_block" : "");
});

/// Where A's rounding is too much for A, nothing is claimed.
TEST(cg_precision, claims_nothing_that_is_not_so) {
  const sparse_case a = with_eigenvalues("hard", geometric(80, 1e7), 5);
  const auto b = random_table<double>(a.rows, 2, values::real, 9);
  cg_options options;
  options.tolerance = 1e-10;
  options.precondition = preconditioner::none;
  options.max_iterations = 5000;
  for (const auto& [name, correction] : corrections) {
    SCOPED_TRACE(name);
    options.inner = cg_inner::bf16;
    options.correction = correction;
    const auto s = solve(place::cpu_two_threads, context::cpu(2), a, b, options);
    EXPECT_NE(s.result.reason, cg_stop::converged);
    for (std::int64_t j = 0; j < b.cols; ++j) {
      const auto exact = true_residual(a, b, s.x, j);
      EXPECT_GT(exact.relative, options.tolerance);
      EXPECT_NEAR(s.result.true_residual[static_cast<std::size_t>(j)], exact.relative, 4 * exact.rounding);
    }
  }
}

/// Corrections by a rounded A may be larger than the errors they correct: replacing the residual by schedule then makes
/// x grow without end.
TEST(cg_precision, notices_that_it_is_led_away) {
  const sparse_case a = with_eigenvalues("led away", geometric(64, 2e4), 6);
  sparse_case each_value_alone = a;
  for (triplet& entry : each_value_alone.entries) entry.value = static_cast<double>(bfloat16(entry.value));
  const auto ctx = context::cpu(2);
  const spmm_plan<double> exact_product(ctx, csr_of<double>(a), {});
  const spmm_plan<float> rounded(ctx, csr_of<float>(each_value_alone), {});
  const auto b = random_table<double>(a.rows, 1, values::real, 9);
  dense_table<double> x(a.rows, 1);
  const auto result =
      solve_cg(cg_operators<double>{.a = exact_product, .inner = linear_operator<float>(rounded)},
               dense_view<const double>(b.at.data(), a.rows, 1), dense_view<double>(x.at.data(), a.rows, 1),
               {.tolerance = 1e-10, .max_iterations = 20000, .correction = cg_correction::recompute(50)});
  EXPECT_EQ(result.reason, cg_stop::stagnated) << to_string(result.reason);
  EXPECT_GT(result.true_residual[0], 1e8 / 2);
  EXPECT_LT(result.true_residual[0], 1e16);
  EXPECT_EQ(result.iterations % 50, 0) << "by a scheduled residual";
  const auto exact = true_residual(a, b, x, 0);
  EXPECT_NEAR(result.true_residual[0], exact.relative, 4 * exact.rounding);
}

/// Elasticity is softest where it moves as a whole, and a rounded A resists that: with each value rounded alone, fp32
/// takes 201 iterations and bf16 597 where fp64 takes 165.
TEST(cg_precision, rounded_rows_keep_their_sums_so_that_soft_modes_stay_soft) {
  const csr_matrix<double> a = generate::from_specification<double>("elasticity:12,12,12");
  const auto ctx = context::cpu(2);
  dense_matrix<double> solution(a.rows(), 1), b(a.rows(), 1);
  for (std::int64_t i = 0; i < a.rows(); ++i) solution(i, 0) = 1 + 0.5 * std::sin(static_cast<double>(i));
  spmm_plan<double>(ctx, a.view(), {}).run(1, solution.view(), 0, b.view());
  const auto iterations = [&](cg_inner inner) {
    dense_matrix<double> x(a.rows(), 1);
    const cg_result result = solve_cg(ctx, a.view(), b.view(), x.view(),
                                      {.tolerance = 1e-10, .inner = inner, .correction = cg_correction::reliable(0.1)});
    EXPECT_EQ(result.reason, cg_stop::converged) << to_string(inner);
    return result.iterations;
  };
  const std::int64_t in_fp64 = iterations(cg_inner::as_given);
  EXPECT_LE(iterations(cg_inner::fp32), in_fp64 * 6 / 5);
  EXPECT_LE(iterations(cg_inner::bf16), in_fp64 * 5 / 2);
}

/// The last correction aims at the tolerance, not at its share of what is left.
TEST(cg_precision, a_correction_ends_where_the_solve_does) {
  const sparse_case a = laplace(17, 12);
  const auto b = random_table<double>(a.rows, 1, values::real, 9);
  cg_options options;
  options.tolerance = 1e-6;
  options.inner = cg_inner::fp32;
  options.correction = cg_correction::refine(1e-5);
  const auto s = solve(place::cpu_two_threads, context::cpu(2), a, b, options);
  EXPECT_EQ(s.result.reason, cg_stop::converged);
  EXPECT_EQ(s.result.num_replacements, 1);
  EXPECT_GT(true_residual(a, b, s.x, 0).relative, options.tolerance / 10);
}

TEST(cg_precision, refuses_values_that_fp32_cannot_hold) {
  sparse_case a = tridiagonal(20, 3);
  for (triplet& e : a.entries) e.value *= 1e100;
  const auto b = random_table<double>(a.rows, 1, values::real, 9);
  cg_options options;
  options.inner = cg_inner::fp32;
  try {
    (void)solve(place::cpu_one_thread, context::cpu(1), a, b, options);
    FAIL() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_argument);
  }
}

/// An inner operator and a preconditioner of fp32, brought by the user.
TEST(cg_precision, takes_operators) {
  const sparse_case a = laplace(17, 12);
  const auto ctx = context::cpu(2);
  const spmm_plan<double> exact(ctx, csr_of<double>(a), {.cols = 2});
  const spmm_plan<float> rounded(ctx, csr_of<float>(a), {.cols = 2});
  const auto quarter = [&]<class T>(T) {
    return linear_operator<T>(ctx, a.rows, a.cols, [](auto alpha, auto r, auto beta, auto z, auto&&) {
      for (std::int64_t i = 0; i < z.rows; ++i) {
        for (std::int64_t j = 0; j < z.cols; ++j) {
          z(i, j) = alpha.value() * r(i, j) / 4 + (beta.value() != 0 ? beta.value() * z(i, j) : T{0});
        }
      }
    });
  };
  const cg_operators<double> parts{.a = exact,
                                   .preconditioner = quarter(double{}),
                                   .inner = linear_operator<float>(rounded),
                                   .inner_preconditioner = quarter(float{})};
  const auto b = random_table<double>(a.rows, 2, values::real, 9);
  for (const auto& [name, correction] : corrections) {
    SCOPED_TRACE(name);
    dense_table<double> x(a.rows, 2);
    const auto result =
        solve_cg(parts, dense_view<const double>(b.at.data(), a.rows, 2), dense_view<double>(x.at.data(), a.rows, 2),
                 {.tolerance = 1e-11, .correction = correction});
    EXPECT_EQ(result.reason, cg_stop::converged);
    for (std::int64_t j = 0; j < 2; ++j) {
      const auto exactly = true_residual(a, b, x, j);
      EXPECT_LE(exactly.relative, 1e-11 + exactly.rounding);
    }
  }
}

/// A preconditioner of the user's where the solve rounds A: fewer iterations than without, whatever A is rounded to.
TEST(cg_precision, takes_a_preconditioner_beside_a_matrix) {
  const sparse_case a = laplace(17, 12);
  const auto ctx = context::cpu(2);
  const auto csr = csr_of<double>(a);
  const auto b = random_table<double>(a.rows, 3, values::real, 9);
  const dense_view<const double> b_view(b.at.data(), a.rows, 3);
  const cg_preconditioner<double> chebyshev{chebyshev_preconditioner(ctx, csr, {.degree = 4}),
                                            chebyshev_preconditioner(ctx, csr_of<float>(a), {.degree = 4})};
  for (const auto& [name, correction] : corrections) {
    for (const cg_inner inner : {cg_inner::as_given, cg_inner::fp32, cg_inner::bf16}) {
      SCOPED_TRACE(std::string(name) + " " + std::string(to_string(inner)));
      const cg_options options{.tolerance = 1e-11, .inner = inner, .correction = correction};
      dense_table<double> x(a.rows, 3), x_without(a.rows, 3);
      const auto with = solve_cg(ctx, csr, chebyshev, b_view, dense_view<double>(x.at.data(), a.rows, 3), options);
      const auto without = solve_cg(ctx, csr, b_view, dense_view<double>(x_without.at.data(), a.rows, 3), options);
      EXPECT_EQ(with.reason, cg_stop::converged) << to_string(with.reason);
      EXPECT_LT(2 * with.iterations, without.iterations);
      EXPECT_EQ(with.inner, without.inner);
      EXPECT_EQ(with.facts.rows, a.rows);
      for (std::int64_t j = 0; j < 3; ++j) {
        const auto exactly = true_residual(a, b, x, j);
        EXPECT_LE(exactly.relative, 1e-11 + exactly.rounding);
      }
    }
  }
}

TEST(cg_precision, refuses_a_preconditioner_of_the_other_precision_alone) {
  const sparse_case a = laplace(4, 3);
  const auto ctx = context::cpu(1);
  const auto csr = csr_of<double>(a);
  const linear_operator<double> wide = jacobi_preconditioner(ctx, csr);
  const linear_operator<float> narrow = jacobi_preconditioner(ctx, csr_of<float>(a));
  std::vector<double> b(12, 1.0), x(12, -5.0);
  const auto refusal = [&](const cg_preconditioner<double>& m, cg_correction correction) {
    return code_of([&] {
      (void)solve_cg(ctx, csr, m, dense_view<const double>(b.data(), 12, 1), dense_view<double>(x.data(), 12, 1),
                     {.correction = correction});
    });
  };
  EXPECT_EQ(refusal({}, {}), errc::invalid_argument);
  EXPECT_EQ(refusal({{}, narrow}, {}), errc::invalid_argument);
  EXPECT_EQ(refusal({wide}, cg_correction::refine(0.1)), errc::invalid_argument);
  const linear_operator<double> other = jacobi_preconditioner(ctx, csr_of<double>(laplace(3, 3)));
  EXPECT_EQ(refusal({other}, {}), errc::size_mismatch);
  EXPECT_EQ(refusal({wide, jacobi_preconditioner(ctx, csr_of<float>(laplace(3, 3)))}, {}), errc::size_mismatch);
  EXPECT_EQ(x, std::vector<double>(12, -5.0));
  const spmm_plan<double> plan(ctx, csr, {});
  const spmm_plan<float> rounded(ctx, csr_of<float>(a), {});
  const cg_operators<double> half{.a = plan, .preconditioner = wide, .inner = linear_operator<float>(rounded)};
  EXPECT_EQ(code_of([&] {
              (void)solve_cg(half, dense_view<const double>(b.data(), 12, 1), dense_view<double>(x.data(), 12, 1),
                             {.correction = cg_correction::refine(0.1)});
            }),
            errc::invalid_argument);
  // A plan alone has nothing of fp32 to iterate with, whether or not there is a diagonal; one of fp32 has.
  const std::vector<double> diagonal(12, 4.0);
  const std::vector<float> narrow_b(12, 1.0f);
  std::vector<float> narrow_x(12);
  for (const preconditioner kind : {preconditioner::none, preconditioner::jacobi}) {
    const cg_options refined{.tolerance = 1e-5, .precondition = kind, .correction = cg_correction::refine(0.1)};
    EXPECT_EQ(code_of([&] {
                (void)solve_cg(plan, diagonal, dense_view<const double>(b.data(), 12, 1),
                               dense_view<double>(x.data(), 12, 1), refined);
              }),
              errc::invalid_argument);
    EXPECT_EQ(x, std::vector<double>(12, -5.0));
    EXPECT_EQ(solve_cg(rounded, std::vector<float>(12, 4.0f), dense_view<const float>(narrow_b.data(), 12, 1),
                       dense_view<float>(narrow_x.data(), 12, 1), refined)
                  .reason,
              cg_stop::converged);
  }
}

}  // namespace

}  // namespace bcsc::test
