#include "bcsc/lobpcg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bcsc/amg.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/preconditioners.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/lobpcg_cases.hpp"
#include "test/unit/lobpcg_edge_cases.hpp"

namespace bcsc::test {

namespace {

// --- How it begins and ends: on every place, in either type ---------------------------------------------------------

using ending = std::pair<place, value_type>;

class lobpcg_test : public testing::TestWithParam<ending> {
 protected:
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
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
  for (const place where : all_places) {
    for (const value_type type : {value_type::fp32, value_type::fp64}) all.emplace_back(where, type);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(places, lobpcg_test, testing::ValuesIn(endings()),
                         [](const testing::TestParamInfo<ending>& info) {
                           return to_string(info.param.first) + "_" + std::string(to_string(info.param.second));
                         });

TEST_P(lobpcg_test, nothing_is_wanted_or_there) {
  run([&]<class T>(T, const context& ctx) {
    for (const auto& [n, k] : {std::pair(0, 0), {40, 0}}) {
      const auto s = solve<T>(where(), ctx, {"", MatrixXd::Identity(n, n)}, k);
      EXPECT_EQ(s.result.reason, lobpcg_stop::converged);
      EXPECT_TRUE(s.result.values.empty());
      EXPECT_EQ(s.result.num_products, 0);
    }
    const auto s = solve<T>(where(), ctx, {"", MatrixXd::Constant(1, 1, -7)}, 1);
    EXPECT_EQ(s.result.values, std::vector<double>{-7});
    EXPECT_EQ(s.result.residual, std::vector<double>{0});
    EXPECT_EQ(std::abs(s.x(0, 0)), 1);
  });
}

TEST_P(lobpcg_test, start_blocks_of_any_rank_do) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(15, 10)};
    constexpr std::int64_t k = 5;
    const MatrixXd random = random_matrix(p.n(), k, 6);
    MatrixXd twice = random, tiny = random;
    twice.col(1) = twice.col(0), twice.col(4) = -3 * twice.col(2);
    tiny.col(3) = tiny.col(2) + 1e-5 * tiny.col(1);
    const MatrixXd one = random.col(0) * VectorXd::LinSpaced(k, 1, 9).transpose();
    // Eigenvectors, but not the wanted ones, and of those one part in a thousand.
    const MatrixXd others =
        Eigen::SelfAdjointEigenSolver<MatrixXd>(p.a).eigenvectors().middleCols(20, k) + 1e-3 * random;
    for (const MatrixXd& start :
         {random, twice, one, tiny, MatrixXd(MatrixXd::Zero(p.n(), k)), MatrixXd(1e15 * random), others}) {
      expect_converged(p, solve<T>(where(), ctx, p, k, {}, &start), lobpcg_options<T>{});
    }
  });
}

TEST_P(lobpcg_test, a_solution_given_to_start_with_is_found_at_once) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(13, 9), mass(117)};
    lobpcg_options<T> options;
    options.tolerance = 3 * default_tolerance<T>;  // a GPU may round the same residual differently
    options.num_guards = 0;
    lobpcg_options<T> strict;
    const auto first = solve<T>(where(), ctx, p, 4, strict);
    const auto again = solve<T>(where(), ctx, p, 4, options, &first.x);
    expect_converged(p, again, options);
    EXPECT_EQ(again.result.iterations, 0);
    EXPECT_GT(first.result.iterations, 3);
  });
}

TEST_P(lobpcg_test, repeats_bit_for_bit) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(14, 9), mass(126)};
    lobpcg_options<T> options;
    const auto first = solve<T>(where(), ctx, p, 4, options);
    for (int run = 1; run < 20; ++run) {
      const auto again = solve<T>(where(), ctx, p, 4, options);
      EXPECT_EQ(first.x, again.x);
      EXPECT_EQ(first.result.values, again.result.values);
      EXPECT_EQ(first.result.history, again.result.history);
      EXPECT_EQ(first.result.num_products, again.result.num_products);
    }
    if (where() == place::cpu_two_threads) {
      EXPECT_EQ(first.x, solve<T>(where(), context::cpu(1), p, 4, options).x) << "threads show";
    }
    options.seed = 5;
    EXPECT_NE(first.x, solve<T>(where(), ctx, p, 4, options).x) << "the seed is for nothing";
  });
}

