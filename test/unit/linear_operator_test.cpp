#include "bcsc/linear_operator.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

namespace bcsc::test {

namespace {

template <class T>
dense_table<T> random_table(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  dense_table<T> table(rows, cols);
  for (T& entry : table.at) entry = static_cast<T>(random.real());
  return table;
}

// --- A plan as an operator ------------------------------------------------------------------------------------------

struct operator_case {
  backend where;
  const char* matrix;
  std::int64_t k, padding;
};

class a_plan_as_an_operator : public testing::TestWithParam<operator_case> {
 protected:
  template <class T>
  void check() {
    const auto ctx = context_of(GetParam().where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    const sparse_case a = case_named(GetParam().matrix);
    const std::int64_t k = GetParam().k;
    const spmm_plan<T> plan(*ctx, csr_of<T>(a), {.cols = std::max<std::int64_t>(1, k)});
    const linear_operator<T> op = plan;
    EXPECT_EQ(op.rows(), a.rows);
    EXPECT_EQ(op.cols(), a.cols);
    EXPECT_EQ(op.where().kind(), GetParam().where);
    EXPECT_TRUE(op.capturable());
    EXPECT_NE(op.describe().find(plan.facts().kernel.name), std::string::npos) << op.describe();

    const auto x = random_table<T>(a.cols, k, 1), y = random_table<T>(a.rows, k, 2);
    const placement lies{.padding = GetParam().padding};
    operand<T> x_there(*ctx, x, lies), y_there(*ctx, y, lies), fresh(*ctx, a.rows, k, lies);
    op.apply(T(0.5), x_there.view(), T(-2), y_there.view());
    const arithmetic how = arithmetic_of(plan.facts().kernel);
    expect_within_bound(multiply(a, false, 0.5, x, -2, y, how), y_there.read(), "alpha A X + beta Y");
    op.apply(T(1), x_there.view(), T(0), fresh.view());  // Y is NaN
    expect_within_bound(multiply(a, false, 1, x, 0, y, how), fresh.read(), "A X");
  }
};

TEST_P(a_plan_as_an_operator, multiplies_in_double) { check<double>(); }
TEST_P(a_plan_as_an_operator, multiplies_in_float) { check<float>(); }

INSTANTIATE_TEST_SUITE_P(
    on, a_plan_as_an_operator,
    testing::Values(operator_case{backend::cpu, "ragged", 1, 0}, operator_case{backend::cpu, "ragged", 5, 3},
                    operator_case{backend::cpu, "tall", 16, 0}, operator_case{backend::cpu, "wide", 3, 1},
                    operator_case{backend::cpu, "no_entries", 4, 0}, operator_case{backend::cpu, "5x0", 4, 0},
                    operator_case{backend::cpu, "0x5", 4, 0}, operator_case{backend::cpu, "ragged", 0, 2},
                    operator_case{backend::cuda, "ragged", 5, 3}, operator_case{backend::cuda, "tall", 16, 0}));

TEST(linear_operator, keeps_a_plan_that_it_is_given) {
  const sparse_case a = case_named("ragged");
  const auto x = random_table<double>(a.cols, 2, 3);
  dense_table<double> y(a.rows, 2);
  const auto made = [&] {
    return linear_operator<double>(spmm_plan<double>(context::cpu(1), csr_of<double>(a), {.cols = 2}));
  };
  const linear_operator<double> op = made();
  op.apply(1.0, {x.at.data(), a.cols, 2}, 0.0, {y.at.data(), a.rows, 2});
  expect_within_bound(multiply(a, false, 1, x, 0, y), y, "A X");
}

TEST(linear_operator, takes_a_single_column_in_either_layout) {
  const sparse_case a = case_named("ragged");
  const spmm_plan<double> plan(context::cpu(1), csr_of<double>(a), {.cols = 1});
  const auto x = random_table<double>(a.cols, 1, 3);
  dense_table<double> y(a.rows, 1);
  linear_operator<double>(plan).apply(1.0, {x.at.data(), a.cols, 1, layout::col_major}, 0.0,
                                      {y.at.data(), a.rows, 1, a.rows + 5, layout::col_major});
  expect_within_bound(multiply(a, false, 1, x, 0, y), y, "A x");
}

// --- A callable as an operator --------------------------------------------------------------------------------------

/// Y = alpha 3 X + beta Y, with what it was given last.
struct tripling {
  std::span<std::byte> workspace;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  ///< asked for, each column

