#include "bench/solvers/rounded_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/elements.hpp"
#include "bcsc/plan.hpp"

namespace bcsc::bench {

namespace {

spmm_plan<float> plan_of(const context& ctx, const csr_matrix<double>& a, const std::vector<float>& values,
                         const plan_options& how) {
  const auto v = a.view();
  return spmm_plan<float>(ctx, csr_view<float>{v.rows, v.cols, v.row_ptr, v.col_ind, values}, how);
}

/// The part of `x` that TF32 holds, and what is left of it, in TF32 as well.
std::pair<float, float> split(float x) {
  const float high = to_tf32(x);
  return {high, to_tf32(x - high)};
}

/// TF32 on a CPU, from products in fp32 of operands that TF32 holds: each such product is exact.
class emulated_tf32 {
 public:
  emulated_tf32(const context& ctx, const csr_matrix<double>& a, bool by_three, std::int64_t k) {
    std::vector<float> high, low;
    for (const double value : a.values()) {
      const auto [first, second] = split(static_cast<float>(value));
      high.push_back(first);
      if (by_three) low.push_back(second);
    }
    high_ = std::make_shared<const spmm_plan<float>>(plan_of(ctx, a, high, {.cols = k}));
    if (by_three) low_ = std::make_shared<const spmm_plan<float>>(plan_of(ctx, a, low, {.cols = k}));
  }

  void operator()(scalar<float> alpha, dense_view<const float> x, scalar<float> beta, dense_view<float> y,
                  const apply_options&) const {
    dense_matrix<float> high(x.rows, x.cols), low(x.rows, low_ ? x.cols : 0);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        const auto [first, second] = split(x(i, j));
        high(i, j) = first;
        if (low_) low(i, j) = second;
      }
    }
    if (!low_) return high_->run(alpha, high.view(), beta, y);
    low_->run(alpha, high.view(), beta, y);
    high_->run(alpha, low.view(), 1.0f, y);
    high_->run(alpha, high.view(), 1.0f, y);
  }

  std::string kernel() const { return high_->facts().kernel.name; }

 private:
  std::shared_ptr<const spmm_plan<float>> high_, low_;
};

}  // namespace

float to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xffffe000u);
}

double rounded(double x, cg_inner precision) {
  switch (precision) {
    case cg_inner::as_given:
      return x;
    case cg_inner::fp32:
    case cg_inner::tf32x3:
      return static_cast<float>(x);
    case cg_inner::tf32:
      return to_tf32(static_cast<float>(x));
    case cg_inner::bf16:
      return static_cast<float>(bfloat16(x));
  }
  return x;
}

csr_matrix<double> rounded_values(const csr_matrix<double>& a, cg_inner precision) {
  const auto v = a.view();
  std::vector<double> values(v.values.size());
  std::ranges::transform(v.values, values.begin(), [precision](double x) { return rounded(x, precision); });
  return {
      v.rows, v.cols, {v.row_ptr.begin(), v.row_ptr.end()}, {v.col_ind.begin(), v.col_ind.end()}, std::move(values)};
}

rounded_product multiplied_in(const context& ctx, const csr_matrix<double>& a, cg_inner precision, std::int64_t k) {
  const bool in_tf32 = precision == cg_inner::tf32 || precision == cg_inner::tf32x3;
  if (in_tf32 && ctx.kind() == backend::cpu) {
    const bool by_three = precision == cg_inner::tf32x3;
    emulated_tf32 product(ctx, a, by_three, k);
    const std::string how =
        fmt::format("{} emulated: A and v {} TF32, products and sums in fp32 ({})", by_three ? "3xTF32" : "TF32",
                    by_three ? "split into two parts of" : "rounded to", product.kernel());
    return {{ctx, a.rows(), a.cols(), std::move(product), {.name = how}}, how};
  }
  std::vector<float> values;
  for (const double value : a.values()) {
    values.push_back(precision == cg_inner::bf16 ? static_cast<float>(bfloat16(value)) : static_cast<float>(value));
  }
  plan_options wanted{.cols = k};
  // Left to itself, a plan has no tensor core multiply a single vector, nor split what it multiplies.
  if (precision == cg_inner::tf32x3 || (precision == cg_inner::tf32 && k == 1)) wanted.expert.kernel = "mma";
  if (precision == cg_inner::tf32) wanted.compute = compute_class::tf32;
  spmm_plan<float> plan = plan_of(ctx, a, values, wanted);
  const kernel_info& kernel = plan.facts().kernel;
  std::string how =
      fmt::format("A {}, v in fp32, multiplied {} ({})", precision == cg_inner::bf16 ? "rounded to bf16" : "in fp32",
                  kernel.rounds_values ? "with TF32's 11 bits"
                  : in_tf32            ? "by three TF32 products"
                                       : "in fp32",
                  kernel.name);
  return {std::move(plan), std::move(how)};
}

std::string name_of(cg_inner precision) {
  switch (precision) {
    case cg_inner::as_given:
      return "fp64";
    case cg_inner::tf32x3:
      return "3xtf32";
    default:
      return std::string(to_string(precision));
  }
}

}  // namespace bcsc::bench
