#pragma once

#include <optional>
#include <vector>

#include "bcsc/plan.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::solvers {

/// The polynomial q of degree `steps` - 1 for which x = q(A) b is what `steps` steps of the Chebyshev iteration make of
/// x = 0: over [lower, upper] it brings b - A x down as far as a polynomial can. Its coefficients of (A - shift)^j, the
/// lowest first, so that Horner's scheme needs one product a power. With shift = 0 they grow about fourfold a step
/// before they cancel, with the middle of the interval less than twofold.
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 12.1.
std::vector<double> chebyshev_coefficients(int steps, double lower, double upper, double shift);

/// Horner's scheme on blocks of vectors: each power is a product added to a multiple of b that a pass has written; one
/// pass writes those of the first and of the last product.
template <value S>
struct polynomial_step {
  const spmm_plan<S>& a;
  const std::vector<double>& coefficients;  ///< of powers of a, at least one
  const kernels::launch_env& env;
  const run_options& options;  ///< of the products

  /// x = q(A) b or, with `more`, x = x + more + q(A) b. b, x and the two spare blocks share no element; `more` may be
  /// `other`.
  void run(const dense_view<S>& b, const dense_view<S>& x, std::optional<dense_view<const S>> more, dense_view<S> spare,
           dense_view<S> other) const;
};

}  // namespace bcsc::solvers
