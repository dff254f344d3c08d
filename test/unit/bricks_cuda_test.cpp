// Plans that put the rows of a grid in bricks: products are those of the rows as given, from wherever A lies, after new
// values, transposed, with other configs on the same form; and where nothing is gained the rows stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

/// Seven points on a grid, five on a flat one, and some rows beyond the last plane or line.
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
      if (z == 1 && distance > x) continue;
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

bool in_bricks(const std::string& explanation, const std::string& words) {
  return explanation.find("rows: in bricks of " + words) != std::string::npos;
}

TEST_F(bricks_cuda, every_config_multiplies_right) {
  struct one_grid {
    sparse_case a;
    std::string words, words_of_bricks;
  };
  for (const one_grid& g : {one_grid{seven_points(18, 21, 23, 7), "4x4x4 nodes of a grid of 18 x 21 x 23", "8x8x"},
                            one_grid{seven_points(90, 99, 1, 50), "8x8 nodes of a grid of 90 x 99\n", "32x"}}) {
    const auto csr = csr_of<float>(g.a);
    const device_csr<float, std::int32_t> there(ctx().device().device, csr.view());
    const auto b = random_table<float>(g.a.cols, n, values::small_integers, 1);
    int num_configs = 0;
    for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp32)) {
      const bool is_brickwise = k.algorithm == "brickwise";
      if (k.algorithm != "rowwise" && !is_brickwise) continue;
      ++num_configs;
      SCOPED_TRACE(k.name);
      const plan_options options{.cols = n, .expert = {.kernel = k.name}};
      const spmm_plan from_host(ctx(), csr, options), from_device(ctx(), there.view(), options);
      for (const spmm_plan<float>* plan : {&from_host, &from_device}) {
        EXPECT_TRUE(in_bricks(plan->explain(), is_brickwise ? g.words_of_bricks : g.words)) << plan->explain();
        EXPECT_TRUE(plan->facts().reordered);
        expect_right(*plan, g.a, b, 1);
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(num_configs, 3);
  }
}

TEST_F(bricks_cuda, new_values_go_where_the_rows_went) {
  const sparse_case a = seven_points(16, 20, 24, 0);
  sparse_case twice = a;
  for (triplet& e : twice.entries) e.value *= 2;
  const auto csr = csr_of<double>(a), doubled = csr_of<double>(twice);
  const int device = ctx().device().device;
  const device_csr<double, std::int32_t> there(device, csr.view()), doubled_there(device, doubled.view());
  const auto blocks = to_bcsc(csr, 8);
  const auto blocks_there = upload(ctx(), blocks);
  // An entry, a row or a column less, and a plane more.
  sparse_case one_entry = a, one_column = a;
  one_entry.entries.pop_back();
  std::erase_if(one_column.entries, [&](const triplet& e) { return e.col == a.cols - 1; });
  --one_column.cols;
  const std::vector<sparse_case> others{one_entry, one_column, seven_points(16, 20, 23, 319),
                                        seven_points(16, 20, 25, 0)};

  const auto b = random_table<double>(a.cols, n, values::small_integers, 2);
  const plan_options options{.cols = n, .expert = {.kernel = "rowwise"}};
  const plan_options brickwise{.cols = n, .expert = {.kernel = "brickwise"}};
  spmm_plan from_host(ctx(), csr, options), from_device(ctx(), there.view(), options);
  spmm_plan bricks_from_host(ctx(), csr, brickwise), bricks_from_device(ctx(), there.view(), brickwise);
  for (spmm_plan<double>* plan : {&from_host, &from_device, &bricks_from_host, &bricks_from_device}) {
    EXPECT_TRUE(plan->explain().find("nodes of a grid of 16 x 20 x 24") != std::string::npos);
    plan->update_values(doubled);
    expect_right(*plan, a, b, 2);
    plan->update_values(there.view());
    expect_right(*plan, a, b, 1);
    plan->update_values(doubled_there.view());
    expect_right(*plan, a, b, 2);
    plan->update_values(blocks_there.view());
    expect_right(*plan, a, b, 1);
    plan->update_values(csr_of<double, std::int64_t>(twice));
    expect_right(*plan, a, b, 2);
    for (const sparse_case& other : others) {
      const auto wrong = csr_of<double>(other);
      const device_csr<double, std::int32_t> wrong_there(device, wrong.view());
      const auto wrong_blocks = to_bcsc(wrong, 8);
      const auto wrong_blocks_there = upload(ctx(), wrong_blocks);
      EXPECT_EQ(code_of([&] { plan->update_values(wrong); }), errc::pattern_mismatch);
      EXPECT_EQ(code_of([&] { plan->update_values(wrong_there.view()); }), errc::pattern_mismatch);
      EXPECT_EQ(code_of([&] { plan->update_values(wrong_blocks_there.view()); }), errc::pattern_mismatch);
    }
    expect_right(*plan, a, b, 2);
  }
}

