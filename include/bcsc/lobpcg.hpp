#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/linear_operator.hpp"
#include "bcsc/plan.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// Which eigenvalues, as real numbers: the smallest of an indefinite A are its most negative ones.
enum class spectrum_end : std::uint8_t { smallest, largest };

/// What the residual of a pair is compared with.
enum class residual_scale : std::uint8_t {
  /// (||A|| + |lambda| ||B||) ||x||: the least relative change of A and B that makes the pair exact. Rounding allows a
  /// small multiple of T's unit roundoff, for eigenvalue 0 too. ||A|| and ||B|| are estimated, from below, by a few
  /// steps of the power method.
  matrix,
  /// |lambda| ||B x||: bounds the relative error of the eigenvalue if B = I, also of one that is small beside ||A||.
  /// Rounding allows about ||A|| / |lambda| times more than for `matrix`: nothing for eigenvalue 0.
  eigenvalue,
};

/// The state of an iteration.
struct lobpcg_progress {
  std::int64_t iteration = 0;
  double residual = 0;  ///< the largest of the wanted pairs
  std::int64_t num_converged = 0;
};

template <value T>
struct lobpcg_options {
  spectrum_end which = spectrum_end::smallest;
  double tolerance = 0;  ///< on the residual of each wanted pair; 0: 1e-10 in fp64, 1e-5 in fp32
  residual_scale scale = residual_scale::matrix;
  std::int64_t max_iterations = 1000;
  /// Pairs iterated beyond the wanted ones: they keep the last of these away from what follows in the spectrum.
  /// Negative: at least 2, and enough for the block to be a multiple of 4.
  std::int64_t num_guards = -1;
  bool use_initial_guess = false;                       ///< X is the start block, of any rank; what it lacks is drawn
  std::uint64_t seed = 1;                               ///< of the vectors that are drawn
  std::optional<linear_operator<T>> b = {};             ///< symmetric positive semidefinite (below); none: the identity
  std::optional<linear_operator<T>> precondition = {};  ///< Z = M^-1 R, symmetric positive definite; none: Z = R
  /// [n x any], on the host or where the context computes: eigenvectors are sought in the B-orthogonal complement of
  /// these columns, and residuals are taken there. Eigenvectors known already (deflation), or constraints.
  dense_view<const T> constraints = {};
  plan_options plan = {};  ///< where a plan is made; `cols` is set to the size of the block
  /// Called before each iteration and at the end; returning false stops.
  std::function<bool(const lobpcg_progress&)> progress = {};
};

/// Why the iteration ended.
enum class lobpcg_stop : std::uint8_t {
  converged,  ///< every wanted pair's true residual is at most the tolerance; presumes that B is positive semidefinite
  max_iterations,
  stagnated,                ///< neither the residuals nor the Ritz values improve any more
  not_finite,               ///< NaN or Inf appeared
  cancelled,                ///< by the progress callback
  not_symmetric,            ///< x'Ay and y'Ax, or x'By and y'Bx, differ by more than rounding
  b_not_positive_definite,  ///< x'Bx < 0 was met, or B is singular where that matters
  breakdown,                ///< no direction is left to search in, and the residuals are too large
};
std::string_view to_string(lobpcg_stop reason) noexcept;

struct lobpcg_result {
  lobpcg_stop reason = lobpcg_stop::max_iterations;
  std::vector<double> values;      ///< [k] eigenvalues: ascending, or descending if the largest are wanted; Inf: none
  std::vector<double> residual;    ///< [k] ||A x - lambda B x|| as options.scale says, computed from x at the end
  std::int64_t num_converged = 0;  ///< pairs whose residual is at most the tolerance
  std::int64_t iterations = 0;
  std::int64_t num_products = 0;  ///< of A with a block of vectors
  std::int64_t block_size = 0;    ///< wanted pairs and guards
  std::vector<double> history;  ///< [iterations + 1] the largest residual of the wanted pairs; empty if none was taken
  double norm_a = 0, norm_b = 1;  ///< estimates of ||A||, ||B||
  double tolerance = 0;           ///< the one that was used
  double seconds = 0;             ///< without the plan
};

/// The k = X.cols smallest, or largest, eigenpairs A x = lambda x or A x = lambda B x of a symmetric A, by products
/// with blocks of vectors and a preconditioner alone (LOBPCG). A may be indefinite, eigenvalues may be multiple.
///
/// X: n x k, on the host (staged) or, with a CUDA context, on the device; any layout. It receives the eigenvectors,
/// with X'BX = I, in the order of the values; unless an error is thrown, the latest approximations, whatever the
/// reason. A block of more than a third of n is solved as a dense problem, k = n included.
///
/// B is presumed to be positive semidefinite: an indefinite one is noticed where vectors meet it (x'Bx < 0), for
/// certain only in a dense problem. If the smallest are wanted and A is positive definite, B may be singular, of any
/// rank: with fewer finite eigenvalues than k the reason is b_not_positive_definite, and those that an iteration lacks
/// are Inf, with NaN for a residual and with x'Ax = 1.
///
/// The same input gives the same result, bit for bit, if the operators do. Dense problems of three times the block's
/// size are solved by LAPACK on the host, which is loaded at run time. Not thread-safe on operators that are not.
/// Throws error{size_mismatch | invalid_argument | wrong_memory_space | ...} for bad input, numbers of A or B too large
/// or small to compute residuals with among it (it says what to scale), error{unsupported} if LAPACK is missing, and
/// what an operator throws; X is then as it was. Not for lack of convergence: see the reason. Source: Knyazev 2001; its
/// basis as in Hetmaniuk and Lehoucq 2006 and Duersch, Shao, Yang and Gu 2018.
template <value T>
BCSC_EXPORT lobpcg_result solve_lobpcg(const linear_operator<T>& a, output_view<T> x,
                                       const lobpcg_options<T>& options = {});

/// The same for a matrix, of which a plan is made.
template <value T, index I>
BCSC_EXPORT lobpcg_result solve_lobpcg(const context& ctx, const csr_view<T, I>& a, output_view<T> x,
                                       const lobpcg_options<T>& options = {});
template <value T, index I>
lobpcg_result solve_lobpcg(const context& ctx, const csr_matrix<T, I>& a, output_view<T> x,
                           const lobpcg_options<T>& options = {}) {
  return solve_lobpcg(ctx, a.view(), x, options);
}

}  // namespace bcsc
#pragma GCC visibility pop
