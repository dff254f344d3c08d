// Smoothed aggregation as a preconditioner: what it does to conjugate gradients of the tests' own, and what it refuses.
#include "bcsc/amg.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "bcsc/generate.hpp"
#include "test/support/code_of.hpp"
#include "test/unit/preconditioner_support.hpp"

namespace bcsc::test {

namespace {

class an_amg : public testing::TestWithParam<backend> {
 protected:
  std::optional<context> ctx = context_of(GetParam());
};

/// Without smoothed prolongators or with a smoother that damps nothing the count grows with the grid.
TEST_P(an_amg, needs_about_as_many_iterations_on_any_grid) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  for (const std::int64_t size : {12, 18, 24}) {
    const sparse_case a = laplace({.nx = size, .ny = size, .nz = size});
    const amg_preconditioner<double> m(*ctx, csr_of<double>(a));
    EXPECT_GT(std::ssize(m.facts().levels), 1) << size;
    EXPECT_LE(count_iterations(a, m.as_operator()), 20) << size;
  }
}

TEST_P(an_amg, is_symmetric_and_positive_definite) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 12, .ny = 11, .nz = 10, .across = 0.5});
  expect_symmetric_positive(amg_preconditioner<double>(*ctx, csr_of<double>(a)).as_operator(), 1e-12);
  const amg_preconditioner<double> deep(*ctx, csr_of<double>(a), {.max_coarse = 40});
  EXPECT_GE(std::ssize(deep.facts().levels), 3);
  expect_symmetric_positive(deep.as_operator(), 1e-12);
  expect_symmetric_positive(
      amg_preconditioner<double>(*ctx, csr_of<double>(a), {.single_precision = true}).as_operator(), 1e-4);
}

TEST_P(an_amg, stores_single_precision_for_a_solver_in_double) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 16, .ny = 16, .nz = 16});
  const amg_preconditioner<double> full(*ctx, csr_of<double>(a)),
      single(*ctx, csr_of<double>(a), {.single_precision = true});
  EXPECT_EQ(single.facts().precision, value_type::fp32);
  EXPECT_LE(count_iterations(a, single.as_operator()), count_iterations(a, full.as_operator()) + 1);
}

// The diagonal is constant: packed blocks go into the cycle as they are, others are scaled into one of its own.
TEST_P(an_amg, takes_alpha_beta_and_blocks_that_lie_anywhere) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 12, .ny = 11, .nz = 10});
  const amg_preconditioner<double> m(*ctx, csr_of<double>(a), {.cols = 4});
  const auto x = random_block(a.rows, 4, 1), y = random_block(a.rows, 4, 2);
  const auto once = apply(m.as_operator(), x, {});
  for (const placement& lies : {placement{}, placement{.padding = 2}, placement{.offset = 1}}) {
    operand<double> from(*ctx, x, lies), to(*ctx, y, lies);
    m.as_operator().apply(0.5, from.view(), -2.0, to.view());
    const auto got = to.read();
    for (std::size_t i = 0; i < got.at.size(); ++i) ASSERT_NEAR(got.at[i], 0.5 * once.at[i] - 2 * y.at[i], 1e-12);
  }
}

TEST_P(an_amg, of_no_rows_does_nothing) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const amg_preconditioner<double> m(*ctx, csr_of<double>(sparse_case{"empty", 0, 0, {}}));
  EXPECT_EQ(m.as_operator().rows(), 0);
}

TEST_P(an_amg, of_few_rows_is_the_inverse) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace({.nx = 6, .ny = 5, .nz = 4});
  const amg_preconditioner<double> m(*ctx, csr_of<double>(a));
  EXPECT_EQ(std::ssize(m.facts().levels), 1);
  EXPECT_TRUE(m.facts().coarse_inverse);
  const Eigen::MatrixXd product = dense_of(m.as_operator()) * to_eigen(a);
  EXPECT_LT((product - Eigen::MatrixXd::Identity(a.rows, a.rows)).norm(), 1e-10);
}

// --- Elasticity -----------------------------------------------------------------------------------------------------

/// A beam of cubes clamped at x = 0; z runs fastest.
struct beam {
  std::int64_t nx, ny, nz;

  csr_matrix<double> stiffness() const { return generate::elasticity<double>(nx, ny, nz); }
  dense_matrix<double> coordinates() const {
    dense_matrix<double> at(nx * (ny + 1) * (nz + 1), 3);
    for (std::int64_t node = 0; node < at.rows(); ++node) {
      at(node, 0) = static_cast<double>(node / ((ny + 1) * (nz + 1)) + 1);
      at(node, 1) = static_cast<double>(node / (nz + 1) % (ny + 1));
      at(node, 2) = static_cast<double>(node % (nz + 1));
    }
    return at;
  }
};

