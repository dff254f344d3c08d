// Plans that put the rows of a grid in bricks: products are those of the rows as given, from wherever A lies, after new
// values, with other configs on the same form, and where nothing is gained the rows stay.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

/// Seven points on a grid, and some rows beyond the last plane.
sparse_case seven_points(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t beyond) {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  const std::int64_t nodes = x * y * z + beyond;
  const auto couple = [&](std::int64_t a, std::int64_t b) {
    if (b >= 0 && b < nodes) positions.insert({a, b});
  };
  for (std::int64_t node = 0; node < nodes; ++node) {
    couple(node, node);
    if (node % x > 0) couple(node, node - 1);
    if (node % x < x - 1) couple(node, node + 1);
    for (const std::int64_t distance : {x, x * y}) {
      couple(node, node - distance);
      couple(node, node + distance);
    }
  }
  return make_case("seven_points", nodes, nodes, positions, values::small_integers, 3);
}

constexpr std::int64_t n = 132;  // not a whole number of tiles

class bricks_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }
  const context& ctx() const { return *ctx_; }

  /// Small integers: every order of summation is exact.
  template <class T>
  void expect_right(const spmm_plan<T>& plan, const sparse_case& a, const dense_table<T>& b, double alpha) const {
    operand<T> on_b(ctx(), b, {}), on_c(ctx(), a.rows, b.cols, {});
    plan.run(1, on_b.view(), 0, on_c.view());
    expect_exact<T>(multiply<T>(a, false, alpha, b, 0, {}, arithmetic_of(plan.facts().kernel)), on_c.read(),
                    plan.facts().kernel.name);
  }

 private:
  std::optional<context> ctx_;
};

bool in_bricks(const std::string& explanation, const std::string& grid) {
  return explanation.find("rows: in bricks of 4x4x4 nodes of a grid of " + grid) != std::string::npos;
}

TEST_F(bricks_cuda, every_config_that_gains_by_them_multiplies_right) {
  const sparse_case a = seven_points(18, 21, 23, 7);
  const auto csr = csr_of<float>(a);
  const device_csr<float, std::int32_t> there(ctx().device().device, csr.view());
  const auto b = random_table<float>(a.cols, n, values::small_integers, 1);
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
    const bool gains = k.algorithm == "rowwise" || k.algorithm == "fma";
    if (!gains || k.index_bits != 32) continue;
    SCOPED_TRACE(k.name);
    const plan_options options{.cols = n, .expert = {.kernel = k.name}};
    const spmm_plan from_host(ctx(), csr, options), from_device(ctx(), there.view(), options);
    for (const spmm_plan<float>* plan : {&from_host, &from_device}) {
      // Row blocks of tiles are whole lines of four nodes.
      const bool wanted = k.algorithm == "rowwise" || k.m_tile % 4 == 0;
      EXPECT_EQ(in_bricks(plan->explain(), "18 x 21 x 23"), wanted);
      EXPECT_EQ(plan->facts().reordered, wanted);
      expect_right(*plan, a, b, 1);
    }
    EXPECT_EQ(from_host.facts().format_bytes, from_device.facts().format_bytes);
    EXPECT_EQ(from_host.facts().nnzc, from_device.facts().nnzc);
    if (HasFailure()) return;
  }
}

TEST_F(bricks_cuda, new_values_go_where_the_rows_went) {
  const sparse_case a = seven_points(16, 20, 24, 0);
  sparse_case twice = a, other = a;
  for (triplet& e : twice.entries) e.value *= 2;
  other.entries.pop_back();
  const auto csr = csr_of<double>(a), doubled = csr_of<double>(twice), shorter = csr_of<double>(other);
  const device_csr<double, std::int32_t> there(ctx().device().device, csr.view()),
      doubled_there(ctx().device().device, doubled.view());
  const auto b = random_table<double>(a.cols, n, values::small_integers, 2);
  std::set<std::string> tried;
  for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp64)) {
    const bool gains = (k.algorithm == "rowwise" && k.n_tile >= 64) || (k.algorithm == "fma" && k.m_tile == 8);
    if (!gains || k.index_bits != 32 || !tried.insert(k.algorithm).second) continue;
    SCOPED_TRACE(k.name);
    const plan_options options{.cols = n, .expert = {.kernel = k.name}};
    spmm_plan from_host(ctx(), csr, options), from_device(ctx(), there.view(), options);
    for (spmm_plan<double>* plan : {&from_host, &from_device}) {
      EXPECT_TRUE(in_bricks(plan->explain(), "16 x 20 x 24"));
      plan->update_values(doubled);
      expect_right(*plan, a, b, 2);
      plan->update_values(there.view());
      expect_right(*plan, a, b, 1);
      plan->update_values(doubled_there.view());
      expect_right(*plan, a, b, 2);
      try {
        plan->update_values(shorter);
        FAIL() << "another pattern";
      } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::pattern_mismatch);
      }
      expect_right(*plan, a, b, 2);
    }
  }
}

TEST_F(bricks_cuda, other_types_indices_and_plans_of_the_same_form) {
  const sparse_case a = seven_points(20, 20, 40, 3);
  const auto b = random_table<float>(a.cols, n, values::small_integers, 3);
  const plan_options options{.cols = n, .expert = {.kernel = "rowwise"}};
  {
    const spmm_plan wide(ctx(), csr_of<float, std::int64_t>(a), options);
    EXPECT_TRUE(in_bricks(wide.explain(), "20 x 20 x 40"));
    expect_right(wide, a, b, 1);
    const auto another = wide.sharing(wide.facts().kernel.name, n);
    ASSERT_TRUE(another.has_value());
    expect_right(*another, a, b, 1);
  }
  const spmm_plan halves(ctx(), csr_of<half>(a), options);
  EXPECT_TRUE(in_bricks(halves.explain(), "20 x 20 x 40"));
  expect_right(halves, a, random_table<half>(a.cols, n, values::small_integers, 3), 1);
  const auto blocked = upload(ctx(), to_bcsc(csr_of<float>(a), 8));
  const spmm_plan from_bcsc(ctx(), blocked.view(), options);
  EXPECT_TRUE(in_bricks(from_bcsc.explain(), "20 x 20 x 40"));
  expect_right(from_bcsc, a, b, 1);
}

TEST_F(bricks_cuda, rows_stay_where_nothing_is_gained) {
  const auto csr = csr_of<float>(seven_points(20, 20, 40, 0));
  const auto reordered = [&](const plan_options& options) { return spmm_plan(ctx(), csr, options).facts().reordered; };
  EXPECT_TRUE(reordered({.cols = n, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered({.cols = 8, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered({.cols = n, .b_layout = layout::col_major, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered({.cols = n, .expert = {.kernel = "mma"}}));
  EXPECT_FALSE(reordered({.cols = n, .expert = {.kernel = "rowwise", .boundaries = row_blocks::balanced}}));
}

}  // namespace
}  // namespace bcsc::test
