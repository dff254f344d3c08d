// Products of fp16 and bf16 through the public interface: multiplied exactly, summed in fp32, rounded once. That every
// config does so is tested in conformance/.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/reference.hpp"
#include "bcsc/spmm.hpp"
#include "bcsc/tune.hpp"
#include "core/buffer.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

template <class T>
class narrow_product : public ::testing::Test {
 protected:
  static constexpr backend backends[] = {backend::cpu, backend::cuda};

  /// body(context) for each backend available here.
  template <class Body>
  static void on_each_backend(const Body& body) {
    for (const backend where : backends) {
      if (const auto ctx = context_of(where)) body(*ctx);
    }
    if (!have_gpu()) GTEST_SKIP() << "the CPU passed; the rest needs a GPU";
  }
};
using types = ::testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(narrow_product, types);

template <class T>
constexpr T nan = std::numeric_limits<T>::quiet_NaN();

TYPED_TEST(narrow_product, limits_are_those_of_the_conversions) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  const auto wide = [](T x) { return static_cast<double>(x); };
  EXPECT_EQ(wide(limits::max()), std::ldexp(2.0 - std::ldexp(1.0, 1 - limits::digits), limits::max_exponent - 1));
  EXPECT_EQ(wide(limits::min()), std::ldexp(1.0, limits::min_exponent - 1));
  EXPECT_EQ(wide(limits::denorm_min()), std::ldexp(1.0, limits::min_exponent - limits::digits));
  EXPECT_EQ(wide(limits::epsilon()), std::ldexp(1.0, 1 - limits::digits));
  EXPECT_EQ(limits::lowest(), -limits::max());
  EXPECT_EQ(wide(limits::infinity()), HUGE_VAL);
  EXPECT_NE(limits::quiet_NaN(), limits::quiet_NaN());
  EXPECT_EQ(T(2 * wide(limits::max())), limits::infinity());
}

TYPED_TEST(narrow_product, references_keep_the_error_bound) {
  using T = TypeParam;
  std::size_t turn = 0;
  for (const sparse_case& a : battery(values::real)) {
    const auto csr = csr_of<T>(a);
    const auto check = [&](const auto& matrix) {
      const float alpha = turn % 3 == 0 ? 1.0f : -1.5f, beta = turn % 2 == 0 ? 0.0f : 0.75f;
      const auto b = random_table<T>(a.cols, 5, values::real, ++turn);
      auto c0 = random_table<T>(a.rows, 5, values::real, turn + 7);
      const product wanted = multiply<T>(a, false, alpha, b, beta, c0);
      if (beta == 0) std::ranges::fill(c0.at, nan<T>);
      operand<T> on_b(context::cpu(1), b, {layout::col_major, 1, 0}), on_c(context::cpu(1), c0, {});
      reference::spmm(alpha, matrix.view(), on_b.view(), beta, on_c.view());
      expect_within_bound<T>(wanted, on_c.read(), a.name);
    };
    check(to_coo(csr));
    check(csr);
    check(to_csc(csr));
    check(to_bsr(csr, 3, 2));
    check(to_bcsc(csr, 8));
  }
}

// 1 and 40 terms that a sum in T would lose one by one.
TYPED_TEST(narrow_product, sums_are_rounded_once) {
  using T = TypeParam;
  const double small = static_cast<double>(std::numeric_limits<T>::epsilon()) / 4;
  sparse_case a{"small terms", 1, 41, {{0, 0, 1.0}}};
  for (std::int64_t k = 1; k < 41; ++k) a.entries.push_back({0, k, small});
  const dense_table<T> b(41, 3, T(1)), c0(1, 3, T(small));
  const product wanted = multiply<T>(a, false, 1, b, 2, c0);
  ASSERT_EQ(wanted.value(0, 0), 1 + 42 * small);
  operand<T> on_b(context::cpu(1), b, {}), on_c(context::cpu(1), c0, {});
  reference::spmm(1.0f, viewed(csr_of<T>(a)), on_b.view(), 2.0f, on_c.view());
  expect_exact<T>(wanted, on_c.read(), "reference");
  this->on_each_backend([&](const context& ctx) {
    const spmm_plan<T> plan(ctx, csr_of<T>(a), {.cols = 3});
    operand<T> there_b(ctx, b, {}), there_c(ctx, c0, {});
    plan.run(1, there_b.view(), 2, there_c.view());
    expect_exact<T>(wanted, there_c.read(), plan.facts().kernel.name);
  });
}

