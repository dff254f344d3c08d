#pragma once

#include <optional>

#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"

/// The inputs of solvers and preconditioners, by handle.
namespace bcsc::capi {

/// The operator of a handle, which must be of T; none of null.
template <value T>
std::optional<linear_operator<T>> operator_given(bcsc_operator given, const char* name) {
  if (given == nullptr) return std::nullopt;
  const auto* const map = std::get_if<linear_operator<T>>(&given->map);
  if (map == nullptr) {
    core::fail(errc::invalid_argument, "{} is of {}: must be of {}", name,
               std::visit([]<class U>(const linear_operator<U>&) { return to_string(value_type_of<U>); }, given->map),
               to_string(value_type_of<T>));
  }
  return *map;
}

/// f(plan) of a plan that multiplies blocks of vectors of fp32 or fp64.
template <class F>
void with_solver_plan(const bcsc_plan_s& plan, F f) {
  return std::visit(
      [&]<class T>(const spmm_plan<T>& p) {
        if constexpr (value<T>) {
          if (plan.b_layout != layout::row_major) {
            core::fail(errc::layout_mismatch, "plan is for a {} B: operators take row-major blocks of vectors",
                       to_string(plan.b_layout));
          }
          f(p);
        } else {
          core::fail(errc::unsupported, "plan is of {}: operators are of fp32 and fp64", to_string(value_type_of<T>));
        }
      },
      plan.plan);
}

/// f(view) of a matrix in CSR of fp32 or fp64.
template <class F>
void with_csr(bcsc_sparse matrix, F f) {
  require(matrix, "matrix");
  matrix->view.visit([&]<class View>(const View& view) {
    using T = typename View::value_t;
    if constexpr (format_of<View> == matrix_format::csr && value<T>) {
      f(view);
    } else {
      core::fail(errc::unsupported, "matrix is {} of {}: solvers take csr of fp32 and fp64", to_string(format_of<View>),
                 to_string(value_type_of<T>));
    }
  });
}

}  // namespace bcsc::capi