TEST_F(bricks_cuda, other_types_indices_and_plans_of_the_same_form) {
  const sparse_case a = seven_points(20, 20, 40, 3);
  const std::string words = "4x4x4 nodes of a grid of 20 x 20 x 40";
  const auto b = random_table<float>(a.cols, n, values::small_integers, 3);
  const plan_options options{.cols = n, .expert = {.kernel = "rowwise"}};
  {
    const spmm_plan wide(ctx(), csr_of<float, std::int64_t>(a), options);
    EXPECT_TRUE(in_bricks(wide.explain(), words));
    expect_right(wide, a, b, 1);
    const auto another = wide.sharing(wide.facts().kernel.name, n);
    ASSERT_TRUE(another.has_value());
    expect_right(*another, a, b, 1);
  }
  const spmm_plan halves(ctx(), csr_of<half>(a), options);
  EXPECT_TRUE(in_bricks(halves.explain(), words));
  expect_right(halves, a, random_table<half>(a.cols, n, values::small_integers, 3), 1);
  const auto blocked = upload(ctx(), to_bcsc(csr_of<float>(a), 8));
  const spmm_plan from_bcsc(ctx(), blocked.view(), options);
  EXPECT_TRUE(in_bricks(from_bcsc.explain(), words));
  expect_right(from_bcsc, a, b, 1);
  const auto transposed = from_bcsc.transposed();
  operand<float> on_b(ctx(), b, {}), on_c(ctx(), a.cols, b.cols, {});
  ASSERT_TRUE(transposed.has_value());
  transposed->run(1, on_b.view(), 0, on_c.view());
  expect_exact<float>(multiply<float>(a, true, 1, b, 0, {}, arithmetic_of(transposed->facts().kernel)), on_c.read(),
                      "transposed");
}

// What the kernel multiplies does not depend on whether rows are those of a grid.
TEST_F(bricks_cuda, brickwise_multiplies_any_matrix) {
  for (const sparse_case& a : battery(values::small_integers)) {
    const auto b = random_table<double>(a.cols, 20, values::small_integers, 4);
    const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 20, .expert = {.kernel = "brickwise"}});
    expect_right(plan, a, b, 1);
    if (HasFailure()) return;
  }
  const sparse_case grid = seven_points(16, 20, 24, 0);
  const auto csr = csr_of<float>(grid);
  const plan_options options{.cols = 32, .expert = {.kernel = "brickwise", .reorder_rows = true}};
  expect_right(spmm_plan(ctx(), csr, options), grid, random_table<float>(grid.cols, 32, values::small_integers, 5), 1);
}

TEST_F(bricks_cuda, plans_take_bricks_by_themselves) {
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: no config has been measured";
  const auto csr = csr_of<double>(seven_points(64, 64, 64, 0));
  const spmm_plan plan(ctx(), csr, {.cols = 16});
  EXPECT_EQ(plan.facts().kernel.algorithm, "brickwise") << plan.explain();
  const auto same = plan.sharing(plan.facts().kernel.name, 16);
  EXPECT_TRUE(same.has_value());
  // Bricks are as long as the number of thread blocks wants them.
  EXPECT_FALSE(plan.sharing(plan.facts().kernel.name, 1600).has_value());
}

TEST_F(bricks_cuda, rows_stay_where_nothing_is_gained) {
  const auto csr = csr_of<float>(seven_points(20, 20, 40, 0)), small = csr_of<float>(seven_points(20, 20, 10, 0));
  const auto long_rows = generate::from_specification<float>("stencil27:20,20,40");
  const auto reordered = [&](const csr_matrix<float>& a, const plan_options& options) {
    return spmm_plan(ctx(), a, options).facts().reordered;
  };
  EXPECT_TRUE(reordered(csr, {.cols = n, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered(csr, {.cols = 8, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered(small, {.cols = n, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered(long_rows, {.cols = n, .expert = {.kernel = "rowwise"}}));
  EXPECT_FALSE(reordered(csr, {.cols = n, .b_layout = layout::col_major, .expert = {.kernel = "rowwise"}}));
  for (const char* algorithm : {"mma", "fma", "naive"}) {
    EXPECT_FALSE(reordered(csr, {.cols = n, .expert = {.kernel = algorithm}})) << algorithm;
  }
  EXPECT_FALSE(reordered(csr, {.cols = n, .expert = {.kernel = "rowwise", .boundaries = row_blocks::balanced}}));
}

}  // namespace
}  // namespace bcsc::test
