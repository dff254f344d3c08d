#include "lib/solvers/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

}  // namespace

spectrum estimate_spectrum(const setup_matrix& a, std::span<const double> scale, int steps) {
  const std::int64_t n = a.rows;
  setup_array<double> v = random_vector(n, 1), before = unset<double>(n, "Lanczos' method"),
                      scaled = unset<double>(n, "Lanczos' method"), product = unset<double>(n, "Lanczos' method");
  // Rows that are scaled by 0 take no part.
  for_each_of(n, [&](std::int64_t i) {
    v[at(i)] = scale[at(i)] != 0 ? v[at(i)] : 0;
    before[at(i)] = 0;
  });
  tridiagonal t;
  double length = std::sqrt(dot(v, v));
  for (int step = 0; step < steps && length > 0; ++step) {
    const double last = step > 0 ? length : 0;
    for_each_of(n, [&](std::int64_t i) {
      v[at(i)] /= length;
      scaled[at(i)] = scale[at(i)] * v[at(i)];
    });
    const double own = multiply_scaled(a, scale, scaled, v, product);
    if (step > 0) t.beside.push_back(last);
    t.diagonal.push_back(own);
    length = std::sqrt(sum_of(n, [&](std::int64_t first, std::int64_t end) {
      double sum = 0;
      for (std::int64_t i = first; i < end; ++i) {
        const double next = product[at(i)] - own * v[at(i)] - last * before[at(i)];
        before[at(i)] = v[at(i)];
        v[at(i)] = next;
        sum += next * next;
      }
      return sum;
    }));
    if (!(length > 1e-12 * (std::abs(own) + last))) break;  // an invariant subspace: what is left is rounding
  }
  if (t.diagonal.empty()) return {};
  return {t.eigenvalue(0), t.eigenvalue(std::ssize(t.diagonal) - 1)};
}

void require_symmetric(const setup_matrix& a) {
  const setup_array<double> x = random_vector(a.rows, 2), y = random_vector(a.rows, 3);
  auto ax = unset<double>(a.rows, "a check of symmetry"), ay = unset<double>(a.rows, "a check of symmetry");
  multiply(a, x, ax);
  multiply(a, y, ay);
  const double difference = std::abs(dot(x, ay) - dot(y, ax));
  const double size = sum_of(a.rows, [&](std::int64_t first, std::int64_t last) {
    double sum = 0;
    for (std::int64_t i = first; i < last; ++i) sum += std::abs(x[at(i)] * ay[at(i)]) + std::abs(y[at(i)] * ax[at(i)]);
    return sum;
  });
  if (difference <= 1e-11 * size) return;
  core::fail(errc::invalid_argument,
             "A is not symmetric, or not finite: |x'Ay - y'Ax| = {:.2e} for random x and y, of sums of {:.2e}; the "
             "preconditioner needs a symmetric positive definite matrix",
             difference, size);
}

}  // namespace bcsc::solvers