TEST_P(lobpcg_test, a_preconditioner_saves_iterations) {
  run([&]<class T>(T, const context& ctx) {
    // Rows scaled over three decades, which Jacobi takes away.
    MatrixXd a = laplace(16, 11);
    VectorXd scale(a.rows());
    for (std::int64_t i = 0; i < a.rows(); ++i) scale(i) = std::pow(10.0, static_cast<double>(i * 7 % 10) / 6 - 0.75);
    a = scale.asDiagonal() * a * scale.asDiagonal();
    const pencil p{"", a};
    lobpcg_options<T> plain, jacobi;
    jacobi.precondition = operator_of<T>(ctx, MatrixXd(a.diagonal().cwiseInverse().asDiagonal()));
    const auto with = solve<T>(where(), ctx, p, 3, jacobi), without = solve<T>(where(), ctx, p, 3, plain);
    expect_converged(p, with, jacobi);
    expect_converged(p, without, plain);
    EXPECT_LT(with.result.iterations, without.result.iterations);
  });
}

TEST_P(lobpcg_test, the_library_s_preconditioners_save_iterations) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(21, 14)};
    const auto a = csr_of<T, std::int32_t>(sparse_of(p.a));
    lobpcg_options<T> options;
    const auto without = solve<T>(where(), ctx, p, 5, options);
    expect_converged(p, without, options);
    const std::pair<const char*, linear_operator<T>> all[] = {
        {"block jacobi", block_jacobi_preconditioner(ctx, a, {.block = 21, .cols = 8})},
        {"chebyshev", chebyshev_preconditioner(ctx, a, {.cols = 8})},
        {"amg", amg_preconditioner<T>(ctx, a, {.max_coarse = 50, .cols = 8})},
    };
    for (const auto& [name, m] : all) {
      SCOPED_TRACE(name);
      options.precondition = m;
      const auto with = solve<T>(where(), ctx, p, 5, options);
      expect_converged(p, with, options);
      EXPECT_LT(with.result.iterations, without.result.iterations);
    }
  });
}

TEST_P(lobpcg_test, a_preconditioner_that_gives_nothing_is_gone_without) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(12, 9)};
    lobpcg_options<T> options;
    options.precondition = operator_of<T>(ctx, MatrixXd::Zero(p.n(), p.n()));
    expect_converged(p, solve<T>(where(), ctx, p, 3, options), options);
  });
}

TEST_P(lobpcg_test, constraints_deflate) {
  run([&]<class T>(T, const context& ctx) {
    for (const bool has_b : {false, true}) {
      for (const std::int64_t n_side : {5, 13}) {  // as a dense problem, and by iteration
        pencil p{"", laplace(n_side, 9)};
        if (has_b) p.b = mass(p.n());
        constexpr std::int64_t known = 4, k = 3;
        const auto all = solve<T>(where(), ctx, p, known + k);
        // Given twice, and scaled, they say the same.
        dense_table<T> y(p.n(), known + 1);
        for (std::int64_t i = 0; i < p.n(); ++i) {
          for (std::int64_t j = 0; j < known; ++j) y(i, j) = static_cast<T>(100 * all.x(i, j));
          y(i, known) = y(i, 1);
        }
        const context memory = where() == place::gpu ? ctx : context::cpu(1);
        operand<T> constraints(memory, y, {layout::col_major, 1, 0});
        lobpcg_options<T> options;
        options.constraints = constraints.view();
        const auto rest = solve<T>(where(), ctx, p, k, options);
        EXPECT_EQ(rest.result.reason, lobpcg_stop::converged) << bcsc::to_string(rest.result.reason);
        const spectrum exact = spectrum_of<T>(p);
        for (std::int64_t j = 0; j < k; ++j) {
          const double wanted = exact.values(known + j);
          EXPECT_NEAR(rest.result.values[static_cast<std::size_t>(j)], wanted,
                      30 * default_tolerance<T> * exact.norm_a);
        }
        const MatrixXd b = has_b ? rounded<T>(*p.b) : MatrixXd::Identity(p.n(), p.n());
        EXPECT_LE((all.x.leftCols(known).transpose() * b * rest.x).cwiseAbs().maxCoeff(), 300 * unit<T>);
        options.constraints = constraints.view();
        EXPECT_EQ(code_of([&] { solve<T>(where(), ctx, p, p.n() - known + 1, options); }), errc::invalid_argument);
      }
    }
  });
}

