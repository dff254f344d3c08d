#include "lib/solvers/pivoted_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/checked.hpp"

namespace bcsc::solvers {

using core::at;

coefficients operator*(const coefficients& a, const coefficients& b) {
  coefficients c(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t m = 0; m < a.cols; ++m) {
      const double weight = a(i, m);
      if (weight == 0) continue;
      for (std::int64_t j = 0; j < b.cols; ++j) c(i, j) += weight * b(m, j);
    }
  }
  return c;
}

coefficients transposed(const coefficients& a) {
  coefficients t(a.cols, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  }
  return t;
}

coefficients identity(std::int64_t n) {
  coefficients i(n, n);
  for (std::int64_t k = 0; k < n; ++k) i(k, k) = 1;
  return i;
}

bool all_finite(const coefficients& a) {
  return std::all_of(a.at.begin(), a.at.end(), [](double entry) { return std::isfinite(entry); });
}

pivoted_cholesky::pivoted_cholesky(const coefficients& g, double threshold, std::span<const double> floors)
    : scale(at(g.rows), 0.0), u(0, g.cols) {
  const std::int64_t n = g.rows;
  coefficients left(n, n);  // what is still to be factored, of unit diagonal at first
  std::vector<std::int64_t> open;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(g(i, i) > (floors.empty() ? 0.0 : floors[at(i)]))) continue;
    scale[at(i)] = std::sqrt(g(i, i));
    open.push_back(i);
  }
  for (const std::int64_t i : open) {
    for (const std::int64_t j : open) left(i, j) = (g(i, j) + g(j, i)) / 2 / (scale[at(i)] * scale[at(j)]);
  }
  while (!open.empty()) {
    const auto largest = std::max_element(open.begin(), open.end(),
                                          [&](std::int64_t i, std::int64_t j) { return left(i, i) < left(j, j); });
    const std::int64_t pivot = *largest;
    if (!(left(pivot, pivot) > threshold)) break;
    least = left(pivot, pivot);
    open.erase(largest);
    order.push_back(pivot);
    u.at.resize(u.at.size() + at(n), 0.0);
    const std::int64_t row = u.rows++;
    const double root = std::sqrt(least);
    u(row, pivot) = root;
    for (const std::int64_t j : open) u(row, j) = left(pivot, j) / root;
    for (const std::int64_t i : open) {
      for (const std::int64_t j : open) left(i, j) -= u(row, i) * u(row, j);
    }
  }
  for (const std::int64_t i : open) rejected = std::min(rejected, left(i, i));
}

coefficients pivoted_cholesky::factor() const {
  coefficients f = u;
  for (std::int64_t i = 0; i < f.rows; ++i) {
    for (std::int64_t j = 0; j < f.cols; ++j) f(i, j) *= scale[at(j)];
  }
  return f;
}

coefficients pivoted_cholesky::whitening() const {
  // Column c of the inverse of the triangle U(:, order), by substitution from its end.
  coefficients s(u.cols, rank());
  std::vector<double> column(at(rank()));
  for (std::int64_t c = 0; c < rank(); ++c) {
    std::fill(column.begin(), column.end(), 0.0);
    for (std::int64_t i = c; i >= 0; --i) {
      double sum = i == c ? 1 : 0;
      for (std::int64_t m = i + 1; m <= c; ++m) sum -= u(i, order[at(m)]) * column[at(m)];
      column[at(i)] = sum / u(i, order[at(i)]);
      s(order[at(i)], c) = column[at(i)] / scale[at(order[at(i)])];
    }
  }
  return s;
}

coefficients pivoted_cholesky::inverse() const {
  const coefficients s = whitening();
  return s * transposed(s);
}

coefficients orthonormal_basis(const coefficients& c, double threshold) {
  coefficients rows(0, c.rows);  // of the basis' transpose
  for (std::int64_t j = 0; j < c.cols; ++j) {
    std::vector<double> v(at(c.rows));
    for (std::int64_t i = 0; i < c.rows; ++i) v[at(i)] = c(i, j);
    const double length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    if (!(length > 0)) continue;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t m = 0; m < rows.rows; ++m) {
        const double* const q = rows.at.data() + m * c.rows;
        const double share = std::inner_product(v.begin(), v.end(), q, 0.0);
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= share * q[i];
      }
    }
    const double rest = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    if (!(rest > threshold * length) || rows.rows == c.rows) continue;
    for (const double entry : v) rows.at.push_back(entry / rest);
    ++rows.rows;
  }
  return transposed(rows);
}

}  // namespace bcsc::solvers
