// Cuts a mesh in two with few edges between the halves: by the sign of the Fiedler vector, the second eigenvector of
// the graph's Laplacian, which LOBPCG finds in the complement of the first, the constant vector.
//   spectral_partition [SIZE [PICTURE.svg]]
// Source: Fiedler 1973; Pothen, Simon and Liou 1990.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/bcsc.hpp"

namespace {

struct mesh {
  std::vector<std::pair<double, double>> points;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
};

/// Two rooms, one larger than the other, and a corridor between them, filled with triangles.
mesh two_rooms(int size) {
  const double r = size, width = 4.2 * r, height = 2 * r;
  const auto is_inside = [&](double x, double y) {
    const double left = std::hypot(x - r, y - r), right = std::hypot(x - 3.3 * r, y - r);
    return left <= r || right <= 0.85 * r || (x > r && x < 3.3 * r && std::abs(y - r) <= r / 6);
  };
  const int columns = static_cast<int>(width) + 1, rows = static_cast<int>(height) + 1;
  std::vector<std::int32_t> number(static_cast<std::size_t>(columns * rows), -1);
  const auto at = [&](int i, int j) -> std::int32_t& { return number[static_cast<std::size_t>(j * columns + i)]; };
  mesh m;
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      if (!is_inside(i, j)) continue;
      at(i, j) = static_cast<std::int32_t>(m.points.size());
      m.points.emplace_back(i + 0.25 * std::sin(12.9 * i + 78.2 * j), j + 0.25 * std::sin(39.3 * i + 11.1 * j));
      const auto join = [&](int di, int dj) {
        const int x = i + di, y = j + dj;
        if (x < 0 || y < 0 || x >= columns || at(x, y) < 0) return;
        m.edges.emplace_back(at(i, j), at(x, y));
      };
      join(-1, 0), join(0, -1), join(i % 2 == j % 2 ? -1 : 1, -1);
    }
  }
  return m;
}

/// The degree of each point on the diagonal, -1 for each edge.
bcsc::csr_matrix<double> laplacian(const mesh& m) {
  const std::size_t n = m.points.size();
  std::vector<std::vector<std::int32_t>> neighbours(n);
  for (const auto& [a, b] : m.edges) {
    neighbours[static_cast<std::size_t>(a)].push_back(b);
    neighbours[static_cast<std::size_t>(b)].push_back(a);
  }
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    auto& row = neighbours[i];
    const auto degree = static_cast<double>(row.size());
    row.push_back(static_cast<std::int32_t>(i));
    std::sort(row.begin(), row.end());
    for (const std::int32_t j : row) {
      col_ind.push_back(j);
      values.push_back(static_cast<std::size_t>(j) == i ? degree : -1.0);
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  const auto rows = static_cast<std::int64_t>(n);
  return {rows, rows, std::move(row_ptr), std::move(col_ind), std::move(values)};
}

void draw(const mesh& m, const bcsc::dense_matrix<double>& fiedler, const std::string& path) {
  double width = 0, height = 0, largest = 0;
  for (const auto& [x, y] : m.points) width = std::max(width, x), height = std::max(height, y);
  for (const double value : fiedler.values()) largest = std::max(largest, std::abs(value));
  std::ofstream svg(path);
  svg << "<svg xmlns='http://www.w3.org/2000/svg' width='900' height='" << 900 * (height + 3) / (width + 3)
      << "' viewBox='-1.5 -1.5 " << width + 3 << ' ' << height + 3
      << "'><rect x='-1.5' y='-1.5' width='100%' height='100%' fill='white'/>\n";
  for (const bool cut : {false, true}) {  // those that are cut come on top
    for (const auto& [a, b] : m.edges) {
      const double mean = (fiedler(a, 0) + fiedler(b, 0)) / 2;
      if ((fiedler(a, 0) < 0) == (fiedler(b, 0) < 0) ? cut : !cut) continue;
      const auto pale = static_cast<int>(200 * (1 - std::sqrt(std::abs(mean) / largest)));
      char colour[8];
      std::snprintf(colour, sizeof colour, "#%02x%02x%02x", mean < 0 ? pale : 220, mean < 0 ? 110 : pale / 2 + 70,
                    mean < 0 ? 200 : pale);
      const auto& [xa, ya] = m.points[static_cast<std::size_t>(a)];
      const auto& [xb, yb] = m.points[static_cast<std::size_t>(b)];
      svg << "<line x1='" << xa << "' y1='" << ya << "' x2='" << xb << "' y2='" << yb << "' stroke='"
          << (cut ? "black" : colour) << "' stroke-width='" << (cut ? 0.4 : 0.25) << "'/>\n";
    }
  }
  svg << "</svg>\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const int size = argc > 1 ? std::max(6, std::atoi(argv[1])) : 28;
  const std::string picture = argc > 2 ? argv[2] : "spectral_partition.svg";
  const mesh m = two_rooms(size);
  const bcsc::csr_matrix<double> a = laplacian(m);
  const std::int64_t n = a.rows();

  const auto ctx = bcsc::context::best();
  const bcsc::dense_matrix<double> constant(n, 1, bcsc::layout::row_major,
                                            std::vector<double>(static_cast<std::size_t>(n), 1.0));
  bcsc::lobpcg_options<double> options;
  options.constraints = constant.view();  // eigenvalue 0 is known
  options.precondition = bcsc::amg_preconditioner<double>(ctx, a, {.cols = 4}).as_operator();
  bcsc::dense_matrix<double> fiedler(n, 1);
  const bcsc::lobpcg_result result = bcsc::solve_lobpcg(ctx, a, fiedler, options);

  const auto is_cut = [&](const auto& edge) { return (fiedler(edge.first, 0) < 0) != (fiedler(edge.second, 0) < 0); };
  const auto cut = std::count_if(m.edges.begin(), m.edges.end(), is_cut);
  const auto left = std::count_if(fiedler.values().begin(), fiedler.values().end(), [](double v) { return v < 0; });
  std::printf("%lld points, %zu edges, on %s\n", static_cast<long long>(n), m.edges.size(), ctx.describe().c_str());
  std::printf("%s after %lld iterations: second eigenvalue %.6e, residual %.1e\n",
              bcsc::to_string(result.reason).data(), static_cast<long long>(result.iterations), result.values[0],
              result.residual[0]);
  std::printf("halves of %lld and %lld points, %lld edges cut\n", static_cast<long long>(left),
              static_cast<long long>(n - left), static_cast<long long>(cut));
  draw(m, fiedler, picture);
  std::printf("picture: %s\n", picture.c_str());

  // The corridor is size / 3 wide; each row of it has two edges or three across a line.
  const bool is_good = cut <= size + 3 && std::min(left, n - left) >= n * 3 / 10;
  return result.reason == bcsc::lobpcg_stop::converged && is_good ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return e.code() == bcsc::errc::unsupported ? 77 : 1;  // 77: skipped, for LAPACK is not here
}
