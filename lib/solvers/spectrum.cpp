#include "lib/solvers/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc::solvers {

using core::at;

namespace {

/// A symmetric tridiagonal matrix: `beside` has one number fewer, the i-th couples i and i + 1.
struct tridiagonal {
  std::vector<double> diagonal, beside;

  /// How many eigenvalues lie below x.
  std::int64_t num_below(double x) const {
    std::int64_t count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      const double coupling = i > 0 ? beside[i - 1] * beside[i - 1] : 0;
      if (pivot == 0) pivot = std::numeric_limits<double>::min();
      pivot = diagonal[i] - x - coupling / pivot;
      count += pivot < 0 ? 1 : 0;
    }
    return count;
  }

  /// The i-th smallest eigenvalue, by bisection from Gershgorin's bounds.
  double eigenvalue(std::int64_t i) const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t j = 0; j < diagonal.size(); ++j) {
      const double radius = (j > 0 ? std::abs(beside[j - 1]) : 0) + (j < beside.size() ? std::abs(beside[j]) : 0);
      low = std::min(low, diagonal[j] - radius);
      high = std::max(high, diagonal[j] + radius);
    }
    while (true) {
      const double middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) return middle;
      (num_below(middle) > i ? high : low) = middle;
    }
  }
};

/// body(i) for each i in [0, n), in parallel.
template <class Body>
void for_each(std::size_t n, const Body& body) {
  converters::for_pieces(converters::even_cuts(static_cast<std::int64_t>(n)),
                         [&](std::int64_t, std::int64_t first, std::int64_t last) {
                           for (std::size_t i = at(first); i < at(last); ++i) body(i);
                         });
}

}  // namespace

spectrum estimate_spectrum(const setup_matrix& a, std::span<const double> scale, int steps) {
  const std::size_t n = scale.size();
  std::vector<double> v = random_vector(a.rows, 1), before(n, 0.0), scaled(n), product(n);
  // Rows that are scaled by 0 take no part.
  for_each(n, [&](std::size_t i) { v[i] = scale[i] != 0 ? v[i] : 0; });
  tridiagonal t;
  double length = std::sqrt(dot(v, v));
  for (int step = 0; step < steps && length > 0; ++step) {
    const double last = step > 0 ? length : 0;
    for_each(n, [&](std::size_t i) {
      v[i] /= length;
      scaled[i] = scale[i] * v[i];
    });
    multiply(a, scaled, product);
    for_each(n, [&](std::size_t i) { product[i] *= scale[i]; });
    const double own = dot(v, product);
    if (step > 0) t.beside.push_back(last);
    t.diagonal.push_back(own);
    for_each(n, [&](std::size_t i) {
      const double next = product[i] - own * v[i] - last * before[i];
      before[i] = v[i];
      v[i] = next;
    });
    length = std::sqrt(dot(v, v));
    if (!(length > 1e-12 * (std::abs(own) + last))) break;  // an invariant subspace: what is left is rounding
  }
  if (t.diagonal.empty()) return {};
  return {t.eigenvalue(0), t.eigenvalue(std::ssize(t.diagonal) - 1)};
}

void require_symmetric(const setup_matrix& a) {
  const std::vector<double> x = random_vector(a.rows, 2), y = random_vector(a.rows, 3);
  std::vector<double> ax(x.size()), ay(x.size());
  multiply(a, x, ax);
  multiply(a, y, ay);
  const double difference = std::abs(dot(x, ay) - dot(y, ax));
  for_each(ax.size(), [&](std::size_t i) { ax[i] = std::abs(x[i] * ay[i]) + std::abs(y[i] * ax[i]); });
  const double size = dot(ax, std::vector<double>(ax.size(), 1.0));
  if (difference <= 1e-11 * size) return;
  core::fail(errc::invalid_argument,
             "A is not symmetric, or not finite: |x'Ay - y'Ax| = {:.2e} for random x and y, of sums of {:.2e}; the "
             "preconditioner needs a symmetric positive definite matrix",
             difference, size);
}

}  // namespace bcsc::solvers
