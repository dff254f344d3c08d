#pragma once

#include <cstdint>
#include <vector>

namespace bcsc::solvers {

/// A generalised inverse of a small dense matrix.
struct dense_inverse {
  std::vector<double> entries;  ///< [n][n], row-major, symmetric to the last bit
  double min_pivot = 1;         ///< of the factorisation, relative to the diagonal entry; negative: indefinite
  std::int64_t rank = 0;
};

/// Of a symmetric positive (semi)definite n x n matrix, row-major, of which the upper triangle is read, by Cholesky's
/// method without pivoting. Rows that depend on those before them get zeros, and count in `rank` no more.
dense_inverse invert(std::vector<double> a, std::int64_t n);

}  // namespace bcsc::solvers
