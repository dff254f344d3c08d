#pragma once

#include <algorithm>
#include <cstdint>

#include "bcsc/formats.hpp"

/// Grids: matrices of stencils on nodes that are numbered line by line and plane by plane, recognised by their
/// diagonals. Rows of neighbouring nodes read the same rows of B, but only those of one line lie beside each other; in
/// bricks all of them do.
namespace bcsc::converters {

/// Row i + x * (j + y * k) is that of node (i, j, k). Rows beyond the last whole plane (or line, if flat) belong to no
/// brick.
struct grid {
  std::int64_t x = 0, y = 0, z = 0;  ///< nodes along the axes: all 0 if there is no grid; z = 1: it is flat

  constexpr bool exists() const { return x > 0; }
  constexpr bool is_flat() const { return z == 1; }
  constexpr std::int64_t rows() const { return x * y * z; }
  friend bool operator==(const grid&, const grid&) = default;
};

/// The nodes of a brick along x, y and z.
struct brick_shape {
  std::int64_t x = 0, y = 0, z = 0;
  constexpr std::int64_t rows() const { return x * y * z; }
  friend bool operator==(const brick_shape&, const brick_shape&) = default;
};
/// The usual one: 64 nodes, about the rows of a thread block.
constexpr brick_shape brick_of(const grid& g) { return g.is_flat() ? brick_shape{8, 8, 1} : brick_shape{4, 4, 4}; }
/// `shape`, or the usual one where it is {}.
constexpr brick_shape brick_of(const grid& g, const brick_shape& shape) {
  return shape == brick_shape{} ? brick_of(g) : shape;
}

/// Throws error{invalid_argument} unless it is {} or has nodes.
void check_brick_shape(const brick_shape& shape);

/// The row at a place of the order in bricks of b's nodes: brick by brick along x, then y, then z, and so inside each
/// brick; the rows beyond g.rows() come last, as they are. A permutation of any number of rows from g.rows() on.
constexpr std::int64_t row_in_bricks(const grid& g, const brick_shape& b, std::int64_t place) {
  if (place >= g.rows()) return place;
  // Bricks at the sides are cut off: layers of them, rows of bricks in a layer, bricks in a row, nodes in a brick.
  const std::int64_t k0 = place / (g.x * g.y * b.z) * b.z, depth = std::min(b.z, g.z - k0);
  place -= k0 * g.x * g.y;
  const std::int64_t j0 = place / (g.x * depth * b.y) * b.y, height = std::min(b.y, g.y - j0);
  place -= j0 * g.x * depth;
  const std::int64_t i0 = place / (depth * height * b.x) * b.x, width = std::min(b.x, g.x - i0);
  place -= i0 * depth * height;
  const std::int64_t k = place / (width * height), j = place / width % height, i = place % width;
  return i0 + i + g.x * (j0 + j + g.y * (k0 + k));
}
constexpr std::int64_t row_in_bricks(const grid& g, std::int64_t place) { return row_in_bricks(g, brick_of(g), place); }

/// Judged by 128 rows at each of four places of A, on the host or on the device (where it waits for eight small
/// copies): nine tenths of the entries lie on diagonals that at least a quarter of these rows have, and the diagonals
/// are those of the nearest neighbours on lines and planes. Any order of the rows is correct, so a matrix that is a
/// grid at these places alone does no harm.
template <index I>
grid find_grid(const csr_view<pattern, I>& a);

}  // namespace bcsc::converters