TEST_P(lobpcg_test, a_singular_b_leaves_finite_pairs) {
  run([&]<class T>(T, const context& ctx) {
    MatrixXd b = mass(110);
    for (std::int64_t i = 0; i < 110; i += 5) b.row(i).setZero(), b.col(i).setZero();
    const pencil p{"", laplace(11, 10), b};
    const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(rounded<T>(b), rounded<T>(p.a));
    for (const std::int64_t k : {3, 60}) {  // by iteration, and as a dense problem
      const auto s = solve<T>(where(), ctx, p, k);
      EXPECT_EQ(s.result.reason, lobpcg_stop::converged) << bcsc::to_string(s.result.reason);
      for (std::int64_t j = 0; j < k; ++j) {
        const double wanted = 1 / oracle.eigenvalues()(109 - j);
        EXPECT_NEAR(s.result.values[static_cast<std::size_t>(j)] / wanted, 1, 2e3 * default_tolerance<T>) << j;
      }
    }
    // The largest are infinite, and so are more of the smallest than B has rank.
    lobpcg_options<T> largest;
    largest.which = spectrum_end::largest;
    for (const std::int64_t k : {3, 60}) {
      const auto s = solve<T>(where(), ctx, p, k, largest);
      EXPECT_EQ(s.result.reason, lobpcg_stop::b_not_positive_definite) << k;
      if (k == 3) {
        expect_true(p, s);
        EXPECT_EQ(std::ssize(s.result.history), s.result.iterations + 1);
      }
    }
    // Nothing is ever taken for converged: it is the products made anew now and then that show it. How long vectors are
    // to B is then rounding, but their residuals are true.
    largest.tolerance = unit<T> / 4;
    const auto s = solve<T>(where(), ctx, p, 3, largest);
    EXPECT_EQ(s.result.reason, lobpcg_stop::b_not_positive_definite) << bcsc::to_string(s.result.reason);
    const MatrixXd a = rounded<T>(p.a), rounded_b = rounded<T>(b);
    for (std::int64_t j = 0; j < 3; ++j) {
      const double value = s.result.values[static_cast<std::size_t>(j)];
      const double scale = (s.result.norm_a + std::abs(value) * s.result.norm_b) * s.x.col(j).norm();
      const double residual = (a * s.x.col(j) - value * (rounded_b * s.x.col(j))).norm() / scale;
      EXPECT_NEAR(residual, s.result.residual[static_cast<std::size_t>(j)], 0.1 * residual + 8 * unit<T>) << j;
    }
    EXPECT_EQ(solve<T>(where(), ctx, p, 89).result.reason, lobpcg_stop::b_not_positive_definite);
  });
}

TEST_P(lobpcg_test, a_b_of_low_rank_leaves_finite_pairs) {
  run([&]<class T>(T, const context& ctx) { expect_finite_pairs_of_low_rank<T>(where(), ctx); });
}

TEST_P(lobpcg_test, beyond_the_rank_of_b_pairs_are_infinite) {
  run([&]<class T>(T, const context& ctx) { expect_infinite_pairs_beyond_the_rank<T>(where(), ctx); });
}

TEST_P(lobpcg_test, constraints_confine_with_a_b_of_low_rank) {
  run([&]<class T>(T, const context& ctx) {
    for (std::uint64_t seed = 8; seed < 24; ++seed) {
      SCOPED_TRACE(seed);
      expect_constraints_to_confine_at_low_rank<T>(where(), ctx, seed);
    }
  });
}

