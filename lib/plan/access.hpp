#pragma once

#include <utility>

#include "lib/plan/body.hpp"

namespace bcsc::plan {

/// What the rooms above see of a plan, and how they add the facts that they have measured.
template <number T>
struct access {
  static const recipe& how(const spmm_plan<T>& plan) { return plan.made("how").how(); }

  /// spmm_plan::run() with alpha 1 and beta 0, for a square A; *dots.rows says what the kernel has left of B'C.
  static void run(const spmm_plan<T>& plan, dense_view<const T> b, dense_view<T> c, const run_options& options,
                  const kernels::dots_with_b& dots) {
    const body<T>& self = plan.made("run");
    self.product().run(self.matrix(), scalar_of<T>{1}, b, scalar_of<T>{0}, c, options, dots);
  }

  /// `plan` with other facts: nothing is converted, A is shared.
  static spmm_plan<T> restated(const spmm_plan<T>& plan, plan_facts facts) {
    const body<T>& made = plan.made("restated");
    std::unique_ptr<body<T>> other;
    guard_making(made.how(), [&] { other = plan::restated(made, std::move(facts)); });
    return spmm_plan<T>(std::move(other));
  }
};

}  // namespace bcsc::plan
