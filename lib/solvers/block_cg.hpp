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
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers {

/// What the host remembers of a column.
struct column_record {
  double norm_b = 0;                                      ///< ||b||
  double true_residual = 0;                               ///< at the last check, relative
  double best = std::numeric_limits<double>::infinity();  ///< the least true residual a restart began from
  int idle_restarts = 0;                                  ///< restarts in a row that were not worthwhile
  bool stagnated = false;
};

/// The vectors and scalars of one solve, where the context computes, and the steps of the iteration. What is given has
/// been checked. For T = float and double.
template <value T>
class block_cg {
 public:
  /// `ctx`, `plan` and `options` outlive this.
  block_cg(const context& ctx, const spmm_plan<T>& plan, kernels::vector::shape shape, const cg_options& options);

  void precondition_with(std::span<const T> inverse_diagonal);
  /// Takes b and the start vector, and computes the residual it begins with.
  void start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x, memory_space x_space);
  /// Iterates until every column has come to an end, or the whole solve has.
  void iterate();
  /// Writes x back and reports the outcome; `objection`: why the diagonal rules the solve out.
  cg_result finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection);

 private:
  using column_state = kernels::vector::column_state;

  /// rr and state of a column, side by side so that one small copy brings them to the host.
  static constexpr std::int64_t bytes_per_column = sizeof(double) + sizeof(column_state);

  std::int64_t size() const { return core::checked_product(shape_.n, shape_.k, "elements of B"); }
  void started(int status, const char* what) const { core::check_launch(ctx_.state(), status, what); }
  bool any(column_state wanted) const { return std::find(state_.begin(), state_.end(), wanted) != state_.end(); }

  // Between the caller's layout and packed multivectors.
  bool staged(memory_space space) const { return ctx_.kind() == backend::cuda && space == memory_space::host; }
  void load(const dense_view<const T>& from, memory_space space, context_array<T>& to);
  void store(const dense_view<T>& to, memory_space space);

  // Scalars.
  void read_report();
  void write_report();
  std::vector<double> read_sums();
  /// sqrt(r.r) / ||b||; a zero b has the residual 0 by definition, for its x is 0.
  double relative(std::size_t j) const;
  /// Over all columns; NaN if one is.
  double largest_residual() const;
  /// ||b_j||, the limits for r.r that follow from it, and x_j = 0 where b_j = 0.
  void measure_right_hand_sides();

  // Steps.
  void multiply(const context_array<T>& in, context_array<T>& out);
  /// r = b - A x, from x itself (`from_product`) or, for x = 0, from b; what the recurrence said is forgotten.
  void compute_residual(bool from_product);
  /// Notes the true residuals just computed. A column below the tolerance has converged, whatever came before.
  void judge_residuals();
  /// Sends back to work the columns whose recurrence said "arrived" and whose true residual says "not yet", each along
  /// a fresh direction; one that has gained too little by that too often has stagnated and rests.
  void restart_open_columns();
  /// One iteration: p = z + beta p, q = A p, and a step along p in every active column.
  void advance();
  cg_stop reason() const;

  const context& ctx_;
  const spmm_plan<T>& plan_;
  const cg_options& options_;
  const kernels::vector::shape shape_;
  const kernels::vector::operations<T>& ops_;
  const kernels::launch_env env_;

  context_array<T> b_, x_, r_, p_, q_;
  context_array<T> inverse_diagonal_;
  const T* jacobi_ = nullptr;  ///< inverse_diagonal_ once it is filled
  context_array<double> partials_;
  context_array<std::byte> report_;
  context_array<double> scalar_block_;
  kernels::vector::column_scalars scalars_;  ///< into report_ and scalar_block_
  double* sums_ = nullptr;                   ///< [k] results of dot and abs_sum, the last of scalar_block_

  std::vector<double> rr_;           ///< r.r as the host last read it
  std::vector<column_state> state_;  ///< likewise
  std::vector<double> limits_;
  std::vector<column_record> columns_;
  bool cancelled_ = false;
  bool changed_since_check_ = false;
  cg_result result_;
};

}  // namespace bcsc::solvers