TEST_P(lobpcg_test, a_b_that_is_not_positive_is_named) {
  run([&]<class T>(T, const context& ctx) {
    for (const std::int64_t k : {3, 80}) {
      MatrixXd b = mass(110);
      EXPECT_EQ(solve<T>(where(), ctx, {"", laplace(11, 10), MatrixXd(-b)}, k).result.reason,
                lobpcg_stop::b_not_positive_definite);
      b.diagonal().head(50).array() -= 8;
      EXPECT_EQ(solve<T>(where(), ctx, {"", laplace(11, 10), b}, k).result.reason,
                lobpcg_stop::b_not_positive_definite);
      EXPECT_EQ(solve<T>(where(), ctx, {"", laplace(11, 10), MatrixXd(MatrixXd::Zero(110, 110))}, k).result.reason,
                lobpcg_stop::b_not_positive_definite);
    }
  });
}

TEST_P(lobpcg_test, what_is_not_symmetric_or_finite_is_named) {
  run([&]<class T>(T, const context& ctx) {
    for (const std::int64_t k : {3, 80}) {
      MatrixXd skew = laplace(11, 10), lost = skew;
      for (std::int64_t i = 1; i < 110; ++i) skew(i, i - 1) *= 2;
      lost(70, 70) = std::numeric_limits<double>::quiet_NaN();
      EXPECT_EQ(solve<T>(where(), ctx, {"", skew}, k).result.reason, lobpcg_stop::not_symmetric);
      const auto s = solve<T>(where(), ctx, {"", lost}, k);
      EXPECT_EQ(s.result.reason, lobpcg_stop::not_finite);
      EXPECT_TRUE(std::isnan(s.result.residual[0]));
      EXPECT_EQ(s.result.num_converged, 0);
      lobpcg_options<T> options;
      options.precondition = operator_of<T>(ctx, lost);
      EXPECT_EQ(solve<T>(where(), ctx, {"", laplace(11, 10)}, 3, options).result.reason, lobpcg_stop::not_finite);
      const MatrixXd start = MatrixXd::Constant(110, 3, std::numeric_limits<double>::infinity());
      EXPECT_EQ(solve<T>(where(), ctx, {"", laplace(11, 10)}, 3, {}, &start).result.reason, lobpcg_stop::not_finite);
    }
  });
}

TEST_P(lobpcg_test, vectors_of_any_size_do) {
  run([&]<class T>(T, const context& ctx) { expect_vectors_of_any_size_to_do<T>(where(), ctx); });
}

TEST_P(lobpcg_test, a_scale_out_of_range_is_refused) {
  run([&]<class T>(T, const context& ctx) { expect_refusal_of_scales<T>(where(), ctx); });
}

TEST_P(lobpcg_test, ends_early_with_what_it_has) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(17, 12)};
    lobpcg_options<T> options;
    options.max_iterations = 5;
    auto s = solve<T>(where(), ctx, p, 4, options);
    EXPECT_EQ(s.result.reason, lobpcg_stop::max_iterations);
    EXPECT_EQ(s.result.iterations, 5);
    expect_true(p, s);

    options.max_iterations = 1000;
    std::vector<lobpcg_progress> told;
    options.progress = [&](const lobpcg_progress& now) {
      told.push_back(now);
      return now.iteration < 7;
    };
    s = solve<T>(where(), ctx, p, 4, options);
    EXPECT_EQ(s.result.reason, lobpcg_stop::cancelled);
    EXPECT_EQ(s.result.iterations, 7);
    expect_true(p, s);
    ASSERT_EQ(told.size(), 8u);
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].iteration, static_cast<std::int64_t>(i));
      EXPECT_EQ(told[i].residual, s.result.history[i]);
    }
    options.max_iterations = 0;
    options.progress = {};
    s = solve<T>(where(), ctx, p, 4, options);
    EXPECT_EQ(s.result.reason, lobpcg_stop::max_iterations);
    expect_true(p, s);
  });
}

TEST_P(lobpcg_test, a_tolerance_beyond_rounding_is_given_up) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(15, 11)};
    lobpcg_options<T> options;
    options.tolerance = unit<T> / 1000;
    options.max_iterations = 3000;
    const auto s = solve<T>(where(), ctx, p, 4, options);
    EXPECT_EQ(s.result.reason, lobpcg_stop::stagnated) << bcsc::to_string(s.result.reason);
    EXPECT_LT(s.result.iterations, 3000);
    expect_true(p, s);
    for (const double residual : s.result.residual) EXPECT_LE(residual, 20 * unit<T>);
  });
}

