#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bcsc/linear_operator.hpp"
#include "bcsc/plan.hpp"
#include "kernels/vector/block_ops.hpp"
#include "lib/solvers/amg_hierarchy.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers::amg {

/// A level made ready for products, all of it scaled: with D the diagonal of its A, S = D^-1/2 A D^-1/2, and the
/// prolongator scaled likewise on both sides. So smoothing needs no diagonal, and fp32 no care for A's magnitude.
template <value S>
struct planned_level {
  spmm_plan<S> a;
  std::vector<double> smoother;  ///< Chebyshev coefficients, of powers of a
  /// Not on the last level.
  std::optional<spmm_plan<S>> restriction, prolongation;
};

/// A V-cycle in type S between vectors of type T: z = M^-1 r.
template <value T, value S>
class v_cycle {
 public:
  /// Takes the hierarchy apart as it plans.
  v_cycle(const context& ctx, hierarchy&& host, const amg_options& options);

  std::int64_t workspace_bytes(std::int64_t k) const;
  /// Z = alpha M^-1 R + beta Z; row-major blocks, workspace as above. `dots`, if wanted, are what is left
  /// of R'Z where beta is 0.
  void apply(scalar<T> alpha, const dense_view<const T>& r, scalar<T> beta, const dense_view<T>& z,
             const apply_options& options, const kernels::dots_with_b& dots = {}) const;

 private:
  /// What a level works on: its right-hand side; its result; the residual; two spare blocks. `spare` holds b until the
  /// level needs it no more, unless b is the caller's r.
  struct blocks {
    dense_view<const S> b;
    dense_view<S> x, r, y, spare;
  };
  struct run {
    run_options options;  ///< stream, and the plans' workspace
    kernels::launch_env env;
    std::vector<blocks> levels;
  };

  /// Computes x from b, from this level down, up to a multiple of r whose factor it returns: whoever reads x next adds
  /// it in passing.
  double solve(const run& now, std::size_t depth) const;
  /// Whether the cycle may begin with r itself.
  bool begins_with(const dense_view<const T>& r) const;
  void started(int status, const char* what) const;

  context ctx_;
  std::vector<planned_level<S>> levels_;
  std::optional<spmm_plan<S>> coarse_inverse_;
  context_array<S> scale_;  ///< D^-1/2 of the finest level
  /// All of it, where the diagonal is constant: then D^-1/2 comes out of the cycle, which is linear.
  std::optional<double> uniform_scale_;
  std::int64_t plan_workspace_ = 0;
};

}  // namespace bcsc::solvers::amg
