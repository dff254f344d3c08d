// The plan: every promise of run() that does not need CUDA's own API, on both backends.
#include "bcsc/plan.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>

#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/registry.hpp"
#include "bcsc/spmm.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/tuned_kernels.hpp"

namespace {
std::atomic<std::int64_t> heap_allocations{0};
}

namespace {

void* take(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++heap_allocations;
  const std::size_t whole = (bytes / alignment + 1) * alignment;  // what aligned_alloc wants, and never 0
  return std::aligned_alloc(alignment, whole);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
  if (void* p = take(bytes, alignment)) return p;
  throw std::bad_alloc();
}

}  // namespace

// Counts heap allocations of the library; a run must make none. All forms, or a sanitizer sees a mismatched pair.
void* operator new(std::size_t bytes) { return take_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace bcsc::test {
namespace {

class plan_on : public ::testing::TestWithParam<backend> {
 protected:
  void SetUp() override {
    ctx_ = context_of(GetParam());
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }
  const context& ctx() const { return *ctx_; }

  template <class T>
  void expect_product(const spmm_plan<T>& plan, const sparse_case& a, bool transposed, std::int64_t n,
                      const placement& for_b, const placement& for_c, double alpha = 1, double beta = 0) {
    const auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::real, 5);
    const auto c0 = random_table<T>(transposed ? a.cols : a.rows, n, values::real, 6);
    operand<T> on_b(ctx(), b, for_b), on_c(ctx(), c0, for_c);
    plan.run(static_cast<T>(alpha), on_b.view(), static_cast<T>(beta), on_c.view());
    expect_within_bound<T>(multiply<T>(a, transposed, alpha, b, beta, c0, arithmetic_of(plan.facts().kernel)),
                           on_c.read(), a.name);
  }

 private:
  std::optional<context> ctx_;
};

TEST_P(plan_on, multiplies_every_matrix_of_the_battery) {
  for (const sparse_case& a : battery(values::real)) {
    for (std::int64_t n : {1, 2, 7, 8, 9, 31, 32, 65, 128}) {
      expect_product(spmm_plan(ctx(), csr_of<float>(a), {.cols = n}), a, false, n, {}, {});
      expect_product(spmm_plan(ctx(), csr_of<double>(a), {.cols = n}), a, false, n, {}, {}, -2, 3);
    }
  }
}

TEST_P(plan_on, multiplies_the_transpose) {
  for (const char* name : {"ragged", "wide", "tall", "power_law", "0x5", "5x0"}) {
    const sparse_case a = case_named(name);
    const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 12, .transpose = op::transpose});
    EXPECT_EQ(plan.facts().rows, a.cols);
    EXPECT_EQ(plan.facts().cols, a.rows);
    expect_product(plan, a, true, 12, {}, {}, 2, -1);
  }
}

