#pragma once

#include <cstdint>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/registry.hpp"

namespace bcsc::cli {

/// The result of comparing a product with the reference.
struct verdict {
  double max_error = 0;             ///< max |C^ - C|; infinite if an entry is not finite
  double bound_share = 0;           ///< max |C^ - C| / bound: at most 1 is right
  std::int64_t violations = 0;      ///< entries beyond their bound, or of another class
  std::int64_t by_class = 0;        ///< right entries that are not finite: +Inf, -Inf or NaN where that is right
  std::int64_t row = -1, col = -1;  ///< where the share is largest; -1 if every entry is exact
  bool passed() const { return violations == 0; }
};

/// C = alpha * A * B + beta * C0 as it should be, entry by entry, with the bound of its error (row_bound in
/// bench/harness/bound.hpp). Where C is not finite, or is beyond T's range, its class is compared: +Inf, -Inf or NaN
/// (NaN passes everywhere if alpha is not finite).
/// Sums are made in a wider type than T, so that the reference's own error does not count; it shares no code with the
/// kernels.
template <number T>
class product_check {
 public:
  /// All on the host; C0 is not read if beta = 0. O(nnz * cols), parallel; keeps 16 bytes for each entry of C.
  product_check(scalar_of<T> alpha, const csr_view<T, std::int32_t>& a, dense_view<const T> b, scalar_of<T> beta,
                dense_view<const T> c0);

  /// `allowed`: of the kernel that computed it.
  verdict compare(dense_view<const T> c, const error_bound& allowed = {}) const;

 private:
  std::int64_t rows_, cols_;
  double alpha_;
  std::vector<std::int64_t> terms_;  ///< [rows]
  std::vector<double> value_;        ///< [rows x cols], row-major
  std::vector<double> magnitude_;    ///< |alpha| |A||B| + |beta| |C0|
};

}  // namespace bcsc::cli
