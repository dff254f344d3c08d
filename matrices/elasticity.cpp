#include <array>
#include <cstdint>
#include <span>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/elasticity.hpp"

/// On unit cubes the 2x2x2 Gauss rule integrates the trilinear stiffness exactly, and the integrals are products of
/// one-dimensional ones: small fractions. They are summed here as integers over a common denominator and divided once,
/// so that the matrix is symmetric to the last bit and the same on every platform.
namespace bcsc::generate {
namespace {

/// Integrals along one axis between the hat functions of a node and of its neighbour `step` away, over all elements.
struct line_integrals {
  int mass;             ///< 6 * integral of N_p * N_q
  int stiffness;        ///< integral of N_p' * N_q'
  int slope_own;        ///< 2 * integral of N_p' * N_q
  int slope_neighbour;  ///< 2 * integral of N_p * N_q'
};

line_integrals integrate_line(std::int64_t position, std::int64_t num_elements, int step) {
  if (step != 0) return {1, -1, -step, step};
  const int before = position > 0 ? 1 : 0;  // the element on the node's left, if there is one
  const int after = position < num_elements ? 1 : 0;
  return {2 * (before + after), before + after, before - after, before - after};
}

/// Unknowns a and a + 3 of a node are displacements along the same axis.
constexpr std::size_t max_dof = 6;

/// K's block between two nodes, times 26 * 72 / 5. Lamé's constants for E = 1, nu = 0.3 are lambda = 3 * 5/26 and
/// mu = 2 * 5/26; K_ab = lambda * G_ij + mu * G_ji + [a = b] * bodies * mu * trace(G), with i and j the axes of a and
/// b, and G_ij the integral of d_i N_p * d_j N_q.
using integer_block = std::array<std::array<int, max_dof>, max_dof>;

integer_block stiffness_block(std::size_t dof, const std::array<line_integrals, 3>& axis) {
  std::array<std::array<int, 3>, 3> gradients{};  // 72 * G
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int k = 3 - i - j;  // the third axis, where i != j
      gradients[i][j] = i == j ? 2 * axis[i].stiffness * axis[(i + 1) % 3].mass * axis[(i + 2) % 3].mass
                               : 3 * axis[i].slope_own * axis[j].slope_neighbour * axis[k].mass;
    }
  }
  const int trace = gradients[0][0] + gradients[1][1] + gradients[2][2];
  const int bodies = dof > 3 ? 2 : 1;
  integer_block block{};
  for (std::size_t a = 0; a < dof; ++a) {
    for (std::size_t b = 0; b < dof; ++b) {
      const std::size_t i = a % 3, j = b % 3;
      block[a][b] = 3 * gradients[i][j] + 2 * gradients[j][i] + (a == b ? 2 * bodies * trace : 0);
    }
  }
  return block;
}

/// The free nodes: x = 1 .. nx (x = 0 is clamped), y = 0 .. ny, z = 0 .. nz, z fastest.
struct beam {
  std::int64_t nx, ny, nz;

  std::array<std::int64_t, 3> position(std::int64_t node) const {
    return {node / ((nz + 1) * (ny + 1)) + 1, node / (nz + 1) % (ny + 1), node % (nz + 1)};
  }
  std::int64_t node(const std::array<std::int64_t, 3>& at) const {
    return ((at[0] - 1) * (ny + 1) + at[1]) * (nz + 1) + at[2];
  }
  std::array<std::int64_t, 3> num_elements() const { return {nx, ny, nz}; }
  bool is_free(const std::array<std::int64_t, 3>& at) const {
    return at[0] >= 1 && at[0] <= nx && at[1] >= 0 && at[1] <= ny && at[2] >= 0 && at[2] <= nz;
  }

  /// visit(neighbour's position, step) for the free nodes that share an element with `at`, including `at`, ascending.
  template <class Visit>
  void for_neighbours(const std::array<std::int64_t, 3>& at, Visit visit) const {
    for (int dx = -1; dx <= 1; ++dx) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dz = -1; dz <= 1; ++dz) {
          const std::array<std::int64_t, 3> neighbour{at[0] + dx, at[1] + dy, at[2] + dz};
          if (is_free(neighbour)) visit(neighbour, std::array<int, 3>{dx, dy, dz});
        }
      }
    }
  }
};

void require_representable(std::int64_t nx, std::int64_t ny, std::int64_t nz, int dof) {
  require_at_least(nx, 1, "nx");
  require_at_least(ny, 1, "ny");
  require_at_least(nz, 1, "nz");
  if (dof < 1 || dof > static_cast<int>(max_dof)) {
    core::fail(errc::invalid_argument, "dof = {}: must lie between 1 and {}", dof, max_dof);
  }
  require_index_range(nx, "nx");
  require_index_range(ny, "ny");
  require_index_range(nz, "nz");
  const auto product = [](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t factor, const char* what) {
    return core::checked_product(core::checked_product(core::checked_product(x, y, what), z, what), factor, what);
  };
  require_index_range(product(nx, ny + 1, nz + 1, dof, "rows"), "rows");
  require_index_range(product(3 * nx - 2, 3 * ny + 1, 3 * nz + 1, dof * dof, "nnz"), "nnz");
}

}  // namespace

template <value T>
csr_matrix<T> elasticity(std::int64_t nx, std::int64_t ny, std::int64_t nz, int dof) {
  require_representable(nx, ny, nz, dof);
  const beam mesh{nx, ny, nz};
  const std::int64_t rows = dof * nx * (ny + 1) * (nz + 1);

  const auto count = [&](std::int64_t row) {
    std::int64_t neighbours = 0;
    mesh.for_neighbours(mesh.position(row / dof), [&](const auto&, const auto&) { ++neighbours; });
    return dof * neighbours;
  };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    const auto at = mesh.position(row / dof);
    const auto unknown = static_cast<std::size_t>(row % dof);
    const auto elements = mesh.num_elements();
    std::size_t entry = 0;
    mesh.for_neighbours(at, [&](const auto& neighbour, const auto& step) {
      const integer_block block =
          stiffness_block(static_cast<std::size_t>(dof),
                          {integrate_line(at[0], elements[0], step[0]), integrate_line(at[1], elements[1], step[1]),
                           integrate_line(at[2], elements[2], step[2])});
      for (int b = 0; b < dof; ++b, ++entry) {
        columns[entry] = static_cast<std::int32_t>(dof * mesh.node(neighbour) + b);
        values[entry] = static_cast<T>(5 * block[unknown][static_cast<std::size_t>(b)]) / static_cast<T>(26 * 72);
      }
    });
  };
  return build_rows<T>(rows, rows, count, fill);
}

dense_matrix<double> elasticity_coordinates(std::int64_t nx, std::int64_t ny, std::int64_t nz) {
  require_representable(nx, ny, nz, 3);
  const beam mesh{nx, ny, nz};
  dense_matrix<double> points(nx * (ny + 1) * (nz + 1), 3);
  for (std::int64_t node = 0; node < points.rows(); ++node) {
    const auto at = mesh.position(node);
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      points(node, static_cast<std::int64_t>(axis)) = static_cast<double>(at[axis]);
    }
  }
  return points;
}

template csr_matrix<float> elasticity<float>(std::int64_t, std::int64_t, std::int64_t, int);
template csr_matrix<double> elasticity<double>(std::int64_t, std::int64_t, std::int64_t, int);

}  // namespace bcsc::generate
