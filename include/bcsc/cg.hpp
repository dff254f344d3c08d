#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/linear_operator.hpp"
#include "bcsc/plan.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

enum class preconditioner : std::uint8_t { none, jacobi };

/// How k right-hand sides are solved at once.
enum class cg_method : std::uint8_t {
  simultaneous,  ///< k iterations side by side that share their products
  /// One search space for all (O'Leary 1980): fewer iterations, more work on vectors in each. Where a column breaks it,
  /// because A is not positive definite along it, all begin once more side by side.
  block,
};
std::string_view to_string(cg_method method) noexcept;

/// What the products within the iteration are computed in; residuals that decide are always computed with A as given.
/// A that the solve rounds itself keeps the sums of its rows: each value is within three units in the last place.
enum class cg_inner : std::uint8_t {
  as_given,
  fp32,    ///< A and the vectors of a product rounded to fp32
  tf32,    ///< and to the 11 bits of TF32 where the kernel multiplies on tensor cores
  tf32x3,  ///< on tensor cores by three products of TF32 parts, within fp32's error bound
  bf16,    ///< A's values rounded to bf16 (and kept as fp32), vectors to fp32
};
std::string_view to_string(cg_inner inner) noexcept;

/// How much of the old direction the next one keeps.
enum class cg_beta : std::uint8_t {
  fletcher_reeves,  ///< z.r / (z.r)_old
  polak_ribiere,    ///< z.(r - r_old) / (z.r)_old, at least 0: also for a preconditioner that changes
};

/// When the recurrence's residual is replaced by the true one, b - A x. It always is where the recurrence says that a
/// solve has converged. The iteration goes on conjugate to its last direction, if the two residuals were much alike.
struct cg_correction {
  enum class kind : std::uint8_t { none, recompute, reliable, refine };
  kind by = kind::none;
  double when = 0;

  /// Every `iterations` iterations, along a fresh direction.
  static cg_correction recompute(std::int64_t iterations) { return {kind::recompute, static_cast<double>(iterations)}; }
  /// Once the recurrence's residual is `share` of the last true one (van der Vorst and Ye 2000). 0 < share < 1. Of an A
  /// in fp64 that is rounded, with what is needed in fp32 at hand, all vectors of simultaneous iterations are fp32, and
  /// only x and its residual fp64 (Clark et al. 2010).
  static cg_correction reliable(double share) { return {kind::reliable, share}; }
  /// The same, and refused where vectors cannot be fp32; an A that is not rounded otherwise is rounded to fp32. Where A
  /// is fp32, as reliable().
  static cg_correction refine(double share) { return {kind::refine, share}; }
};

struct cg_options {
  double tolerance = 1e-8;  ///< on the true relative residual ||b - A x|| / ||b||, each right-hand side by itself
  std::int64_t max_iterations = 10000;
  preconditioner precondition = preconditioner::jacobi;
  bool use_initial_guess = false;  ///< X is the start vector; else it is overwritten, starting from 0
  plan_options plan = {};          ///< where a plan is made; `cols` is set to the number of right-hand sides
  /// Called after each iteration with the largest recurrence residual (relative); returning false stops. With
  /// check_every > 1 it is called for several iterations at a time, and X is that of the last of them.
  std::function<bool(std::int64_t iteration, double residual)> progress = {};
  cg_method method = cg_method::simultaneous;
  cg_inner inner = cg_inner::as_given;      ///< where a plan is made
  cg_beta beta = cg_beta::fletcher_reeves;  ///< of simultaneous iterations
  cg_correction correction = {};
  /// Iterations between two checks of the residuals by the host. Columns stop by themselves in between; on a GPU the
  /// iterations are submitted as CUDA graphs where the operators allow it. 0: automatic: 1 on the CPU and with
  /// `progress`, else more the further away the tolerance is. Simultaneous iterations only; block iterations check
  /// each.
  std::int64_t check_every = 0;
  cuda_stream stream = nullptr;  ///< null: one of the solver's own that follows the default stream
};

/// Why the iteration ended.
enum class cg_stop : std::uint8_t {
  converged,  ///< every right-hand side's true residual is at most the tolerance
  max_iterations,
  not_positive_definite,  ///< p'Ap <= 0 for some direction, r'M r < 0, or a diagonal entry <= 0 under Jacobi
  stagnated,              ///< the true residual no longer falls though the recurrence does, or has grown out of bounds
  not_finite,             ///< NaN or Inf appeared
  cancelled,
  inconsistent,   ///< A is singular as far as its type can tell, and b is not in its range
  not_symmetric,  ///< a solve that failed found that x'Ay and y'Ax differ
};
std::string_view to_string(cg_stop reason) noexcept;

