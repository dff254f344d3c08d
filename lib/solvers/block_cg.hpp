#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lib/solvers/cg_parts.hpp"
#include "lib/solvers/pivoted_cholesky.hpp"
#include "lib/solvers/small_exchange.hpp"

namespace bcsc::solvers {

/// Block conjugate gradients: k right-hand sides share one search space, which grows by as many vectors in each
/// iteration as their residuals span. Breakdowns are taken out of it as Dubrulle 2001 does (BCGrQ): the residuals are
/// R = Q C with Q' M Q = I, so that equal, dependent or converged residuals cost columns of Q, not accuracy. Q = W S is
/// not stored: whatever reads W multiplies it by the small matrix S in passing. The host sees C, and so the residuals,
/// in each iteration. The arguments have been checked. For T = float and double. Sources: O'Leary 1980, Dubrulle 2001.
template <value T>
class block_cg {
 public:
  /// `parts` and `options` outlive this.
  block_cg(const cg_parts<T>& parts, kernels::vector::shape shape, const cg_options& options);

  void start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x, memory_space x_space);
  void iterate();
  /// Leaves x as it was given where the block is broken.
  cg_result finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection);

 private:
  using block = context_array<T>;
  dense_view<T> view(const block& v, std::int64_t cols) const { return {v.data(), shape_.n, cols}; }
  dense_view<const T> read(const block& v, std::int64_t cols) const { return {v.data(), shape_.n, cols}; }
  void started(int status, const char* what) const { core::check_launch(parts_.ctx().state(), status, what); }
  void apply(const linear_operator<T>& by, T alpha, dense_view<const T> in, T beta, dense_view<T> out);
  bool has_m() const { return stores_m() || jacobi_ != nullptr; }
  /// M W is a block of its own: M is neither I nor a diagonal, which is applied where a block is read.
  bool stores_m() const { return parts_.preconditioner != nullptr; }

  /// X'Y; an answer of the exchange.
  void ask_gram(const block& x, std::int64_t k, const block& y, std::int64_t l);
  coefficients answer(std::int64_t rows, std::int64_t cols);
  /// Y += X S.
  void add(const block& x, const coefficients& s, block& y);
  /// V = diag(d) X S + Z R, where V may be X or Z; d null: all ones.
  void replace(block& v, const block& x, const T* d, const coefficients& s, const block& z, const coefficients& r,
               const kernels::vector::grams_of_result<T>& grams = {});
  /// V = V S.
  void replace(block& v, const coefficients& s);
  /// W = W S + Z R, and asks for what orthonormalise() needs to know of it. Unless it `applies_m`, Z R is nothing, and
  /// M W follows as (M W) S.
  void renew(const coefficients& s, const block& z, const coefficients& r, bool applies_m = true);
  /// P = M Q + P F.
  void turn(const coefficients& f);
  void scale_columns(std::span<const double> by, block& v);
  std::vector<double> column_squares(const block& v, std::int64_t cols);

  /// W = B - A X and its norms, exactly.
  void compute_residual();
  /// Recomputes Q, C and P from W, for the open columns. False if there are none.
  bool begin_block(bool by_schedule);
  /// S for a Q that is orthonormal, from W as renewed: W = Q times what is returned. Fewer columns than W has where
  /// they depend on each other; empty where a value is not finite.
  std::optional<coefficients> orthonormalise();
  /// One iteration; false if the block has to be restarted.
  bool advance();
  /// Drops the directions to which no open column contributes.
  void shrink();
  void note_residuals();

  const cg_parts<T>& parts_;
  const cg_options& options_;
  const kernels::vector::shape shape_;
  const kernels::vector::operations<T>& ops_;
  const kernels::vector::block_operations<T>& block_ops_;
  const kernels::launch_env env_;

  block b_, x_, w_, p_, t_, mw_, spare_, inverse_diagonal_;
  const T* jacobi_ = nullptr;
  context_array<double> partials_;
  small_exchange exchange_;
  context_array<std::byte> workspace_;

  std::int64_t rank_ = 0;  ///< columns of Q and P
  coefficients s_;         ///< [columns of W x rank] Q = W S
  coefficients c_;         ///< [rank x k] R = Q C
  coefficients p_gram_;    ///< [rank x rank] P' M^-1 P, by recurrence
  coefficients q_gram_;    ///< [rank x rank] Q'Q, unless M = I
  std::vector<column_course> columns_;
  double max_curvature_ = 0;
  bool singular_ = false;  ///< a direction had no curvature
  std::int64_t since_replacement_ = 0, since_gain_ = 0;
  double min_residual_ = std::numeric_limits<double>::infinity();
  bool cancelled_ = false, changed_since_check_ = false;
  cg_result result_;
};

}  // namespace bcsc::solvers
