#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bcsc/cg.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/operands.hpp"

/// What all iterations share.
namespace bcsc::solvers {

/// A restart has to bring the true residual below this share of the best one before it ...
inline constexpr double worthwhile = 0.5;
/// ... and a column that fails to do so this often in a row has stagnated.
inline constexpr int patience = 3;
/// So has one whose true residual is this many times the best: the error's A-norm never grows in CG, hence no residual
/// is beyond sqrt(condition) times an earlier one. Rounded products lead away from x, and would do so until x
/// overflows.
inline constexpr double lost = 1e8;

/// The next direction keeps the last one where the true residual is at most so many times what the recurrence said. A
/// recurrence whose rounded products have led it further astray has no direction worth keeping.
inline constexpr double on_course = 1.02;

/// What a solve computes with; all of it outlives the solve.
template <value T>
struct cg_parts {
  const linear_operator<T>& exact;
  const linear_operator<T>& inner;  ///< for the products within the iteration; may be `exact`
  const linear_operator<T>* preconditioner = nullptr;
  std::span<const T> inverse_diagonal = {};  ///< on the host; Jacobi's, if there is no preconditioner
  cuda_stream stream = nullptr;              ///< on a GPU any but the default one
  bool trusts_recurrence = false;            ///< ends when the recurrence has converged; the caller checks

  const context& ctx() const { return exact.where(); }
  kernels::launch_env env() const { return {ctx().state().who(), stream, ctx().device().num_multiprocessors}; }
  /// For every operator in turn.
  std::int64_t workspace_bytes(std::int64_t k) const {
    const std::int64_t bytes = std::max(exact.workspace_bytes(k), inner.workspace_bytes(k));
    return preconditioner != nullptr ? std::max(bytes, preconditioner->workspace_bytes(k)) : bytes;
  }
  bool capturable() const { return inner.capturable() && (preconditioner == nullptr || preconditioner->capturable()); }
};

/// The right-hand sides' norms, where the residuals begin to be small enough, and which columns are nothing but zeros.
struct right_hand_sides {
  std::vector<double> norm, limit;  ///< ||b_j||; on r.r
  std::vector<bool> zero;
};

/// Throws error{invalid_argument} where a norm times the tolerance cannot be squared.
right_hand_sides measured(std::span<const double> abs_sums, std::span<const double> squares, double tolerance);

/// The worst of the columns' reasons.
cg_stop worst_of(std::span<const cg_stop> reasons, bool cancelled);

/// The progress of a right-hand side whose residual the host sees in each step.
struct column_course {
  double norm_b = 0, limit = 0;              ///< ||b||; on r.r
  double rr = 0;                             ///< of the true residual at the last check, then of the recurrence
  double true_residual = 0, recurrence = 0;  ///< relative
  double best = std::numeric_limits<double>::infinity();  ///< the least true residual a restart began from
  int idle_restarts = 0;                                  ///< restarts in a row that were not worthwhile
  bool stagnated = false;
  std::optional<cg_stop> ended = {};  ///< it no longer takes part
  std::int64_t iterations = 0;
  double target = 0;  ///< of r.r until the next true residual

  bool is_open() const { return !ended && !stagnated && rr > limit; }
  /// sqrt(r.r) / ||b||; a zero b has the residual 0 by definition, for its x is 0.
  double relative() const;
};
/// Over all columns; NaN if one is.
double largest_residual(std::span<const column_course> columns);
/// Notes the true residuals just computed. A column below its limit has converged, whatever came before.
void judge_residuals(std::span<column_course> columns);
/// Notes that open columns restart from their true residuals: one whose recurrence had converged (not `by_schedule`)
/// and that has gained too little by it too often has stagnated, and so has one that is lost. `share`: of the residual,
/// until the next true one.
void count_restart(std::span<column_course> columns, bool by_schedule, double share);
void end_open(std::span<column_course> columns, cg_stop why);
/// Fills in the columns' outcomes. `singular`: a direction without curvature was met.
void report_columns(std::span<const column_course> columns, std::optional<cg_stop> objection, bool cancelled,
                    bool singular, cg_result& result);

}  // namespace bcsc::solvers