TEST_P(lobpcg_test, residuals_may_be_compared_with_the_eigenvalue) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(15, 11), mass(165)};
    lobpcg_options<T> options;
    options.scale = residual_scale::eigenvalue;
    options.tolerance = std::is_same_v<T, float> ? 1e-3 : 1e-9;
    const auto s = solve<T>(where(), ctx, p, 4, options);
    EXPECT_EQ(s.result.reason, lobpcg_stop::converged);
    const MatrixXd a = rounded<T>(p.a), b = rounded<T>(*p.b);
    for (std::int64_t j = 0; j < 4; ++j) {
      const double value = s.result.values[static_cast<std::size_t>(j)];
      const VectorXd bx = b * s.x.col(j);
      const double residual = (a * s.x.col(j) - value * bx).norm() / (std::abs(value) * bx.norm());
      EXPECT_NEAR(residual, s.result.residual[static_cast<std::size_t>(j)], 2e4 * unit<T>);
    }
  });
}

TEST_P(lobpcg_test, what_does_not_fit_is_refused) {
  run([&]<class T>(T, const context& ctx) {
    const pencil p{"", laplace(8, 5)};
    const auto code = [&](std::int64_t rows, std::int64_t k, const lobpcg_options<T>& options,
                          const std::optional<MatrixXd>& of = {}) {
      dense_matrix<T> x(rows, k);
      for (T& entry : x.values()) entry = 3;
      const errc found = code_of([&] { solve_lobpcg(operator_of<T>(ctx, of.value_or(p.a)), x.view(), options); });
      for (const T entry : x.values()) EXPECT_EQ(entry, T{3}) << "X was written";
      return found;
    };
    EXPECT_EQ(code(40, 41, {}), errc::invalid_argument);
    EXPECT_EQ(code(39, 3, {}), errc::size_mismatch);
    EXPECT_EQ(code(40, 3, {}, MatrixXd(MatrixXd::Ones(40, 30))), errc::size_mismatch);
    lobpcg_options<T> bad;
    bad.tolerance = -1;
    EXPECT_EQ(code(40, 3, bad), errc::invalid_argument);
    bad = {}, bad.tolerance = 1;
    EXPECT_EQ(code(40, 3, bad), errc::invalid_argument);
    bad = {}, bad.max_iterations = -1;
    EXPECT_EQ(code(40, 3, bad), errc::invalid_argument);
    bad = {}, bad.b = operator_of<T>(ctx, MatrixXd::Identity(39, 39));
    EXPECT_EQ(code(40, 3, bad), errc::size_mismatch);
    bad = {}, bad.precondition = operator_of<T>(ctx, MatrixXd::Identity(41, 41));
    EXPECT_EQ(code(40, 3, bad), errc::size_mismatch);
    const dense_matrix<T> y(39, 2);
    bad = {}, bad.constraints = y.view();
    EXPECT_EQ(code(40, 3, bad), errc::size_mismatch);
    dense_matrix<T> x(40, 3);
    EXPECT_EQ(code_of([&] { solve_lobpcg(operator_of<T>(ctx, p.a), dense_view<T>(nullptr, 40, 3)); }),
              errc::invalid_argument);
    EXPECT_EQ(code_of([&] { solve_lobpcg(operator_of<T>(ctx, p.a), dense_view<T>(x.data(), 40, 3, 2)); }),
              errc::bad_leading_dimension);
  });
}

// --- Operators of the user ------------------------------------------------------------------------------------------

class lobpcg_callable_test : public testing::Test {
 protected:
  void SetUp() override { BCSC_SKIP_WITHOUT_LAPACK(); }
};

/// A product with a dense matrix that counts, and may fail.
struct counting_product {
  MatrixXd a;
  int calls = 0, fails_at = -1;
  linear_operator<double> as_operator() {
    return {context::cpu(1), a.rows(), a.cols(),
            [this](scalar<double> alpha, dense_view<const double> x, scalar<double> beta, dense_view<double> y,
                   const apply_options&) {
              if (calls++ == fails_at) throw std::runtime_error("the product is out of order");
              for (std::int64_t i = 0; i < a.rows(); ++i) {
                for (std::int64_t j = 0; j < x.cols; ++j) {
                  double sum = 0;
                  for (std::int64_t l = 0; l < a.cols(); ++l) sum += a(i, l) * x(l, j);
                  y(i, j) = alpha.value() * sum + (beta.value() != 0 ? beta.value() * y(i, j) : 0);
                }
              }
            }};
  }
};

