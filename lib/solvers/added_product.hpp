#pragma once

#include "bcsc/plan.hpp"
#include "lib/plan/access.hpp"

namespace bcsc::solvers {

/// Y = alpha A X + beta Z, where Z may be X or Y. Row-major blocks; Z lies as Y does, as far from a multiple of 16
/// bytes.
template <value S>
void multiply(const spmm_plan<S>& a, double alpha, dense_view<const S> x, double beta, dense_view<const S> z,
              const dense_view<S>& y, const run_options& options) {
  plan::access<S>::run(a, static_cast<S>(alpha), x, static_cast<S>(beta), y, options,
                       {.z = z.data != y.data ? z.data : nullptr});
}

}  // namespace bcsc::solvers
