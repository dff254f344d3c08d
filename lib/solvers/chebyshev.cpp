#include "lib/solvers/chebyshev.hpp"

#include <cstddef>
#include <utility>

#include "core/context_state.hpp"
#include "lib/solvers/added_product.hpp"
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
void polynomial_step<S>::run(const dense_view<const S>& b, const dense_view<S>& x, const dense_view<S>& spare,
                             const dense_view<S>& other) const {
  if (coefficients.size() == 1) {
    const context& ctx = a.where();
    const int status = block_operations_of<S>(ctx.kind()).axpby(env, coefficients[0], b, 0, x);
    return core::check_launch(ctx.state(), status, "axpby");
  }
  const factor last = last_factor(b, spare, other);
  multiply<S>(a, last.by, last.block, coefficients[0], b, x, options);
}

template <value S>
void polynomial_step<S>::add_powers(const dense_view<const S>& b, const dense_view<S>& x, const dense_view<S>& spare,
                                    const dense_view<S>& other) const {
  if (coefficients.size() == 1) return;
  const factor last = last_factor(b, spare, other);
  multiply<S>(a, last.by, last.block, 1, x, x, options);
}

template <value S>
typename polynomial_step<S>::factor polynomial_step<S>::last_factor(const dense_view<const S>& b, dense_view<S> spare,
                                                                    dense_view<S> other) const {
  const std::size_t highest = coefficients.size() - 1;
  if (highest == 1) return {coefficients[1], b};
  multiply<S>(a, coefficients[highest], b, coefficients[highest - 1], b, spare, options);
  for (std::size_t j = highest - 2; j > 0; --j) {
    multiply<S>(a, 1, spare, coefficients[j], b, other, options);
    std::swap(spare, other);
  }
  return {1, spare};
}

template struct polynomial_step<float>;
template struct polynomial_step<double>;

}  // namespace bcsc::solvers
