#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "bcsc/lobpcg.hpp"
#include "lib/solvers/lobpcg_basis.hpp"

namespace bcsc::solvers {

/// The tolerance that options ask for.
template <value T>
double tolerance_of(const lobpcg_options<T>& options);

/// The steps of one solve. The basis is [X P W]: m Ritz vectors, the directions they came along, and what the
/// preconditioner makes of those residuals that are not small enough yet (soft locking: X stays whole).
template <value T>
class lobpcg_iteration {
 public:
  /// k: the pairs that are wanted; m: those and the guards. The basis has room for 3 m vectors, and its space for as
  /// many beside the constraints.
  lobpcg_iteration(vector_basis<T>& basis, const lobpcg_options<T>& options, std::int64_t k, std::int64_t m);

  /// The first `given` columns of the basis are the start vectors; more are drawn, and X is made orthonormal.
  void start(std::int64_t given);
  /// X, in the first columns of the basis, is the solution but for rounding, and k = m.
  void start_at_solution();
  /// Until one of the reasons to stop.
  void iterate();
  /// Measures X unless it is as measured last. Its vectors are then the first k columns of the basis.
  lobpcg_result finish();

 private:
  bool complete(std::int64_t filled);
  /// Iterations after which products are recomputed.
  std::int64_t refresh_period() const;
  void refresh();
  void take_ritz_pairs();
  dense_view<T> residuals() const { return {r_.data(), basis_.rows(), m_}; }
  void compute_residual_block();
  void measure_residuals();
  double largest_residual() const;
  bool tell(double residual);
  bool is_idle(double residual);
  void count_claim(double residual);
  std::int64_t precondition(bool really);
  bool search();
  void advance();
  /// The result of the inverted pencil becomes that of the given one. Residuals are the same; those relative to the
  /// eigenvalue have been compared with ||A x||, which is |lambda| ||B x|| but for the residual.
  void turn_over();
  void stop(lobpcg_stop reason) {
    if (!stop_) stop_ = reason;
  }
  bool is_stopped() {
    if (basis_.objection()) stop(*basis_.objection());
    return stop_.has_value();
  }

  vector_basis<T>& basis_;
  block_algebra<T>& algebra_;
  const lobpcg_options<T>& options_;
  double tolerance_;
  bool is_largest_;  ///< the wanted end of the basis's pencil
  std::int64_t k_, m_;
  std::int64_t num_p_ = 0, num_w_ = 0;
  context_array<T> r_;  ///< [n x m], packed: residuals

  std::vector<double> values_, residual_;  ///< [m]
  std::vector<std::int64_t> active_;       ///< pairs whose residual is too large
  std::optional<lobpcg_stop> stop_;
  std::optional<basis_products> carried_;  ///< of [X P], by way of the rotation that made them
  bool is_fresh_ = false;                  ///< A X and B X are products with X, not sums of earlier products
  std::int64_t since_refresh_ = 0;
  std::uint64_t seed_;

  double best_residual_ = std::numeric_limits<double>::infinity();
  double best_sum_ = std::numeric_limits<double>::infinity();
  std::int64_t idle_ = 0;  ///< iterations in a row without progress
  double best_claim_ = std::numeric_limits<double>::infinity();
  int idle_claims_ = 0;  ///< times in a row that convergence was not confirmed
  lobpcg_result result_;
};

}  // namespace bcsc::solvers