// alpha and beta come before the rounding, so what T cannot hold may come and go.
TYPED_TEST(narrow_product, factors_are_of_fp32_and_applied_before_rounding) {
  using T = TypeParam;
  const double large = static_cast<double>(std::numeric_limits<T>::max());
  const sparse_case a{"large", 2, 2, {{0, 0, large}, {0, 1, large}, {1, 0, large}}};
  dense_table<T> b(2, 1, T(1)), c0(2, 1, T(large));
  this->on_each_backend([&](const context& ctx) {
    const spmm_plan<T> plan(ctx, csr_of<T>(a), {.cols = 1});
    // Twice bfloat16's greatest number is beyond fp32, too.
    const float alpha = std::same_as<T, half> ? 0.25f : 0.25f * 0x1p-2f;
    dense_table<T> scaled = b;
    if (!std::same_as<T, half>) scaled.at = {T(0.25), T(0.25)};
    operand<T> on_b(ctx, scaled, {}), on_c(ctx, c0, {});
    plan.run(alpha, on_b.view(), 0, on_c.view());
    expect_exact<T>(multiply<T>(a, false, alpha, scaled, 0, c0), on_c.read(), plan.facts().kernel.name);
    operand<T> to_infinity(ctx, c0, {});
    plan.run(1.0f, on_b.view(), 1.0f, to_infinity.view());
    EXPECT_EQ(to_infinity.read()(0, 0), std::numeric_limits<T>::infinity());
  });
}

TYPED_TEST(narrow_product, plans_take_every_form_of_a_and_both_layouts) {
  using T = TypeParam;
  this->on_each_backend([&](const context& ctx) {
    std::size_t turn = 0;
    for (const sparse_case& a : battery(values::small_integers)) {
      const auto csr = csr_of<T>(a);
      const auto bcsc = to_bcsc(csr, 7);
      for (const bool transposed : {false, true}) {
        for (const layout order : {layout::row_major, layout::col_major}) {
          ++turn;
          const std::int64_t n = 1 + static_cast<std::int64_t>(turn * 29 % 150);
          const plan_options options{.cols = n, .transpose = transposed ? op::transpose : op::none, .b_layout = order};
          const auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::small_integers, turn);
          const auto c0 = random_table<T>(transposed ? a.cols : a.rows, n, values::small_integers, turn + 1);
          const product wanted = multiply<T>(a, transposed, -2, b, 3, c0);
          for (const bool from_bcsc : {false, true}) {
            const auto plan = from_bcsc ? spmm_plan<T>(ctx, bcsc, options) : spmm_plan<T>(ctx, csr, options);
            operand<T> on_b(ctx, b, {order, 3, 1}), on_c(ctx, c0, {order, 1, 0});
            plan.run(-2, on_b.view(), 3, on_c.view());
            expect_exact<T>(wanted, on_c.read(), a.name + ", N = " + std::to_string(n));
            EXPECT_EQ(plan.facts().kernel.type, value_type_of<T>);
          }
        }
      }
    }
  });
}

TYPED_TEST(narrow_product, reads_scalars_where_it_computes_and_takes_new_values) {
  using T = TypeParam;
  this->on_each_backend([&](const context& ctx) {
    sparse_case a = make_case("scattered", 90, 70, scatter(90, 70, 800, 3), values::small_integers, 5);
    auto csr = csr_of<T>(a);
    spmm_plan<T> plan(ctx, csr, {.cols = 9});
    for (std::size_t k = 0; k < a.entries.size(); ++k) csr.values()[k] = T(a.entries[k].value = -a.entries[k].value);
    plan.update_values(csr);

    const std::vector<float> scalars{3, -1};
    const auto b = random_table<T>(70, 9, values::small_integers, 1),
               c0 = random_table<T>(90, 9, values::small_integers, 2);
    operand<T> on_b(ctx, b, {}), on_c(ctx, c0, {});
    if (ctx.kind() == backend::cuda) {
      const core::device_buffer<float> there(ctx.device().device, std::span<const float>(scalars));
      plan.run(scalar<float>::at(there.data()), on_b.view(), scalar<float>::at(there.data() + 1), on_c.view());
      expect_exact<T>(multiply<T>(a, false, 3, b, -1, c0), on_c.read(), "on the device");
    } else {
      plan.run(scalar<float>::at(scalars.data()), on_b.view(), scalar<float>::at(scalars.data() + 1), on_c.view());
      expect_exact<T>(multiply<T>(a, false, 3, b, -1, c0), on_c.read(), "on the host");
    }
  });
}

