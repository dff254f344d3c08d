// Every config of every table with rows in an order of the plan's own and row blocks of individual heights: C comes out
// in A's order, exact on small integers, in both layouts, for op(A) = A and its transpose.
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/order.hpp"
#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

constexpr row_blocks every_kind[] = {row_blocks::uniform, row_blocks::balanced, row_blocks::structural};

/// Groups of equal rows, of 1 to 9 rows each, dealt out over the matrix: what reordering can repair.
sparse_case dealt_groups() {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  test_random random(4);
  const std::int64_t rows = 163;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t group = i * 37 % rows / 7;
    for (std::int64_t j = 0; j < 9; ++j) positions.insert({i, group * 5 + j});
    if (random.below(4) == 0) positions.insert({i, random.below(140)});
  }
  return make_case("dealt_groups", rows, 140, positions, values::small_integers, 23);
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> chosen{dealt_groups()};
  for (sparse_case& a : battery(values::small_integers)) {
    for (const char* name : {"0x5", "5x0", "no_entries", "one_row", "empty_rows_and_columns", "power_law"}) {
      if (a.name == name) chosen.push_back(std::move(a));
    }
  }
  return chosen;
}

template <class T>
void check_kernel(const context& ctx, const kernel_info& kernel) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  struct scalars {
    double alpha, beta;
  };
  const scalars choices[] = {{1, 0}, {2, -1}, {0, 2}, {-1, 1}, {0, 0}};
  bool any_reordered = false;
  std::size_t turn = 0;
  for (const sparse_case& a : cases()) {
    const auto csr = csr_of<T>(a);
    for (const bool reorder : {false, true}) {
      for (const row_blocks kind : every_kind) {
        if (!reorder && kind == row_blocks::uniform) continue;  // kernels_test's
        for (const layout c_order : {layout::row_major, layout::col_major}) {
          ++turn;
          const bool transposed = turn % 5 == 0;
          const layout b_order = turn / 3 % 3 == 0 ? layout::col_major : layout::row_major;
          const std::int64_t n = turn % 2 == 0 ? 5 : kernel.n_tile + 1;
          const std::int64_t heights[] = {0, std::max(1, kernel.m_tile / 2), kernel.m_tile + 3};
          const scalars s = choices[turn % 5 == 0 ? turn / 5 % 5 : turn % 5];
          auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::small_integers, turn);
          auto c0 = random_table<T>(transposed ? a.cols : a.rows, n, values::small_integers, turn + 1);
          const product wanted = multiply<T>(a, transposed, s.alpha, b, s.beta, c0);
          if (s.beta == 0) std::ranges::fill(c0.at, static_cast<T>(nan));
          if (s.alpha == 0) std::ranges::fill(b.at, static_cast<T>(nan));

          const spmm_plan<T> plan(ctx, csr,
                                  {.cols = n,
                                   .transpose = transposed ? op::transpose : op::none,
                                   .b_layout = b_order,
                                   .expert = {.kernel = kernel.name,
                                              .m_block = kernel.any_m_block ? heights[turn % 3] : 0,
                                              .boundaries = kind,
                                              .reorder_rows = reorder}});
          ASSERT_EQ(plan.facts().kernel.name, kernel.name);
          ASSERT_EQ(plan.facts().boundaries, kind);
          any_reordered |= plan.facts().reordered;
          operand<T> on_b(ctx, b, {b_order, 1, 0}), on_c(ctx, c0, {c_order, 3, 1});
          plan.run(static_cast<scalar_of<T>>(s.alpha), on_b.view(), static_cast<scalar_of<T>>(s.beta), on_c.view());
          expect_exact<T>(wanted, on_c.read(),
                          a.name + ", " + std::string(to_string(kind)) + (reorder ? ", reordered" : "") +
                              (transposed ? ", transposed" : "") + ", C " + std::string(to_string(c_order)) +
                              ", m_block " + std::to_string(plan.facts().m_block));
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
  // With m_block = 1 no order shares anything; of a kernel for any height one of them is greater.
  EXPECT_EQ(any_reordered, kernel.any_m_block || kernel.m_tile > 1);
}

class every_kernel : public ::testing::TestWithParam<kernel_info> {};

TEST_P(every_kernel, multiplies_in_orders_and_heights_of_its_own) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_value_type(GetParam().type, [&]<class T>() { check_kernel<T>(*ctx, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(table, every_kernel, ::testing::ValuesIn(kernel_table()), [](const auto& info) {
  std::string name =
      std::string(to_string(info.param.where)) + "_" + info.param.name + "_" + std::string(to_string(info.param.type));
  std::ranges::replace(name, '-', '_');
  return name;
});

class plan_on : public ::testing::TestWithParam<backend> {};

TEST_P(plan_on, says_what_an_order_brought_and_keeps_none_that_brings_nothing) {
  const auto ctx = context_of(GetParam());
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = dealt_groups();
  const auto csr = csr_of<double>(a);
  const plan_options options{.cols = 8,
                             .expert = {.m_block = 8, .boundaries = row_blocks::structural, .reorder_rows = true}};
  const spmm_plan plan(*ctx, csr, options);
  const auto order = order_rows_by_similarity(csr);
  EXPECT_TRUE(plan.facts().reordered);
  EXPECT_DOUBLE_EQ(plan.facts().reuse_given, compare_orders(csr.view(), order, 8).before.reuse);
  EXPECT_GT(plan.facts().reuse, 2 * plan.facts().reuse_given);
  EXPECT_EQ(plan.facts().num_row_blocks, std::ssize(structural_boundaries(viewed(permute_rows(csr, order)), 8)) - 1);
  EXPECT_NE(plan.explain().find("ordered by similarity"), std::string::npos) << plan.explain();
  EXPECT_NE(plan.explain().find("structural row blocks"), std::string::npos) << plan.explain();

  std::set<std::pair<std::int64_t, std::int64_t>> diagonal;
  for (std::int64_t i = 0; i < 50; ++i) diagonal.insert({i, i});
  const auto alone = csr_of<double>(make_case("diagonal", 50, 50, diagonal, values::real, 1));
  const spmm_plan kept(*ctx, alone, {.cols = 8, .expert = {.m_block = 8, .reorder_rows = true}});
  EXPECT_FALSE(kept.facts().reordered);
  EXPECT_NE(kept.explain().find("in their order"), std::string::npos) << kept.explain();
  EXPECT_EQ(spmm_plan(*ctx, csr, {.cols = 8}).explain().find("rows:"), std::string::npos);
}

TEST_P(plan_on, update_values_keeps_order_and_heights) {
  const auto ctx = context_of(GetParam());
  BCSC_SKIP_WITHOUT_GPU(ctx);
  for (const row_blocks kind : every_kind) {
    sparse_case a = dealt_groups();
    auto csr = csr_of<float>(a);
    spmm_plan plan(*ctx, csr, {.cols = 6, .expert = {.m_block = 8, .boundaries = kind, .reorder_rows = true}});
    ASSERT_TRUE(plan.facts().reordered);
    test_random random(8);
    for (std::size_t k = 0; k < a.entries.size(); ++k) {
      csr.values()[k] = static_cast<float>(a.entries[k].value = random.small_integer());
    }
    plan.update_values(csr);
    const auto b = random_table<float>(a.cols, 6, values::small_integers, 1);
    const dense_table<float> c0(a.rows, 6, std::numeric_limits<float>::quiet_NaN());
    operand<float> on_b(*ctx, b, {}), on_c(*ctx, c0, {});
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    expect_exact<float>(multiply<float>(a, false, 1, b, 0, c0), on_c.read(), std::string(to_string(kind)));

    sparse_case moved = a;  // one entry elsewhere, and one row fewer
    moved.entries.back().col = 0;
    std::ranges::sort(moved.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
    sparse_case lower = a;
    lower.rows -= 1;
    std::erase_if(lower.entries, [&](const triplet& e) { return e.row >= lower.rows; });
    for (const sparse_case& other : {moved, lower}) {
      try {
        plan.update_values(csr_of<float>(other));
        ADD_FAILURE() << "another pattern was taken";
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::pattern_mismatch) << e.what();
      }
    }
  }
}

TEST_P(plan_on, takes_a_that_lies_where_it_computes) {
  const auto ctx = context_of(GetParam());
  BCSC_SKIP_WITHOUT_GPU(ctx);
  if (ctx->kind() != backend::cuda) GTEST_SKIP() << "A on the host: what the other tests do";
  const sparse_case a = dealt_groups();
  const auto csr = csr_of<float>(a);
  const int device = ctx->device().device;
  const core::device_buffer<std::int32_t> row_ptr(device, csr.view().row_ptr), col_ind(device, csr.view().col_ind);
  const core::device_buffer<float> held(device, csr.view().values);
  const auto span = [](const auto& buffer) { return std::span(buffer.data(), std::size_t(buffer.size())); };
  const csr_view<float> there{a.rows, a.cols, span(row_ptr), span(col_ind), span(held), memory_space::device};
  const spmm_plan plan(*ctx, there, {.cols = 6, .expert = {.m_block = 8, .reorder_rows = true}});
  EXPECT_TRUE(plan.facts().reordered);
  const auto b = random_table<float>(a.cols, 6, values::small_integers, 1);
  const dense_table<float> c0(a.rows, 6);
  operand<float> on_b(*ctx, b, {}), on_c(*ctx, c0, {layout::col_major, 0, 0});
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_exact<float>(multiply<float>(a, false, 1, b, 0, c0), on_c.read(), "on the device");
}

INSTANTIATE_TEST_SUITE_P(backends, plan_on, ::testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace bcsc::test
