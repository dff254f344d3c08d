#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/formats.hpp"

/// Matrices made on the spot, seeded and equal on every platform.
/// Throw error{invalid_argument | size_overflow} that name the parameter and its value.
namespace bcsc::generate {

/// 3-D linear elasticity on a beam of nx x ny x nz hexahedral (8-node, 2x2x2 Gauss) unit cubes, 3 unknowns a node,
/// clamped on the face x = 0 (its nodes are eliminated), Young's modulus 1, Poisson's ratio 0.3. SPD.
/// Rows: 3 * nx * (ny+1) * (nz+1). Stored as finite-element codes do: the 3x3 block of two nodes that share an element
/// is whole, also where the cube's symmetry makes an entry 0: 9 * (3nx-2) * (3ny+1) * (3nz+1) entries. Symmetric to the
/// last bit. All parameters >= 1.
template <value T>
csr_matrix<T> elasticity(std::int64_t nx, std::int64_t ny, std::int64_t nz);

/// Finite differences of -Laplace with Dirichlet borders on a grid, points = 5 or 9 (2-D, nz = 1), 7 or 27 (3-D). SPD.
/// Scaled to points - 1 on the diagonal and -1 beside it. All sizes >= 1; x runs fastest.
template <value T>
csr_matrix<T> stencil(int points, std::int64_t nx, std::int64_t ny, std::int64_t nz = 1);

/// Every entry with |i - j| <= half_width, uniform in [-1, 1), the diagonal made dominant (SPD): 1 + the sum of the
/// row's other magnitudes. Both parameters >= 0; half_width may exceed the matrix.
template <value T>
csr_matrix<T> banded(std::int64_t rows, std::int64_t half_width, std::uint64_t seed);

/// Each entry kept with probability 1 - sparsity, values uniform in ±[0.5, 1.5): a pruned network layer.
/// rows, cols >= 0, sparsity in [0, 1]. O(nnz): the gaps between entries are drawn, not the entries.
template <value T>
csr_matrix<T> uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed);

/// Recursive graph of 2^scale vertices and degree * 2^scale edges before duplicates are summed, probabilities
/// (a, b, c, 1-a-b-c) as in Graph500 (0.57, 0.19, 0.19). An edge weighs ±[0.5, 1.5), each its own; vertices are not
/// shuffled. 0 <= scale <= 30, degree >= 0.
template <value T>
csr_matrix<T> rmat(int scale, int degree, std::uint64_t seed, double a = 0.57, double b = 0.19, double c = 0.19);

/// A matrix by its specification: "elasticity:30,30,30", "stencil7:80,80,80", "banded:20000,20,seed=1",
/// "uniform:2048,2048,0.9,seed=1", "rmat:17,16,seed=1"; or by its name in the catalogue. The seed is 1 if not given;
/// rmat takes a=, b=, c= too. Throws error{invalid_argument} that lists the forms.
template <value T>
csr_matrix<T> from_specification(std::string_view specification);

/// A named matrix of the catalogue.
struct catalogue_entry {
  std::string name;           ///< e.g. "elasticity-30"
  std::string specification;  ///< for from_specification
  std::string kind;           ///< "fem", "stencil", "band", "network", "graph"
};
const std::vector<catalogue_entry>& catalogue();

}  // namespace bcsc::generate