TEST_P(plan_on, takes_every_layout_leading_dimension_and_alignment) {
  const sparse_case a = case_named("ragged");
  for (layout b_order : {layout::row_major, layout::col_major}) {
    for (layout c_order : {layout::row_major, layout::col_major}) {
      for (std::int64_t pad : {0, 1, 4}) {
        for (std::int64_t offset : {0, 1, 3}) {
          for (std::int64_t n : {1, 16, 37, 200}) {  // 200: several slabs of a column-major B
            // Made for 16 columns or for all of them: slabs of one tile, and slabs of several.
            const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = pad == 0 ? n : 16, .b_layout = b_order});
            expect_product(plan, a, false, n, {b_order, pad, offset}, {c_order, 4 - pad, offset}, 1.5, -0.5);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(plan_on, beta_zero_never_reads_c_and_alpha_zero_never_reads_a_or_b) {
  sparse_case a = case_named("ragged");
  const auto b = random_table<float>(a.cols, 5, values::real, 1);
  const dense_table<float> nan_c(a.rows, 5, std::numeric_limits<float>::quiet_NaN());
  const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 5});
  operand<float> on_b(ctx(), b, {}), on_c(ctx(), nan_c, {});
  plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
  expect_within_bound<float>(multiply<float>(a, false, 1, b, 0, nan_c, arithmetic_of(plan.facts().kernel)), on_c.read(),
                             "beta = 0");

  for (auto& e : a.entries) e.value = std::numeric_limits<double>::quiet_NaN();
  const dense_table<float> nan_b(a.cols, 5, std::numeric_limits<float>::quiet_NaN());
  const auto c0 = random_table<float>(a.rows, 5, values::real, 2);
  const spmm_plan nan_plan(ctx(), csr_of<float>(a), {.cols = 5});
  operand<float> on_nan(ctx(), nan_b, {}), on_c0(ctx(), c0, {});
  nan_plan.run(0.0f, on_nan.view(), -2.0f, on_c0.view());
  for (std::size_t k = 0; const float x : on_c0.read().at) EXPECT_EQ(x, -2.0f * c0.at[k++]);
}

TEST_P(plan_on, empty_sums_still_scale_c) {
  for (const char* name : {"no_entries", "5x0"}) {
    const sparse_case a = case_named(name);
    const auto c0 = random_table<double>(a.rows, 4, values::real, 3);
    const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 4});
    operand<double> on_b(ctx(), random_table<double>(a.cols, 4, values::real, 4), {}), on_c(ctx(), c0, {});
    plan.run(1.0, on_b.view(), 0.5, on_c.view());
    for (std::size_t k = 0; const double x : on_c.read().at) EXPECT_EQ(x, 0.5 * c0.at[k++]);
  }
}

TEST_P(plan_on, nothing_to_do_is_no_error) {
  const spmm_plan plan(ctx(), csr_of<float>(case_named("ragged")), {.cols = 4});
  EXPECT_NO_THROW(plan.run(1.0f, {nullptr, 53, 0, 1}, 0.0f, {nullptr, 67, 0, 1}));
  const spmm_plan none(ctx(), csr_of<float>(case_named("0x5")), {.cols = 4});
  operand<float> on_b(ctx(), 5, 4, {});
  EXPECT_NO_THROW(none.run(1.0f, on_b.view(), 0.0f, {nullptr, 0, 4, 4}));
}