  linear_operator<double> on(const context& ctx, std::int64_t n) {
    operator_traits traits{.name = "three times"};
    if (bytes > 0) traits.workspace_bytes = [this](std::int64_t k) { return bytes * k; };
    return {ctx, n, n,
            [this](scalar<double> alpha, dense_view<const double> x, scalar<double> beta, dense_view<double> y,
                   const apply_options& options) {
              ++calls;
              workspace = options.workspace;
              for (std::int64_t i = 0; i < y.rows; ++i) {
                for (std::int64_t j = 0; j < y.cols; ++j) {
                  const double old = beta.value() == 0 ? 0 : beta.value() * y(i, j);
                  y(i, j) = alpha.value() * 3 * x(i, j) + old;
                }
              }
            },
            std::move(traits)};
  }
};

TEST(linear_operator, calls_a_callable) {
  tripling three;
  const auto op = three.on(context::cpu(1), 3);
  const double x[] = {1, 2, 3};
  double y[] = {10, 20, 30};
  op.apply(2.0, {x, 3, 1}, 1.0, {y, 3, 1});
  EXPECT_EQ(std::vector<double>(y, y + 3), (std::vector<double>{16, 32, 48}));
  EXPECT_FALSE(op.capturable());
  EXPECT_EQ(op.describe(), "3 x 3: three times");
  EXPECT_EQ(op.workspace_bytes(7), 0);
  EXPECT_TRUE(three.workspace.empty());
}

TEST(linear_operator, brings_a_workspace_where_the_caller_does_not) {
  tripling three{.bytes = 100};
  const auto op = three.on(context::cpu(1), 2);
  const double x[] = {1, 2, 3, 4};
  double y[4];
  EXPECT_EQ(op.workspace_bytes(2), 200);
  op.apply(1.0, {x, 2, 2}, 0.0, {y, 2, 2});
  EXPECT_GE(three.workspace.size(), 200u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(three.workspace.data()) % 256, 0u);

  alignas(256) std::byte given[200];
  op.apply(1.0, {x, 2, 2}, 0.0, {y, 2, 2}, {.workspace = given});
  EXPECT_EQ(three.workspace.data(), given);
  const auto refusal = [&](std::span<std::byte> workspace) {
    return code_of([&] { op.apply(1.0, {x, 2, 2}, 0.0, {y, 2, 2}, {.workspace = workspace}); });
  };
  EXPECT_EQ(refusal(std::span(given).first(199)), errc::workspace_too_small);
  alignas(256) std::byte crooked[300];
  EXPECT_EQ(refusal(std::span(crooked).subspan(8, 200)), errc::invalid_argument);
  EXPECT_EQ(three.calls, 2);
}

TEST(linear_operator, passes_on_what_a_callable_throws) {
  const linear_operator<double> op(context::cpu(1), 1, 1,
                                   [](auto&&...) { throw std::domain_error("no such product"); });
  const double x = 1;
  double y = 5;
  EXPECT_THROW(op.apply(1.0, {&x, 1, 1}, 0.0, {&y, 1, 1}), std::domain_error);
  EXPECT_EQ(y, 5);
}

TEST(linear_operator, applies_to_nothing_without_a_call) {
  tripling three;
  const auto op = three.on(context::cpu(1), 3);
  op.apply(1.0, {nullptr, 3, 0}, 0.0, {nullptr, 3, 0});
  three.on(context::cpu(1), 0).apply(1.0, {nullptr, 0, 2}, 0.0, {nullptr, 0, 2});
  EXPECT_EQ(three.calls, 0);
}

TEST(linear_operator, refuses_what_does_not_fit) {
  tripling three;
  const auto op = three.on(context::cpu(1), 3);
  double x[18] = {}, y[18] = {};
  const auto refusal = [&](dense_view<double> in, dense_view<double> out) {
    return code_of([&] { op.apply(1.0, in, 0.0, out); });
  };
  EXPECT_EQ(refusal({x, 2, 2}, {y, 3, 2}), errc::size_mismatch);
  EXPECT_EQ(refusal({x, 3, 2}, {y, 2, 2}), errc::size_mismatch);
  EXPECT_EQ(refusal({x, 3, 2}, {y, 3, 3}), errc::size_mismatch);
  EXPECT_EQ(refusal({x, 3, 2, layout::col_major}, {y, 3, 2}), errc::layout_mismatch);
  EXPECT_EQ(refusal({x, 3, 2}, {y, 3, 2, layout::col_major}), errc::layout_mismatch);
  EXPECT_EQ(refusal({x, 3, 2, 1}, {y, 3, 2}), errc::bad_leading_dimension);
  EXPECT_EQ(refusal({x, 3, 2}, {y, 3, 2, 1}), errc::bad_leading_dimension);
  EXPECT_EQ(refusal({x, -3, 2}, {y, 3, 2}), errc::invalid_argument);
  EXPECT_EQ(refusal({nullptr, 3, 2}, {y, 3, 2}), errc::invalid_argument);
  EXPECT_EQ(refusal({x, 3, 2}, {nullptr, 3, 2}), errc::invalid_argument);
  EXPECT_EQ(refusal({x, 3, 2}, {x + 1, 3, 2}), errc::overlapping_operands);
  EXPECT_EQ(three.calls, 0);
  EXPECT_EQ(refusal({x, 3, 2, 5}, {x + 2, 3, 2, 5}), errc::ok) << "column ranges of one array";

  EXPECT_EQ(code_of([&] { (void)op.workspace_bytes(-1); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { linear_operator<double>(context::cpu(1), -1, 1, [](auto&&...) {}); }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { linear_operator<double>(context::cpu(1), 1, 1, nullptr); }), errc::invalid_argument);
}

TEST(linear_operator, refuses_memory_out_of_reach) {
  const auto gpu = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(gpu);
  tripling three;
  operand<double> there(*gpu, random_table<double>(3, 1, 1), {});
  const double x[3] = {};
  double y[3] = {};
  const auto refusal = [&](const context& ctx, dense_view<const double> in, dense_view<double> out) {
    return code_of([&] { three.on(ctx, 3).apply(1.0, in, 0.0, out); });
  };
  EXPECT_EQ(refusal(*gpu, {x, 3, 1}, there.view()), errc::wrong_memory_space);
  EXPECT_EQ(refusal(*gpu, there.view(), {y, 3, 1}), errc::wrong_memory_space);
  EXPECT_EQ(refusal(context::cpu(1), there.view(), {y, 3, 1}), errc::wrong_memory_space);
  EXPECT_EQ(three.calls, 0);
}

}  // namespace

}  // namespace bcsc::test
