#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"

namespace bcsc::generate {
namespace {

/// A grid whose points are coupled to their neighbours: along the axes only ("cross") or also over the corners ("box").
struct grid {
  std::int64_t nx, ny, nz;
  bool corners;

  std::int64_t num_entries() const {
    if (corners) return core::checked_product((3 * nx - 2) * (3 * ny - 2), 3 * nz - 2, "nnz");
    return nx * ny * nz + 2 * ((nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1));
  }

  /// visit(column, is_diagonal) for the point itself and its neighbours inside the grid, ascending; x fastest.
  template <class Visit>
  void for_neighbours(std::int64_t point, Visit visit) const {
    const std::int64_t x = point % nx, y = point / nx % ny, z = point / nx / ny;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const int distance = std::abs(dx) + std::abs(dy) + std::abs(dz);
          if (!corners && distance > 1) continue;
          if (x + dx < 0 || x + dx >= nx || y + dy < 0 || y + dy >= ny || z + dz < 0 || z + dz >= nz) continue;
          visit(point + (dz * ny + dy) * nx + dx, distance == 0);
        }
      }
    }
  }
};

}  // namespace

template <value T>
csr_matrix<T> stencil(int points, std::int64_t nx, std::int64_t ny, std::int64_t nz) {
  if (points != 5 && points != 9 && points != 7 && points != 27) {
    core::fail(errc::invalid_argument, "points = {}: must be 5 or 9 (2-D), 7 or 27 (3-D)", points);
  }
  require_at_least(nx, 1, "nx");
  require_at_least(ny, 1, "ny");
  require_at_least(nz, 1, "nz");
  if ((points == 5 || points == 9) && nz != 1) {
    core::fail(errc::invalid_argument, "nz = {}: must be 1 for the {} points of a plane", nz, points);
  }
  const std::int64_t rows = core::checked_product(core::checked_product(nx, ny, "rows"), nz, "rows");
  require_index_range(rows, "rows");
  const grid mesh{nx, ny, nz, points == 9 || points == 27};
  require_index_range(mesh.num_entries(), "nnz");

  const auto count = [&](std::int64_t row) {
    std::int64_t entries = 0;
    mesh.for_neighbours(row, [&](std::int64_t, bool) { ++entries; });
    return entries;
  };
  // Dirichlet borders: the neighbours outside are gone, their weight stays on the diagonal.
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    std::size_t entry = 0;
    mesh.for_neighbours(row, [&](std::int64_t column, bool is_diagonal) {
      columns[entry] = static_cast<std::int32_t>(column);
      values[entry] = is_diagonal ? static_cast<T>(points - 1) : T{-1};
      ++entry;
    });
  };
  return build_rows<T>(rows, rows, count, fill);
}

template csr_matrix<float> stencil<float>(int, std::int64_t, std::int64_t, std::int64_t);
template csr_matrix<double> stencil<double>(int, std::int64_t, std::int64_t, std::int64_t);

}  // namespace bcsc::generate
