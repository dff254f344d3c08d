#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// Dense problems of the size of a block of vectors, on the host in double: Rayleigh-Ritz and orthogonalisation. By
/// LAPACK, which is loaded with the first of them: error{unsupported} says what to install where it is missing. Results
/// depend on the input alone if that LAPACK's do.
namespace bcsc::solvers {

/// rows x cols values, row-major, as block operations take them.
class small_matrix {
 public:
  small_matrix() = default;
  /// Zeros.
  small_matrix(std::int64_t rows, std::int64_t cols)
      : rows_(rows), cols_(cols), values_(static_cast<std::size_t>(rows * cols), 0.0) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  double& operator()(std::int64_t i, std::int64_t j) { return values_[static_cast<std::size_t>(i * cols_ + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return values_[static_cast<std::size_t>(i * cols_ + j)]; }
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<double> values_;
};

bool all_finite(const small_matrix& a);
/// The largest |a(i, j)|; 0 if there is none.
double largest_entry(const small_matrix& a);
/// The largest |a(i, j) - a(j, i)|.
double asymmetry(const small_matrix& a);
/// (A + A') / 2.
small_matrix symmetric_part(const small_matrix& a);
small_matrix transposed(const small_matrix& a);
/// The columns of `which`, in that order.
small_matrix columns_of(const small_matrix& a, std::span<const std::int64_t> which);
/// Rows first .. last.
small_matrix rows_of(const small_matrix& a, std::int64_t first, std::int64_t last);
/// [A B].
small_matrix beside(const small_matrix& a, const small_matrix& b);

/// A B.
small_matrix product(const small_matrix& a, const small_matrix& b);
/// A' B.
small_matrix transposed_product(const small_matrix& a, const small_matrix& b);

struct eigen_pairs {
  std::vector<double> values;  ///< ascending
  small_matrix vectors;        ///< column j is the j-th's, of length 1
};
/// Of a symmetric A, whose entries are finite; only its lower triangle is read.
eigen_pairs symmetric_eigen(const small_matrix& a);

/// The lower L of A = L L'; empty if A is not positive definite. Only A's lower triangle is read.
std::optional<small_matrix> cholesky(const small_matrix& a);
/// L^-1 B, or L^-T B.
small_matrix solve_lower(const small_matrix& l, const small_matrix& b);
small_matrix solve_lower_transposed(const small_matrix& l, const small_matrix& b);

/// What makes vectors with a Gram matrix G orthonormal.
struct whitening {
  small_matrix transform;  ///< [k x rank] T with T' G T = I
  /// Of G scaled to a unit diagonal, relative to the largest: near 1 for vectors that are orthogonal already; negative,
  /// beyond rounding, only if the inner product is not positive.
  double smallest = 1;
  std::int64_t rank() const { return transform.cols(); }
};
/// Drops directions whose share is below `threshold` times the largest, and vectors whose own length is not above
/// min_squares[j] (empty: 0). Source: SVQB of Stathopoulos and Wu 2002.
whitening whiten(const small_matrix& gram, double threshold, std::span<const double> min_squares = {});

}  // namespace bcsc::solvers