TEST_F(lobpcg_callable_test, every_product_is_counted) {
  counting_product a{laplace(12, 8)};
  dense_matrix<double> x(96, 3);
  const lobpcg_result result = solve_lobpcg(a.as_operator(), x.view());
  EXPECT_EQ(result.reason, lobpcg_stop::converged);
  EXPECT_EQ(result.num_products, a.calls);
  EXPECT_LE(result.num_products, result.iterations + 12 + result.iterations / 40);
}

TEST_F(lobpcg_callable_test, every_product_is_counted_where_a_is_the_inner_product) {
  counting_product a{laplace(12, 8)}, b{point_masses(96, 4)};
  dense_matrix<double> x(96, 3);
  lobpcg_options<double> options;
  options.b = b.as_operator();
  const lobpcg_result result = solve_lobpcg(a.as_operator(), x.view(), options);
  EXPECT_EQ(result.reason, lobpcg_stop::converged);
  EXPECT_EQ(result.num_products, a.calls);
}

TEST_F(lobpcg_callable_test, what_it_throws_reaches_the_caller) {
  for (const int when : {0, 8, 9, 12}) {
    counting_product a{laplace(12, 8), 0, when};
    dense_matrix<double> x(96, 3);
    for (double& entry : x.values()) entry = 3;
    EXPECT_THROW(solve_lobpcg(a.as_operator(), x.view()), std::runtime_error);
    EXPECT_EQ(a.calls, when + 1);
    for (const double entry : x.values()) EXPECT_EQ(entry, 3.0) << "X was written";
  }
}

TEST_F(lobpcg_callable_test, an_inverse_makes_the_smallest_the_largest) {
  // Shift and invert: the eigenvalues nearest to 3 are the extreme ones of (A - 3 I)^-1.
  const MatrixXd a = laplace(12, 8);
  counting_product inverse{(a - 3 * MatrixXd::Identity(96, 96)).inverse()};
  dense_matrix<double> x(96, 2);
  lobpcg_options<double> options;
  options.which = spectrum_end::largest;
  const lobpcg_result result = solve_lobpcg(inverse.as_operator(), x.view(), options);
  const VectorXd exact = Eigen::SelfAdjointEigenSolver<MatrixXd>(a).eigenvalues();
  std::vector<double> above;
  for (const double value : exact) {
    if (value > 3) above.push_back(value);
  }
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(3 + 1 / result.values[j], above[j], 1e-9);
}

// --- A matrix of which a plan is made, and a known spectrum ---------------------------------------------------------

TEST_P(lobpcg_test, poissons_eigenvalues_are_found_with_their_multiplicities) {
  run([&]<class T>(T, const context& ctx) {
    if (!std::is_same_v<T, double>) return;
    constexpr std::int64_t side = 12, k = 11;
    std::vector<double> wanted;
    const auto of = [&](std::int64_t i) { return 2 - 2 * std::cos(M_PI * static_cast<double>(i) / (side + 1)); };
    for (std::int64_t i = 1; i <= side; ++i) {
      for (std::int64_t j = 1; j <= side; ++j) {
        for (std::int64_t l = 1; l <= side; ++l) wanted.push_back(of(i) + of(j) + of(l));
      }
    }
    std::sort(wanted.begin(), wanted.end());
    const auto a = generate::from_specification<T>("stencil7:12,12,12");
    dense_matrix<T> x(a.rows(), k);
    const lobpcg_result result = solve_lobpcg(ctx, a, x.view());
    EXPECT_EQ(result.reason, lobpcg_stop::converged);
    for (std::size_t j = 0; j < k; ++j) EXPECT_NEAR(result.values[j] / wanted[j], 1, 1e-11) << j;
  });
}

}  // namespace

}  // namespace bcsc::test
