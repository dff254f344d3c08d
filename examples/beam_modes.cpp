// How a clamped elastic beam vibrates: K x = omega^2 M x with the stiffness matrix of hexahedral elements and a lumped
// mass matrix, by LOBPCG with smoothed aggregation that knows the rigid body motions.
//   beam_modes [LENGTH [WIDTH [PICTURE.svg]]]    (in elements)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

namespace {

/// The nodes of generate::elasticity(length, width, width): those at x = 0 are clamped and have no number.
struct beam {
  int length, width;
  std::int64_t node(int x, int y, int z) const { return ((x - 1) * (width + 1) + y) * (width + 1) + z; }
  std::int64_t num_nodes() const { return static_cast<std::int64_t>(length) * (width + 1) * (width + 1); }

  /// visit(x, y, z) for the free nodes, in their order.
  template <class Visit>
  void for_nodes(const Visit& visit) const {
    for (int x = 1; x <= length; ++x) {
      for (int y = 0; y <= width; ++y) {
        for (int z = 0; z <= width; ++z) visit(x, y, z);
      }
    }
  }
};

/// Density 1: each element gives an eighth of its mass to each of its nodes.
bcsc::csr_matrix<double> lumped_mass(const beam& of) {
  std::vector<double> values;
  of.for_nodes([&](int x, int y, int z) {
    double mass = x == of.length ? 0.5 : 1.0;
    for (const int side : {y, z}) mass *= side == 0 || side == of.width ? 0.5 : 1.0;
    values.insert(values.end(), 3, mass);
  });
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  for (std::size_t i = 0; i < values.size(); ++i) {
    col_ind.push_back(static_cast<std::int32_t>(i));
    row_ptr.push_back(static_cast<std::int32_t>(i + 1));
  }
  const auto rows = static_cast<std::int64_t>(values.size());
  return {rows, rows, std::move(row_ptr), std::move(col_ind), std::move(values)};
}

bcsc::dense_matrix<double> coordinates(const beam& of) {
  std::vector<double> all;
  of.for_nodes([&](int x, int y, int z) { all.insert(all.end(), {double(x), double(y), double(z)}); });
  return {of.num_nodes(), 3, bcsc::layout::row_major, std::move(all)};
}

/// The edges of each mode's beam and its sections, displaced, before the beam at rest.
void draw(const beam& of, const bcsc::dense_matrix<double>& modes, const std::vector<double>& frequencies,
          const std::string& path) {
  const double length = of.length, step = 0.45 * length, width = 1.9 * length;
  const double height = step * static_cast<double>(modes.cols());
  std::ofstream svg(path);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' width='700' height='" << 700 * height / width << "' viewBox='"
      << -0.1 * length << " 0 " << width << ' ' << height << "'><rect x='" << -0.1 * length
      << "' width='100%' height='100%' fill='white'/>\n";
  for (std::int64_t mode = 0; mode < modes.cols(); ++mode) {
    double largest = 0;
    for (std::int64_t i = 0; i < modes.rows(); ++i) largest = std::max(largest, std::abs(modes(i, mode)));
    // x to the right, z upwards, y into the picture.
    const auto line = [&](const std::vector<std::array<int, 3>>& nodes, bool is_moved) {
      svg << "<polyline fill='none' stroke='" << (is_moved ? "#1f5fa8" : "#c8c8c8") << "' stroke-width='"
          << 0.002 * length << "' points='";
      for (const auto& [x, y, z] : nodes) {
        std::array<double, 3> at{double(x), double(y), double(z)};
        for (std::size_t axis = 0; axis < 3 && x > 0 && is_moved; ++axis) {
          const std::int64_t unknown = 3 * of.node(x, y, z) + static_cast<std::int64_t>(axis);
          at[axis] += 0.12 * length * modes(unknown, mode) / largest;
        }
        svg << at[0] + 0.6 * at[1] << ',' << step * (static_cast<double>(mode) + 0.6) - at[2] - 0.35 * at[1] << ' ';
      }
      svg << "'/>\n";
    };
    const int far = of.width;
    for (const bool is_moved : {false, true}) {
      for (int x = 0; x <= of.length; ++x) {
        line({{x, 0, 0}, {x, far, 0}, {x, far, far}, {x, 0, far}, {x, 0, 0}}, is_moved);
      }
      for (const auto& [y, z] : {std::pair(0, 0), {0, far}, {far, 0}, {far, far}}) {
        std::vector<std::array<int, 3>> nodes;
        for (int x = 0; x <= of.length; ++x) nodes.push_back({x, y, z});
        line(nodes, is_moved);
      }
    }
    char text[64];
    std::snprintf(text, sizeof text, "mode %d, omega %.4g", static_cast<int>(mode) + 1,
                  frequencies[static_cast<std::size_t>(mode)]);
    svg << "<text x='" << 1.22 * length << "' y='" << step * (static_cast<double>(mode) + 0.55)
        << "' font-family='sans-serif' font-size='" << 0.045 * length << "'>" << text << "</text>\n";
  }
  svg << "</svg>\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const beam of{argc > 1 ? std::max(4, std::atoi(argv[1])) : 32, argc > 2 ? std::max(1, std::atoi(argv[2])) : 4};
  const std::string picture = argc > 3 ? argv[3] : "beam_modes.svg";
  const std::int64_t num_modes = 6;
  const bcsc::csr_matrix<double> stiffness = bcsc::generate::elasticity<double>(of.length, of.width, of.width);
  const bcsc::csr_matrix<double> mass = lumped_mass(of);

  const auto ctx = bcsc::context::best();
  const bcsc::dense_matrix<double> rigid = bcsc::rigid_body_modes(coordinates(of));
  bcsc::lobpcg_options<double> options;
  options.b = bcsc::linear_operator<double>(bcsc::spmm_plan(ctx, mass, {.cols = 8}));
  options.precondition =
      bcsc::amg_preconditioner<double>(ctx, stiffness, {.block = 3, .near_nullspace = rigid.view(), .cols = 8})
          .as_operator();
  options.scale = bcsc::residual_scale::eigenvalue;  // the frequencies are small beside those of a single element
  options.tolerance = 1e-6;
  bcsc::dense_matrix<double> modes(stiffness.rows(), num_modes);
  const bcsc::lobpcg_result result = bcsc::solve_lobpcg(ctx, stiffness, modes, options);

  std::printf("%lld unknowns, on %s\n", static_cast<long long>(stiffness.rows()), ctx.describe().c_str());
  std::printf("%s after %lld iterations, %.2f s\n", bcsc::to_string(result.reason).data(),
              static_cast<long long>(result.iterations), result.seconds);
  std::vector<double> frequencies;
  for (std::size_t j = 0; j < result.values.size(); ++j) {
    frequencies.push_back(std::sqrt(std::max(0.0, result.values[j])));
    std::printf("  mode %zu: omega %.6f, residual %.1e\n", j + 1, frequencies[j], result.residual[j]);
  }
  draw(of, modes, frequencies, picture);
  std::printf("picture: %s\n", picture.c_str());

  // A slender beam bends first, in either direction alike: omega = 1.875^2 sqrt(E I / (rho A L^4)) (Euler and
  // Bernoulli), with I / A = width^2 / 12. Few elements across are stiffer than that, a short beam shears as well.
  const double bending = 1.875 * 1.875 * of.width / (std::sqrt(12.0) * of.length * of.length);
  std::printf("a slender beam's first: %.6f\n", bending);
  const bool is_bending =
      std::abs(frequencies[0] / bending - 1) < 0.3 && std::abs(frequencies[1] / frequencies[0] - 1) < 1e-6;
  return result.reason == bcsc::lobpcg_stop::converged && is_bending ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return e.code() == bcsc::errc::unsupported ? 77 : 1;  // 77: skipped, for LAPACK is not here
}
