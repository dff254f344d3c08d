#pragma once

#include <span>
#include <vector>

#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

/// L L' = S A S + shift I on the lower triangle's pattern, S = diag(scale).
struct incomplete_cholesky {
  setup_matrix lower;            ///< L below its diagonal
  std::vector<double> diagonal;  ///< of L
  double shift = 0;              ///< that it took for all pivots to be positive
  std::int64_t num_levels = 0;   ///< of rows that are independent of each other
};

/// Without fill, of a symmetric A that S scales to a diagonal of 1. `shift` is tried first; where a pivot is not
/// positive it grows, twofold from 1e-3. Throws error{invalid_argument} if 1 is not enough.
/// Source: Meijerink and van der Vorst 1977; shifts: Manteuffel 1980; Lin and More 1999.
incomplete_cholesky factorise(const setup_matrix& a, std::span<const double> scale, double shift);

}  // namespace bcsc::solvers
