#include "lib/solvers/rayleigh_ritz.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checked.hpp"

namespace bcsc::solvers {

namespace {

/// A basis with pivots above this is as good as orthonormal: a Cholesky factor then makes it so to the last digits.
constexpr double well_conditioned = 0.1;
/// Directions below this share (of squared lengths) are rounding.
constexpr double negligible = 1e-13;

small_matrix identity(std::int64_t n) {
  small_matrix one(n, n);
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

/// T with T' G T = I, its columns spanning what G's vectors span.
small_matrix orthonormal_coordinates(const small_matrix& gram) {
  if (const auto l = cholesky(gram)) {
    double least = 1;
    for (std::int64_t i = 0; i < l->rows(); ++i) least = std::min(least, (*l)(i, i));
    if (least > well_conditioned) return solve_lower_transposed(*l, identity(l->rows()));
  }
  return whiten(gram, negligible).transform;
}

/// From P := P - X (X' G P).
void project(const small_matrix& x, const small_matrix& gram, small_matrix& p) {
  const small_matrix overlap = transposed_product(x, product(gram, p));
  const small_matrix along = product(x, overlap);
  for (std::size_t i = 0; i < p.values().size(); ++i) p.values()[i] -= along.values()[i];
}

small_matrix directions(const small_matrix& x, const small_matrix& gram, std::span<const std::int64_t> active) {
  const std::int64_t m = x.cols();
  small_matrix p = columns_of(x, active);
  std::fill_n(p.data(), m * p.cols(), 0.0);  // the first m rows: X
  // The second time sees to what the first, for vectors nearly parallel to X, has left.
  for (int pass = 0; pass < 2 && p.cols() > 0; ++pass) {
    project(x, gram, p);
    p = product(p, whiten(transposed_product(p, product(gram, p)), negligible).transform);
  }
  return p;
}

}  // namespace

std::optional<ritz_step> rayleigh_ritz(const basis_products& products, std::int64_t m, bool largest,
                                       std::span<const std::int64_t> active) {
  const small_matrix gram = symmetric_part(products.b);
  const small_matrix coordinates = orthonormal_coordinates(gram);
  const std::int64_t rank = coordinates.cols();
  if (rank < m) return std::nullopt;
  const eigen_pairs pairs =
      symmetric_eigen(symmetric_part(transposed_product(coordinates, product(products.a, coordinates))));

  std::vector<std::int64_t> wanted(static_cast<std::size_t>(m));
  ritz_step step;
  for (std::int64_t j = 0; j < m; ++j) {
    const std::int64_t at = largest ? rank - 1 - j : j;
    wanted[static_cast<std::size_t>(j)] = at;
    step.values.push_back(pairs.values[static_cast<std::size_t>(at)]);
  }
  step.x = product(coordinates, columns_of(pairs.vectors, wanted));
  step.p = products.a.rows() > m ? directions(step.x, gram, active) : small_matrix(products.a.rows(), 0);
  return step;
}

}  // namespace bcsc::solvers
