#include "lib/solvers/amg_hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "lib/solvers/spectrum.hpp"

namespace bcsc::solvers::amg {

using core::at;

namespace {

constexpr int lanczos_steps = 12;
/// A level that keeps more than this share of the rows is not worth a cycle.
constexpr double least_coarsening = 0.8;

/// D^-1/2. On coarse levels a diagonal entry of 0 but for rounding stays out: there the near null space is A's.
std::vector<double> inverse_root_diagonal(const setup_matrix& a, std::size_t depth) {
  std::vector<double> scale = diagonal_of(a);
  double largest = 0;
  for (const double entry : scale) largest = std::max(largest, std::abs(entry));
  const double rounding = depth == 0 ? 0 : 1e-13 * largest;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double entry = scale[i];
    if (!std::isfinite(entry) || entry < -rounding || (depth == 0 && entry == 0)) {
      core::fail(errc::invalid_argument,
                 "A({}, {}) = {} on level {}: smoothed aggregation needs a symmetric positive definite matrix", i, i,
                 entry, depth);
    }
    scale[i] = entry > rounding ? 1 / std::sqrt(entry) : 0;
  }
  return scale;
}

std::vector<double> squares(const std::vector<double>& x) {
  std::vector<double> made = x;
  for (double& entry : made) entry *= entry;
  return made;
}

void require_symmetric(const setup_matrix& a) {
  const double found = asymmetry(a);
  if (!(found <= 1e-11)) {  // NaN, too
    core::fail(errc::invalid_argument,
               "A is not symmetric: |x'Ay - y'Ax| = {:.1e} |x|'|A y| for random x and y; smoothed aggregation needs a "
               "symmetric positive definite matrix",
               found);
  }
}

}  // namespace

hierarchy build(setup_matrix a, near_nullspace vectors, const amg_options& options) {
  hierarchy made;
  std::vector<std::int64_t> node_ptr(at(a.rows / options.block) + 1);
  for (std::size_t i = 0; i < node_ptr.size(); ++i) node_ptr[i] = static_cast<std::int64_t>(i) * options.block;
  double strength = options.strength;
  std::vector<double> scale = inverse_root_diagonal(a, 0);
  require_symmetric(a);

  while (true) {
    level& here = made.levels.emplace_back(level{std::move(a), std::move(scale), 0, {}});
    here.largest_eigenvalue = estimate_spectrum(here.a, here.scale, lanczos_steps).largest;
    const std::int64_t rows = here.a.rows;
    if (rows <= options.max_coarse) {
      made.coarse_inverse = invert(here.a, here.scale);
      break;
    }
    if (std::ssize(made.levels) >= options.max_levels) break;
    const aggregates groups = aggregate(strong_connections(here.a, node_ptr, strength));
    tentative coarse = cut_vectors(groups, node_ptr, vectors);
    const std::int64_t coarse_rows = coarse.prolongator.cols;
    if (coarse_rows == 0 || static_cast<double>(coarse_rows) > least_coarsening * static_cast<double>(rows)) break;

    here.prolongator = smooth(here.a, squares(here.scale), 4.0 / 3.0 / here.largest_eigenvalue, coarse.prolongator);
    a = multiply(transpose(here.prolongator), multiply(here.a, here.prolongator, "A P"), "the coarse matrix P'AP");
    scale = inverse_root_diagonal(a, made.levels.size());
    node_ptr = std::move(coarse.node_ptr);
    vectors = std::move(coarse.vectors);
    strength /= 2;
  }
  return made;
}

std::vector<double> invert(const setup_matrix& a, const std::vector<double>& scale) {
  const std::int64_t n = a.rows;
  auto u = converters::storage<double>(n * n, "the inverse on the coarsest level");
  const auto row = [n](std::vector<double>& table, std::int64_t i) { return table.data() + i * n; };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      const std::int64_t j = a.col_ind[at(p)];
      row(u, i)[j] = scale[at(i)] * a.values[at(p)] * scale[at(j)];
    }
  }

  // Cholesky: U'U, the upper triangle in place. What is below this share of the diagonal's 1 is rounding.
  const double rounding = 8 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  for (std::int64_t k = 0; k < n; ++k) {
    double* const pivot = row(u, k);
    if (!(pivot[k] >= -rounding)) {
      core::fail(errc::invalid_argument,
                 "the coarsest matrix has a pivot of {:.1e} times its diagonal: A is not positive definite", pivot[k]);
    }
    const double inverse = pivot[k] > rounding ? 1 / std::sqrt(pivot[k]) : 0;
    for (std::int64_t j = k; j < n; ++j) pivot[j] *= inverse;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = pivot[i];
      double* const below = row(u, i);
      for (std::int64_t j = i; factor != 0 && j < n; ++j) below[j] -= factor * pivot[j];
    }
  }

  // V = inverse of U, from the last row up.
  auto v = converters::storage<double>(n * n, "the inverse on the coarsest level");
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const double pivot = row(u, i)[i];
    if (pivot == 0) continue;
    double* const own = row(v, i);
    own[i] = 1;
    for (std::int64_t k = i + 1; k < n; ++k) {
      const double factor = row(u, i)[k];
      for (std::int64_t j = k; factor != 0 && j < n; ++j) own[j] -= factor * row(v, k)[j];
    }
    for (std::int64_t j = i; j < n; ++j) own[j] /= pivot;
  }

  // V V', its lower triangle, and the same numbers above it. u becomes V' to have its rows at hand.
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) row(u, j)[i] = row(v, i)[j];
  }
  auto inverse = converters::storage<double>(n * n, "the inverse on the coarsest level");
  for (std::int64_t i = 0; i < n; ++i) {
    double* const own = row(inverse, i);
    for (std::int64_t k = i; k < n; ++k) {
      const double factor = row(v, i)[k];
      for (std::int64_t j = 0; factor != 0 && j <= i; ++j) own[j] += factor * row(u, k)[j];
    }
    for (std::int64_t j = 0; j < i; ++j) row(inverse, j)[i] = own[j];
  }
  return inverse;
}

}  // namespace bcsc::solvers::amg
