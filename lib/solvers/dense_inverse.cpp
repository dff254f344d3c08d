#include "lib/solvers/dense_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::solvers {

using core::at;

namespace {

/// A = U'U, the upper triangle in place; rows of 0 for those that depend on others.
void factorise(std::vector<double>& a, std::int64_t n, dense_inverse& found) {
  std::vector<double> diagonal(at(n));
  for (std::int64_t i = 0; i < n; ++i) diagonal[at(i)] = a[at(i * n + i)];
  // What is left of a diagonal entry below this share of it is rounding.
  const double rounding = 8 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  for (std::int64_t k = 0; k < n; ++k) {
    double* const pivot = a.data() + k * n;
    const double whole = diagonal[at(k)];
    const double share = whole != 0 ? pivot[k] / std::abs(whole) : pivot[k] == 0 ? 0 : -1;
    if (!(share >= found.min_pivot)) found.min_pivot = share;
    const double inverse = share > rounding ? 1 / std::sqrt(pivot[k]) : 0;
    found.rank += inverse != 0 ? 1 : 0;
    for (std::int64_t j = k; j < n; ++j) pivot[j] *= inverse;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = pivot[i];
      double* const below = a.data() + i * n;
      for (std::int64_t j = i; factor != 0 && j < n; ++j) below[j] -= factor * pivot[j];
    }
  }
}

}  // namespace

dense_inverse invert(std::vector<double> a, std::int64_t n) {
  constexpr const char* what = "a dense inverse";
  dense_inverse made;
  factorise(a, n, made);
  const auto row = [n](std::vector<double>& table, std::int64_t i) { return table.data() + i * n; };

  // V = the inverse of U, from the last row up.
  auto v = converters::storage<double>(n * n, what);
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const double pivot = row(a, i)[i];
    if (pivot == 0) continue;
    double* const own = row(v, i);
    own[i] = 1;
    for (std::int64_t k = i + 1; k < n; ++k) {
      const double factor = row(a, i)[k];
      const double* const other = row(v, k);
      for (std::int64_t j = k; factor != 0 && j < n; ++j) own[j] -= factor * other[j];
    }
    for (std::int64_t j = i; j < n; ++j) own[j] /= pivot;
  }

  // The lower triangle of V V', and the same numbers above it. `a` becomes V', to have its rows at hand.
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) row(a, j)[i] = row(v, i)[j];
  }
  made.entries = converters::storage<double>(n * n, what);
  for (std::int64_t i = 0; i < n; ++i) {
    double* const own = row(made.entries, i);
    for (std::int64_t k = i; k < n; ++k) {
      const double factor = row(v, i)[k];
      const double* const other = row(a, k);
      for (std::int64_t j = 0; factor != 0 && j <= i; ++j) own[j] += factor * other[j];
    }
    for (std::int64_t j = 0; j < i; ++j) row(made.entries, j)[i] = own[j];
  }
  return made;
}

}  // namespace bcsc::solvers