sparse_case to_case(const csr_matrix<double>& a) {
  sparse_case made{"elasticity", a.rows(), a.cols(), {}};
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (auto p = a.row_ptr()[i]; p < a.row_ptr()[i + 1]; ++p) {
      made.entries.push_back({i, a.col_ind()[p], a.values()[p]});
    }
  }
  return made;
}

/// What moves as a rigid body is under no stress: K times it is 0 but beside the clamped face.
TEST(rigid_body, modes_are_under_no_stress) {
  const beam b{4, 3, 2};
  const auto coordinates = b.coordinates();
  const dense_matrix<double> modes = rigid_body_modes(coordinates);
  ASSERT_EQ(modes.cols(), 6);
  const Eigen::MatrixXd v =
      Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(modes.data(), modes.rows(), 6);
  const Eigen::MatrixXd force = to_eigen(to_case(b.stiffness())) * v;
  const std::int64_t beside = 3 * (b.ny + 1) * (b.nz + 1);
  EXPECT_LT(force.bottomRows(force.rows() - beside).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_EQ(Eigen::FullPivLU<Eigen::MatrixXd>(v).rank(), 6);
}

TEST(rigid_body, modes_of_other_bodies_are_refused) {
  for (const std::int64_t dimensions : {0, 1, 4}) {
    const dense_matrix<double> coordinates(3, dimensions);
    EXPECT_EQ(code_of([&] { rigid_body_modes(coordinates); }), errc::invalid_argument) << dimensions;
  }
  dense_matrix<double> coordinates(3, 2);
  coordinates(1, 1) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(code_of([&] { rigid_body_modes(coordinates); }), errc::invalid_argument);
}

TEST_P(an_amg, needs_few_iterations_where_it_knows_the_rigid_body_modes) {
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const beam b{10, 8, 8};
  const auto k = b.stiffness();
  const auto coordinates = b.coordinates();
  const dense_matrix<double> modes = rigid_body_modes(coordinates);
  const sparse_case a = to_case(k);
  const int with =
      count_iterations(a, amg_preconditioner(*ctx, k, {.block = 3, .near_nullspace = modes}).as_operator());
  const int without = count_iterations(a, amg_preconditioner(*ctx, k, {.block = 3}).as_operator());
  EXPECT_LT(with, without);
  EXPECT_LE(with, 22);
  RecordProperty("iterations", std::to_string(with) + " " + std::to_string(without));
}

INSTANTIATE_TEST_SUITE_P(backends, an_amg, testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(amg, is_the_same_for_any_number_of_threads) {
  const sparse_case a = laplace({.nx = 40, .ny = 39, .nz = 38});  // enough rows for many pieces
  const auto r = random_block(a.rows, 3, 7);
  const auto applied_by = [&](int threads) {
    return apply(amg_preconditioner<double>(context::cpu(threads), csr_of<double>(a)).as_operator(), r).at;
  };
  const auto by_one = applied_by(1);
  EXPECT_EQ(applied_by(2), by_one);
  EXPECT_EQ(applied_by(3), by_one);
  // By many threads plans may choose other kernels, which add in another order.
  EXPECT_EQ(applied_by(16), applied_by(8));
}

TEST(amg, refuses_what_it_cannot_take) {
  const context ctx = context::cpu(1);
  const auto code = [&](const sparse_case& a, const amg_options& options = {}) {
    return code_of([&] { amg_preconditioner<double>(ctx, csr_of<double>(a), options); });
  };
  const sparse_case good = laplace({.nx = 4, .ny = 4, .nz = 4});
  EXPECT_EQ(code({"wide", 2, 3, {{0, 0, 1}, {1, 1, 1}}}), errc::size_mismatch);
  EXPECT_EQ(code(from_entries(2, {{0, 0, 1}, {1, 1, -1}})), errc::invalid_argument);
  EXPECT_EQ(code(from_entries(2, {{0, 0, 1}, {1, 0, 1}})), errc::invalid_argument);
  EXPECT_EQ(code(from_entries(2, {{0, 0, std::numeric_limits<double>::quiet_NaN()}, {1, 1, 1}})),
            errc::invalid_argument);
  for (const amg_options& wrong : {amg_options{.block = 0},
                                   {.block = 3},
                                   {.strength = 1},
                                   {.strength = -0.5},
                                   {.smoother_degree = 0},
                                   {.smoother_degree = 9},
                                   {.smoother_ratio = 1},
                                   {.max_levels = 0},
                                   {.max_coarse = 0},
                                   {.cols = 0}}) {
    EXPECT_EQ(code(good, wrong), errc::invalid_argument);
  }
}

}  // namespace

}  // namespace bcsc::test