TEST_P(plan_on, refuses_wrong_operands_with_typed_errors) {
  const sparse_case a = case_named("ragged");  // 67 x 53
  const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 8});
  operand<float> on_b(ctx(), random_table<float>(53, 8, values::real, 1), {}), on_c(ctx(), 67, 8, {});
  const auto b = on_b.view();
  const auto c = on_c.view();
  const auto run = [&](dense_view<const float> x, dense_view<float> y) { plan.run(1.0f, x, 0.0f, y); };

  EXPECT_EQ(code_of([&] { run({b.data, 52, 8, 8}, c); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { run(b, {c.data, 66, 8, 8}); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { run({b.data, 53, 7, 8}, c); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { run({b.data, 53, 8, 7}, c); }), errc::bad_leading_dimension);
  EXPECT_EQ(code_of([&] { run(b, {c.data, 67, 8, 66, layout::col_major}); }), errc::bad_leading_dimension);
  EXPECT_EQ(code_of([&] { run(b, {c.data, 67, 8, 0}); }), errc::bad_leading_dimension);
  EXPECT_EQ(code_of([&] { run({b.data, -53, 8, 8}, c); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { run({b.data, 53, 8, 53, layout::col_major}, c); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { run({nullptr, 53, 8, 8}, c); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { run(b, {nullptr, 67, 8, 8}); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { run(b, {c.data, 67, 8, std::int64_t{1} << 60}); }), errc::size_overflow);
  EXPECT_EQ(code_of([&] { run({c.data, 53, 8, 8}, c); }), errc::overlapping_operands);
  EXPECT_EQ(code_of([&] { run({c.data + 66 * 8 + 7, 53, 8, 8}, c); }), errc::overlapping_operands);
  EXPECT_EQ(code_of([&] { run(b, c); }), errc::ok);
}

TEST_P(plan_on, refuses_operands_in_the_wrong_memory) {
  const sparse_case a = case_named("ragged");
  const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 8});
  operand<float> on_b(ctx(), random_table<float>(53, 8, values::real, 1), {}), on_c(ctx(), 67, 8, {});
  const auto other = ctx().kind() == backend::cpu ? context_of(backend::cuda) : context_of(backend::cpu);
  if (!other) GTEST_SKIP() << "device memory needs a GPU";
  operand<float> elsewhere_b(*other, 53, 8, {}), elsewhere_c(*other, 67, 8, {});
  EXPECT_EQ(code_of([&] { plan.run(1.0f, elsewhere_b.view(), 0.0f, on_c.view()); }), errc::wrong_memory_space);
  EXPECT_EQ(code_of([&] { plan.run(1.0f, on_b.view(), 0.0f, elsewhere_c.view()); }), errc::wrong_memory_space);
  if (ctx().kind() == backend::cuda) {
    const float one = 1;
    EXPECT_EQ(code_of([&] { plan.run(scalar<float>::at(&one), on_b.view(), 0.0f, on_c.view()); }),
              errc::wrong_memory_space);
  }
}

TEST_P(plan_on, column_ranges_of_one_array_may_be_b_and_c) {
  const sparse_case a = case_named("band");  // 200 x 200
  const auto table = random_table<double>(200, 16, values::real, 8);
  const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 8});
  operand<double> both(ctx(), table, {});
  const auto all = both.view();
  const dense_view<double> left(all.data, 200, 8, all.ld), right(all.data + 8, 200, 8, all.ld);
  plan.run(1.0, left, 0.0, right);
  const auto got = both.read();
  dense_table<double> b(200, 8), c(200, 8);
  for (std::int64_t i = 0; i < 200; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      b(i, j) = table(i, j);
      c(i, j) = got(i, j + 8);
      EXPECT_EQ(got(i, j), table(i, j));
    }
  }
  expect_within_bound<double>(multiply<double>(a, false, 1, b, 0, c), c, "column ranges");
  const dense_view<double> shifted(all.data + 7, 200, 8, all.ld);
  EXPECT_EQ(code_of([&] { plan.run(1.0, left, 0.0, shifted); }), errc::overlapping_operands);
  const dense_view<double> wrapping(all.data + 9, 199, 8, all.ld);
  EXPECT_EQ(code_of([&] { plan.run(1.0, left, 0.0, wrapping); }), errc::size_mismatch);
}

TEST_P(plan_on, refuses_bad_options) {
  const auto a = csr_of<float>(case_named("ragged"));
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), a, {.cols = 0}); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), a, {.cols = 8, .expert = {.m_block = -1}}); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), a, {.expert = {.kernel = "no-such-kernel"}}); }), errc::no_such_kernel);
  if (ctx().kind() == backend::cuda) {
    EXPECT_EQ(code_of([&] { spmm_plan(ctx(), a, {.deterministic = true, .expert = {.kernel = "warp"}}); }),
              errc::no_such_kernel);
  }
}

TEST_P(plan_on, refuses_broken_matrices) {
  const std::vector<std::int32_t> ptr{0, 1, 2}, falling{0, 2, 1}, ind{0, 5};
  const std::vector<float> v{1, 2};
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), csr_view<float>{2, 2, ptr, ind, v}); }), errc::index_out_of_range);
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), csr_view<float>{2, 6, falling, ind, v}); }), errc::invalid_format);
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), csr_view<float>{3, 6, ptr, ind, v}); }), errc::invalid_format);
  EXPECT_EQ(code_of([&] { spmm_plan(ctx(), csr_view<float>{-1, 6, ptr, ind, v}); }), errc::invalid_argument);
}

TEST_P(plan_on, sorts_and_sums_unsorted_rows) {
  const std::vector<std::int32_t> ptr{0, 3, 4}, ind{2, 0, 2, 1};
  const std::vector<double> v{1, 2, 4, 8};
  const spmm_plan plan(ctx(), csr_view<double>{2, 3, ptr, ind, v}, {.cols = 3});
  EXPECT_EQ(plan.facts().nnz, 3);
  const sparse_case a{"unsorted", 2, 3, {{0, 0, 2}, {0, 2, 5}, {1, 1, 8}}};
  expect_product(plan, a, false, 3, {}, {});
}

