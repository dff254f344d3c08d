// What is not finite in B, by every config: only stored entries of A take part, so the rows of C that have
// none in that column are as if it were not there.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bcsc/plan.hpp"
#include "lib/choice/choice.hpp"
#include "test/support/battery.hpp"
#include "test/support/kernel_instances.hpp"
#include "test/support/nonfinite.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

/// Scattered entries, every ninth of them a stored zero; a heavy row, which kernels cut into pieces; an empty one.
sparse_case with_stored_zeros() {
  constexpr std::int64_t rows = 75, cols = 700;
  auto positions = scatter(rows, cols, 1100, 17);
  std::erase_if(positions, [](const auto& at) { return at.first == 20 || at.first == 33; });
  for (std::int64_t j = 0; j < cols; j += 1 + j % 2) positions.emplace(20, j);
  sparse_case a = make_case("scattered, stored zeros", rows, cols, positions, values::real, 5);
  for (std::size_t e = 0; e < a.entries.size(); e += 9) a.entries[e].value = 0;
  return a;
}

/// Dense blocks of 3 x 3, as of elasticity: what row blocks and tiles are made for.
sparse_case of_blocks() {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (const auto& [i, j] : scatter(20, 25, 130, 3)) {
    for (int k = 0; k < 9; ++k) positions.emplace(3 * i + k / 3, 3 * j + k % 3);
  }
  return make_case("blocks", 60, 75, positions, values::real, 6);
}

