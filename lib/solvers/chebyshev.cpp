#include "lib/solvers/chebyshev.hpp"

#include <cstddef>

namespace bcsc::solvers {

std::vector<double> chebyshev_coefficients(int steps, double lower, double upper, double shift) {
  const double middle = (upper + lower) / 2, radius = (upper - lower) / 2;
  const auto size = static_cast<std::size_t>(steps);
  // The iteration on polynomials in s = A - shift instead of vectors: x and the last change of it, for b = 1.
  std::vector<double> x(size, 0.0), change(size, 0.0);
  x[0] = change[0] = 1 / middle;
  double rho = radius / middle;
  for (int step = 1; step < steps; ++step) {
    const double next_rho = 1 / (2 * middle / radius - rho);
    std::vector<double> next(size);
    for (std::size_t j = 0; j < size; ++j) {
      const double product = (j > 0 ? x[j - 1] : 0) + shift * x[j];  // (s + shift) x
      next[j] = next_rho * rho * change[j] + 2 * next_rho / radius * ((j == 0 ? 1 : 0) - product);
    }
    change = next;
    for (std::size_t j = 0; j < size; ++j) x[j] += change[j];
    rho = next_rho;
  }
  return x;
}

}  // namespace bcsc::solvers
