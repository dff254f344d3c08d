#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bcsc/elements.hpp"

/// The independent oracle: dense long double arithmetic from triplets. It shares no code with the library but
/// the types of 16 bits, so it may be slow and must be obvious.
namespace bcsc::test {

struct triplet {
  std::int64_t row, col;
  double value;
};

struct sparse_case {
  std::string name;
  std::int64_t rows, cols;
  std::vector<triplet> entries;  ///< sorted by row, then column; no duplicates
};

/// Dense rows x cols, row-major.
template <class Scalar>
struct dense_table {
  std::int64_t rows = 0, cols = 0;
  std::vector<Scalar> at;
  dense_table() = default;
  dense_table(std::int64_t r, std::int64_t c, Scalar fill = Scalar{})
      : rows(r), cols(c), at(static_cast<std::size_t>(r * c), fill) {}
  Scalar& operator()(std::int64_t i, std::int64_t j) { return at[static_cast<std::size_t>(i * cols + j)]; }
  const Scalar& operator()(std::int64_t i, std::int64_t j) const { return at[static_cast<std::size_t>(i * cols + j)]; }
};

/// How a kernel multiplies, as far as its errors go.
struct arithmetic {
  int more_terms = 3;        ///< c of the bound
  long double rounding = 0;  ///< the relative error that the values of A and B gain before they are multiplied
};

/// The exact product and the error a result of type T may have (DESIGN's promise 3): per entry with n terms
/// gamma_{n+c}(u) (|alpha||A||B| + |beta||C0|) + u_C |C|, plus the smallest numbers for underflow; u of what sums are
/// kept in, u_C of T.
struct product {
  dense_table<long double> value, bound;
};

/// C = alpha * op(A) * B + beta * C0; beta = 0 does not look at C0, alpha = 0 neither at A nor at B.
template <class T>
product multiply(const sparse_case& a, bool transposed, long double alpha, const dense_table<T>& b, long double beta,
                 const dense_table<T>& c0, const arithmetic& by = {}) {
  const std::int64_t rows = transposed ? a.cols : a.rows, n = b.cols;
  dense_table<long double> sum(rows, n), magnitude(rows, n);
  std::vector<std::int64_t> terms(static_cast<std::size_t>(rows), 0);
  if (alpha != 0) {
    for (const triplet& e : a.entries) {
      const std::int64_t i = transposed ? e.col : e.row, k = transposed ? e.row : e.col;
      const long double v = static_cast<long double>(static_cast<T>(e.value));
      ++terms[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < n; ++j) {
        sum(i, j) += v * static_cast<long double>(b(k, j));
        magnitude(i, j) += std::fabs(v * static_cast<long double>(b(k, j)));
      }
    }
  }
  using sum_type = scalar_of<T>;
  const long double u = std::numeric_limits<sum_type>::epsilon() / 2;
  const long double u_c = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  const long double min_c = value<T> ? 0 : static_cast<long double>(std::numeric_limits<T>::denorm_min());
  product result{dense_table<long double>(rows, n), dense_table<long double>(rows, n)};
  for (std::int64_t i = 0; i < rows; ++i) {
    const long double steps = static_cast<long double>(terms[static_cast<std::size_t>(i)] + by.more_terms);
    const long double gamma = steps * u / (1 - steps * u) + by.rounding * (2 + by.rounding);
    for (std::int64_t j = 0; j < n; ++j) {
      const long double old = beta == 0 ? 0 : beta * static_cast<long double>(c0(i, j));
      const long double exact = (alpha == 0 ? 0 : alpha * sum(i, j)) + old;
      result.value(i, j) = exact;
      result.bound(i, j) = gamma * (std::fabs(alpha) * magnitude(i, j) + std::fabs(old)) + u_c * std::fabs(exact) +
                           static_cast<long double>(std::numeric_limits<sum_type>::denorm_min()) * steps + min_c;
    }
  }
  return result;
}

/// A small generator for test data; not the library's.
class test_random {
 public:
  explicit test_random(std::uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  /// In [-1, 1).
  double real() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }
  /// In -4 .. 4 without 0: sums of such products are exact in every type, in every order.
  double small_integer() {
    const std::int64_t v = below(8) - 4;
    return static_cast<double>(v >= 0 ? v + 1 : v);
  }

 private:
  std::uint64_t state_;
};

}  // namespace bcsc::test
