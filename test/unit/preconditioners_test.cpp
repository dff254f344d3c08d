#include "bcsc/preconditioners.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "bcsc/generate.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/preconditioner_support.hpp"

namespace bcsc::test {

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// --- What each one is, against dense matrices
// -------------------------------------------------------------------------

class a_preconditioner : public testing::TestWithParam<backend> {
 protected:
  std::optional<context> ctx = context_of(GetParam());
};

TEST_P(a_preconditioner, jacobi_is_the_inverse_of_the_diagonal) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 6, .ny = 5, .nz = 4, .across = 0.3});
  const Eigen::MatrixXd m = dense_of(jacobi_preconditioner(*ctx, csr_of<double>(a)));
  const Eigen::VectorXd diagonal = to_eigen(a).diagonal();
  EXPECT_LT((m * diagonal.asDiagonal() - Eigen::MatrixXd::Identity(a.rows, a.rows)).norm(), 1e-13);
}

/// The last block is lower where the height does not divide the rows.
TEST_P(a_preconditioner, block_jacobi_is_the_inverse_of_the_blocks) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 7, .ny = 5, .nz = 3, .across = 0.3});
  const Eigen::MatrixXd full = to_eigen(a);
  for (const std::int64_t block : {1, 2, 7, 35, 64}) {
    Eigen::MatrixXd wanted = Eigen::MatrixXd::Zero(a.rows, a.rows);
    for (std::int64_t first = 0; first < a.rows; first += block) {
      const std::int64_t height = std::min(block, a.rows - first);
      wanted.block(first, first, height, height) = full.block(first, first, height, height).inverse();
    }
    const auto m = block_jacobi_preconditioner(*ctx, csr_of<double>(a), {.block = block});
    EXPECT_LT((dense_of(m) - wanted).norm(), 1e-13 * wanted.norm()) << "block " << block;
  }
}

TEST_P(a_preconditioner, block_jacobi_finds_the_unknowns_of_a_node) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto a = generate::elasticity<double>(3, 2, 2);
  EXPECT_EQ(dense_of(block_jacobi_preconditioner(*ctx, a)),
            dense_of(block_jacobi_preconditioner(*ctx, a, {.block = 3})));
  EXPECT_NE(dense_of(block_jacobi_preconditioner(*ctx, a)),
            dense_of(block_jacobi_preconditioner(*ctx, a, {.block = 1})));
  const auto scalar = generate::stencil<double>(7, 4, 4, 4);
  EXPECT_EQ(dense_of(block_jacobi_preconditioner(*ctx, scalar)),
            dense_of(block_jacobi_preconditioner(*ctx, scalar, {.block = 1})));
}

/// The iteration itself on dense matrices, with the interval that the ratio leaves: its end is estimated, so that it is
/// read off the result for degree 1, which is 1 / middle of the interval.
TEST_P(a_preconditioner, chebyshev_is_the_iteration_from_zero) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 6, .ny = 5, .nz = 4, .across = 0.3});
  const Eigen::MatrixXd full = to_eigen(a);
  const Eigen::MatrixXd inverse_diagonal = full.diagonal().cwiseInverse().asDiagonal();
  const double largest = (inverse_diagonal * full).eigenvalues().real().maxCoeff();
  for (const double ratio : {3.0, 40.0}) {
    const auto with_degree = [&](int degree) {
      return dense_of(chebyshev_preconditioner(*ctx, csr_of<double>(a), {.degree = degree, .ratio = ratio}));
    };
    const double middle = 1 / (with_degree(1) * full.diagonal().asDiagonal())(0, 0);
    const double upper = 2 * middle / (1 + 1 / ratio), radius = upper - middle;
    EXPECT_GE(upper, largest);
    EXPECT_LE(upper, 1.1 * largest);
    for (const int degree : {2, 3, 8, 16}) {
      Eigen::MatrixXd x = Eigen::MatrixXd::Zero(a.rows, a.rows), former = x;
      for (int step = 0; step < degree; ++step) {
        // The three-term form with T_k at middle / radius, instead of the library's recurrence for their quotients.
        const double sigma = middle / radius;
        const auto t = [&](int k) { return std::cosh(k * std::acosh(sigma)); };
        const Eigen::MatrixXd residual = inverse_diagonal * (Eigen::MatrixXd::Identity(a.rows, a.rows) - full * x);
        const Eigen::MatrixXd next = step == 0 ? Eigen::MatrixXd(residual / middle)
                                               : Eigen::MatrixXd(x + t(step - 1) / t(step + 1) * (x - former) +
                                                                 2 * t(step) / (t(step + 1) * radius) * residual);
        former = x;
        x = next;
      }
      EXPECT_LT((with_degree(degree) - x).norm(), 1e-10 * x.norm()) << "degree " << degree << ", ratio " << ratio;
    }
  }
}

