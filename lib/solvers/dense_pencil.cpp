#include "lib/solvers/dense_pencil.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checked.hpp"
#include "core/memory.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc::solvers {

namespace {

/// Eigenvalues of B, scaled to a unit diagonal, below this share of the largest count as 0 ...
constexpr double null_share = 1e-14;
/// ... and below minus this one as negative.
constexpr double negative_share = 1e-10;

/// An orthonormal basis of the B-orthogonal complement of Y: of the range of I - Y (B Y)'.
small_matrix complement_of(const small_matrix& y, const std::optional<small_matrix>& b) {
  const small_matrix by = b ? product(*b, y) : y;
  small_matrix projector = product(y, transposed(by));
  for (double& value : projector.values()) value = -value;
  for (std::int64_t i = 0; i < projector.rows(); ++i) projector(i, i) += 1;
  // Its singular values are 0, or 1 and more.
  return product(projector, whiten(transposed_product(projector, projector), 1e-10).transform);
}

small_matrix within(const small_matrix& basis, const small_matrix& a) {
  return symmetric_part(transposed_product(basis, product(a, basis)));
}

/// A x = lambda x in coordinates with a unit inner product, which `to_vectors` takes to vectors.
dense_solution solve_standard(const small_matrix& a, const small_matrix& to_vectors, std::int64_t k,
                              spectrum_end which) {
  const eigen_pairs pairs = symmetric_eigen(a);
  const std::int64_t rank = a.rows();
  std::vector<std::int64_t> wanted;
  dense_solution found;
  for (std::int64_t j = 0; j < k; ++j) {
    wanted.push_back(which == spectrum_end::largest ? rank - 1 - j : j);
    found.values.push_back(pairs.values[core::at(wanted.back())]);
  }
  found.vectors = product(to_vectors, columns_of(pairs.vectors, wanted));
  return found;
}

/// The k smallest eigenvalues by way of the largest mu of B x = mu A x; A is positive definite, `l` its factor.
dense_solution solve_inverse(const small_matrix& l, const small_matrix& b, std::int64_t k) {
  const std::int64_t n = l.rows();
  small_matrix identity(n, n);
  for (std::int64_t i = 0; i < n; ++i) identity(i, i) = 1;
  const small_matrix to_vectors = solve_lower_transposed(l, identity);
  dense_solution found = solve_standard(within(to_vectors, b), to_vectors, k, spectrum_end::largest);
  const double largest = found.values.empty() ? 0 : std::abs(found.values.front());
  for (std::int64_t j = 0; j < k; ++j) {
    double& value = found.values[core::at(j)];
    if (!(value > null_share * largest)) {  // an infinite eigenvalue: B has fewer finite ones
      found.objection = lobpcg_stop::b_not_positive_definite;
      return found;
    }
    for (std::int64_t i = 0; i < n; ++i) found.vectors(i, j) /= std::sqrt(value);
    value = 1 / value;
  }
  return found;
}

dense_solution objecting(lobpcg_stop reason) {
  dense_solution none;
  none.objection = reason;
  return none;
}

}  // namespace

template <value T>
small_matrix matrix_of(const linear_operator<T>& op) {
  const context& ctx = op.where();
  const std::int64_t n = op.rows(), size = core::checked_product(n, n, "values of a dense problem");
  // The pencil, its factors and eigenvectors, and LAPACK's workspace.
  constexpr std::int64_t copies = 12;
  const std::int64_t bytes = core::saturating_product(size, copies * static_cast<std::int64_t>(sizeof(double)));
  if (bytes > core::measure_memory().least()) {
    core::fail(
        errc::out_of_memory,
        "this many eigenvectors of a matrix with {} rows make a dense problem, which takes {}: want fewer than a "
        "third of them",
        n, core::bytes_text(bytes));
  }
  std::vector<T> entries(core::at(size), T{0});
  for (std::int64_t i = 0; i < n; ++i) entries[core::at(i * n + i)] = T{1};
  context_array<T> identity(ctx, size), applied(ctx, size);
  identity.upload(entries);
  op.apply(T{1}, dense_view<const T>(identity.data(), n, n), T{0}, dense_view<T>(applied.data(), n, n));
  applied.download(entries);
  small_matrix made(n, n);
  std::copy(entries.begin(), entries.end(), made.data());
  return made;
}

dense_solution solve_pencil(const small_matrix& a, const std::optional<small_matrix>& b, const small_matrix& y,
                            std::int64_t k, spectrum_end which, double symmetric) {
  if (!all_finite(a) || (b && !all_finite(*b))) return objecting(lobpcg_stop::not_finite);
  if (asymmetry(a) > symmetric * largest_entry(a) || (b && asymmetry(*b) > symmetric * largest_entry(*b))) {
    return objecting(lobpcg_stop::not_symmetric);
  }
  std::optional<small_matrix> basis;
  if (y.cols() > 0) basis = complement_of(y, b);
  small_matrix inner_a = basis ? within(*basis, a) : symmetric_part(a);
  dense_solution found;
  if (!b) {
    small_matrix unit(inner_a.rows(), inner_a.rows());
    for (std::int64_t i = 0; i < unit.rows(); ++i) unit(i, i) = 1;
    found = solve_standard(inner_a, unit, k, which);
  } else {
    const small_matrix inner_b = basis ? within(*basis, *b) : symmetric_part(*b);
    const whitening white = whiten(inner_b, null_share);
    for (std::int64_t i = 0; i < inner_b.rows(); ++i) {
      if (inner_b(i, i) < 0) return objecting(lobpcg_stop::b_not_positive_definite);
    }
    if (white.smallest < -negative_share) return objecting(lobpcg_stop::b_not_positive_definite);
    if (white.rank() == inner_b.rows()) {
      found = solve_standard(within(white.transform, inner_a), white.transform, k, which);
    } else if (const auto l = which == spectrum_end::smallest ? cholesky(inner_a) : std::nullopt) {
      found = solve_inverse(*l, inner_b, k);
    } else {
      return objecting(lobpcg_stop::b_not_positive_definite);
    }
  }
  if (basis && !found.objection) found.vectors = product(*basis, found.vectors);
  return found;
}

template small_matrix matrix_of(const linear_operator<float>&);
template small_matrix matrix_of(const linear_operator<double>&);

}  // namespace bcsc::solvers
