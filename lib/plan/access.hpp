#pragma once

#include <utility>

#include "lib/plan/body.hpp"

namespace bcsc::plan {

/// What the rooms above see of a plan, and how they add the facts that they have measured.
template <number T>
struct access {
  static const recipe& how(const spmm_plan<T>& plan) { return plan.made("how").how(); }

  /// spmm_plan::run() with more than the public is offered.
  static void run(const spmm_plan<T>& plan, scalar_of<T> alpha, dense_view<const T> b, scalar_of<T> beta,
                  dense_view<T> c, const run_options& options, const product_extras<T>& extras) {
    const body<T>& self = plan.made("run");
    self.product().run(self.matrix(), alpha, b, beta, c, options, extras);
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