template <class T>
void run_odd_rows(const context& ctx, const instance& one) {
  const std::int64_t widths[] = {1, 7, std::min(one.kernel.n_tile, 128), std::min(one.kernel.n_tile, 128) + 1};
  std::size_t turn = static_cast<std::size_t>(one.kernel.n_tile + one.kernel.m_tile);
  for (const sparse_case& a : {with_stored_zeros(), of_blocks()}) {
    const auto csr = csr_of<T>(a);
    for (const std::int64_t row : telling_rows(a)) {
      for (const odd kind : all_odd) {
        const std::int64_t n = widths[++turn % 4];
        const bool strided = turn % 3 == 0 && one.kernel.strided_cols > 0;
        const layout b_layout = strided || turn % 3 == 1 ? layout::col_major : layout::row_major;
        const double beta = turn % 2 == 0 ? 0 : -0.5;
        auto b = random_table<T>(a.cols, n, values::real, turn);
        auto c0 = random_table<T>(a.rows, n, values::real, turn + 1);
        plant(b, row, kind);
        if (beta != 0) plant(c0, a.rows / 2, odd::nan);
        const stored_product wanted = multiply_stored<T>(a, false, 1.5, b, beta, c0, arithmetic_of(one.kernel));
        if (beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());

        const spmm_plan<T> plan(
            ctx, csr,
            {.cols = n,
             .b_layout = b_layout,
             .expert = {.kernel = one.kernel.name,
                        .m_block = one.kernel.any_m_block && turn % 4 == 0 ? one.kernel.m_tile + 1 : 0,
                        .reading = strided ? col_major_b::in_place : col_major_b::packed}});
        operand<T> on_b(ctx, b, {b_layout, 0, static_cast<std::int64_t>(turn % 2)});
        operand<T> on_c(ctx, c0, {one.c_layout, static_cast<std::int64_t>(turn % 3), 0});
        plan.run(scalar_of<T>{1.5F}, on_b.view(), static_cast<scalar_of<T>>(beta), on_c.view());
        expect_stored_only<T>(wanted, on_c.read(),
                              a.name + ", " + to_string(kind) + " in row " + std::to_string(row) + " of B, " +
                                  std::string(to_string(b_layout)) + ", N = " + std::to_string(n) + ", beta " +
                                  std::to_string(beta) + ", m_block " + std::to_string(plan.facts().m_block));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

class nonfinite_b : public ::testing::TestWithParam<instance> {};

TEST_P(nonfinite_b, reaches_the_rows_with_an_entry_in_its_column_alone) {
  const auto ctx = context_of(GetParam().kernel.where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  if (!GetParam().kernel.stored_entries_only) GTEST_SKIP() << "not held by this kernel, which says so";
  with_value_type(GetParam().kernel.type, [&]<class T>() { run_odd_rows<T>(*ctx, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(table, nonfinite_b, ::testing::ValuesIn(instances()), name_of);

/// The same with the transpose of what is stored.
template <class T>
void run_transposed(const context& ctx, const kernel_info& kernel) {
  const auto all = kernel_table(kernel.where, kernel.type);
  const auto stored_for = std::ranges::find_if(
      all, [&](const kernel_info& k) { return k.transposable && k.index_bits == kernel.index_bits; });
  ASSERT_NE(stored_for, all.end());
  std::size_t turn = 0;
  for (const sparse_case& a : {with_stored_zeros(), of_blocks()}) {
    const spmm_plan<T> forward(ctx, csr_of<T>(a), {.cols = 33, .expert = {.kernel = stored_for->name}});
    const auto plan = forward.transposed().value().sharing(kernel.name);
    ASSERT_TRUE(plan.has_value());
    for (const std::int64_t row : telling_rows(a, true)) {
      for (const odd kind : all_odd) {
        const std::int64_t n = ++turn % 2 == 0 ? 33 : 1;
        auto b = random_table<T>(a.rows, n, values::real, turn);
        const auto c0 = random_table<T>(a.cols, n, values::real, turn + 1);
        plant(b, row, kind);
        // Kernels may multiply B by alpha first: |alpha| < 1, so that this cannot overflow.
        const stored_product wanted = multiply_stored<T>(a, true, -0.5, b, 0.5, c0, arithmetic_of(kernel));
        operand<T> on_b(ctx, b, {}), on_c(ctx, c0, {turn % 3 == 0 ? layout::col_major : layout::row_major, 0, 0});
        plan->run(T{-0.5F}, on_b.view(), T{0.5F}, on_c.view());
        expect_stored_only<T>(wanted, on_c.read(), a.name + ", " + to_string(kind) + " in row " + std::to_string(row));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

class nonfinite_b_transposed : public ::testing::TestWithParam<kernel_info> {};

TEST_P(nonfinite_b_transposed, reaches_the_columns_with_an_entry_in_its_row_alone) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_fp32_or_fp64(GetParam().type, [&]<class T>() { run_transposed<T>(*ctx, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(table, nonfinite_b_transposed, ::testing::ValuesIn(transposing_kernel_table()),
                         [](const auto& info) {
                           std::string name = std::string(to_string(info.param.where)) + "_" + info.param.name + "_" +
                                              std::string(to_string(info.param.type));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(kernels_that_plans_choose_by_themselves, multiply_stored_entries_only) {
  for (const backend where : {backend::cpu, backend::cuda}) {
    for (const value_type type : {value_type::fp32, value_type::fp64, value_type::fp16, value_type::bf16}) {
      for (const int index_bits : {32, 64}) {
        for (const std::int64_t m_block : {0, 1, 16, 32}) {
          const choice::problem p{.where = where,
                                  .type = type,
                                  .rows = 1000,
                                  .inner = 1000,
                                  .nnz = 5000,
                                  .cols = 32,
                                  .index_bits = index_bits,
                                  .max_shared_bytes = 1 << 20,
                                  .compute_capability = 90};
          for (const auto* kernel :
               choice::allowed(p, {.cols = 32, .compute = compute_class::tf32, .expert = {.m_block = m_block}})) {
            EXPECT_TRUE(kernel->info.stored_entries_only) << kernel->info.name;
          }
        }
      }
    }
  }
}

TEST(kernels_taken_by_name, say_that_they_multiply_zeros_between_entries) {
  for (const kernel_info& kernel : kernel_table()) {
    EXPECT_EQ(kernel.stored_entries_only, kernel.algorithm != "tiled") << kernel.name;
  }
}

}  // namespace
}  // namespace bcsc::test
