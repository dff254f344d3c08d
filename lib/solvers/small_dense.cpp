#include "lib/solvers/small_dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.hpp"
#include "lib/solvers/lapack.hpp"

namespace bcsc::solvers {

namespace {

const lapack& the_lapack() {
  if (const std::string why = why_no_lapack(); !why.empty()) core::fail(errc::unsupported, "{}", why);
  return lapack::get();
}

int as_int(std::int64_t size) { return core::narrow<int>(size, "size of a small dense matrix"); }

/// Leading dimensions are at least 1.
int leading(std::int64_t size) { return std::max(1, as_int(size)); }

/// op(A) B with row-major matrices: Fortran sees their transposes, so it multiplies B' op(A)'.
small_matrix multiply(const small_matrix& a, bool transpose_a, const small_matrix& b) {
  const std::int64_t rows = transpose_a ? a.cols() : a.rows();
  small_matrix c(rows, b.cols());
  if (rows == 0 || b.cols() == 0 || b.rows() == 0) return c;
  const int m = as_int(b.cols()), n = as_int(rows), k = as_int(b.rows());
  const int lda = leading(b.cols()), ldb = leading(a.cols());
  const double one = 1, zero = 0;
  the_lapack().dgemm("N", transpose_a ? "T" : "N", &m, &n, &k, &one, b.data(), &lda, a.data(), &ldb, &zero, c.data(),
                     &m, 1, 1);
  return c;
}

/// Row-major L is Fortran's upper L', of which `trans` "T" gives L again.
small_matrix solve_triangular(const small_matrix& l, const char* trans, const small_matrix& b) {
  if (b.rows() == 0 || b.cols() == 0) return b;
  small_matrix columns = transposed(b);
  const int n = as_int(l.rows()), nrhs = as_int(b.cols()), ld = leading(l.rows());
  int info = 0;
  the_lapack().dtrtrs("U", trans, "N", &n, &nrhs, l.data(), &ld, columns.data(), &ld, &info, 1, 1, 1);
  if (info != 0) core::fail(errc::internal, "dtrtrs: info = {}, n = {}", info, n);
  return transposed(columns);
}

}  // namespace

bool all_finite(const small_matrix& a) {
  return std::ranges::all_of(a.values(), [](double value) { return std::isfinite(value); });
}

double largest_entry(const small_matrix& a) {
  double largest = 0;
  for (const double value : a.values()) largest = std::max(largest, std::abs(value));
  return largest;
}

double asymmetry(const small_matrix& a) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < i; ++j) largest = std::max(largest, std::abs(a(i, j) - a(j, i)));
  }
  return largest;
}

small_matrix symmetric_part(const small_matrix& a) {
  small_matrix s(a.rows(), a.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) s(i, j) = (a(i, j) + a(j, i)) / 2;
  }
  return s;
}

small_matrix transposed(const small_matrix& a) {
  small_matrix t(a.cols(), a.rows());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) t(j, i) = a(i, j);
  }
  return t;
}

small_matrix columns_of(const small_matrix& a, std::span<const std::int64_t> which) {
  small_matrix taken(a.rows(), core::length(which));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < taken.cols(); ++j) taken(i, j) = a(i, which[static_cast<std::size_t>(j)]);
  }
  return taken;
}

small_matrix rows_of(const small_matrix& a, std::int64_t first, std::int64_t last) {
  small_matrix taken(last - first, a.cols());
  std::copy(a.data() + first * a.cols(), a.data() + last * a.cols(), taken.data());
  return taken;
}

small_matrix beside(const small_matrix& a, const small_matrix& b) {
  small_matrix both(a.rows(), a.cols() + b.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) both(i, j) = a(i, j);
    for (std::int64_t j = 0; j < b.cols(); ++j) both(i, a.cols() + j) = b(i, j);
  }
  return both;
}

small_matrix product(const small_matrix& a, const small_matrix& b) { return multiply(a, false, b); }
small_matrix transposed_product(const small_matrix& a, const small_matrix& b) { return multiply(a, true, b); }

