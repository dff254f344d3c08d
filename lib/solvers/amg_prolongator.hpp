#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/solvers/amg_aggregates.hpp"
#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers::amg {

/// Vectors that A hardly changes, which a coarse level has to hold: row-major, one row for each unknown.
struct near_nullspace {
  std::int64_t num_vectors = 0;
  setup_array<double> values;  ///< [unknowns][num_vectors]
};

/// The step from the aggregates to the next level. An aggregate becomes a node, with an unknown for each vector that is
/// linearly independent on it: fewer where it is too small.
struct tentative {
  setup_matrix prolongator;            ///< orthonormal columns; rows of nodes without an aggregate are empty
  setup_array<std::int64_t> node_ptr;  ///< [aggregates + 1] the next level's unknowns
  near_nullspace vectors;              ///< on the next level: prolongator * vectors = those given
};

/// The vectors cut along the aggregates, each part orthonormalised by itself, in place.
/// Source: Vanek, Mandel and Brezina 1996, algorithm 3.
tentative cut_vectors(const aggregates& groups, const setup_array<std::int64_t>& node_ptr, near_nullspace vectors);

/// (I - omega D^-1 A) P, D^-1/2 = diag(scale).
setup_matrix smooth(const setup_matrix& a, std::span<const double> scale, double omega, const setup_matrix& p);

}  // namespace bcsc::solvers::amg