TEST_P(plan_on, takes_bcsc_and_reblocks_it) {
  const sparse_case a = case_named("power_law");
  const auto csr = csr_of<float>(a);
  for (std::int64_t m_block : {1, 5, 64, 1000}) {
    const auto given = to_bcsc(csr, m_block);
    const spmm_plan kept(ctx(), given, {.cols = 9, .expert = {.m_block = m_block}});
    EXPECT_EQ(kept.facts().m_block, m_block);
    EXPECT_FALSE(kept.facts().reblocked);
    expect_product(kept, a, false, 9, {}, {});
    const spmm_plan chosen(ctx(), given, {.cols = 9});
    EXPECT_EQ(chosen.facts().reblocked, chosen.facts().m_block != m_block);
    EXPECT_EQ(chosen.explain().find("re-blocked") != std::string::npos, chosen.facts().reblocked);
    expect_product(chosen, a, false, 9, {}, {});
  }
}

TEST_P(plan_on, takes_64_bit_indices) {
  const sparse_case a = case_named("ragged");
  const auto wide = csr_of<double, std::int64_t>(a);
  const spmm_plan narrowed(ctx(), wide, {.cols = 6});
  EXPECT_EQ(narrowed.facts().kernel.index_bits, 32);
  expect_product(narrowed, a, false, 6, {}, {});
  for (const kernel_info& k : kernel_table(ctx().kind(), value_type::fp64)) {
    if (k.index_bits != 64) continue;
    const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 6, .expert = {.kernel = k.name}});
    EXPECT_EQ(plan.facts().format_bytes,
              footprint::compact_bcsc(67, plan.facts().m_block, plan.facts().nnzc, plan.facts().nnz, value_type::fp64,
                                      8, ctx().kind() == backend::cuda ? 2 : 0));
    expect_product(plan, a, false, 6, {}, {});
  }
}

TEST_P(plan_on, shares_its_matrix_with_the_kernels_that_read_it) {
  const sparse_case& a = case_named("ragged");
  auto csr = csr_of<float>(a);
  std::size_t shared = 0, others = 0;
  for (const kernel_info& kernel : kernel_table(GetParam(), value_type::fp32)) {
    spmm_plan<float> plan(ctx(), csr, {.cols = 9, .expert = {.kernel = kernel.name}});
    for (const kernel_info& other : kernel_table(GetParam(), value_type::fp32)) {
      auto made = plan.sharing(other.name);
      if (!made) {
        ++others;
        continue;
      }
      ++shared;
      EXPECT_EQ(made->facts().kernel.name, other.name);
      EXPECT_EQ(made->facts().m_block, plan.facts().m_block);
      EXPECT_EQ(made->facts().format_bytes, plan.facts().format_bytes);
      expect_product(*made, a, false, 9, {}, {}, 2, -1);
    }
    if (kernel.algorithm == "naive" || kernel.algorithm == "rows") {
      // New values reach one plan alone.
      auto made = plan.sharing(kernel.name);
      sparse_case doubled = a;
      for (triplet& e : doubled.entries) e.value *= 2;
      plan.update_values(csr_of<float>(doubled));
      expect_product(plan, doubled, false, 9, {}, {});
      expect_product(*made, a, false, 9, {}, {});
    }
  }
  EXPECT_GT(shared, 0u);
  EXPECT_GT(others, 0u);
  EXPECT_FALSE(spmm_plan(ctx(), csr).sharing("no-such-kernel").has_value());
}

