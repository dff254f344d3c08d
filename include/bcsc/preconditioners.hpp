#pragma once

#include <cstdint>

#include "bcsc/context.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/linear_operator.hpp"

#pragma GCC visibility push(default)
/// Preconditioners for symmetric positive definite matrices, each Z = M^-1 R as a linear operator that keeps what it
/// needs, symmetric positive definite itself, and made of products (or solves with a triangle) and passes over vectors,
/// so that k vectors share each pass. Smoothed aggregation: bcsc/amg.hpp.
///
/// A is on the host or (with a CUDA context) on its device; its arrays may be freed afterwards. All throw
/// error{size_mismatch} unless A is square, error{invalid_argument} for an option out of range and where a diagonal
/// entry (or block) is not positive (definite) or not finite, error{wrong_memory_space | out_of_memory | ...}.
namespace bcsc {

/// M = the diagonal of A.
template <value T, index I>
BCSC_EXPORT linear_operator<T> jacobi_preconditioner(const context& ctx, const csr_view<T, I>& a);

struct block_jacobi_options {
  /// Height of the blocks on the diagonal, 1 .. 64; the last one may be lower. 0: found, the largest up to 8 whose rows
  /// share their columns throughout A (the unknowns of a node, for example), else 1.
  std::int64_t block = 0;
  std::int64_t cols = 1;  ///< the number of vectors it is mostly applied to; any number works
};

/// M = the dense blocks on the diagonal of A. Their inverses are computed once, in fp64, and applied as one product.
template <value T, index I>
BCSC_EXPORT linear_operator<T> block_jacobi_preconditioner(const context& ctx, const csr_view<T, I>& a,
                                                           const block_jacobi_options& options = {});

struct chebyshev_options {
  int degree = 8;  ///< steps of the Chebyshev iteration, 1 .. 16: degree - 1 products each time
  /// The polynomial is made for the spectrum of D^-1 A from its end down to a `ratio`-th of that (above 1). 0:
  /// degree^2, at least 4. Below that CG has few eigenvalues to deal with, and over a longer interval the damping is
  /// weaker everywhere.
  double ratio = 0;
  int lanczos_steps = 20;  ///< on the host, to find the end of the spectrum, 2 .. 1000
  std::int64_t cols = 1;   ///< the number of vectors it is mostly applied to; any number works
};

/// M^-1 = a polynomial in D^-1 A times D^-1, D the diagonal of A: what the Chebyshev iteration makes of a start at 0.
/// Besides A's diagonal it needs nothing but products, and so saves CG its reductions rather than work.
/// Source: Johnson, Micchelli and Paul 1983; Saad, Iterative Methods for Sparse Linear Systems, 2003, 12.3.
template <value T, index I>
BCSC_EXPORT linear_operator<T> chebyshev_preconditioner(const context& ctx, const csr_view<T, I>& a,
                                                        const chebyshev_options& options = {});

struct ic0_options {
  /// Tried first, 0 .. 1: what is added to the diagonal of D^-1/2 A D^-1/2. Where a pivot is not positive it grows,
  /// twofold from 0.001 up to 1; describe() tells the one that was taken.
  double shift = 0;
};

/// M = L L', the incomplete Cholesky factorisation of A without fill: L has the pattern of A's lower triangle, and L L'
/// equals A there, but for a shift. Needs a solve with L and one with L', row after row; on a CPU rows that do not
/// depend on each other are worked on in parallel, and k vectors share each row. The factorisation runs on the host.
/// The solves on a GPU are cuSPARSE's, which is loaded when first asked for: error{unsupported} without it; the
/// operator is not capturable there and analyses L anew for another number of vectors. Throws error{invalid_argument}
/// also for an A that is not symmetric, and where no shift makes all pivots positive. Source: Meijerink and van der
/// Vorst 1977; the shift: Manteuffel 1980.
template <value T, index I>
BCSC_EXPORT linear_operator<T> ic0_preconditioner(const context& ctx, const csr_view<T, I>& a,
                                                  const ic0_options& options = {});

// Owning matrices like their views.
template <value T, index I>
linear_operator<T> jacobi_preconditioner(const context& ctx, const csr_matrix<T, I>& a) {
  return jacobi_preconditioner(ctx, a.view());
}
template <value T, index I>
linear_operator<T> block_jacobi_preconditioner(const context& ctx, const csr_matrix<T, I>& a,
                                               const block_jacobi_options& options = {}) {
  return block_jacobi_preconditioner(ctx, a.view(), options);
}
template <value T, index I>
linear_operator<T> chebyshev_preconditioner(const context& ctx, const csr_matrix<T, I>& a,
                                            const chebyshev_options& options = {}) {
  return chebyshev_preconditioner(ctx, a.view(), options);
}

template <value T, index I>
linear_operator<T> ic0_preconditioner(const context& ctx, const csr_matrix<T, I>& a, const ic0_options& options = {}) {
  return ic0_preconditioner(ctx, a.view(), options);
}

}  // namespace bcsc
#pragma GCC visibility pop
