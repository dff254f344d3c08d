#pragma once

#include <optional>
#include <string>

#include "bcsc/cg.hpp"

/// A in less precision, for the products within the iteration.
namespace bcsc::solvers {

/// Nothing where A is to be multiplied as given. A may lie on the host or on the context's device. Throws
/// error{invalid_argument} where fp32 cannot hold a value of A, and what a plan throws.
template <value T, index I>
std::optional<spmm_plan<float>> rounded_plan(const context& ctx, const csr_view<T, I>& a, const plan_options& planned,
                                             const cg_options& options);

/// What was actually rounded, by the kernel that the plan chose; not what was requested.
std::string describe_rounding(const spmm_plan<float>& plan, cg_inner wanted);

}  // namespace bcsc::solvers