TEST_P(plan_on, update_values_keeps_the_pattern_and_the_choice) {
  sparse_case a = case_named("power_law");
  auto csr = csr_of<float>(a);
  spmm_plan plan(ctx(), csr, {.cols = 10});
  const std::string before = plan.facts().kernel.name;
  test_random random(77);
  for (std::size_t k = 0; k < a.entries.size(); ++k)
    csr.values()[k] = static_cast<float>(a.entries[k].value = random.real());
  plan.update_values(csr);
  EXPECT_EQ(plan.facts().kernel.name, before);
  expect_product(plan, a, false, 10, {}, {});

  sparse_case other = a;
  other.entries.front().col += 1;
  if (other.entries[1].row == 0 && other.entries[1].col == other.entries[0].col)
    other.entries.erase(other.entries.begin());
  EXPECT_EQ(code_of([&] { plan.update_values(csr_of<float>(other)); }), errc::pattern_mismatch);
  EXPECT_EQ(code_of([&] { plan.update_values(csr_of<float>(case_named("ragged"))); }), errc::pattern_mismatch);
  expect_product(plan, a, false, 10, {}, {});  // a refused update changes nothing
  const bool reblocked = plan.facts().reblocked;
  EXPECT_EQ(code_of([&] { plan.update_values(to_bcsc(csr_of<float>(other), 7)); }), errc::pattern_mismatch);
  EXPECT_EQ(plan.facts().reblocked, reblocked);
}

TEST_P(plan_on, a_run_does_not_allocate) {
  for (layout order : {layout::row_major, layout::col_major}) {
    const sparse_case a = case_named("band");
    const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 16, .b_layout = order});
    operand<float> on_b(ctx(), random_table<float>(200, 16, values::real, 1), {order}), on_c(ctx(), 200, 16, {});
    const auto b = on_b.view();
    const auto c = on_c.view();
    plan.run(1.0f, b, 0.0f, c);  // OpenMP starts its threads, CUDA loads the kernel
    const std::int64_t heap = heap_allocations, device = core::gpu::num_allocations();
    for (int k = 0; k < 5; ++k) plan.run(1.0f, b, 0.0f, c);
    const dense_view<const float> left_of_b(b.data, 200, 8, b.ld, order);
    plan.run(1.0f, left_of_b, 0.0f, {c.data, 200, 8, c.ld}, {.batch = {2, 8 * b.col_stride(), 8}});
    EXPECT_EQ(heap_allocations - heap, 0);
    EXPECT_EQ(core::gpu::num_allocations() - device, 0);
  }
}

TEST_P(plan_on, a_run_with_the_stored_transpose_does_not_allocate) {
  for (layout order : {layout::row_major, layout::col_major}) {
    const sparse_case a = case_named("band");
    const spmm_plan<float> forward(ctx(), csr_of<float>(a), {.cols = 16, .b_layout = order, .transposable = true});
    const auto plan = forward.transposed();
    ASSERT_TRUE(plan.has_value());
    operand<float> on_b(ctx(), random_table<float>(200, 16, values::real, 1), {order}), on_c(ctx(), 200, 16, {});
    const auto b = on_b.view();
    const auto c = on_c.view();
    plan->run(1.0f, b, 0.0f, c);  // OpenMP starts its threads, CUDA loads the kernel
    const std::int64_t heap = heap_allocations, device = core::gpu::num_allocations();
    for (int k = 0; k < 5; ++k) plan->run(1.0f, b, 0.5f, c);
    EXPECT_EQ(heap_allocations - heap, 0);
    EXPECT_EQ(core::gpu::num_allocations() - device, 0);
  }
}

