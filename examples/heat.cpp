// A plate cools, its edges held at 0: (I + dt/h^2 L) u_new = u in implicit steps, which may be as long as accuracy
// allows. A longer step only changes values, so the plan is updated and the preconditioner stays.
//   heat [POINTS [PICTURE.svg]]    (inner grid points along an edge)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bcsc/bcsc.hpp"
#include "bcsc/matrices.hpp"

namespace {

/// Two hot bodies in column 0; in column 1 the plate's slowest mode, whose decay is known.
bcsc::dense_matrix<double> start(std::int64_t points) {
  bcsc::dense_matrix<double> u(points * points, 2);
  const double h = 1.0 / static_cast<double>(points + 1), pi = std::acos(-1.0);
  for (std::int64_t row = 0; row < points; ++row) {
    for (std::int64_t column = 0; column < points; ++column) {
      const double x = h * static_cast<double>(column + 1), y = h * static_cast<double>(row + 1);
      const bool is_disc = std::hypot(x - 0.3, y - 0.35) < 0.15;
      const bool is_bar = std::abs(x - 0.7) < 0.06 && std::abs(y - 0.6) < 0.28;
      u(row * points + column, 0) = is_disc || is_bar ? 1.0 : 0.0;
      u(row * points + column, 1) = std::sin(pi * x) * std::sin(pi * y);
    }
  }
  return u;
}

/// I + dt/h^2 L, where `laplacian` is L.
bcsc::csr_matrix<double> step_matrix(const bcsc::csr_matrix<double>& laplacian, std::int64_t points, double dt) {
  const double scale = dt * static_cast<double>((points + 1) * (points + 1));
  bcsc::csr_matrix<double> a = laplacian;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (auto at = static_cast<std::size_t>(a.row_ptr()[i]); at < static_cast<std::size_t>(a.row_ptr()[i + 1]); ++at) {
      a.values()[at] = (a.col_ind()[at] == i ? 1.0 : 0.0) + scale * laplacian.values()[at];
    }
  }
  return a;
}

/// Black, through red and yellow, to white.
std::string colour_of(double heat) {
  const double level = 3 * std::clamp(heat, 0.0, 1.0);
  std::array<int, 3> rgb{};
  for (int channel = 0; channel < 3; ++channel) {
    rgb[static_cast<std::size_t>(channel)] = static_cast<int>(255 * std::clamp(level - channel, 0.0, 1.0));
  }
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  return text;
}

/// The plate at several times, side by side, each in colours from 0 to its own hottest point.
class film {
 public:
  film(std::int64_t points, std::size_t num_pictures) : points_(points), num_pictures_(num_pictures) {}

  void add(const bcsc::dense_matrix<double>& u, double time) {
    double hottest = 0;
    for (std::int64_t i = 0; i < u.rows(); ++i) hottest = std::max(hottest, u(i, 0));
    const double cell = size / static_cast<double>(cells());
    for (std::int64_t row = 0; row < cells(); ++row) {
      for (std::int64_t column = 0; column < cells(); ++column) {
        const auto point = [&](std::int64_t of) { return (2 * of + 1) * points_ / (2 * cells()); };
        const double heat = u(point(row) * points_ + point(column), 0);
        shapes_ += rectangle(left() + cell * static_cast<double>(column), cell * static_cast<double>(row), cell * 1.05,
                             colour_of(heat / hottest));
      }
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "<text x='%g' y='%g' font-family='sans-serif' font-size='14'>t = %.4f, up to %.3f</text>\n", left(),
                  size + 20, time, hottest);
    shapes_ += text;
    ++num_added_;
  }

  void write(const std::string& path) const {
    const double width = (size + gap) * static_cast<double>(num_pictures_) - gap, height = size + 30;
    std::ofstream svg(path);
    svg << "<svg xmlns='http://www.w3.org/2000/svg' width='" << width << "' height='" << height << "' viewBox='0 0 "
        << width << ' ' << height << "' shape-rendering='crispEdges'><rect width='100%' height='100%' fill='white'/>\n"
        << shapes_ << "</svg>\n";
  }

