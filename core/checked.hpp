#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/fail.hpp"

/// Sizes that come from outside are multiplied and narrowed here, nowhere else.
namespace bcsc::core {

/// a * b for a, b >= 0, or error{size_overflow}.
inline std::int64_t checked_product(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
    fail(errc::size_overflow, "{}: {} x {} does not fit 63 bits", what, a, b);
  }
  return product;
}

/// `value` as an I, or error{size_overflow}.
template <class I>
I narrow(std::int64_t value, std::string_view what) {
  if (value < 0 || value > std::numeric_limits<I>::max()) {
    fail(errc::size_overflow, "{} = {} does not fit a {}-bit index", what, value, sizeof(I) * 8);
  }
  return static_cast<I>(value);
}

/// ceil(a / b) for a >= 0, b >= 1, without overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// i >= 0 as the standard library's size type.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The size of a container as a signed 64-bit integer.
template <class Array>
constexpr std::int64_t length(const Array& array) {
  return static_cast<std::int64_t>(array.size());
}

}  // namespace bcsc::core