TEST_P(plan_on, reads_a_column_major_b_as_it_is_told) {
  const sparse_case a = case_named("ragged");
  const auto plan_for = [&](col_major_b reading, layout order) {
    return spmm_plan(ctx(), csr_of<float>(a), {.cols = 8, .b_layout = order, .expert = {.reading = reading}});
  };
  const auto says = [](const spmm_plan<float>& plan, const char* what) {
    return plan.explain().find(what) != std::string::npos;
  };
  const spmm_plan packed = plan_for(col_major_b::packed, layout::col_major);
  EXPECT_TRUE(says(packed, "made row-major")) << packed.explain();
  // A row-major B is read where it lies without being told.
  const spmm_plan row_major = plan_for(col_major_b::in_place, layout::row_major);
  if (ctx().kind() == backend::cpu) {
    EXPECT_EQ(code_of([&] { plan_for(col_major_b::in_place, layout::col_major); }), errc::no_such_kernel);
    return;
  }
  const spmm_plan in_place = plan_for(col_major_b::in_place, layout::col_major);
  EXPECT_TRUE(says(in_place, "where it lies")) << in_place.explain();
  const auto shared = in_place.sharing(in_place.facts().kernel.name, 100);
  ASSERT_TRUE(shared.has_value());
  EXPECT_TRUE(says(*shared, "where it lies")) << shared->explain();
  for (const std::int64_t n : {1, 2, 8, 9, 100}) {
    expect_product(packed, a, false, n, {layout::col_major, 3}, {layout::col_major});
    expect_product(in_place, a, false, n, {layout::col_major, 3}, {layout::col_major});
    expect_product(*shared, a, false, n, {layout::col_major, 3}, {layout::col_major});
  }
}

TEST_P(plan_on, reads_a_column_major_b_where_it_lies_if_that_is_predicted_to_be_faster) {
  if (ctx().kind() == backend::cpu) GTEST_SKIP() << "packed on the CPU";
  if (test::has_few_configs) GTEST_SKIP() << "built with kernel_space=small: hardly a row has been measured";
  const auto a = generate::from_specification<float>("uniform:400,400,0.9,seed=1");
  const auto says = [](const spmm_plan<float>& plan, const char* what) {
    return plan.explain().find(what) != std::string::npos;
  };
  const spmm_plan few(ctx(), a, {.cols = 8, .b_layout = layout::col_major});
  EXPECT_TRUE(says(few, "where it lies")) << few.explain();
  const auto shared = few.sharing(few.facts().kernel.name, 8);
  ASSERT_TRUE(shared.has_value());
  EXPECT_TRUE(says(*shared, "where it lies")) << shared->explain();
  const spmm_plan many(ctx(), a, {.cols = 512, .b_layout = layout::col_major, .expert = {.kernel = "rowwise"}});
  EXPECT_TRUE(says(many, "made row-major")) << many.explain();
  EXPECT_GT(many.workspace_bytes(), 0u);
  // Rows side by side read values side by side: of any number of columns, and nothing is ever packed.
  const auto mesh = generate::from_specification<float>("stencil7:40,40,40");
  const spmm_plan slices(ctx(), mesh, {.cols = 512, .b_layout = layout::col_major});
  EXPECT_TRUE(says(slices, "where it lies")) << slices.explain();
  EXPECT_EQ(slices.workspace_bytes(), 0u);
}

