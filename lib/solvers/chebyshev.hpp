#pragma once

#include <vector>

namespace bcsc::solvers {

/// The polynomial q of degree `steps` - 1 for which x = q(A) b is what `steps` steps of the Chebyshev iteration make of
/// x = 0: over [lower, upper] it brings b - A x down as far as a polynomial can. Its coefficients of (A - shift)^j, the
/// lowest first, so that Horner's scheme needs one product a power. With shift = 0 they grow about fourfold a step
/// before they cancel, with the middle of the interval hardly.
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithm 12.1.
std::vector<double> chebyshev_coefficients(int steps, double lower, double upper, double shift);

}  // namespace bcsc::solvers
