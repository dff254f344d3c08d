#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/registry.hpp"

/// Nothing is timed before its result has been compared, entry by entry, with a reference in higher precision.
namespace bcsc::bench {

/// How far a result lies from the reference.
struct accuracy {
  double max_error = 0;         ///< max |C^ - C| / (|A||B|) over the entries; infinite if one is not finite
  double max_bound_share = 0;   ///< max |C^ - C| / bound; at most 1 is right
  double mean_error = 0;        ///< of |C^ - C| / (|A||B|) over the entries with |A||B| > 0; infinite as above
  double mean_bound_share = 0;  ///< likewise
  std::int64_t compared = 0;    ///< entries that the means are over
  std::int64_t violations = 0;  ///< entries beyond the bound
  std::int64_t not_finite = 0;  ///< of these, NaN or Inf: never written, most likely
  std::int64_t by_class = 0;    ///< right entries that are not finite: +Inf, -Inf or NaN where that is right
  std::int64_t unchecked = 0;   ///< entries whose |A||B| overflows T prove nothing
  std::int64_t worst_row = -1, worst_col = -1;
  bool passed() const { return violations == 0; }
  /// "12 of 64 entries wrong, 3 of them not finite; the worst, (4, 7), is 35 times the bound away"
  std::string describe(std::int64_t num_entries) const;
};

/// C = A*B as it should be, and |A||B|, to bound the error with. Sums of fp32 and narrower products are exact to fp64's
/// rounding; fp64's are summed, and kept, in long double.
///
/// Entries are judged by row_bound (bench/harness/bound.hpp), or by their class where A has made them infinite or NaN.
template <number T>
class expectation {
 public:
  /// A and B on the host. O(nnz * cols), parallel; holds 24 (fp64) or 12 (the others) bytes per entry.
  expectation(const csr_view<T, std::int32_t>& a, dense_view<const T> b);

  /// Compares every entry of `c` (rows x cols, on the host, any layout and leading dimension), which may err by
  /// `allowed`. `c` may have fewer columns: those of the first columns of B.
  accuracy compare(dense_view<const T> c, const error_bound& allowed = {}) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  double value(std::int64_t i, std::int64_t j) const { return static_cast<double>(value_[at(i, j)]); }

 private:
  std::size_t at(std::int64_t i, std::int64_t j) const { return static_cast<std::size_t>(i * cols_ + j); }

  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<std::int32_t> terms_;                                                        ///< [rows] n
  std::vector<std::conditional_t<std::is_same_v<T, double>, long double, double>> value_;  ///< [rows x cols], row-major
  std::vector<scalar_of<T>> magnitude_;  ///< |A||B|, rounded up; infinite where that type cannot hold it
};

/// B for benchmarks: element (i, j) depends on i, j and the seed only, uniform in [-1, 1), never 0.
template <number T>
void fill_seeded(dense_view<T> b, std::uint64_t seed);

/// The same elements in another layout.
template <number T>
void copy_elements(dense_view<const T> from, dense_view<T> to);

}  // namespace bcsc::bench