TEST_P(a_preconditioner, is_symmetric_and_positive_definite) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto a = generate::elasticity<double>(6, 3, 3);
  expect_symmetric_positive(jacobi_preconditioner(*ctx, a), 1e-13);
  expect_symmetric_positive(block_jacobi_preconditioner(*ctx, a), 1e-13);
  expect_symmetric_positive(chebyshev_preconditioner(*ctx, a), 1e-12);
  expect_symmetric_positive(chebyshev_preconditioner(*ctx, a, {.degree = 16, .ratio = 1000}), 1e-10);
  expect_symmetric_positive(ic0_preconditioner(*ctx, a), 1e-12);
  const auto narrow = generate::elasticity<float>(6, 3, 3);
  expect_symmetric_positive(ic0_preconditioner(*ctx, narrow), 1e-4);
  expect_symmetric_positive(chebyshev_preconditioner(*ctx, narrow), 1e-4);
}

TEST_P(a_preconditioner, takes_alpha_beta_any_ld_and_a_workspace) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 6, .ny = 5, .nz = 4});
  const auto csr = csr_of<double>(a);
  for (const auto& m : {jacobi_preconditioner(*ctx, csr), block_jacobi_preconditioner(*ctx, csr, {.block = 5}),
                        chebyshev_preconditioner(*ctx, csr), ic0_preconditioner(*ctx, csr)}) {
    const auto x = random_block(a.rows, 3, 1), y = random_block(a.rows, 3, 2);
    const placement lies{.padding = 2};
    const auto once = apply(m, x, lies);
    operand<double> from(*ctx, x, lies), to(*ctx, y, lies);
    m.apply(0.5, from.view(), -2.0, to.view());
    const auto got = to.read();
    for (std::size_t i = 0; i < got.at.size(); ++i) EXPECT_NEAR(got.at[i], 0.5 * once.at[i] - 2 * y.at[i], 1e-13);
  }
}

// --- What it is good for
// ----------------------------------------------------------------------------------------------

/// Measured: 91 with Jacobi, 87 with blocks, 19 with Chebyshev, 27 with IC(0); 41 where its interval goes
/// down to what Lanczos sees.
TEST_P(a_preconditioner, saves_iterations) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto csr = generate::elasticity<double>(8, 4, 4);
  sparse_case a{"elasticity", csr.rows(), csr.cols(), {}};
  for (std::int64_t i = 0; i < csr.rows(); ++i) {
    for (auto p = csr.row_ptr()[i]; p < csr.row_ptr()[i + 1]; ++p) {
      a.entries.push_back({i, csr.col_ind()[p], csr.values()[p]});
    }
  }
  const int jacobi = count_iterations(a, jacobi_preconditioner(*ctx, csr));
  const int blocks = count_iterations(a, block_jacobi_preconditioner(*ctx, csr));
  const int chebyshev = count_iterations(a, chebyshev_preconditioner(*ctx, csr, {.degree = 8}));
  EXPECT_LT(blocks, jacobi);
  const int ic0 = count_iterations(a, ic0_preconditioner(*ctx, csr));
  EXPECT_LT(4 * chebyshev, jacobi);
  EXPECT_LT(2 * ic0, jacobi);
  RecordProperty("iterations", std::to_string(jacobi) + " " + std::to_string(blocks) + " " + std::to_string(chebyshev) +
                                   " " + std::to_string(ic0));
}