struct cg_result {
  cg_stop reason = cg_stop::max_iterations;  ///< the worst of the columns'
  std::int64_t iterations = 0;
  /// SpMMs with A as given and as rounded: one an iteration, one for each check of the true residual, those that were
  /// under way when the host saw that all columns had stopped, and two where a solve that fails asks why.
  std::int64_t num_products = 0;
  std::vector<double> true_residual;   ///< [k] ||b - A x|| / ||b||, computed from x at the end
  std::vector<double> history;         ///< [iterations + 1] largest recurrence residual over the right-hand sides
  double seconds = 0;                  ///< without the plan
  plan_facts facts;                    ///< of the product; of operators: empty
  std::vector<cg_stop> column_reason;  ///< [k] why each right-hand side ended
  std::vector<std::int64_t> column_iterations;  ///< [k] iterations that updated the column
  std::vector<double> recurrence_residual;      ///< [k] what the recurrence said before the last true residual
  std::int64_t num_replacements = 0;            ///< true residuals from which the iteration went on
  std::string inner;                            ///< the precision that the products within the iteration used
};

/// The operators of a solve, where one matrix does not describe it.
template <value T>
struct cg_operators {
  linear_operator<T> a;
  /// Z = M R with M like A^-1, symmetric and positive definite.
  std::optional<linear_operator<T>> preconditioner = {};
  /// A in less precision, for the products within the iteration. Where all vectors are fp32, with refine() or
  /// reliable(), this and the preconditioner below are taken, and not the one above.
  std::optional<linear_operator<float>> inner = {};
  std::optional<linear_operator<float>> inner_preconditioner = {};
};

/// A X = B for operators: A square, symmetric and positive definite, and as many right-hand sides as B has columns.
/// B, X: rows x k, on the host (staged) or, with a CUDA context, on the device; any layout. All operators are of one
/// context. On CUDA the host waits only where it checks (options.check_every); on return X is complete. options.plan,
/// .precondition and .inner are ignored. Errors as below; what an operator throws passes through.
template <value T>
BCSC_EXPORT cg_result solve_cg(const cg_operators<T>& operators, input_view<T> b, output_view<T> x,
                               const cg_options& options = {});
template <value T>
cg_result solve_cg(const linear_operator<T>& a, input_view<T> b, output_view<T> x, const cg_options& options = {}) {
  return solve_cg(cg_operators<T>{a}, b, x, options);
}
/// The same with a preconditioner.
template <value T>
cg_result solve_cg(const linear_operator<T>& a, const std::type_identity_t<linear_operator<T>>& preconditioner,
                   input_view<T> b, output_view<T> x, const cg_options& options = {}) {
  return solve_cg(cg_operators<T>{a, preconditioner}, b, x, options);
}

/// Conjugate gradients for a symmetric positive definite A and k right-hand sides at once: each column has its own
/// scalars, all columns share one SpMM per iteration. A converged column is no longer updated.
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

/// A preconditioner for a solve that plans and rounds A itself.
template <value T>
struct cg_preconditioner {
  std::optional<linear_operator<T>> m = {};            ///< Z = M R, as in cg_operators
  std::optional<linear_operator<float>> rounded = {};  ///< where all vectors are fp32, taken instead
};

/// The same with a preconditioner of any kind; options.precondition is ignored. Also throws error{invalid_argument}
/// where the one that is needed is missing.
template <value T, index I>
BCSC_EXPORT cg_result solve_cg(const context& ctx, const csr_view<T, I>& a,
                               const std::type_identity_t<cg_preconditioner<T>>& preconditioner, input_view<T> b,
                               output_view<T> x, const cg_options& options = {});
template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_matrix<T, I>& a,
                   const std::type_identity_t<cg_preconditioner<T>>& preconditioner, input_view<T> b, output_view<T> x,
                   const cg_options& options = {}) {
  return solve_cg(ctx, a.view(), preconditioner, b, x, options);
}

/// The same with an existing plan, for solves in succession: A is the plan's op(A), `diagonal` [rows] that of A, on the
/// host. Only Jacobi reads it; with preconditioner::none it may be empty. The plan is for a row-major B, and its own
/// workspace, if it has one, serves one solve at a time. options.plan and .inner are ignored. Also throws
/// error{layout_mismatch}, error{size_mismatch} for a diagonal of the wrong length, and error{invalid_argument} for
/// refine() of an A in fp64, which needs another plan, of fp32: see cg_operators.
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
