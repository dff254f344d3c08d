#include "lib/solvers/rounded_plan.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "lib/solvers/row_rounding.hpp"

namespace bcsc::solvers {

template <value T, index I>
std::optional<spmm_plan<float>> rounded_plan(const context& ctx, const csr_view<T, I>& a, const plan_options& planned,
                                             const cg_options& options) {
  cg_inner wanted = options.inner;
  const bool refines = std::is_same_v<T, double> && options.correction.by == cg_correction::kind::refine;
  if (wanted == cg_inner::as_given && refines) wanted = cg_inner::fp32;
  if (wanted == cg_inner::as_given || (std::is_same_v<T, float> && wanted == cg_inner::fp32)) return std::nullopt;

  std::optional<core::gpu::device_guard> guard;
  if (a.space == memory_space::device) guard.emplace(ctx.device().device);
  const auto row_ptr = core::copy_to_host(a.row_ptr, a.space);
  const auto col_ind = core::copy_to_host(a.col_ind, a.space);
  const auto given = core::copy_to_host(a.values, a.space);
  const rounded_to precision = wanted == cg_inner::bf16 ? rounded_to::bf16 : rounded_to::fp32;
  const std::vector<float> values = values_with_row_sums(std::span<const I>(row_ptr), std::span<const I>(col_ind),
                                                         std::span<const T>(given), precision);
  for (std::size_t at = 0; at < given.size(); ++at) {
    if (std::isinf(values[at]) && !std::isinf(given[at])) {
      core::fail(errc::invalid_argument, "inner = {}: A's value {} (entry {}) is beyond its range", to_string(wanted),
                 given[at], at);
    }
  }
  plan_options how = planned;
  how.compute = wanted == cg_inner::tf32 ? compute_class::tf32 : compute_class::full;
  // Of fp32's kernels only those on tensor cores split values into TF32 parts; a CPU has none.
  if (wanted == cg_inner::tf32x3 && ctx.kind() == backend::cuda) how.expert.kernel = "mma";
  return spmm_plan<float>(ctx, csr_view<float, I>{a.rows, a.cols, row_ptr, col_ind, values}, how);
}

std::string describe_rounding(const spmm_plan<float>& plan, cg_inner wanted) {
  const kernel_info& kernel = plan.facts().kernel;
  const bool is_split = !kernel.rounds_values && kernel.algorithm == "mma";
  return core::format("A {}, vectors in fp32, multiplied {} ({})",
                      wanted == cg_inner::bf16 ? "rounded to bf16" : "in fp32",
                      kernel.rounds_values ? "with TF32's 11 bits"
                      : is_split           ? "by three TF32 products"
                                           : "in fp32",
                      kernel.name);
}

#define BCSC_INSTANTIATE(T, I)                                                                                      \
  template std::optional<spmm_plan<float>> rounded_plan(const context&, const csr_view<T, I>&, const plan_options&, \
                                                        const cg_options&);
BCSC_INSTANTIATE(float, std::int32_t)
BCSC_INSTANTIATE(float, std::int64_t)
BCSC_INSTANTIATE(double, std::int32_t)
BCSC_INSTANTIATE(double, std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::solvers
