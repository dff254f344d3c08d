#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/gpu.hpp"
#include "lib/solvers/cg_parts.hpp"
#include "lib/solvers/iteration_report.hpp"

namespace bcsc::solvers {

/// The host's record of a column.
struct column_record {
  double norm_b = 0;                                      ///< ||b||
  double true_residual = 0;                               ///< at the last check, relative
  double recurrence = 0;                                  ///< what the recurrence said before that
  double best = std::numeric_limits<double>::infinity();  ///< the least true residual a restart began from
  int idle_restarts = 0;                                  ///< restarts in a row that were not worthwhile
  bool stagnated = false;
};

/// Conjugate gradients on k right-hand sides side by side: the vectors and scalars of a solve, where the context
/// computes, and the steps of the iteration. The arguments have been checked. For T = float and double.
template <value T>
class simultaneous_cg {
 public:
  /// `parts` and `options` outlive this.
  simultaneous_cg(const cg_parts<T>& parts, kernels::vector::shape shape, const cg_options& options);

  /// Takes b and the start vector, and computes the residual it begins with.
  void start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x, memory_space x_space);
  /// In place of start() and finish() for parts that trust the recurrence, which keep no b: begins at x = 0 with
  /// right-hand sides that lie in residual(), of length 1 but for those of `closed` columns, which are zero. So nothing
  /// has to be read back. Goes on along the last direction in the columns that `keep` names (all or none are named).
  void start_correction(const std::vector<bool>& closed, std::vector<bool> keep);
  cg_result outcome(std::optional<cg_stop> objection = {});  ///< once a solve
  /// Iterates until every column has come to an end, or the whole solve has.
  void iterate();
  /// Writes x back and reports the outcome; `objection`: why the diagonal rules the solve out.
  cg_result finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection);

  // x and r as they are, packed, where the context computes.
  dense_view<T> solution() const { return {x_.data(), shape_.n, shape_.k}; }
  dense_view<T> residual() const { return {r_.data(), shape_.n, shape_.k}; }
  const cg_result& so_far() const { return result_; }
  bool cancelled() const { return cancelled_; }

 private:
  using column_state = kernels::vector::column_state;

  void started(int status, const char* what) const { core::check_launch(parts_.ctx().state(), status, what); }
  bool any(column_state wanted);
  /// Forgets the solve before, but for the direction where `keep` names columns.
  void begin_solve(std::vector<bool> keep);
  std::vector<double> read_sums();
  /// sqrt(r.r) / ||b||; a zero b has the residual 0 by definition, for its x is 0.
  double relative(std::size_t j, double rr) const;
  /// Over all columns; NaN if one is.
  double largest_residual(std::span<const double> rr) const;
  /// ||b_j||, the limits for r.r that follow from it, and x_j = 0 where b_j = 0.
  void measure_right_hand_sides();
  /// Scalars and limits to begin with, and the host's states.
  void set_right_hand_sides(const right_hand_sides& b);

  // Steps.
  void multiply(const linear_operator<T>& by, const context_array<T>& in, const context_array<T>& out);
  /// multiply(), and what that leaves of the dot products of in and out.
  kernels::vector::partial_dots apply_leaving_dots(const linear_operator<T>& by, const context_array<T>& in,
                                                   const context_array<T>& out);
  /// Z = M R with the given preconditioner, and the columns' turns; nothing where step() has done it all.
  void turn(const kernels::vector::column_scalars& scalars);
  /// r = b - A x, from x itself (`from_product`) or, for x = 0, from b; what the recurrence said is forgotten.
  void compute_residual(bool from_product);
  /// r = b - q, or b; the columns' scalars begin anew.
  void begin_with(const T* b, const T* q);
  /// What follows from the first residual, of which the host knows r.r.
  void begin_iterating();
  /// Notes the true residuals just computed. A column below the tolerance has converged, whatever came before.
  void judge_residuals();
  /// Restarts the columns whose true residual is still too large, along directions conjugate to the last where
  /// keeps_direction_ says so. One whose recurrence had converged (not `by_schedule`) and that has gained too little by
  /// it too often has stagnated and stops.
  void restart_open_columns(bool by_schedule);
  /// What was replaced counts as an error of the last step: one more along p makes r orthogonal to it again, and
  /// beta = -z.q / p.q the next direction conjugate to it. A column that keeps no direction has beta = 0.
  void turn_from_last_direction();
  /// A true residual, and what follows from it.
  void replace_residual(bool by_schedule);
  /// p = z + beta p in every active column. `moves`: x first takes the step that step() left out.
  void set_direction(bool moves = false);
  /// q = A p, a step along p in every active column, and the next p. Without x, x is left to the next iteration.
  void advance(const context_array<T>& p, T* x, kernels::vector::directions<T> way);
  /// The same with x and p_ alone, by whatever operations the preconditioner wants.
  void submit_iteration();
  /// Iterations, in pairs where x takes two steps at once. Afterwards x is complete, and p_ holds the next direction.
  void submit_without_graph(std::int64_t count);
  void submit_iterations(std::int64_t count);
  /// Iterations until the host's next check.
  std::int64_t next_window() const;
  /// Reads what `window` iterations have recorded; false if the progress callback cancels.
  bool look(std::int64_t window);
  /// Stops columns that are on their way to overflow: a residual may grow, but not beyond what a condition number
  /// allows, and not along directions in A's null space.
  void give_up_lost_columns();
  /// Of the directions of column j: the least curvature over the largest.
  double least_curvature(std::size_t j) const;
  cg_stop reason(std::size_t j);

  const cg_parts<T>& parts_;
  const cg_options& options_;
  const kernels::vector::shape shape_;
  const kernels::vector::operations<T>& ops_;
  const kernels::launch_env env_;

  context_array<T> b_, x_, r_, p_, q_, z_;
  context_array<T> inverse_diagonal_;
  const T* jacobi_ = nullptr;  ///< inverse_diagonal_ if there is one
  context_array<double> partials_, scalar_block_;
  context_array<double> dots_;  ///< room for what products leave of p.q and r.z; or empty
  context_array<std::byte> workspace_;
  iteration_report report_;
  context_array<T> second_p_;                ///< p of every second iteration, where x takes two steps at once; or empty
  kernels::vector::column_scalars scalars_;  ///< into report_ and scalar_block_
  double* sums_ = nullptr;                   ///< [k] results of dot and abs_sum, in scalar_block_
  std::optional<core::gpu::graph> graph_;    ///< graph_length_ iterations
  std::int64_t graph_length_ = 0;

  std::vector<double> limits_;
  std::vector<column_record> columns_;
  std::vector<std::int32_t> taken_;  ///< as of the last look
  std::int64_t since_replacement_ = 0;
  double restarted_at_ = 0, goal_ = 0;  ///< the largest residual then, and the one at which the last column will rest
  bool cancelled_ = false;
  bool changed_since_check_ = false;
  std::vector<bool> keeps_direction_;  ///< p, with q its product, in the next restart; empty: in no column
  cg_result result_;
};

}  // namespace bcsc::solvers
