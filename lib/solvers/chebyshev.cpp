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
void polynomial_step<S>::run(const dense_view<S>& b, const dense_view<S>& x, std::optional<dense_view<const S>> more,
                             dense_view<S> spare, dense_view<S> other) const {
  const context& ctx = a.where();
  const auto& ops = block_operations_of<S>(ctx.kind());
  const auto started = [&](int status, const char* what) { core::check_launch(ctx.state(), status, what); };
  const auto add_product = [&](double factor, const dense_view<S>& of, const dense_view<S>& to) {
    a.run(static_cast<S>(factor), of, S{1}, to, options);
  };

  const std::size_t highest = coefficients.size() - 1;
  if (highest < 2) {
    if (more) started(ops.axpby(env, 1, *more, 1, x), "axpby");
    started(ops.axpby(env, coefficients[0], b, more ? 1 : 0, x), "axpby");
    if (highest == 1) add_product(coefficients[1], b, x);
    return;
  }
  started(ops.split(env, b, coefficients[highest - 1], spare, coefficients[0], more, x), "split");
  add_product(coefficients[highest], b, spare);
  for (std::size_t j = highest - 2; j > 0; --j) {
    started(ops.axpby(env, coefficients[j], b, 0, other), "axpby");
    add_product(1, spare, other);
    std::swap(spare, other);
  }
  add_product(1, spare, x);
}

template struct polynomial_step<float>;
template struct polynomial_step<double>;

}  // namespace bcsc::solvers