eigen_pairs symmetric_eigen(const small_matrix& a) {
  eigen_pairs found{std::vector<double>(static_cast<std::size_t>(a.rows())), a};
  if (a.rows() == 0) return found;
  const int n = as_int(a.rows());
  const std::int64_t size = a.rows();
  const int lwork = as_int(1 + 6 * size + core::checked_product(2 * size, size, "workspace of an eigenproblem"));
  const int liwork = as_int(3 + 5 * size);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  int info = 0;
  // The lower triangle of a row-major matrix is the upper one of Fortran's.
  the_lapack().dsyevd("V", "U", &n, found.vectors.data(), &n, found.values.data(), work.data(), &lwork, iwork.data(),
                      &liwork, &info, 1, 1);
  if (info != 0) core::fail(errc::internal, "dsyevd: info = {}, n = {}", info, n);
  found.vectors = transposed(found.vectors);
  return found;
}

std::optional<small_matrix> cholesky(const small_matrix& a) {
  small_matrix l = a;
  if (a.rows() == 0) return l;
  const int n = as_int(a.rows());
  int info = 0;
  the_lapack().dpotrf("U", &n, l.data(), &n, &info, 1);
  if (info != 0) return std::nullopt;
  for (std::int64_t i = 0; i < l.rows(); ++i) {
    for (std::int64_t j = i + 1; j < l.cols(); ++j) l(i, j) = 0;
  }
  return l;
}

small_matrix solve_lower(const small_matrix& l, const small_matrix& b) { return solve_triangular(l, "T", b); }
small_matrix solve_lower_transposed(const small_matrix& l, const small_matrix& b) {
  return solve_triangular(l, "N", b);
}

whitening whiten(const small_matrix& gram, double threshold, std::span<const double> min_squares) {
  const std::int64_t k = gram.rows();
  std::vector<double> scale(static_cast<std::size_t>(k), 0.0);
  std::vector<std::int64_t> kept;
  for (std::int64_t j = 0; j < k; ++j) {
    const double least = min_squares.empty() ? 0.0 : min_squares[static_cast<std::size_t>(j)];
    if (gram(j, j) <= std::max(least, std::numeric_limits<double>::min())) continue;
    scale[static_cast<std::size_t>(j)] = 1 / std::sqrt(gram(j, j));
    kept.push_back(j);
  }
  whitening found;
  found.transform = small_matrix(k, 0);
  const std::int64_t num_kept = core::length(kept);
  if (num_kept == 0) return found;

  const auto scale_of = [&](std::int64_t i) {
    return scale[static_cast<std::size_t>(kept[static_cast<std::size_t>(i)])];
  };
  small_matrix scaled(num_kept, num_kept);
  for (std::int64_t i = 0; i < num_kept; ++i) {
    for (std::int64_t j = 0; j < num_kept; ++j) {
      const double entry = gram(kept[static_cast<std::size_t>(i)], kept[static_cast<std::size_t>(j)]);
      scaled(i, j) = i == j ? 1.0 : entry * scale_of(i) * scale_of(j);
    }
  }
  const eigen_pairs shares = symmetric_eigen(symmetric_part(scaled));
  const double largest = shares.values.back();
  found.smallest = shares.values.front() / largest;
  std::int64_t dropped = 0;
  while (shares.values[static_cast<std::size_t>(dropped)] <= threshold * largest) ++dropped;

  found.transform = small_matrix(k, num_kept - dropped);
  for (std::int64_t j = 0; j < found.rank(); ++j) {
    const std::int64_t share = num_kept - 1 - j;  // the largest comes first
    const double length = std::sqrt(shares.values[static_cast<std::size_t>(share)]);
    for (std::int64_t i = 0; i < num_kept; ++i) {
      found.transform(kept[static_cast<std::size_t>(i)], j) = scale_of(i) * shares.vectors(i, share) / length;
    }
  }
  return found;
}

}  // namespace bcsc::solvers
