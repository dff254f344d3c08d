#pragma once

#include <cstdint>
#include <span>

#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

/// Estimates of the ends of a spectrum by a few steps: `largest` is a little too small, `smallest` may be far too
/// large.
struct spectrum {
  double smallest = 0, largest = 0;
};

/// Of S A S with S = diag(scale) and a symmetric A. At most `steps` steps from a random vector, without
/// reorthogonalisation, which the ends do not need. Source: Lanczos 1950; Sturm counts as in Golub and Van Loan, 8.4.
spectrum estimate_spectrum(const setup_matrix& a, std::span<const double> scale, int steps);

/// Throws error{invalid_argument} if x'Ay and y'Ax differ by more than rounding for random x and y, or are not finite:
/// two products instead of a transpose.
void require_symmetric(const setup_matrix& a);

}  // namespace bcsc::solvers
