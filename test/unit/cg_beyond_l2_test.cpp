// Conjugate gradients whose vectors do not stay in a GPU's L2: products leave p.q behind and x takes two steps at once,
// but not a bit depends on how the iterations fall into twos.
#include <gtest/gtest.h>

#include <cmath>
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

  /// Seven points on a cube. Column j < 3 is the sum of j + 1 eigenvectors, which CG solves in so many iterations, and
  /// others are random.
  template <class T>
  static dense_table<T> right_hand_sides(std::int64_t edge, std::int64_t k) {
    dense_table<T> b(edge * edge * edge, k);
    test_random random(4);
    for (std::int64_t j = 0; j < k; ++j) {
      const auto wave = [&](std::int64_t frequency, std::int64_t i) {
        return std::sin(std::numbers::pi * static_cast<double>(frequency * (i + 1)) / static_cast<double>(edge + 1));
      };
      for (std::int64_t i = 0; i < b.rows; ++i) {
        double sum = j < 3 ? 0 : random.real();
        for (std::int64_t f = 1; j < 3 && f <= 1 + j * (edge / 3); f += edge / 3) {  // eigenvalues far apart
          sum += wave(f, i % edge) * wave(f, i / edge % edge) * wave(1, i / (edge * edge));
        }
        b(i, j) = static_cast<T>(sum);
      }
    }
    return b;
  }

  template <class T>
  void check(std::int64_t edge, std::int64_t k, double tolerance) {
    const auto a = generate::stencil<T>(7, edge, edge, edge);
    const spmm_plan<T> plan(*ctx_, a.view(), {.cols = k, .deterministic = true});
    const auto b = right_hand_sides<T>(edge, k);
    operand<T> b_there(*ctx_, b, {});
    const dense_view<const T> b_view = b_there.view();
    const auto solve = [&](std::int64_t every, std::int64_t most) {
      operand<T> x(*ctx_, b.rows, k, {});
      const cg_options options{
          .tolerance = tolerance, .max_iterations = most, .precondition = preconditioner::none, .check_every = every};
      cg_result result = solve_cg<T>(plan, {}, b_view, x.view(), options);
      return std::pair(std::move(result), x.read());
    };
    for (const std::int64_t most : {24, 25}) {
      const auto [wanted, x] = solve(1, most);  // then each step by itself
      for (std::int64_t j = 0; j < std::min<std::int64_t>(k, 3); ++j) {
        EXPECT_EQ(wanted.column_iterations[static_cast<std::size_t>(j)], j + 1);
      }
      for (const std::int64_t every : {0, 2, 3, 7, 8}) {
        const auto [got, other] = solve(every, most);
        EXPECT_EQ(other.at == x.at, true) << "looked every " << every;
        EXPECT_EQ(got.history, wanted.history) << every;
        EXPECT_EQ(got.true_residual, wanted.true_residual) << every;
        EXPECT_EQ(got.column_iterations, wanted.column_iterations) << every;
        if (HasFailure()) return;
      }
    }
  }

  std::optional<context> ctx_;
};

TEST_F(cg_beyond_l2, one_column_of_which_slices_leave_dots) { check<double>(165, 1, 1e-9); }
TEST_F(cg_beyond_l2, three_columns) { check<double>(110, 3, 1e-9); }
TEST_F(cg_beyond_l2, sixteen_columns) { check<double>(85, 16, 1e-9); }
TEST_F(cg_beyond_l2, sixteen_columns_in_float) { check<float>(85, 16, 1e-3); }
TEST_F(cg_beyond_l2, one_column_in_float) { check<float>(165, 1, 1e-3); }

}  // namespace
}  // namespace bcsc::test
