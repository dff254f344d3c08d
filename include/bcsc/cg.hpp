#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/plan.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

enum class preconditioner : std::uint8_t { none, jacobi };

struct cg_options {
  double tolerance = 1e-8;  ///< on the true relative residual ||b - A x|| / ||b||, each right-hand side by itself
  std::int64_t max_iterations = 10000;
  preconditioner precondition = preconditioner::jacobi;
  bool use_initial_guess = false;  ///< X is the start vector; else it is overwritten, starting from 0
  plan_options plan = {};          ///< where a plan is made; `cols` is set to the number of right-hand sides
  /// Called after each iteration with the largest recurrence residual (relative); returning false stops.
  std::function<bool(std::int64_t iteration, double residual)> progress = {};
};

/// Why the iteration ended.
enum class cg_stop : std::uint8_t {
  converged,  ///< every right-hand side's true residual is at most the tolerance
  max_iterations,
  not_positive_definite,  ///< p'Ap <= 0 for some direction, or a diagonal entry <= 0 under Jacobi
  stagnated,              ///< the true residual no longer falls although the recurrence does
  not_finite,             ///< NaN or Inf appeared
  cancelled,
};
std::string_view to_string(cg_stop reason) noexcept;

struct cg_result {
  cg_stop reason = cg_stop::max_iterations;
  std::int64_t iterations = 0;
  std::int64_t num_products = 0;      ///< SpMMs with A: one an iteration, and one for each check of the true residual
  std::vector<double> true_residual;  ///< [k] ||b - A x|| / ||b||, computed from x at the end
  std::vector<double> history;        ///< [iterations + 1] largest recurrence residual over the right-hand sides
  double seconds = 0;                 ///< without the plan
  plan_facts facts;                   ///< of the product
};

/// Conjugate gradients for a symmetric positive definite A and k right-hand sides at once: each column has its own
/// scalars, all columns share one SpMM an iteration. A column that has converged rests.
/// B, X: A.rows x k, on the host (staged) or, with a CUDA context, on the device; any layout.
/// b = 0 gives x = 0. Throws error{size_mismatch | invalid_argument | ...} for bad input, not for lack of convergence.
/// Source: Hestenes and Stiefel 1952; true-residual restart as in van der Vorst and Ye 2000.
template <value T, index I>
BCSC_EXPORT cg_result solve_cg(const context& ctx, const csr_view<T, I>& a, input_view<T> b, output_view<T> x,
                               const cg_options& options = {});
template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_matrix<T, I>& a, input_view<T> b, output_view<T> x,
                   const cg_options& options = {}) {
  return solve_cg(ctx, a.view(), b, x, options);
}

/// The same with an existing plan, for solves in succession: A is the plan's op(A), `diagonal` [rows] that of A, on the
/// host. Only Jacobi reads it; with preconditioner::none it may be empty. The plan is for a row-major B, and its own
/// workspace, if it has one, serves one solve at a time. options.plan is ignored. Also throws error{layout_mismatch},
/// and error{size_mismatch} for a diagonal of the wrong length.
template <value T>
BCSC_EXPORT cg_result solve_cg(const spmm_plan<T>& plan, std::type_identity_t<std::span<const T>> diagonal,
                               input_view<T> b, output_view<T> x, const cg_options& options = {});

/// The diagonal of A, brought to the host; 0 where no entry is stored. A is on the host or on the context's device.
template <value T, index I>
BCSC_EXPORT std::vector<T> diagonal_of(const context& ctx, const csr_view<T, I>& a);
template <value T, index I>
std::vector<T> diagonal_of(const context& ctx, const csr_matrix<T, I>& a) {
  return diagonal_of(ctx, a.view());
}

}  // namespace bcsc
#pragma GCC visibility pop
