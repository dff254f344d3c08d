#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/linear_operator.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// How a hierarchy is built and cycled.
struct amg_options {
  /// Unknowns per node: consecutive rows that stand for one point of a mesh and are aggregated together. Divides
  /// A.rows.
  std::int64_t block = 1;
  /// rows x m, on the host, read by the constructor only: vectors that A (without its boundary conditions) maps to
  /// nearly 0, such as rigid_body_modes(). Empty: a constant for each unknown of a node.
  dense_view<const double> near_nullspace = {};
  /// Nodes i and j are aggregated together only if |A_ij| >= strength sqrt(|A_ii| |A_jj|), in [0, 1). 0: all that are
  /// coupled; up to 0.25 where A is anisotropic. Halved from level to level.
  double strength = 0;
  /// Steps of Chebyshev smoothing before and after each coarse correction, 1 .. 8. It aims at the upper part of the
  /// spectrum of D^-1 A, from its end down to a `smoother_ratio`-th of that (above 1).
  int smoother_degree = 3;
  double smoother_ratio = 8;
  std::int64_t max_levels = 20;   ///< >= 1
  std::int64_t max_coarse = 500;  ///< a level of at most this many rows is solved with its inverse, 1 .. 4096
  /// Store and cycle in fp32, whatever A's type: half the traffic, for a solver in fp64.
  bool single_precision = false;
  std::int64_t cols = 1;  ///< the number of vectors it is mostly applied to; any number works
};

struct amg_level {
  std::int64_t rows = 0, nnz = 0;
  double largest_eigenvalue = 0;  ///< estimate, of D^-1 A
};

/// What was built.
struct amg_facts {
  std::vector<amg_level> levels;   ///< the finest first
  double operator_complexity = 0;  ///< non-zeros of all levels over those of A
  double grid_complexity = 0;      ///< rows of all levels over those of A
  bool coarse_inverse = false;     ///< the last level is solved exactly; else it is smoothed like the others
  value_type precision = value_type::fp64;
  double setup_seconds = 0;  ///< on the host, and the plans
};

/// One V-cycle of smoothed aggregation algebraic multigrid as a preconditioner: Z = M^-1 R, symmetric positive
/// definite, for k vectors at once. The set-up runs on the host, in parallel, with the same result whatever the number
/// of threads; the cycle consists of products by plans, and is deterministic where they are (on the CPU, and on a GPU
/// by all kernels that a plan chooses here; by many more threads a plan may choose another kernel, whose last bits
/// differ). Cheap to copy.
/// Source: Vanek, Mandel and Brezina 1996; Chebyshev smoothing as in Adams, Brezina, Hu and Tuminaro 2003.
template <value T>
class amg_preconditioner {
 public:
  /// A symmetric positive definite, on the host or (with a CUDA context) on its device; its arrays may be freed
  /// afterwards. A positive semidefinite A (a Neumann problem) is taken, too, if its null space lies in
  /// options.near_nullspace.
  /// Throws error{size_mismatch} unless A is square, or for options.near_nullspace of another height;
  /// error{invalid_argument} for an option out of range, a diagonal entry that is not positive or not finite, an A that
  /// is not symmetric or found not to be positive definite; error{out_of_memory | ...}.
  amg_preconditioner(const context& ctx, const csr_view<T, std::int32_t>& a, const amg_options& options = {});
  amg_preconditioner(const context& ctx, const csr_view<T, std::int64_t>& a, const amg_options& options = {});
  template <index I>
  amg_preconditioner(const context& ctx, const csr_matrix<T, I>& a, const amg_options& options = {})
      : amg_preconditioner(ctx, a.view(), options) {}

  /// M^-1, to be given to a solver; keeps what it needs.
  const linear_operator<T>& as_operator() const { return parts_.m; }
  operator const linear_operator<T>&() const { return parts_.m; }

  const amg_facts& facts() const { return *parts_.facts; }
  /// Levels, rows, non-zeros, complexity, set-up time; several lines.
  std::string explain() const;

 private:
  struct parts {
    std::shared_ptr<const amg_facts> facts;
    linear_operator<T> m;
  };
  explicit amg_preconditioner(parts made) : parts_(std::move(made)) {}
  template <index I>
  static parts make(const context& ctx, const csr_view<T, I>& a, const amg_options& options);
  parts parts_;
};

template <value T, index I>
amg_preconditioner(const context&, const csr_view<T, I>&, const amg_options& = {}) -> amg_preconditioner<T>;
template <value T, index I>
amg_preconditioner(const context&, const csr_matrix<T, I>&, const amg_options& = {}) -> amg_preconditioner<T>;

/// The translations and (linearised) rotations of a body, for amg_options::near_nullspace with block = dimensions.
/// coordinates: nodes x 2 or nodes x 3. Returns nodes * dimensions x 3 or 6, row-major, the unknowns of a node in the
/// order of the axes. Throws error{invalid_argument} for other dimensions or a coordinate that is not finite.
BCSC_EXPORT dense_matrix<double> rigid_body_modes(const dense_view<const double>& coordinates);

}  // namespace bcsc
#pragma GCC visibility pop