INSTANTIATE_TEST_SUITE_P(backends, a_preconditioner, testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// --- What it refuses
// --------------------------------------------------------------------------------------------------

struct refusal {
  const char* name;
  sparse_case a;
  errc jacobi, blocks, chebyshev, ic0;
};

std::vector<refusal> refusals() {
  constexpr errc bad = errc::invalid_argument, ok = errc::ok;
  return {
      {"empty", from_entries(0, {}), ok, ok, ok, ok},
      {"one", from_entries(1, {{0, 0, 3}}), ok, ok, ok, ok},
      {"diagonal", from_entries(3, {{0, 0, 3}, {1, 1, 1e-3}, {2, 2, 1e9}}), ok, ok, ok, ok},
      {"not_square",
       {"", 2, 3, {{0, 0, 1}, {1, 1, 1}}},
       errc::size_mismatch,
       errc::size_mismatch,
       errc::size_mismatch,
       errc::size_mismatch},
      {"zero_row", from_entries(3, {{0, 0, 1}, {2, 2, 1}}), bad, bad, bad, bad},
      {"negative", from_entries(2, {{0, 0, 1}, {1, 1, -1}}), bad, bad, bad, bad},
      {"nan_on_the_diagonal", from_entries(2, {{0, 0, 1}, {1, 1, nan_value}}), bad, bad, bad, bad},
      {"nan_beside_it", from_entries(2, {{0, 0, 1}, {0, 1, nan_value}, {1, 0, nan_value}, {1, 1, 1}}), ok, bad, bad,
       bad},
      {"indefinite", from_entries(2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 1}}), ok, bad, bad, bad},
      {"not_symmetric", from_entries(2, {{0, 0, 4}, {0, 1, 1}, {1, 0, 2}, {1, 1, 4}}), ok, ok, bad, bad},
  };
}

class a_matrix : public testing::TestWithParam<refusal> {};

TEST_P(a_matrix, is_taken_or_refused) {
  const context ctx = context::cpu(2);
  const auto a = csr_of<double>(GetParam().a);
  const auto used = [](const linear_operator<double>& m) {
    const auto z = apply(m, random_block(m.cols(), 2, 1));
    for (const double entry : z.at) EXPECT_TRUE(std::isfinite(entry));
  };
  EXPECT_EQ(code_of([&] { used(jacobi_preconditioner(ctx, a)); }), GetParam().jacobi);
  EXPECT_EQ(code_of([&] { used(block_jacobi_preconditioner(ctx, a, {.block = 2})); }), GetParam().blocks);
  EXPECT_EQ(code_of([&] { used(chebyshev_preconditioner(ctx, a)); }), GetParam().chebyshev);
  EXPECT_EQ(code_of([&] { used(ic0_preconditioner(ctx, a)); }), GetParam().ic0);
}
INSTANTIATE_TEST_SUITE_P(each, a_matrix, testing::ValuesIn(refusals()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(preconditioner_options, out_of_range_are_refused) {
  const context ctx = context::cpu(1);
  const auto a = csr_of<double>(from_entries(1, {{0, 0, 3}}));
  for (const block_jacobi_options& wrong : {block_jacobi_options{.block = -1}, {.block = 65}, {.cols = 0}}) {
    EXPECT_EQ(code_of([&] { block_jacobi_preconditioner(ctx, a, wrong); }), errc::invalid_argument);
  }
  for (const chebyshev_options& wrong : {chebyshev_options{.degree = 0},
                                         {.degree = 17},
                                         {.ratio = 1},
                                         {.ratio = -2},
                                         {.ratio = nan_value},
                                         {.lanczos_steps = 1},
                                         {.cols = 0}}) {
    EXPECT_EQ(code_of([&] { chebyshev_preconditioner(ctx, a, wrong); }), errc::invalid_argument);
  }
  for (const double shift : {-0.1, 1.5, nan_value}) {
    EXPECT_EQ(code_of([&] { ic0_preconditioner(ctx, a, {.shift = shift}); }), errc::invalid_argument) << shift;
  }
}

}  // namespace

}  // namespace bcsc::test
