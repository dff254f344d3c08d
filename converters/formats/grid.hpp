#pragma once

#include <cstdint>
#include <vector>

#include "bcsc/formats.hpp"

/// Grids: matrices of stencils on nodes that are numbered line by line and plane by plane, recognised by their
/// diagonals. Rows of neighbouring nodes read the same rows of B, but only those of one line lie beside each other; in
/// bricks all of them do.
namespace bcsc::converters {

/// Row i + x * (j + y * k) is that of node (i, j, k). Rows beyond the last whole plane (or line, if flat) belong to no
/// brick.
struct grid {
  std::int64_t x = 0, y = 0, z = 0;  ///< nodes along the axes: all 0 if there is no grid; z = 1: it is flat

  bool exists() const { return x > 0; }
  constexpr bool is_flat() const { return z == 1; }
  std::int64_t rows() const { return x * y * z; }
  friend bool operator==(const grid&, const grid&) = default;
};

/// A brick has this many nodes along x, y and z: 64 in all, about the rows of a thread block.
struct brick_shape {
  std::int64_t x, y, z;
  constexpr std::int64_t rows() const { return x * y * z; }
};
constexpr brick_shape brick_of(const grid& g) { return g.is_flat() ? brick_shape{8, 8, 1} : brick_shape{4, 4, 4}; }

/// Judged by some rows at four places of A, on the host or on the device (where it waits for eight small copies): a
/// grid if most entries lie on diagonals that most rows have, and these are those of the nearest neighbours on lines
/// and planes. Any order of the rows is correct, so a matrix that is a grid at these places alone does no harm.
template <element T, index I>
grid find_grid(const csr_view<T, I>& a);

/// order[new row] = old row, for all `rows` of A: brick by brick along x, then y, then z, and so inside each brick; the
/// rows beyond g.rows() come last, as they are.
std::vector<std::int64_t> order_in_bricks(const grid& g, std::int64_t rows);

}  // namespace bcsc::converters
