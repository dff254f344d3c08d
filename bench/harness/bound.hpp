#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "bcsc/elements.hpp"
#include "bcsc/registry.hpp"

/// The error that a correct product may have. Every check of a product uses it.
namespace bcsc::bench {

/// gamma_n(u) = n u / (1 - n u). Infinite for n u >= 1.
inline double gamma_bound(double n, double u) {
  const double nu = n * u;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

/// The bound of the entries of one row of C = alpha * A * B + beta * C0 computed in T:
/// |C^ - C| <= gamma_{n+c}(u) (|alpha| |A||B| + |beta| |C0|) + u_C |C| + (n + c) (|alpha| + 1) * least subnormal,
/// where n is the number of the row's terms, u = 2^-24 or 2^-53 of what sums are kept in, and u_C T's: 2^-11 for fp16
/// and 2^-8 for bf16, whose own least subnormal comes once; c and the rounding of A and B are the kernel's
/// (error_bound, bcsc/registry.hpp). No kernel flushes subnormals. An entry that nothing was added to is exactly zero:
/// its bound is 0. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
template <number T>
class row_bound {
 public:
  explicit row_bound(std::int64_t num_terms, double alpha = 1, const error_bound& of = {})
      : gamma_(gamma_bound(static_cast<double>(num_terms + of.more_terms), unit_roundoff) +
               of.rounding * (2 + of.rounding)),
        underflow_(static_cast<double>(num_terms + of.more_terms) * (std::abs(alpha) + 1) * least<scalar_of<T>> +
                   (narrow_number<T> ? least<T> : 0)) {}

  /// `magnitude` is the entry's |alpha| |A||B| + |beta| |C0|, `right` its C.
  double of(double magnitude, double right) const {
    return magnitude == 0 ? 0 : gamma_ * magnitude + unit_roundoff_of_c * std::abs(right) + underflow_;
  }

 private:
  template <class Number>
  static constexpr double least = static_cast<double>(std::numeric_limits<Number>::denorm_min());
  static constexpr double unit_roundoff = std::numeric_limits<scalar_of<T>>::epsilon() / 2;
  static constexpr double unit_roundoff_of_c = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  double gamma_, underflow_;
};

/// The error allowed to a product whose sums of `num_terms` are kept in T itself (fp16, bf16) or whose factors are
/// rounded to TF32 (fp32), at most half of |A||B|: anything beyond is wrong, not inaccurate.
template <number T>
error_bound coarse_bound(std::int64_t num_terms) {
  constexpr double tf32 = 0x1p-11;
  constexpr double u = std::is_same_v<T, float> ? tf32 : static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  // Rounding both factors by r gives an error of 2 r + r^2.
  return {.rounding = std::min(gamma_bound(static_cast<double>(num_terms + 3), u), 0.5) / 2};
}

}  // namespace bcsc::bench