// As for the other types, every form is made on the GPU, and the same wherever A lies.
TYPED_TEST(narrow_product, matrices_may_lie_on_the_device) {
  using T = TypeParam;
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const std::int64_t n = 24;
  for (const sparse_case& a : battery(values::small_integers)) {
    sparse_case negated = a;
    for (triplet& e : negated.entries) e.value = -e.value;
    const auto csr = csr_of<T>(a);
    const auto there = upload(*ctx, csr.view()), renewed = upload(*ctx, viewed(csr_of<T>(negated)));
    const auto blocks_there = upload(*ctx, viewed(to_bcsc(csr, 5)));
    const auto b = random_table<T>(a.cols, n, values::small_integers, 1);
    const dense_table<T> c0(a.rows, n);
    operand<T> on_b(*ctx, b, {}), on_c(*ctx, c0, {});
    const auto expect_product = [&](const spmm_plan<T>& plan, const sparse_case& of) {
      plan.run(1, on_b.view(), 0, on_c.view());
      expect_exact<T>(multiply<T>(of, false, 1, b, 0, c0), on_c.read(), a.name + ", " + plan.facts().kernel.name);
    };
    for (const char* algorithm : {"", "rowwise", "mma", "staged"}) {
      const plan_options options{.cols = n, .expert = {.kernel = algorithm}};
      spmm_plan<T> from_device(*ctx, there.view(), options);
      const spmm_plan<T> from_host(*ctx, csr, options), from_blocks(*ctx, blocks_there.view(), options);
      for (const spmm_plan<T>* other : {&from_host, &from_blocks}) {
        EXPECT_EQ(from_device.facts().kernel.name, other->facts().kernel.name);
        EXPECT_EQ(from_device.facts().format_bytes, other->facts().format_bytes);
        EXPECT_EQ(from_device.facts().nnzc, other->facts().nnzc);
        expect_product(*other, a);
      }
      expect_product(from_device, a);
      from_device.update_values(renewed.view());
      expect_product(from_device, negated);
    }
  }
}

TYPED_TEST(narrow_product, tunes_among_its_own_rows) {
  using T = TypeParam;
  const sparse_case a = make_case("scattered", 90, 70, scatter(90, 70, 800, 3), values::real, 5);
  this->on_each_backend([&](const context& ctx) {
    const auto timings = tune(ctx, viewed(csr_of<T>(a)), {.plan = {.cols = 9}, .repetitions = 1, .cache_file = "off"});
    std::size_t rows = 0;
    for (const kernel_info& k : kernel_table(ctx.kind(), value_type_of<T>)) {
      rows += is_tuned(k, 9) ? 1 : 0;
    }
    EXPECT_EQ(timings.size(), rows);
    EXPECT_GT(rows, 0u);
  });
}

TYPED_TEST(narrow_product, spmm_in_one_line) {
  using T = TypeParam;
  const sparse_case a = make_case("scattered", 50, 40, scatter(50, 40, 300, 3), values::small_integers, 5);
  const auto b = random_table<T>(40, 6, values::small_integers, 1),
             c0 = random_table<T>(50, 6, values::small_integers, 2);
  operand<T> on_b(context::cpu(1), b, {layout::col_major, 2, 1}), on_c(context::cpu(1), c0, {layout::row_major, 3, 1});
  spmm(viewed(csr_of<T>(a)), on_b.view(), on_c.view(), 2.0f, 1.0f);
  expect_exact<T>(multiply<T>(a, false, 2, b, 1, c0), on_c.read(), "spmm");
}

}  // namespace
}  // namespace bcsc::test
