#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "bcsc/registry.hpp"
#include "bcsc/types.hpp"

/// The error that a right product may have. Whoever judges one, judges it by this.
namespace bcsc::bench {

/// gamma_n(u) = n u / (1 - n u). Infinite for n u >= 1.
inline double gamma_bound(double n, double u) {
  const double nu = n * u;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

/// The bound of the entries of one row of C = alpha * A * B + beta * C0 computed in T:
/// |C^ - C| <= gamma_{n+c}(u) (|alpha| |A||B| + |beta| |C0|) + u |C| + (n + c) (|alpha| + 1) * least subnormal,
/// where n is the number of the row's terms, u = 2^-24 or 2^-53, and c and the
/// rounding of A and B are the kernel's (error_bound, bcsc/registry.hpp). No kernel flushes subnormals. An entry that
/// nothing was added to is exactly zero: its bound is 0. Source: Higham, Accuracy and Stability of Numerical
/// Algorithms, 2nd ed., section 3.1.
template <value T>
class row_bound {
 public:
  explicit row_bound(std::int64_t num_terms, double alpha = 1, const error_bound& of = {})
      : gamma_(gamma_bound(static_cast<double>(num_terms + of.more_terms), unit_roundoff) +
               of.rounding * (2 + of.rounding)),
        underflow_(static_cast<double>(num_terms + of.more_terms) * (std::abs(alpha) + 1) *
                   static_cast<double>(std::numeric_limits<T>::denorm_min())) {}

  /// `magnitude` is the entry's |alpha| |A||B| + |beta| |C0|, `right` its C.
  double of(double magnitude, double right) const {
    return magnitude == 0 ? 0 : gamma_ * magnitude + unit_roundoff * std::abs(right) + underflow_;
  }

 private:
  static constexpr double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;
  double gamma_, underflow_;
};

}  // namespace bcsc::bench