TEST_P(plan_on, workspaces_are_checked_and_used) {
  const sparse_case a = case_named("band");
  const spmm_plan rows(ctx(), csr_of<float>(a), {.cols = 16});
  EXPECT_EQ(rows.workspace_bytes(), 0u);
  const spmm_plan plan(ctx(), csr_of<float>(a),
                       {.cols = 16, .b_layout = layout::col_major, .expert = {.reading = col_major_b::packed}});
  ASSERT_GT(plan.workspace_bytes(), 0u);
  operand<float> on_b(ctx(), random_table<float>(200, 16, values::real, 1), {layout::col_major}),
      on_c(ctx(), 200, 16, {});
  const auto b = on_b.view();
  const auto c = on_c.view();
  std::vector<std::byte> on_host(plan.workspace_bytes() + 512);
  core::device_buffer<std::byte> on_device;
  std::byte* start = on_host.data() + (256 - reinterpret_cast<std::uintptr_t>(on_host.data()) % 256);
  if (ctx().kind() == backend::cuda) {
    on_device = core::device_buffer<std::byte>(ctx().device().device, static_cast<std::int64_t>(on_host.size()));
    start = on_device.data();
  }
  const auto run = [&](std::byte* from, std::size_t bytes) {
    plan.run(1.0f, b, 0.0f, c, {.workspace = {from, bytes}});
  };
  EXPECT_EQ(code_of([&] { run(start, plan.workspace_bytes() - 1); }), errc::workspace_too_small);
  EXPECT_EQ(code_of([&] { run(start + 4, plan.workspace_bytes()); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { run(start, plan.workspace_bytes()); }), errc::ok);
  expect_within_bound<float>(multiply<float>(a, false, 1, random_table<float>(200, 16, values::real, 1), 0, {},
                                             arithmetic_of(plan.facts().kernel)),
                             on_c.read(), "workspace");
}

TEST_P(plan_on, the_workspace_keeps_within_its_bound) {
  const sparse_case a = case_named("wide");  // 19 x 700
  const expert_plan_options packed{.reading = col_major_b::packed};
  const spmm_plan plan(ctx(), csr_of<float>(a),
                       {.cols = 600, .b_layout = layout::col_major, .max_workspace_bytes = 1 << 20, .expert = packed});
  const std::size_t one_tile = sizeof(float) * 700 * static_cast<std::size_t>(plan.facts().kernel.n_tile);
  EXPECT_LE(plan.workspace_bytes(), std::max(one_tile, std::size_t{1} << 20));
  expect_product(plan, a, false, 600, {layout::col_major}, {});
  const spmm_plan least(ctx(), csr_of<float>(a),
                        {.cols = 600, .b_layout = layout::col_major, .max_workspace_bytes = 1, .expert = packed});
  EXPECT_EQ(least.workspace_bytes(), sizeof(float) * 700 * static_cast<std::size_t>(least.facts().kernel.n_tile));
  expect_product(least, a, false, 600, {layout::col_major}, {});
}

TEST_P(plan_on, takes_a_nan_of_b_to_the_rows_with_an_entry_in_its_column_alone) {
  const sparse_case a = case_named("band");
  auto b = random_table<float>(200, 8, values::real, 1);
  b(100, 3) = std::numeric_limits<float>::quiet_NaN();
  std::set<std::string> algorithms{""};  // the plan's own choice
  for (const kernel_info& kernel : kernel_table(ctx().kind(), value_type::fp32)) {
    if (kernel.stored_entries_only && kernel.index_bits == 32 && kernel.built) algorithms.insert(kernel.algorithm);
  }
  for (const std::string& algorithm : algorithms) {
    const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 8, .expert = {.kernel = algorithm}});
    operand<float> on_b(ctx(), b, {}), on_c(ctx(), 200, 8, {});
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    const auto c = on_c.read();
    for (std::int64_t i = 0; i < 200; ++i) {
      for (std::int64_t j = 0; j < 8; ++j) {
        EXPECT_EQ(std::isnan(c(i, j)), j == 3 && std::abs(i - 100) <= 6) << algorithm << " (" << i << ", " << j << ")";
      }
    }
  }
}

TEST_P(plan_on, runs_from_many_threads_at_once) {
  const sparse_case a = case_named("power_law");
  const spmm_plan plan(ctx(), csr_of<double>(a), {.cols = 8});
  const auto run_in_thread = [&](int t) {
    core::device_buffer<std::byte> workspace;
    if (ctx().kind() == backend::cuda && plan.workspace_bytes() > 0) {
      workspace = {ctx().device().device, static_cast<std::int64_t>(plan.workspace_bytes())};
    }
    for (int k = 0; k < 10; ++k) {
      const auto b = random_table<double>(260, 8, values::real, static_cast<std::uint64_t>(t * 100 + k + 1));
      operand<double> on_b(ctx(), b, {}), on_c(ctx(), 260, 8, {});
      plan.run(1.0, on_b.view(), 0.0, on_c.view(),
               {.workspace = {workspace.data(), static_cast<std::size_t>(workspace.size())}});
      expect_within_bound<double>(multiply<double>(a, false, 1, b, 0, {}), on_c.read(), "thread");
    }
  };
  for (const int count : thread_counts) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back(run_in_thread, t);
    for (auto& t : threads) t.join();
  }
}

