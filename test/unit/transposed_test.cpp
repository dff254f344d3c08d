// spmm_plan::transposed(): the product with the transpose of what another plan stores, on both backends.
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/tune.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/uneven_rows.hpp"

namespace bcsc::test {
namespace {

/// A case of the battery whose products are exact in every order.
sparse_case exact_case(const std::string& name) { return case_named(name, values::small_integers); }

/// Rows of unequal lengths, so that a plan on the CPU puts equally long ones beside each other.
sparse_case unequal_rows() {
  return rows_of_lengths("unequal_rows", 700, 90, [](std::int64_t i) { return i * 7 % 23; });
}

class transposed_on : public ::testing::TestWithParam<backend> {
 protected:
  void SetUp() override {
    ctx_ = context_of(GetParam());
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }
  const context& ctx() const { return *ctx_; }

  template <class T>
  spmm_plan<T> plan_of(const sparse_case& a, plan_options options) const {
    options.transposable = true;
    return spmm_plan<T>(ctx(), csr_of<T>(a), options);
  }

  /// The product with A' (or A), exact: B and C of small integers, NaN where nothing may be read.
  template <class T>
  void expect_exact_product(const spmm_plan<T>& plan, const sparse_case& a, bool transposed, std::int64_t n,
                            const placement& for_b = {}, const placement& for_c = {}, double alpha = 1,
                            double beta = 0) const {
    auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::small_integers, 5);
    auto c0 = random_table<T>(transposed ? a.cols : a.rows, n, values::small_integers, 6);
    const product wanted = multiply<T>(a, transposed, alpha, b, beta, c0);
    if (beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
    if (alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
    operand<T> on_b(ctx(), b, for_b), on_c(ctx(), c0, for_c);
    plan.run(static_cast<T>(alpha), on_b.view(), static_cast<T>(beta), on_c.view());
    expect_exact<T>(wanted, on_c.read(), a.name + ", " + plan.facts().kernel.name + ", N = " + std::to_string(n));
  }

 private:
  std::optional<context> ctx_;
};

TEST_P(transposed_on, multiplies_every_matrix_of_the_battery) {
  auto cases = battery(values::small_integers);
  cases.push_back(unequal_rows());
  for (const sparse_case& a : cases) {
    for (const std::int64_t n : {1, 7, 8, 65}) {
      const auto in_fp32 = plan_of<float>(a, {.cols = n}).transposed();
      const auto in_fp64 = plan_of<double>(a, {.cols = n}).transposed();
      ASSERT_TRUE(in_fp32.has_value() && in_fp64.has_value()) << a.name;
      EXPECT_EQ(in_fp32->facts().rows, a.cols);
      EXPECT_EQ(in_fp32->facts().cols, a.rows);
      expect_exact_product(*in_fp32, a, true, n);
      expect_exact_product(*in_fp64, a, true, n, {}, {}, -2, 3);
      expect_exact_product(*in_fp32, a, true, n, {}, {}, 0, 2);
      expect_exact_product(*in_fp64, a, true, n, {}, {}, 2, 1);
      expect_exact_product(*in_fp32, a, true, n, {}, {}, 0, 0);
      if (HasFailure()) return;
    }
  }
}

TEST_P(transposed_on, keeps_its_bound) {
  for (const char* name : {"power_law", "ragged", "dense"}) {
    const sparse_case a = case_named(name, values::real);
    for (const std::int64_t n : {1, 5, 64}) {
      const auto plan = plan_of<float>(a, {.cols = n}).transposed();
      ASSERT_TRUE(plan.has_value());
      const auto b = random_table<float>(a.rows, n, values::real, 1),
                 c0 = random_table<float>(a.cols, n, values::real, 2);
      operand<float> on_b(ctx(), b, {}), on_c(ctx(), c0, {});
      plan->run(1.7f, on_b.view(), -0.3f, on_c.view());
      expect_within_bound<float>(multiply<float>(a, true, 1.7f, b, -0.3f, c0, arithmetic_of(plan->facts().kernel)),
                                 on_c.read(), name);
    }
  }
}

TEST_P(transposed_on, takes_every_layout_leading_dimension_and_alignment) {
  const sparse_case a = exact_case("ragged");
  for (const layout b_order : {layout::row_major, layout::col_major}) {
    for (const layout c_order : {layout::row_major, layout::col_major}) {
      for (const std::int64_t pad : {0, 1, 4}) {
        for (const std::int64_t offset : {0, 1, 3}) {
          for (const std::int64_t n : {1, 16, 37, 200}) {
            const auto made = plan_of<float>(a, {.cols = pad == 0 ? n : 16, .b_layout = b_order});
            const auto plan = made.transposed(pad == 1 ? n : 0);
            ASSERT_TRUE(plan.has_value());
            expect_exact_product(*plan, a, true, n, {b_order, pad, offset}, {c_order, 4 - pad, offset}, 3, -1);
            expect_exact_product(*plan, a, true, n, {b_order, pad, offset}, {c_order, 4 - pad, offset}, 1, 0);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(transposed_on, every_config_of_the_table_multiplies) {
  for (const kernel_info& row : transposing_kernel_table()) {
    if (row.where != GetParam() || !row.built) continue;
    const auto check = [&]<class T>(T) {
      for (const char* name : {"power_law", "empty_rows_and_columns", "wide"}) {
        const sparse_case a = exact_case(name);
        for (const std::int64_t n : {row.n_tile - 1, 2 * row.n_tile + 3, 4}) {
          if (n < 1) continue;
          const auto csr = csr_of<T>(a);
          std::string stored_for;  // a kernel with as wide indices
          for (const kernel_info& k : kernel_table(GetParam(), row.type)) {
            if (k.transposable && k.index_bits == row.index_bits) stored_for = k.name;
          }
          const auto some = spmm_plan<T>(ctx(), csr, {.cols = n, .expert = {.kernel = stored_for}}).transposed();
          ASSERT_TRUE(some.has_value()) << stored_for;
          const auto plan = some->sharing(row.name);
          ASSERT_TRUE(plan.has_value()) << row.name;
          EXPECT_EQ(plan->facts().kernel.name, row.name);
          expect_exact_product(*plan, a, true, n, {}, {}, 2, -1);
          expect_exact_product(*plan, a, true, n, {layout::row_major, 1, 1}, {layout::col_major, 2, 1}, 1, 0);
        }
      }
    };
    row.type == value_type::fp32 ? check(float{}) : check(double{});
    if (HasFailure()) return;
  }
}

TEST_P(transposed_on, reads_what_every_kernel_has_stored_or_says_that_it_cannot) {
  const sparse_case a = exact_case("ragged");
  std::size_t there = 0;
  for (const kernel_info& kernel : kernel_table(GetParam(), value_type::fp64)) {
    const spmm_plan<double> plan(ctx(), csr_of<double>(a), {.cols = 9, .expert = {.kernel = kernel.name}});
    const auto transposed = plan.transposed();
    EXPECT_EQ(transposed.has_value(), kernel.transposable) << kernel.name;
    // By the algorithms alone, so that no table decides what is expected.
    const bool read_both_ways =
        GetParam() == backend::cpu ? kernel.algorithm != "slices" : kernel.algorithm == "rowwise";
    EXPECT_EQ(kernel.transposable, read_both_ways) << kernel.name;
    const bool taken =
        code_of([&] { plan_of<double>(a, {.cols = 9, .expert = {.kernel = kernel.name}}); }) != errc::no_such_kernel;
    EXPECT_EQ(taken, kernel.transposable) << kernel.name;
    if (!transposed) continue;
    ++there;
    EXPECT_EQ(transposed->facts().format_bytes, plan.facts().format_bytes);
    EXPECT_EQ(transposed->facts().m_block, plan.facts().m_block);
    EXPECT_EQ(transposed->facts().kernel.algorithm, "scatter");
    expect_exact_product(*transposed, a, true, 9, {}, {}, 2, -1);
    expect_exact_product(plan, a, false, 9);  // as ever
    if (HasFailure()) return;
  }
  EXPECT_GT(there, 0u);
}

TEST_P(transposed_on, orders_and_heights_of_the_plan_are_its_own_affair) {
  for (const sparse_case& a : {unequal_rows(), exact_case("power_law"), exact_case("corner_blocks")}) {
    for (const bool reorder : {false, true}) {
      for (const row_blocks kind : {row_blocks::uniform, row_blocks::balanced, row_blocks::structural}) {
        // Among a GPU's kernels those that stream rows take no height and no boundaries.
        const bool heights = GetParam() == backend::cpu;
        for (const std::int64_t m_block : {0, 1, 5, 300}) {
          if (m_block > 1 && !heights) continue;
          const auto plan = plan_of<float>(
              a, {.cols = 6, .expert = {.m_block = m_block, .boundaries = kind, .reorder_rows = reorder}});
          const auto transposed = plan.transposed();
          ASSERT_TRUE(transposed.has_value());
          expect_exact_product(*transposed, a, true, 6, {}, {}, 2, 1);
          expect_exact_product(*transposed, a, true, 1);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(transposed_on, of_the_transpose_is_the_product_itself) {
  const sparse_case a = exact_case("tall");
  const auto plan = plan_of<double>(a, {.cols = 12, .transpose = op::transpose});
  const auto back = plan.transposed();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->facts().rows, a.rows);
  expect_exact_product(plan, a, true, 12);
  expect_exact_product(*back, a, false, 12, {}, {}, 2, -1);
  EXPECT_EQ(back->explain().find("the transpose of what was given"), std::string::npos) << back->explain();

  const auto forward = plan_of<double>(a, {.cols = 12});
  const auto transposed = forward.transposed();
  ASSERT_TRUE(transposed.has_value());
  EXPECT_NE(transposed->explain().find("the transpose of what was given"), std::string::npos) << transposed->explain();
  EXPECT_NE(transposed->explain().find(forward.facts().kernel.name), std::string::npos) << transposed->explain();
  const auto again = transposed->transposed();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->facts().kernel.name, forward.facts().kernel.name);
  expect_exact_product(*again, a, false, 12, {}, {}, 2, -1);
  EXPECT_FALSE(transposed->sharing(forward.facts().kernel.name).has_value());
  EXPECT_FALSE(transposed->sharing("no-such-kernel").has_value());
}

TEST_P(transposed_on, new_values_are_those_of_one_plan) {
  const sparse_case a = exact_case("power_law");
  sparse_case doubled = a;
  for (triplet& e : doubled.entries) e.value *= 2;
  auto plan = plan_of<float>(a, {.cols = 7});
  auto transposed = plan.transposed();
  ASSERT_TRUE(transposed.has_value());
  transposed->update_values(csr_of<float>(doubled));
  expect_exact_product(*transposed, doubled, true, 7);
  expect_exact_product(plan, a, false, 7);
  expect_exact_product(*transposed->transposed(), doubled, false, 7);
  plan.update_values(csr_of<float>(doubled));
  expect_exact_product(*plan.transposed(), doubled, true, 7);

  sparse_case other = doubled;
  other.entries.pop_back();
  EXPECT_EQ(code_of([&] { transposed->update_values(csr_of<float>(other)); }), errc::pattern_mismatch);
  EXPECT_EQ(code_of([&] { transposed->update_values(csr_of<float>(exact_case("wide"))); }), errc::pattern_mismatch);
  expect_exact_product(*transposed, doubled, true, 7);
}

TEST_P(transposed_on, takes_64_bit_indices_where_a_kernel_does) {
  const sparse_case a = exact_case("ragged");
  const auto narrowed = spmm_plan<double>(ctx(), csr_of<double, std::int64_t>(a), {.cols = 6, .transposable = true});
  expect_exact_product(*narrowed.transposed(), a, true, 6);
  for (const kernel_info& k : kernel_table(GetParam(), value_type::fp64)) {
    if (k.index_bits != 64) continue;
    const auto plan =
        spmm_plan<double>(ctx(), csr_of<double>(a), {.cols = 6, .expert = {.kernel = k.name}}).transposed();
    ASSERT_EQ(plan.has_value(), GetParam() == backend::cpu);
    if (plan) expect_exact_product(*plan, a, true, 6);
  }
}

TEST_P(transposed_on, is_deterministic_or_refuses_to_be) {
  const sparse_case a = case_named("power_law", values::real);
  const bool on_gpu = GetParam() == backend::cuda;
  const spmm_plan<float> plan(ctx(), csr_of<float>(a),
                              {.cols = 40, .deterministic = true, .expert = {.kernel = on_gpu ? "rowwise" : ""}});
  if (on_gpu) {
    EXPECT_EQ(code_of([&] { (void)plan.transposed(); }), errc::no_such_kernel);
    EXPECT_EQ(code_of([&] { plan_of<float>(a, {.deterministic = true}); }), errc::no_such_kernel);
    return;
  }
  const auto transposed = plan.transposed();
  ASSERT_TRUE(transposed.has_value());
  EXPECT_TRUE(transposed->facts().kernel.deterministic);
  const auto b = random_table<float>(a.rows, 40, values::real, 1),
             c0 = random_table<float>(a.cols, 40, values::real, 2);
  std::vector<float> first;
  for (int k = 0; k < 3; ++k) {
    operand<float> on_b(ctx(), b, {}), on_c(ctx(), c0, {});
    transposed->run(1.5f, on_b.view(), 0.5f, on_c.view());
    if (k == 0) first = on_c.read().at;
    EXPECT_EQ(on_c.read().at, first);
  }
}

TEST_P(transposed_on, refuses_what_run_refuses) {
  const sparse_case a = exact_case("wide");
  const auto plan = plan_of<float>(a, {.cols = 4}).transposed();
  ASSERT_TRUE(plan.has_value());
  operand<float> b(ctx(), random_table<float>(a.rows, 4, values::real, 1), {}), c(ctx(), a.cols, 4, {}),
      low(ctx(), a.rows, 4, {});
  EXPECT_EQ(code_of([&] { plan->run(1.0f, b.view(), 0.0f, low.view()); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { plan->run(1.0f, c.view(), 0.0f, c.view()); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { plan->run(1.0f, b.view(), 0.0f, c.view()); }), errc::ok);
  EXPECT_EQ(code_of([&] { (void)plan->transposed(-1); }), errc::invalid_argument);
}

TEST_P(transposed_on, is_offered_to_nobody_else) {
  const sparse_case a = case_named("ragged", values::real);
  for (const kernel_info& row : transposing_kernel_table()) {
    EXPECT_FALSE(row.transposable) << row.name;
    EXPECT_EQ(row.deterministic, row.where == backend::cpu) << row.name;
    EXPECT_EQ(row.bound.more_terms, 3) << row.name;
    for (const kernel_info& other : kernel_table()) {
      EXPECT_NE(other.name, row.name);
      EXPECT_NE(other.algorithm, row.algorithm);
    }
    if (row.where != GetParam() || row.type != value_type::fp32) continue;
    const spmm_plan<float> plan(ctx(), csr_of<float>(a), {.cols = 8});
    EXPECT_FALSE(plan.sharing(row.name).has_value());
    EXPECT_EQ(code_of([&] { spmm_plan<float>(ctx(), csr_of<float>(a), {.expert = {.kernel = row.name}}); }),
              errc::no_such_kernel);
    EXPECT_EQ(code_of([&] { spmm_plan<float>(ctx(), csr_of<float>(a), {.expert = {.kernel = "scatter"}}); }),
              errc::no_such_kernel);
  }
  const auto csr = csr_of<float>(a);
  tune_options options;
  options.plan.cols = 3;
  options.plan.transposable = true;
  options.repetitions = 1;
  options.cache_file = "off";
  for (const tune_timing& t : tune(ctx(), csr.view(), options)) {
    EXPECT_FALSE(t.kernel.starts_with("scatter")) << t.kernel;
    EXPECT_TRUE(spmm_plan<float>(ctx(), csr, {.cols = 3, .expert = {.kernel = t.kernel}}).transposed().has_value())
        << t.kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(backends, transposed_on, ::testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace bcsc::test
