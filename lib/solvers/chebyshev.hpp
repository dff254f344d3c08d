#pragma once

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

/// Horner's scheme on blocks of vectors: each power is a product to which a multiple of b is added, without a pass of
/// its own.
template <value S>
struct polynomial_step {
  const spmm_plan<S>& a;
  const std::vector<double>& coefficients;  ///< of powers of a, at least one
  const kernels::launch_env& env;
  const run_options& options;  ///< of the products

  /// x = q(A) b. The blocks share no element, here and below.
  void run(const dense_view<const S>& b, const dense_view<S>& x, const dense_view<S>& spare,
           const dense_view<S>& other) const;
  /// x += q(A) b - q(0) b. What is missing is coefficients[0] b.
  void add_powers(const dense_view<const S>& b, const dense_view<S>& x, const dense_view<S>& spare,
                  const dense_view<S>& other) const;

 private:
  struct factor {
    double by;
    dense_view<const S> block;
  };
  /// What A is multiplied by to give q(A) b - q(0) b, for a q with powers of A.
  factor last_factor(const dense_view<const S>& b, dense_view<S> spare, dense_view<S> other) const;
};

}  // namespace bcsc::solvers