TEST_P(plan_on, deterministic_runs_are_bit_equal) {
  const sparse_case a = case_named("power_law");
  const spmm_plan plan(ctx(), csr_of<float>(a), {.cols = 40, .deterministic = true});
  EXPECT_TRUE(plan.facts().kernel.deterministic);
  const auto b = random_table<float>(260, 40, values::real, 4);
  std::vector<float> first;
  for (int k = 0; k < 8; ++k) {
    operand<float> on_b(ctx(), b, {}), on_c(ctx(), 260, 40, {});
    plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
    auto got = on_c.read().at;
    if (k == 0) first = got;
    EXPECT_EQ(got, first);
  }
}

TEST_P(plan_on, explains_itself) {
  const spmm_plan plan(ctx(), csr_of<float>(case_named("band")), {.cols = 24});
  const std::string text = plan.explain();
  for (const std::string& part : {plan.facts().kernel.name, std::string("m_block"), std::string("nnz/nnzc"),
                                  std::string("N = 24"), std::string(to_string(ctx().kind()))}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in:\n" << text;
  }
  EXPECT_EQ(plan.where().kind(), ctx().kind());
}

TEST_P(plan_on, spmm_in_one_line_stages_host_operands) {
  for (const char* name : {"ragged", "0x5", "5x0", "power_law"}) {
    const sparse_case a = case_named(name);
    const auto table = random_table<double>(a.cols, 5, values::real, 9);
    dense_matrix<double> b(a.cols, 5), c(a.rows, 5, layout::col_major);
    std::ranges::copy(table.at, b.data());
    spmm(ctx(), csr_of<double>(a), b, c, 2.0);
    dense_table<double> got(a.rows, 5);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) got(i, j) = c(i, j);
    }
    expect_within_bound<double>(multiply<double>(a, false, 2, table, 0, {}), got, name);
  }
  dense_matrix<double> b(7, 5), c(67, 5);
  EXPECT_EQ(code_of([&] { spmm(ctx(), csr_of<double>(case_named("ragged")), b, c); }), errc::size_mismatch);
}

TEST_P(plan_on, the_forced_backend_is_the_one_that_ran) {
  const spmm_plan plan(ctx(), csr_of<float>(case_named("band")));
  EXPECT_EQ(plan.facts().kernel.where, GetParam());
}

TEST_P(plan_on, tells_its_choice_to_the_log) {
  context quiet = ctx().kind() == backend::cpu ? context::cpu(1) : context::cuda();
  std::string heard;
  quiet.set_log([&](std::string_view line) { heard += line; });
  const spmm_plan plan(quiet, csr_of<float>(case_named("band")));
  EXPECT_NE(heard.find(plan.facts().kernel.name), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(backends, plan_on, ::testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(plan_cpu, results_do_not_depend_on_the_number_of_threads) {
  // Enough entries for all threads to take part, for any N.
  const auto a = csr_of<float>(make_case("large", 20000, 9000, scatter(20000, 9000, 250000, 5), values::real, 6));
  for (const std::int64_t n : {1, 33}) {
    const auto b = random_table<float>(9000, n, values::real, 4);
    std::vector<float> alone;
    for (const context& ctx : cpu_contexts()) {
      const spmm_plan plan(ctx, a, {.cols = n});
      operand<float> on_b(ctx, b, {}), on_c(ctx, 20000, n, {});
      plan.run(1.0f, on_b.view(), 0.0f, on_c.view());
      const auto got = on_c.read().at;
      if (alone.empty()) alone = got;
      EXPECT_TRUE(got == alone) << "N = " << n << ", " << ctx.describe();
    }
  }
}

TEST(plan_cpu, a_device_matrix_is_refused) {
  const std::vector<std::int32_t> ptr{0, 1}, ind{0};
  const std::vector<float> v{1};
  EXPECT_EQ(code_of([&] {
              spmm_plan(context::cpu(1), csr_view<float>{1, 1, ptr, ind, v, memory_space::device});
            }),
            errc::wrong_memory_space);
}

}  // namespace
}  // namespace bcsc::test