 private:
  static constexpr double size = 220, gap = 12;
  std::int64_t cells() const { return std::min<std::int64_t>(points_, 48); }
  double left() const { return (size + gap) * static_cast<double>(num_added_); }
  static std::string rectangle(double x, double y, double edge, const std::string& colour) {
    char text[120];
    std::snprintf(text, sizeof text, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='%s'/>\n", x, y, edge,
                  edge, colour.c_str());
    return text;
  }

  std::int64_t points_;
  std::size_t num_pictures_, num_added_ = 0;
  std::string shapes_;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t points = argc > 1 ? std::max(8, std::atoi(argv[1])) : 256;
  const std::string picture = argc > 2 ? argv[2] : "heat.svg";
  const std::array steps_of{1e-4, 4e-4, 1.6e-3};  // the smoother the plate, the longer
  constexpr int steps_each = 8;

  const auto ctx = bcsc::context::best();
  const bcsc::csr_matrix<double> laplacian = bcsc::generate::stencil<double>(5, points, points);
  bcsc::spmm_plan plan(ctx, step_matrix(laplacian, points, steps_of[0]), {.cols = 2});
  const bcsc::linear_operator<double> a(plan);  // follows the plan's values
  // Made once, for the step between: a preconditioner need not know the values exactly.
  const bcsc::amg_preconditioner<double> precondition(ctx, step_matrix(laplacian, points, steps_of[1]), {.cols = 2});
  std::printf("%lld unknowns, on %s\n", static_cast<long long>(points * points), ctx.describe().c_str());

  bcsc::dense_matrix<double> u = start(points), next = u;
  film pictures(points, 1 + steps_of.size());
  pictures.add(u, 0);
  // The mode is an eigenvector of L: a step divides it by 1 + dt lambda.
  const std::int64_t centre = points / 2 * points + points / 2;
  const double h = 1.0 / static_cast<double>(points + 1), sine = std::sin(std::acos(-1.0) * h / 2);
  const double lambda = 8 * sine * sine / (h * h);
  double time = 0, expected = u(centre, 1), largest_error = 0, began_at = 1;
  for (const double dt : steps_of) {
    const bcsc::csr_matrix<double> longer = step_matrix(laplacian, points, dt);
    plan.update_values(longer.view());
    std::int64_t iterations = 0;
    double seconds = 0;
    for (int step = 0; step < steps_each; ++step) {
      const bcsc::cg_result result =
          bcsc::solve_cg(a, precondition, u.view(), next.view(), {.tolerance = 1e-10, .use_initial_guess = true});
      if (result.reason != bcsc::cg_stop::converged) {
        std::fprintf(stderr, "%s\n", bcsc::to_string(result.reason).data());
        return 1;
      }
      u = next;                           // and `next` is the first guess of the next step
      began_at = result.history.front();  // relative; from 0 it would be 1
      iterations += result.iterations;
      seconds += result.seconds;
      time += dt;
      expected /= 1 + dt * lambda;
      largest_error = std::max(largest_error, std::abs(u(centre, 1) / expected - 1));
    }
    std::printf("  to t = %.4f: %d steps of %g, %.1f iterations each, %.3f s\n", time, steps_each, dt,
                static_cast<double>(iterations) / steps_each, seconds);
    pictures.add(u, time);
  }
  pictures.write(picture);
  std::printf("the last step's first guess: residual %.1e\npicture: %s\nthe slowest mode's error: %.1e\n", began_at,
              picture.c_str(), largest_error);
  return largest_error < 1e-7 && began_at < 0.5 ? 0 : 1;
} catch (const bcsc::error& e) {
  std::fprintf(stderr, "%s: %s\n", bcsc::to_string(e.code()).data(), e.what());
  return 1;
}
