#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "bcsc/elements.hpp"

/// Numbers as binary files store them: of many types, in either byte order, back to back.
namespace bcsc::files {

enum class number_kind : std::uint8_t { boolean, signed_integer, unsigned_integer, real, complex };

struct number_type {
  number_kind kind = number_kind::real;
  std::size_t bytes = 0;  ///< of one number; a complex one is two reals, the real part first
  std::endian order = std::endian::native;

  bool is_integer() const { return kind == number_kind::signed_integer || kind == number_kind::unsigned_integer; }
};

template <class S>
S load(const char* from, std::endian order) {
  unsigned char bytes[sizeof(S)];
  std::memcpy(bytes, from, sizeof(S));
  if (order != std::endian::native) {
    for (std::size_t k = 0; k < sizeof(S) / 2; ++k) std::swap(bytes[k], bytes[sizeof(S) - 1 - k]);
  }
  return std::bit_cast<S>(bytes);
}

/// Rounds a stored number to a value or an index; false if it lies beyond the target's range. NaN and infinities are
/// valid values, but not indices.
template <class T, class S>
bool convert(S from, T& to) {
  if constexpr (std::is_same_v<S, half>) {
    return convert(static_cast<float>(from), to);
  } else if constexpr (std::is_same_v<S, bool>) {
    to = from ? T{1} : T{0};
  } else if constexpr (std::floating_point<T> && std::floating_point<S> && sizeof(T) < sizeof(S)) {
    // Half a unit in the last place past the largest float: from there on, rounding gives infinity.
    constexpr double first_beyond = 0x1.ffffffp127;
    if (std::isfinite(from) && std::fabs(from) >= first_beyond) return false;
    to = static_cast<T>(from);
  } else if constexpr (std::floating_point<T>) {
    to = static_cast<T>(from);
  } else {
    static_assert(std::integral<S>);
    if (!std::in_range<T>(from)) return false;
    to = static_cast<T>(from);
  }
  return true;
}

namespace detail {

template <class S>
bool is_stored_as(const number_type& type) {
  const number_kind kind = type.kind == number_kind::complex ? number_kind::real : type.kind;
  const std::size_t bytes = type.kind == number_kind::complex ? type.bytes / 2 : type.bytes;
  constexpr number_kind own = std::is_same_v<S, bool>                                  ? number_kind::boolean
                              : std::is_same_v<S, half> || std::is_floating_point_v<S> ? number_kind::real
                              : std::is_signed_v<S>                                    ? number_kind::signed_integer
                                                                                       : number_kind::unsigned_integer;
  return kind == own && bytes == sizeof(S);
}

template <class S, class T>
std::size_t decode_as(const number_type& type, const char* from, std::size_t count, T* to) {
  for (std::size_t k = 0; k < count; ++k) {
    const char* const at = from + k * type.bytes;
    S number{};
    if constexpr (std::is_same_v<S, bool>) {
      number = *at != 0;  // a byte that is neither 0 nor 1 is not a valid bool
    } else {
      number = load<S>(at, type.order);
    }
    if (!convert(number, to[k])) return k;
  }
  return count;
}

template <class T, class... S>
std::size_t decode_any(const number_type& type, const char* from, std::size_t count, T* to) {
  std::size_t decoded = 0;
  (void)((is_stored_as<S>(type) && (decoded = decode_as<S>(type, from, count, to), true)) || ...);
  return decoded;
}

}  // namespace detail

/// Converts `count` numbers at `from` (the real parts of complex ones). Returns how many there are before the first
/// that does not fit T. For an integral T, `type` must be boolean or an integer.
template <class T>
std::size_t decode(const number_type& type, const char* from, std::size_t count, T* to) {
  if constexpr (std::floating_point<T>) {
    return detail::decode_any<T, double, float, half, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                              std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(type, from, count, to);
  } else {
    return detail::decode_any<T, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                              std::uint16_t, std::uint32_t, std::uint64_t>(type, from, count, to);
  }
}

}  // namespace bcsc::files
