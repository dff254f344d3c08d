#include "lib/solvers/chebyshev.hpp"

#include <cstddef>
#include <utility>

#include "core/context_state.hpp"
#include "lib/solvers/block_backend.hpp"

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

template <value S>
void polynomial_step<S>::run(const dense_view<S>& b, const dense_view<S>& x, bool adds, dense_view<S> spare,
                             dense_view<S> other) const {
  const context& ctx = a.where();
  const auto begin = [&](double coefficient, double beta, const dense_view<S>& sum) {
    core::check_launch(ctx.state(), block_operations_of<S>(ctx.kind()).axpby(env, coefficient, b, beta, sum), "axpby");
  };
  // The higher powers between the two spare blocks, the last step into x.
  const std::size_t highest = coefficients.size() - 1;
  for (std::size_t j = highest; j > 0; --j) {
    begin(coefficients[j], 0, other);
    if (j < highest) a.run(S{1}, spare, S{1}, other, options);
    std::swap(spare, other);
  }
  begin(coefficients[0], adds ? 1 : 0, x);
  if (highest > 0) a.run(S{1}, spare, S{1}, x, options);
}

template struct polynomial_step<float>;
template struct polynomial_step<double>;

}  // namespace bcsc::solvers
