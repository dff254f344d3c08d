// What products leave of B'C (kernels::dots_with_b) on the device: every config that leaves it, with heavy rows and
// pieces of row blocks among them, to the last bit on small integers; and plans that cannot, which leave nothing.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/registry.hpp"
#include "core/checked.hpp"
#include "lib/plan/access.hpp"
#include "lib/solvers/context_array.hpp"
#include "test/support/battery.hpp"
#include "test/support/brick_cases.hpp"
#include "test/support/left_dots.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

/// A square matrix with rows of 1 to 40 entries, one of all columns and an empty one.
sparse_case uneven() {
  constexpr std::int64_t n = 3001;
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == 77) continue;
    for (std::int64_t k = 0; k <= i % 40; ++k) positions.insert({i, (i + 37 * k) % n});
  }
  for (std::int64_t j = 0; j < n; ++j) positions.insert({1234, j});
  return make_case("uneven", n, n, positions, values::small_integers, 5);
}

class dots_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }

  /// The rows that a product with n columns has left; checked if there are any.
  template <value T>
  std::int64_t rows_left(const sparse_case& a, const plan_options& options, std::int64_t n, std::int64_t room_rows) {
    const spmm_plan<T> plan(*ctx_, csr_of<T>(a), options);
    const auto b = random_table<T>(a.cols, n, values::small_integers, 7);
    const dense_table<T> unwritten(a.rows, n, std::numeric_limits<T>::quiet_NaN());
    operand<T> b_there(*ctx_, b, placement{options.b_layout}), c_there(*ctx_, unwritten, placement{});
    solvers::context_array<double> sums(*ctx_, room_rows * n);
    std::vector<double> host(static_cast<std::size_t>(room_rows * n), std::numeric_limits<double>::quiet_NaN());
    sums.upload(host);
    std::int64_t rows = 0;
    plan::access<T>::run(plan, T{1}, b_there.view(), T{0}, c_there.view(), {},
                         {.dots = {sums.data(), sums.size(), &rows}});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const dense_table<T> c = c_there.read();
    expect_exact<T>(multiply<T>(a, false, 1, b, 0, unwritten), c, plan.facts().kernel.name);
    sums.download(host);
    SCOPED_TRACE(plan.facts().kernel.name);
    expect_left_dots(host, rows, b, c);
    return rows;
  }

  std::optional<context> ctx_;
};

TEST_F(dots_cuda, are_exact_by_every_config_that_leaves_them) {
  const sparse_case a = uneven();
  std::set<std::string> leaving;
  for (const kernel_info& kernel : kernel_table()) {
    if (kernel.where != backend::cuda || kernel.index_bits == 64) continue;
    if (kernel.type != value_type::fp32 && kernel.type != value_type::fp64) continue;
    for (const std::int64_t n : {16, 1}) {
      const plan_options options{.cols = n,
                                 .compute = kernel.rounds_values ? compute_class::tf32 : compute_class::full,
                                 .expert = {.kernel = kernel.name}};
      const std::int64_t rows = kernel.type == value_type::fp32 ? rows_left<float>(a, options, n, a.rows)
                                                                : rows_left<double>(a, options, n, a.rows);
      if (rows > 0) leaving.insert(kernel.algorithm);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(leaving, (std::set<std::string>{"mma", "rowwise"}));
}

/// Seven points on a grid; some rows lack their own column.
sparse_case seven_points() {
  sparse_case a = stencil({12, 9, 11}, 1, 0, {}, {}, values::small_integers);
  std::erase_if(a.entries, [](const triplet& e) { return e.row == e.col && e.row % 5 == 0; });
  return a;
}

TEST_F(dots_cuda, are_exact_by_bricks_where_one_tile_holds_all_columns) {
  const sparse_case a = seven_points();
  for (const kernel_info& kernel : kernel_table()) {
    if (kernel.algorithm != "brickwise") continue;
    for (const std::int64_t n : {kernel.n_tile, kernel.n_tile - 4, 4, kernel.n_tile + 4}) {
      const plan_options options{.cols = n, .expert = {.kernel = kernel.name}};
      const std::int64_t rows = kernel.type == value_type::fp32 ? rows_left<float>(a, options, n, 8 * a.rows)
                                                                : rows_left<double>(a, options, n, 8 * a.rows);
      EXPECT_EQ(rows > 0, n <= kernel.n_tile) << kernel.name << ", N = " << n;
      if (HasFailure()) return;
    }
  }
}

/// Slices leave them where A is too large for L2.
template <value T>
void check_slices(const context& ctx) {
  constexpr std::int64_t edge = 150;
  const csr_matrix<T> a = generate::stencil<T>(7, edge, edge, edge);
  const auto b = random_table<T>(a.cols(), 1, values::small_integers, 7);
  const csr_view<T> rows = a.view();
  dense_table<T> product(a.rows(), 1);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (auto e = rows.row_ptr[core::at(i)]; e < rows.row_ptr[core::at(i + 1)]; ++e) {
      product(i, 0) += rows.values[core::at(e)] * b(rows.col_ind[core::at(e)], 0);
    }
  }
  operand<T> b_there(ctx, b, {});
  for (const kernel_info& kernel : kernel_table(backend::cuda, value_type_of<T>)) {
    if (kernel.algorithm != "sliced") continue;
    const spmm_plan<T> plan(ctx, rows, {.cols = 1, .expert = {.kernel = kernel.name}});
    operand<T> c_there(ctx, a.rows(), 1, {});
    solvers::context_array<double> sums(ctx, a.rows());
    std::int64_t left = 0;
    plan::access<T>::run(plan, T{1}, b_there.view(), T{0}, c_there.view(), {},
                         {.dots = {sums.data(), sums.size(), &left}});
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    SCOPED_TRACE(kernel.name);
    EXPECT_TRUE(c_there.read().at == product.at);
    EXPECT_EQ(left > 0, kernel.n_tile == 1);
    std::vector<double> host(core::at(left));
    sums.download(host);
    expect_left_dots(host, left, b, product);
  }
}

TEST_F(dots_cuda, are_exact_by_slices_of_a_large_matrix) {
  check_slices<double>(*ctx_);
  check_slices<float>(*ctx_);
}

TEST_F(dots_cuda, are_not_left_where_there_is_no_room_or_no_single_launch) {
  const sparse_case a = uneven();
  const std::vector<kernel_info> table = kernel_table(backend::cuda, value_type::fp64);
  const auto one_tile = std::ranges::find_if(
      table, [](const kernel_info& kernel) { return kernel.algorithm == "rowwise" && kernel.n_tile == 16; });
  ASSERT_NE(one_tile, table.end());
  const plan_options for_16{.cols = 16, .expert = {.kernel = one_tile->name}};
  EXPECT_GT(rows_left<double>(a, for_16, 16, a.rows), 0);
  EXPECT_EQ(rows_left<double>(a, for_16, 16, 1), 0);
  // The workspace for a heavy row's partial sums holds those of 16 columns: 32 take two launches.
  EXPECT_EQ(rows_left<double>(a, for_16, 32, a.rows), 0);
}

}  // namespace
}  // namespace bcsc::test
