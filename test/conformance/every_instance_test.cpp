// A few small products with every config: what compute-sanitizer can look at in minutes.
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/plan.hpp"
#include "lib/choice/registry.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/nonfinite.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

template <class T>
void touch(const context& ctx, const kernel_info& kernel) {
  std::size_t turn = 0;
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.name != "ragged" && a.name != "power_law" && a.name != "no_entries") continue;
    ++turn;
    const std::int64_t n = turn % 2 == 0 ? kernel.n_tile + 1 : std::max(1, kernel.n_tile - 3);
    const auto b = random_table<T>(a.cols, n, values::small_integers, turn);
    const auto c0 = random_table<T>(a.rows, n, values::small_integers, turn + 9);
    const auto wanted = multiply<T>(a, false, 2, b, 1, c0);
    // Column-major B sends the data through the packing kernel as well; some m_blocks need several slices.
    const layout order = turn % 2 == 0 ? layout::col_major : layout::row_major;
    const spmm_plan<T> plan(ctx, csr_of<T>(a),
                            {.cols = n,
                             .b_layout = order,
                             .expert = {.kernel = kernel.name,
                                        .m_block = turn == 3 && kernel.any_m_block ? kernel.m_tile + 5 : 0,
                                        .reading = col_major_b::packed}});
    operand<T> on_b(ctx, b, {order, 1, 0}), on_c(ctx, c0, {order, 0, 1});
    plan.run(scalar_of<T>{2}, on_b.view(), scalar_of<T>{1}, on_c.view());
    expect_exact<T>(wanted, on_c.read(), a.name);
  }
}

/// A column-major B that is read where it lies by every kernel that can.
template <class T>
void touch_in_place(const context& ctx, const choice::registered_kernel& kernel) {
  constexpr std::int64_t rows = 9001, cols = 300, n = 5;
  const sparse_case a = make_case("tall", rows, cols, scatter(rows, cols, 4000, 3), values::small_integers, 5);
  const auto b = random_table<T>(cols, n, values::small_integers, 7);
  const auto c0 = random_table<T>(rows, n, values::small_integers, 8);
  const plan_options options{.cols = n,
                             .b_layout = layout::col_major,
                             .expert = {.kernel = kernel.info.name, .reading = col_major_b::in_place}};
  if (kernel.info.strided_cols == 0) {
    EXPECT_EQ(code_of([&] { spmm_plan<T>(ctx, csr_of<T>(a), options); }), errc::no_such_kernel);
    return;
  }
  const spmm_plan<T> plan(ctx, csr_of<T>(a), options);
  EXPECT_NE(plan.explain().find("where it lies"), std::string::npos) << plan.explain();
  operand<T> on_b(ctx, b, {layout::col_major, 1, 3}), on_c(ctx, c0, {layout::row_major, 1, 2});
  plan.run(scalar_of<T>{2}, on_b.view(), scalar_of<T>{1}, on_c.view());
  expect_exact<T>(multiply<T>(a, false, 2, b, 1, c0), on_c.read(), a.name);
}

/// What is not finite takes another way through some kernels: whole row blocks, and pieces of heavy rows.
template <class T>
void touch_nonfinite(const context& ctx, const kernel_info& kernel) {
  constexpr std::int64_t rows = 70, cols = 600, n = 9;
  auto positions = scatter(rows, cols, 500, 3);
  for (std::int64_t j = 0; j < cols; ++j) positions.emplace(11, j);
  const sparse_case a = make_case("one full row", rows, cols, positions, values::small_integers, 5);
  auto b = random_table<T>(cols, n, values::small_integers, 7);
  const auto c0 = random_table<T>(rows, n, values::small_integers, 8);
  plant(b, 5, odd::plus_infinity);
  const spmm_plan<T> plan(ctx, csr_of<T>(a), {.cols = n, .expert = {.kernel = kernel.name}});
  operand<T> on_b(ctx, b, {}), on_c(ctx, c0, {});
  plan.run(scalar_of<T>{2}, on_b.view(), scalar_of<T>{1}, on_c.view());
  if (!kernel.stored_entries_only) return;
  expect_stored_only<T>(multiply_stored<T>(a, false, 2, b, 1, c0, arithmetic_of(kernel)), on_c.read(), a.name);
}

class every_instance : public ::testing::TestWithParam<kernel_info> {};

TEST_P(every_instance, runs) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_value_type(GetParam().type, [&]<class T>() {
    touch<T>(*ctx, GetParam());
    touch_nonfinite<T>(*ctx, GetParam());
  });
}

TEST_P(every_instance, reads_b_where_it_lies_if_it_can) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const auto& all = choice::registry();
  const auto kernel = std::ranges::find_if(all, [](const choice::registered_kernel& k) {
    return k.info.name == GetParam().name && k.info.where == GetParam().where && k.info.type == GetParam().type;
  });
  ASSERT_NE(kernel, all.end());
  with_value_type(GetParam().type, [&]<class T>() { touch_in_place<T>(*ctx, *kernel); });
}

INSTANTIATE_TEST_SUITE_P(table, every_instance, ::testing::ValuesIn(kernel_table()), [](const auto& info) {
  std::string name =
      std::string(to_string(info.param.where)) + "_" + info.param.name + "_" + std::string(to_string(info.param.type));
  std::ranges::replace(name, '-', '_');
  return name;
});

/// The same for the kernels that multiply by the transpose of the A another kernel stores.
template <class T>
void touch_transposed(const context& ctx, const kernel_info& kernel) {
  std::size_t turn = 0;
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.name != "ragged" && a.name != "power_law" && a.name != "no_entries") continue;
    ++turn;
    const std::int64_t n = turn % 2 == 0 ? kernel.n_tile + 1 : std::max(1, kernel.n_tile - 3);
    const auto b = random_table<T>(a.rows, n, values::small_integers, turn);
    const auto c0 = random_table<T>(a.cols, n, values::small_integers, turn + 9);
    const layout order = turn % 2 == 0 ? layout::col_major : layout::row_major;
    for (const kernel_info& stored_for : kernel_table(kernel.where, kernel.type)) {
      if (!stored_for.transposable || stored_for.index_bits != kernel.index_bits) continue;
      const spmm_plan<T> forward(ctx, csr_of<T>(a),
                                 {.cols = n, .b_layout = order, .expert = {.kernel = stored_for.name}});
      const auto plan = forward.transposed().value().sharing(kernel.name);
      ASSERT_TRUE(plan.has_value());
      operand<T> on_b(ctx, b, {order, 1, 0}), on_c(ctx, c0, {order, 0, 1});
      plan->run(T{2}, on_b.view(), T{1}, on_c.view());
      expect_exact<T>(multiply<T>(a, true, 2, b, 1, c0), on_c.read(), a.name);
      break;
    }
  }
}

class every_transposing_instance : public ::testing::TestWithParam<kernel_info> {};

TEST_P(every_transposing_instance, runs) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_fp32_or_fp64(GetParam().type, [&]<class T>() { touch_transposed<T>(*ctx, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(table, every_transposing_instance, ::testing::ValuesIn(transposing_kernel_table()),
                         [](const auto& info) {
                           std::string name = std::string(to_string(info.param.where)) + "_" + info.param.name + "_" +
                                              std::string(to_string(info.param.type));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bcsc::test
