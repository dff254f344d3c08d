#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "test/support/oracle.hpp"

/// Products of a B that is not all finite, by an independent oracle: only stored entries of A take part, an explicit
/// zero like any other. A test plants an odd value in one row of B (plant), asks what may come out (multiply_stored),
/// and compares class by class, and within the bound where both are finite (expect_stored_only).
namespace bcsc::test {

enum class odd { nan, plus_infinity, minus_infinity, greatest, near_greatest, denormal };
inline constexpr odd all_odd[] = {odd::nan,      odd::plus_infinity, odd::minus_infinity,
                                  odd::greatest, odd::near_greatest, odd::denormal};

constexpr const char* to_string(odd kind) {
  constexpr const char* names[] = {"NaN", "+Inf", "-Inf", "greatest", "near greatest", "denormal"};
  return names[static_cast<int>(kind)];
}

template <class T>
T odd_value(odd kind) {
  using limits = std::numeric_limits<T>;
  switch (kind) {
    case odd::nan:
      return limits::quiet_NaN();
    case odd::plus_infinity:
      return limits::infinity();
    case odd::minus_infinity:
      return static_cast<T>(-static_cast<double>(limits::infinity()));
    case odd::greatest:
      return limits::max();
    case odd::near_greatest:  // fp32: what a shorter significand rounds to infinity
      if constexpr (std::is_same_v<T, float>) return 3.4027e38F;
      return static_cast<T>(static_cast<double>(limits::max()) * (1 - static_cast<double>(limits::epsilon())));
    case odd::denormal:
      break;
  }
  return static_cast<T>(3 * static_cast<double>(limits::denorm_min()));
}

/// The whole row becomes the odd value. For C0, too.
template <class T>
void plant(dense_table<T>& b, std::int64_t row, odd kind) {
  for (std::int64_t j = 0; j < b.cols; ++j) b(row, j) = odd_value<T>(kind);
}
/// Only a single element does.
template <class T>
void plant(dense_table<T>& b, std::int64_t row, std::int64_t col, odd kind) {
  b(row, col) = odd_value<T>(kind);
}

/// Rows of B worth planting: of the fullest column of op(A), of a sparse one, of one without entries, the last one.
inline std::vector<std::int64_t> telling_rows(const sparse_case& a, bool transposed = false) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(transposed ? a.rows : a.cols), 0);
  if (count.empty()) return {};
  for (const triplet& e : a.entries) ++count[static_cast<std::size_t>(transposed ? e.row : e.col)];
  std::vector<std::int64_t> rows{std::max_element(count.begin(), count.end()) - count.begin(), std::ssize(count) - 1};
  const auto min_of = [&](bool has_entries) {
    std::int64_t least = -1;
    for (std::int64_t k = 0; k < std::ssize(count); ++k) {
      const std::int64_t here = count[static_cast<std::size_t>(k)];
      if ((here > 0) == has_entries && (least < 0 || here < count[static_cast<std::size_t>(least)])) least = k;
    }
    if (least >= 0) rows.push_back(least);
  };
  min_of(true);
  min_of(false);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

/// Classes of a number; a set of them is their sum.
enum number_class : unsigned { is_finite = 1, is_plus_infinity = 2, is_minus_infinity = 4, is_nan = 8 };

inline number_class class_of(long double x) {
  return std::isnan(x) ? is_nan : !std::isinf(x) ? is_finite : x > 0 ? is_plus_infinity : is_minus_infinity;
}

/// Every entry of C: its exact value and bound, to be asked for where it is finite, and the classes that it may have.
struct stored_product {
  product exact;
  dense_table<unsigned> classes;
};

