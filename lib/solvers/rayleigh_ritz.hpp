#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/solvers/small_dense.hpp"

namespace bcsc::solvers {

/// The inner products of a basis S of s vectors: the first m are the current eigenvectors X, the others directions.
struct basis_products {
  small_matrix a;  ///< [s x s] S'AS
  small_matrix b;  ///< [s x s] S'BS, near the identity but for rounding
};

/// What becomes of the basis: new eigenvectors S x, and directions S p that are B-orthonormal among themselves and to
/// them.
struct ritz_step {
  std::vector<double> values;  ///< [m] of the wanted end, the outermost first
  small_matrix x;              ///< [s x m]
  small_matrix p;              ///< [s x at most active.size()]
};

/// Rayleigh-Ritz on the span of S: the m smallest, or largest, Ritz pairs; p is what the `active` ones among them owe
/// to the vectors behind X. Empty if S has fewer than m independent vectors. The products are finite. Source: Hetmaniuk
/// and Lehoucq 2006 for p; Duersch, Shao, Yang and Gu 2018.
std::optional<ritz_step> rayleigh_ritz(const basis_products& products, std::int64_t m, bool largest,
                                       std::span<const std::int64_t> active);

}  // namespace bcsc::solvers
