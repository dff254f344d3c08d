#include <algorithm>
#include <array>
#include <cmath>

#include "bcsc/amg.hpp"
#include "core/fail.hpp"
#include "lib/plan/run_checks.hpp"

namespace bcsc {

dense_matrix<double> rigid_body_modes(const dense_view<const double>& coordinates) {
  plan::check_view(coordinates, "coordinates");
  const std::int64_t nodes = coordinates.rows, dims = coordinates.cols;
  if (dims != 2 && dims != 3) {
    core::fail(errc::invalid_argument, "coordinates have {} columns: rigid bodies move in 2 or 3 dimensions", dims);
  }
  // About the middle and in units of the body's size, so that rotations are as long as translations.
  std::array<double, 3> middle{};
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t axis = 0; axis < dims; ++axis) {
      const double at = coordinates(node, axis);
      if (!std::isfinite(at)) {
        core::fail(errc::invalid_argument, "coordinates({}, {}) = {}: must be finite", node, axis, at);
      }
      middle[static_cast<std::size_t>(axis)] += at / static_cast<double>(nodes);
    }
  }
  double size = 0;
  const auto offset = [&](std::int64_t node, std::int64_t axis) {
    return coordinates(node, axis) - middle[static_cast<std::size_t>(axis)];
  };
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t axis = 0; axis < dims; ++axis) size = std::max(size, std::abs(offset(node, axis)));
  }
  if (size == 0) size = 1;

  dense_matrix<double> modes(nodes * dims, dims == 2 ? 3 : 6);
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t axis = 0; axis < dims; ++axis) modes(node * dims + axis, axis) = 1;
    // In each plane of two axes: the first goes against the second.
    std::int64_t mode = dims;
    for (std::int64_t first = 0; first < dims; ++first) {
      for (std::int64_t second = first + 1; second < dims; ++second, ++mode) {
        modes(node * dims + first, mode) = -offset(node, second) / size;
        modes(node * dims + second, mode) = offset(node, first) / size;
      }
    }
  }
  return modes;
}

}  // namespace bcsc