/// C = alpha * op(A) * B + beta * C0 over the stored entries. The class is that of a sum in T (in fp32 where T is
/// narrow, then rounded to T). Where a sum, in whatever order, passes half of the greatest finite value, so that it is
/// a matter of order and of fused products whether it overflows, each class that an order can give is allowed.
template <class T>
stored_product multiply_stored(const sparse_case& a, bool transposed, long double alpha, const dense_table<T>& b,
                               long double beta, const dense_table<T>& c0, const arithmetic& by = {}) {
  stored_product result{multiply<T>(a, transposed, alpha, b, beta, c0, by), {}};
  const std::int64_t rows = result.exact.value.rows, n = result.exact.value.cols;
  const long double top = std::numeric_limits<scalar_of<T>>::max();
  const long double top_c = static_cast<long double>(std::numeric_limits<T>::max());
  // alpha may be multiplied before or after the sum.
  const long double size = std::fabs(alpha), least = std::min(1.0L, size), most = std::max(1.0L, size);
  struct parts {
    long double finite = 0, above = 0, below = 0, largest = 0;  // what is finite: sums of signs, the largest term
    unsigned classes = 0;                                       // of the terms
  };
  dense_table<parts> of(rows, n);
  const auto add = [](parts& to, long double term, long double may_be, long double at_least) {
    to.classes |= class_of(term);
    if (!std::isfinite(term)) return;
    to.finite += at_least;
    (term > 0 ? to.above : to.below) += std::fabs(may_be);
    to.largest = std::max(to.largest, std::fabs(at_least));
  };
  for (std::size_t e = 0; alpha != 0 && e < a.entries.size(); ++e) {
    const std::int64_t i = transposed ? a.entries[e].col : a.entries[e].row;
    const std::int64_t k = transposed ? a.entries[e].row : a.entries[e].col;
    const long double v = static_cast<long double>(static_cast<T>(a.entries[e].value)) * (alpha < 0 ? -1 : 1);
    for (std::int64_t j = 0; j < n; ++j) {
      const long double term = v * static_cast<long double>(b(k, j));
      add(of(i, j), term, term * most, term * least);
    }
  }
  result.classes = dense_table<unsigned>(rows, n);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      parts& p = of(i, j);
      if (beta != 0) {
        const long double old = beta * static_cast<long double>(c0(i, j));
        add(p, old, old, old);
      }
      const bool may_overflow_up = p.above > top / 2, may_overflow_down = p.below > top / 2;
      const bool up = (p.classes & is_plus_infinity) != 0, down = (p.classes & is_minus_infinity) != 0;
      unsigned& classes = result.classes(i, j);
      if ((p.classes & is_nan) != 0 || (up && down)) {
        classes = is_nan;
        continue;
      }
      if (up || down) {
        classes = up ? is_plus_infinity : is_minus_infinity;
        if (up ? may_overflow_down : may_overflow_up) classes |= is_nan;
        continue;
      }
      if (may_overflow_up) classes |= is_plus_infinity;
      if (may_overflow_down) classes |= is_minus_infinity;
      if (may_overflow_up && may_overflow_down) classes |= is_nan;
      if (p.largest > 2 * top || std::fabs(p.finite) > 2 * top) continue;  // no order is finite
      const long double rounded = result.exact.value(i, j);
      if (std::fabs(rounded) <= 2 * top_c) classes |= is_finite;
      if (std::fabs(rounded) > top_c / 2) classes |= rounded > 0 ? is_plus_infinity : is_minus_infinity;
    }
  }
  return result;
}

/// Fails unless every entry of `got` is of an allowed class and, if it is finite, within its bound.
template <class T>
void expect_stored_only(const stored_product& wanted, const dense_table<T>& got, const std::string& what) {
  ASSERT_EQ(wanted.classes.at.size(), got.at.size()) << what;
  for (std::size_t k = 0; k < got.at.size(); ++k) {
    const auto x = static_cast<long double>(got.at[k]);
    const long double exact = wanted.exact.value.at[k], bound = wanted.exact.bound.at[k];
    const bool allowed = (wanted.classes.at[k] & class_of(x)) != 0;
    if (allowed && (!std::isfinite(x) || std::fabs(x - exact) <= bound)) continue;
    ADD_FAILURE() << what << ": entry (" << static_cast<std::int64_t>(k) / got.cols << ", "
                  << static_cast<std::int64_t>(k) % got.cols << ") is " << x << ", exact " << exact << " within "
                  << bound << ", allowed classes " << wanted.classes.at[k];
    return;
  }
}

}  // namespace bcsc::test
