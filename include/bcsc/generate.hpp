#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Generated matrices, seeded and equal on every platform.
/// Throw error{invalid_argument | size_overflow} that name the parameter and its value.
namespace bcsc::generate {

/// 3-D linear elasticity on a beam of nx x ny x nz hexahedral (8-node, 2x2x2 Gauss) unit cubes, 3 unknowns per node,
/// clamped on the face x = 0 (its nodes are eliminated), Young's modulus 1, Poisson's ratio 0.3. SPD.
/// Rows: 3 * nx * (ny+1) * (nz+1). Stored as finite-element codes do: the 3x3 block of two nodes that share an element
/// is whole, also where the cube's symmetry makes an entry 0: 9 * (3nx-2) * (3ny+1) * (3nz+1) entries. Symmetric to the
/// last bit. All parameters >= 1.
/// dof = 1 .. 6 unknowns per node, in dense dof x dof blocks (then dof * nx * ... rows and dof^2 * (3nx-2) * ...
/// entries): with 1 and 2 the other displacements are held at 0; with more than 3 a second body fills the same space,
/// unknown a + 3 lying along the axis of unknown a: the strain energy is that of the sum of both displacements, and
/// each body resists by itself, so that the matrix stays SPD.
template <value T>
BCSC_EXPORT csr_matrix<T> elasticity(std::int64_t nx, std::int64_t ny, std::int64_t nz, int dof = 3);

/// Finite differences of -Laplace with Dirichlet borders on a grid, points = 5 or 9 (2-D, nz = 1), 7 or 27 (3-D). SPD.
/// Scaled to points - 1 on the diagonal and -1 beside it. All sizes >= 1; x runs fastest.
template <value T>
BCSC_EXPORT csr_matrix<T> stencil(int points, std::int64_t nx, std::int64_t ny, std::int64_t nz = 1);

/// Every entry with |i - j| <= half_width, uniform in [-1, 1), the diagonal made dominant (SPD): 1 + the sum of the
/// row's other magnitudes. Both parameters >= 0; half_width may exceed the matrix.
template <value T>
BCSC_EXPORT csr_matrix<T> banded(std::int64_t rows, std::int64_t half_width, std::uint64_t seed);

/// Each entry kept with probability 1 - sparsity, values uniform in ±[0.5, 1.5): a pruned network layer.
/// rows, cols >= 0, sparsity in [0, 1]. O(nnz): the gaps between entries are drawn, not the entries.
template <value T>
BCSC_EXPORT csr_matrix<T> uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed);

/// Recursive graph of 2^scale vertices and degree * 2^scale edges before duplicates are summed, probabilities (a, b, c,
/// 1-a-b-c) as in Graph500 (0.57, 0.19, 0.19). Each edge has its own weight in ±[0.5, 1.5); vertices are not shuffled.
/// 0 <= scale <= 30, degree >= 0.
template <value T>
BCSC_EXPORT csr_matrix<T> rmat(int scale, int degree, std::uint64_t seed, double a = 0.57, double b = 0.19,
                               double c = 0.19);

/// N:M structured sparsity: of every m consecutive columns of a row exactly n are kept, each choice equally likely (2:4
/// is what sparse tensor cores take); a shorter last group keeps as many as it has, at most n. Values uniform in ±[0.5,
/// 1.5). rows, cols >= 0, m >= 1, 0 <= n <= m.
template <value T>
BCSC_EXPORT csr_matrix<T> nm(std::int64_t rows, std::int64_t cols, std::int64_t n, std::int64_t m, std::uint64_t seed);

/// Exactly nnz entries at places drawn uniformly, values uniform in ±[0.5, 1.5): most rows are empty if nnz is far
/// below `rows`. O(nnz log nnz) time and O(nnz) memory apart from row_ptr. 0 <= nnz <= half of rows * cols.
template <value T>
BCSC_EXPORT csr_matrix<T> hypersparse(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::uint64_t seed);

/// Short rows, and a few rows and columns that link them all, as in a linear programme: rows of 1 to 2 degree - 1
/// entries (as many as there are columns at most), each number equally likely, and linking_rows rows of linking_degree,
/// evenly spread. The last linking_cols columns are linking ones: every other short row, drawn at random, has one more
/// entry in one of them. Each of the others lies in its own share of the columns; values uniform in ±[0.5, 1.5). rows,
/// cols >= 0, degree >= 1, 0 <= linking_rows <= rows, 0 <= linking_degree, linking_cols <= cols.
template <value T>
BCSC_EXPORT csr_matrix<T> linking(std::int64_t rows, std::int64_t cols, std::int64_t degree, std::int64_t linking_rows,
                                  std::int64_t linking_degree, std::uint64_t seed, std::int64_t linking_cols = 0);

/// Symmetric positive definite with a known condition number: in fp64 the smallest eigenvalue is exactly 1 and the
/// largest exactly `condition`, rounded to a multiple of 2^-10; the others fill the octaves between evenly. At most 22
/// entries per row, scattered; entries that happen to be 0 are stored. A diagonal matrix turned by three rounds of
/// Givens rotations by 45 degrees between random pairs, in integers. In fp32 each entry is rounded once, which loses
/// conditions near 10^6 and beyond. rows >= 1 (the last of an odd number stands alone), condition in [1, 2^40].
template <value T>
BCSC_EXPORT csr_matrix<T> spd(std::int64_t rows, double condition, std::uint64_t seed);

/// Nodes of `least` to `most` unknowns each (the last one may have fewer), every node coupled with itself and with some
/// others: `degree` drawn for each, in both directions. Coupled nodes have a dense block; the values are uniform in
/// [-1, 1), symmetric, the diagonal dominant (SPD) as in banded(). This makes row blocks of equal column sets, but of
/// unequal heights. rows, degree >= 0, 1 <= least <= most.
template <value T>
BCSC_EXPORT csr_matrix<T> blocks(std::int64_t rows, std::int64_t least, std::int64_t most, std::int64_t degree,
                                 std::uint64_t seed);

/// A matrix by its specification: "elasticity:30,30,30", "stencil7:80,80,80", "banded:20000,20,seed=1",
/// "uniform:2048,2048,0.9,seed=1", "rmat:17,16,seed=1", "nm:4096,4096,2,4", "hypersparse:1000000,1000000,5000",
/// "spd:10000,1e6", "blocks:10000,2,9,3"; or by its name in the catalogue. The seed is 1 if not given; rmat takes a=,
/// b=, c= too, elasticity dof=. Throws error{invalid_argument} that lists the forms.
template <value T>
BCSC_EXPORT csr_matrix<T> from_specification(std::string_view specification);

/// nodes x 3, row-major: where the nodes of an elasticity matrix with 3 unknowns each are, in the order of its rows,
/// for rigid_body_modes(). 0 x 3 for any other specification, valid or not.
dense_matrix<double> node_coordinates(std::string_view specification);

/// What from_specification takes, e.g. "banded:rows,half_width[,seed=]": one for each family.
std::vector<std::string> forms();

/// A named matrix of the catalogue.
struct catalogue_entry {
  std::string name;           ///< e.g. "elasticity-30"
  std::string specification;  ///< for from_specification
  std::string kind;  ///< "fem", "stencil", "band", "network", "graph", "hypersparse", "programme", "spectrum", "blocks"
};
const std::vector<catalogue_entry>& catalogue();

}  // namespace bcsc::generate
#pragma GCC visibility pop
