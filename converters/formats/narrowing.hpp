#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "bcsc/convert.hpp"
#include "bcsc/elements.hpp"
#include "bcsc/formats.hpp"
#include "bcsc/values.hpp"
#include "converters/formats/parallel.hpp"
#include "core/fail.hpp"

/// Values on their way to a narrower type.
namespace bcsc::converters {

/// As cast() rounds.
template <number To, number From>
constexpr To rounded(From x) {
  constexpr bool over_float = narrow_number<To> && narrow_number<From> && !std::same_as<To, From>;
  if constexpr (over_float) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Whether values of one type may be lost in the other: above its range or below it.
template <element From, element To>
constexpr bool may_narrow() {
  if constexpr (number<From> && number<To>) {
    using from = std::numeric_limits<From>;
    using to = std::numeric_limits<To>;
    return static_cast<double>(to::max()) < static_cast<double>(from::max()) ||
           static_cast<double>(to::denorm_min()) > static_cast<double>(from::denorm_min());
  } else {
    return false;
  }
}

template <number To, number From>
constexpr bool overflows(From x) {
  return is_finite_element(x) && !is_finite_element(rounded<To>(x));
}
template <number To, number From>
constexpr bool underflows(From x) {
  return !is_zero_element(x) && is_zero_element(rounded<To>(x));
}

/// Throws what overflow_policy::refuse promises; `row` and `col` from 0.
template <number To, number From>
[[noreturn]] void refuse_overflow(From value, std::int64_t row, std::int64_t col) {
  const auto greatest = static_cast<double>(std::numeric_limits<To>::max());
  core::fail(errc::value_out_of_range, "entry ({}, {}) = {}: is beyond the range of {}, -{} .. {}", row + 1, col + 1,
             static_cast<double>(value), to_string(value_type_of<To>), greatest, greatest);
}

template <number To, number From, index I>
void require_no_overflow(const csr_view<From, I>& a) {
  const std::int64_t k =
      first_fault(a.nnz(), [&](std::int64_t i) { return overflows<To>(a.values[static_cast<std::size_t>(i)]); });
  if (k < 0) return;
  const auto behind = std::ranges::upper_bound(a.row_ptr, static_cast<I>(k));
  refuse_overflow<To>(a.values[static_cast<std::size_t>(k)], behind - a.row_ptr.begin() - 1,
                      a.col_ind[static_cast<std::size_t>(k)]);
}

/// Replaces infinities that come from finite values by the largest finite numbers.
template <number To, number From, index I>
void clamp_overflow(const csr_view<From, I>& a, std::span<To> values) {
  for_pieces(even_cuts(a.nnz()), [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k) {
      if (!overflows<To>(a.values[k])) continue;
      values[k] =
          static_cast<double>(a.values[k]) < 0 ? std::numeric_limits<To>::lowest() : std::numeric_limits<To>::max();
    }
  });
}

/// cast(), with a policy for what is beyond the range.
template <element To, index I2, element From, index I>
csr_matrix<To, I2> cast_by(overflow_policy policy, const csr_view<From, I>& a) {
  if constexpr (may_narrow<From, To>()) {
    if (policy == overflow_policy::refuse) require_no_overflow<To>(a);
    csr_matrix<To, I2> narrow = cast<To, I2>(a);
    if (policy == overflow_policy::clamp) clamp_overflow<To>(a, narrow.values());
    return narrow;
  } else {
    return cast<To, I2>(a);
  }
}

}  // namespace bcsc::converters
