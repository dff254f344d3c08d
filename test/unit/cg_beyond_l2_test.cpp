// Conjugate gradients whose vectors do not stay in a GPU's L2: products leave p.q behind and x takes two steps at once,
// but not a bit depends on how the iterations fall into twos.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "bcsc/cg.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

class cg_beyond_l2 : public testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }

  /// Points on the edge of a cube on which two blocks of vectors are a tenth more than L2.
  template <class T>
  std::int64_t edge(std::int64_t k) const {
    const double rows = 1.1 * static_cast<double>(ctx_->device().l2_bytes) / static_cast<double>(2 * k * sizeof(T));
    return static_cast<std::int64_t>(std::ceil(std::cbrt(rows)));
  }

  /// Column j < waves is the sum of j + 1 eigenvectors, which CG finds in as many iterations; others are random.
  template <class T>
  static dense_table<T> right_hand_sides(std::int64_t edge, std::int64_t k, std::int64_t waves) {
    dense_table<T> b(edge * edge * edge, k);
    test_random random(4);
    for (std::int64_t j = 0; j < k; ++j) {
      const auto wave = [&](std::int64_t frequency, std::int64_t i) {
        return std::sin(std::numbers::pi * static_cast<double>(frequency * (i + 1)) / static_cast<double>(edge + 1));
      };
      for (std::int64_t i = 0; i < b.rows; ++i) {
        double sum = j < waves ? 0 : random.real();
        for (std::int64_t f = 0; j < waves && f <= j; ++f) {
          const std::int64_t frequency = 1 + f * (edge / 3);  // eigenvalues far apart
          sum += wave(frequency, i % edge) * wave(frequency, i / edge % edge) * wave(1, i / (edge * edge));
        }
        b(i, j) = static_cast<T>(sum);
      }
    }
    return b;
  }

  /// Seven points on a cube, `waves` columns of which end in iterations 1, 2, 3.
  template <class T>
  void check(std::int64_t k, std::int64_t waves, cg_options options) {
    const std::int64_t n = edge<T>(k);
    const auto a = generate::stencil<T>(7, n, n, n);
    const spmm_plan<T> plan(*ctx_, a.view(), {.cols = k, .deterministic = true});
    const auto b = right_hand_sides<T>(n, k, waves);
    operand<T> b_there(*ctx_, b, {});
    const dense_view<const T> b_view = b_there.view();
    const auto solve = [&](std::int64_t every) {
      operand<T> x(*ctx_, b.rows, k, {});
      options.check_every = every;
      cg_result result = solve_cg<T>(plan, diagonal_of<T>(options, b.rows), b_view, x.view(), options);
      return std::pair(std::move(result), x.read());
    };
    for (const std::int64_t most : {24, 25}) {
      options.max_iterations = most;
      const auto [wanted, x] = solve(1);  // then each step by itself
      EXPECT_EQ(*std::ranges::max_element(wanted.column_iterations), most);
      for (std::int64_t j = 0; j < waves; ++j) {
        EXPECT_EQ(wanted.column_iterations[static_cast<std::size_t>(j)], j + 1);
      }
      for (const std::int64_t every : {0, 2, 3, 8, 9}) {  // 9: a graph with an odd number of iterations
        const auto [got, other] = solve(every);
        EXPECT_TRUE(other.at == x.at) << "looked every " << every;
        EXPECT_EQ(got.history, wanted.history) << every;
        EXPECT_EQ(got.true_residual, wanted.true_residual) << every;
        EXPECT_EQ(got.column_iterations, wanted.column_iterations) << every;
        if (HasFailure()) return;
      }
    }
  }

  template <class T>
  static std::vector<T> diagonal_of(const cg_options& options, std::int64_t rows) {
    const bool wanted = options.precondition == preconditioner::jacobi;
    return std::vector<T>(wanted ? static_cast<std::size_t>(rows) : 0, T{6});
  }

  std::optional<context> ctx_;
};

cg_options options_with(preconditioner by, cg_correction correction = {}) {
  return {.tolerance = 1e-9, .precondition = by, .correction = correction};
}
const cg_options plain = options_with(preconditioner::none);

TEST_F(cg_beyond_l2, one_column_of_which_slices_leave_dots) { check<double>(1, 0, plain); }
TEST_F(cg_beyond_l2, one_column_in_float) { check<float>(1, 0, plain); }
TEST_F(cg_beyond_l2, four_columns_that_end_in_turn) { check<double>(4, 3, plain); }
TEST_F(cg_beyond_l2, sixteen_columns_that_end_in_turn) { check<double>(16, 3, plain); }
TEST_F(cg_beyond_l2, sixteen_columns_with_jacobi) { check<double>(16, 3, options_with(preconditioner::jacobi)); }
TEST_F(cg_beyond_l2, sixteen_columns_whose_residuals_are_computed_anew) {
  check<double>(16, 0, options_with(preconditioner::none, cg_correction::recompute(7)));
}
TEST_F(cg_beyond_l2, one_column_whose_residual_is_computed_anew) {
  check<double>(1, 0, options_with(preconditioner::none, cg_correction::reliable(0.3)));
}

}  // namespace
}  // namespace bcsc::test
