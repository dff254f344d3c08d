#pragma once

#include <cstdint>
#include <vector>

#include "bcsc/amg.hpp"
#include "lib/solvers/amg_prolongator.hpp"
#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers::amg {

/// One level as the set-up leaves it, on the host.
struct level {
  setup_matrix a;
  std::vector<double> scale;      ///< [rows] D^-1/2, D the diagonal; 0 where that is 0 (a singular A on a coarse level)
  double largest_eigenvalue = 0;  ///< of D^-1 A, estimated by Lanczos' method
  setup_matrix prolongator;       ///< from the next level; of 0 columns on the last one
  setup_matrix restriction;       ///< its transpose
};

struct hierarchy {
  std::vector<level> levels;
  /// [rows][rows] of the last level's D^-1/2 A D^-1/2, row-major, symmetric to the last bit. Empty: that level is too
  /// large, and is smoothed instead.
  std::vector<double> coarse_inverse;
};

/// Smoothed aggregation for a symmetric positive (semi)definite A. Takes the vectors at the unknowns of A.
/// Throws error{invalid_argument} for a diagonal entry that is not positive or not finite, and where A cannot be
/// symmetric or positive definite; error{out_of_memory}.
hierarchy build(setup_matrix a, near_nullspace vectors, const amg_options& options);

}  // namespace bcsc::solvers::amg
