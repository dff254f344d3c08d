#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// What block iterations compute on k x k matrices: on the host, in double, k up to some hundreds.
namespace bcsc::solvers {

/// A small matrix, row-major: the coefficients of some vectors in others.
struct coefficients {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> at;

  coefficients() = default;
  coefficients(std::int64_t r, std::int64_t c) : rows(r), cols(c), at(static_cast<std::size_t>(r * c), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) { return at[static_cast<std::size_t>(i * cols + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return at[static_cast<std::size_t>(i * cols + j)]; }
};

/// A B.
coefficients operator*(const coefficients& a, const coefficients& b);
coefficients transposed(const coefficients& a);
coefficients identity(std::int64_t n);
bool all_finite(const coefficients& a);

/// G = D U' U D for a symmetric positive semidefinite G, D the square roots of its diagonal: rows of U in the order of
/// the pivots, the largest first, and none for what depends on the rows before. Source: Higham 1990.
struct pivoted_cholesky {
  /// Ends where the largest pivot is at most `threshold`, of at most 1: that is the square of the share of a vector
  /// which the vectors before it leave. A diagonal entry of G at most floors[i] (empty: 0) is no pivot.
  pivoted_cholesky(const coefficients& g, double threshold, std::span<const double> floors = {});

  std::int64_t rank() const { return static_cast<std::int64_t>(order.size()); }
  /// For W with W' W = G: [rank x n] so that W = Q factor() with Q' Q = I ...
  coefficients factor() const;
  /// ... and [n x rank] so that Q = W whitening().
  coefficients whitening() const;
  /// [n x n], the inverse of G on the pivots' rows and columns, 0 elsewhere.
  coefficients inverse() const;

  std::vector<std::int64_t> order;  ///< the pivots
  std::vector<double> scale;        ///< D; 0 for what was no pivot because of `floors`
  coefficients u;                   ///< [rank x n], columns as in G
  double least = 1;                 ///< the last pivot taken
  double rejected = 0;              ///< the least pivot that is left: clearly below 0 only if G is indefinite
};

/// An orthonormal basis of the columns of C, each of which counts by its direction alone: [rows x rank]. By modified
/// Gram-Schmidt, twice; columns that leave less than `threshold` of their length are dropped.
coefficients orthonormal_basis(const coefficients& c, double threshold);

}  // namespace bcsc::solvers
