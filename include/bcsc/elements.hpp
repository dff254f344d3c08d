#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "bcsc/types.hpp"

#pragma GCC visibility push(default)
/// The values that a sparse matrix may hold besides float and double: half, bfloat16, and none at all.
namespace bcsc {

namespace detail {

/// A float rounded to nearest, ties to even, to `ExponentBits` + `MantissaBits` + sign = 16 bits. Overflow becomes
/// infinity, a NaN stays one (quiet).
template <int ExponentBits, int MantissaBits>
constexpr std::uint16_t narrow_float(float value) noexcept {
  static_assert(ExponentBits + MantissaBits == 15);
  constexpr int dropped = 23 - MantissaBits;
  constexpr int min_exponent = 2 - (1 << (ExponentBits - 1));  // of normal numbers
  constexpr std::uint32_t infinity = ((1u << ExponentBits) - 1) << MantissaBits;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | infinity | 1u << (MantissaBits - 1) |
                                      (magnitude >> dropped & ((1u << MantissaBits) - 1)));
  }
  if (magnitude == 0x7f800000u) return static_cast<std::uint16_t>(sign | infinity);
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t significand = magnitude & 0x7fffffu;
  int shift = dropped;
  std::uint32_t above = 0;  // the exponent's field
  if (exponent >= min_exponent) {
    above = static_cast<std::uint32_t>(exponent - min_exponent + 1) << MantissaBits;
  } else {
    // A subnormal of the narrow type: the leading one becomes a digit, and more digits fall off.
    significand = magnitude >> 23 != 0 ? significand | 0x800000u : significand << 1;
    shift += min_exponent - exponent;
    if (shift > 24) return static_cast<std::uint16_t>(sign);  // below half of the smallest subnormal
  }
  const std::uint32_t kept = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  // A carry out of the significand goes into the exponent, and from the largest finite number to infinity, as it
  // should.
  const std::uint32_t rounded = above + kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1u : 0u);
  return static_cast<std::uint16_t>(sign | (rounded < infinity ? rounded : infinity));
}

template <int ExponentBits, int MantissaBits>
constexpr float widen_float(std::uint16_t narrow) noexcept {
  constexpr int dropped = 23 - MantissaBits;
  constexpr std::uint32_t exponents = (1u << ExponentBits) - 1;
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  const std::uint32_t sign = static_cast<std::uint32_t>(narrow & 0x8000u) << 16;
  const std::uint32_t exponent = narrow >> MantissaBits & exponents, mantissa = narrow & ((1u << MantissaBits) - 1);
  if (exponent == exponents) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << dropped);
  if (exponent != 0) {
    return std::bit_cast<float>(sign | (exponent + 127u - static_cast<unsigned>(bias)) << 23 | mantissa << dropped);
  }
  // Subnormal: mantissa * 2^(1 - bias - MantissaBits), exact in a float, where bfloat16's own are subnormal as well.
  if constexpr (ExponentBits == 8) return std::bit_cast<float>(sign | mantissa << dropped);
  const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - bias - MantissaBits) << 23);
  const float value = static_cast<float>(mantissa) * scale;
  return sign != 0 ? -value : value;
}

/// A 16-bit floating-point number for storage: it converts, and float computes.
template <int ExponentBits, int MantissaBits>
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  constexpr explicit float16(float value) noexcept : bits(narrow_float<ExponentBits, MantissaBits>(value)) {}
  /// Rounded once: the double is first rounded to odd in float, which keeps the side of a 16-bit tie it lies on.
  constexpr explicit float16(double value) noexcept : float16(to_odd(value)) {}
  template <std::integral N>
  constexpr explicit float16(N value) noexcept : float16(of_integer(value)) {}
  static constexpr float16 from_bits(std::uint16_t bits) noexcept {
    float16 x;
    x.bits = bits;
    return x;
  }
  constexpr explicit operator float() const noexcept { return widen_float<ExponentBits, MantissaBits>(bits); }
  constexpr explicit operator double() const noexcept { return static_cast<double>(static_cast<float>(*this)); }
  constexpr explicit operator long double() const noexcept {
    return static_cast<long double>(static_cast<float>(*this));
  }

  constexpr float16 operator-() const noexcept { return from_bits(static_cast<std::uint16_t>(bits ^ 0x8000u)); }
  friend constexpr bool operator==(float16 x, float16 y) noexcept {
    return static_cast<float>(x) == static_cast<float>(y);
  }
  friend constexpr std::partial_ordering operator<=>(float16 x, float16 y) noexcept {
    return static_cast<float>(x) <=> static_cast<float>(y);
  }
  /// Rounded to nearest: the float sum of two of these is exact or rounds the same way.
  friend constexpr float16 operator+(float16 x, float16 y) noexcept {
    return float16(static_cast<double>(x) + static_cast<double>(y));
  }
  constexpr float16& operator+=(float16 y) noexcept { return *this = *this + y; }

 private:
  /// Digits that do not fit a double leave a sticky bit behind.
  template <std::integral N>
  static constexpr double of_integer(N value) noexcept {
    auto magnitude = static_cast<std::uint64_t>(value);
    const bool negative = value < N{0};
    if (negative) magnitude = 0 - magnitude;
    double scale = 1;
    for (; magnitude >> 53 != 0; scale *= 2) magnitude = magnitude >> 1 | (magnitude & 1);
    return static_cast<double>(magnitude) * (negative ? -scale : scale);
  }
  static constexpr float to_odd(double value) noexcept {
    const auto near = static_cast<float>(value);
    if (static_cast<double>(near) == value || value != value) return near;
    const auto bits = std::bit_cast<std::uint32_t>(near);
    if ((bits & 1u) != 0 || (bits & 0x7fffffffu) == 0x7f800000u) return near;
    // `near` is even and not exact: its odd neighbour on the side of `value`.
    const double magnitude = value < 0 ? -value : value, near_magnitude = near < 0 ? -double{near} : double{near};
    return std::bit_cast<float>(magnitude > near_magnitude ? bits + 1 : bits - 1);
  }
};

}  // namespace detail

/// IEEE 754 binary16: 11 significant bits, up to 65504.
using half = detail::float16<5, 10>;
/// The upper half of a float: 8 significant bits, a float's range.
using bfloat16 = detail::float16<8, 7>;

/// The value type of a matrix without values: an entry is present or absent. Takes no memory in any format.
struct pattern {
  constexpr pattern() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr explicit pattern(Number) noexcept {}
  constexpr explicit pattern(half) noexcept {}
  constexpr explicit pattern(bfloat16) noexcept {}
  /// Each entry counts as 1 where numbers are needed.
  template <class Number>
  requires std::is_arithmetic_v<Number> || std::same_as<Number, half> || std::same_as<Number, bfloat16>
  constexpr explicit operator Number() const noexcept { return Number(1.0f); }
  friend constexpr bool operator==(pattern, pattern) noexcept { return true; }
  /// A duplicate is the same entry once more.
  constexpr pattern& operator+=(pattern) noexcept { return *this; }
};

/// What a sparse matrix may hold.
template <class T>
concept element = value<T> || std::same_as<T, half> || std::same_as<T, bfloat16> || std::same_as<T, pattern>;

/// Elements with a value, which can be computed with or made dense: all but pattern. A product takes any of them.
template <class T>
concept number = element<T> && !std::same_as<T, pattern>;

/// 16-bit numbers: stored as they are, computed with in fp32.
template <class T>
concept narrow_number = number<T> && !value<T>;

/// What sums of products of T are kept in, and the type of their factors alpha and beta: fp32 for fp16 and bf16.
template <class T>
requires number<T>
using scalar_of = std::conditional_t<value<T>, T, float>;

template <element T>
inline constexpr value_type value_type_of = std::same_as<T, float>      ? value_type::fp32
                                            : std::same_as<T, double>   ? value_type::fp64
                                            : std::same_as<T, half>     ? value_type::fp16
                                            : std::same_as<T, bfloat16> ? value_type::bf16
                                                                        : value_type::pattern;

template <class T>
inline constexpr bool is_finite_element(T x) noexcept {
  if constexpr (std::same_as<T, pattern>) {
    return true;
  } else {
    const auto f = static_cast<double>(x);
    return f - f == 0;
  }
}

/// 0 or -0.
template <number T>
inline constexpr bool is_zero_element(T x) noexcept {
  if constexpr (value<T>) {
    return x == 0;
  } else {
    return (x.bits & 0x7fffu) == 0;
  }
}

/// A count of patterns, which takes no memory: stands in for the std::span<const T> of other elements.
class pattern_span {
 public:
  class iterator {
   public:
    using value_type = pattern;
    using reference = pattern;
    using pointer = const pattern*;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;
    constexpr iterator() = default;
    constexpr explicit iterator(std::ptrdiff_t at) : at_(at) {}
    constexpr pattern operator*() const { return {}; }
    constexpr pattern operator[](std::ptrdiff_t) const { return {}; }
    constexpr iterator& operator++() { return ++at_, *this; }
    constexpr iterator operator++(int) { return iterator(at_++); }
    constexpr iterator& operator--() { return --at_, *this; }
    constexpr iterator operator--(int) { return iterator(at_--); }
    constexpr iterator& operator+=(std::ptrdiff_t n) { return at_ += n, *this; }
    constexpr iterator& operator-=(std::ptrdiff_t n) { return at_ -= n, *this; }
    friend constexpr iterator operator+(iterator i, std::ptrdiff_t n) { return i += n; }
    friend constexpr iterator operator+(std::ptrdiff_t n, iterator i) { return i += n; }
    friend constexpr iterator operator-(iterator i, std::ptrdiff_t n) { return i -= n; }
    friend constexpr std::ptrdiff_t operator-(iterator a, iterator b) { return a.at_ - b.at_; }
    friend constexpr auto operator<=>(iterator, iterator) = default;

   private:
    std::ptrdiff_t at_ = 0;
  };

  constexpr pattern_span() = default;
  constexpr explicit pattern_span(std::size_t size) : size_(size) {}
  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t size_bytes() const { return 0; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const pattern* data() const { return nullptr; }
  constexpr pattern operator[](std::size_t) const { return {}; }
  constexpr iterator begin() const { return iterator(0); }
  constexpr iterator end() const { return iterator(static_cast<std::ptrdiff_t>(size_)); }
  constexpr pattern_span subspan(std::size_t first, std::size_t count = std::dynamic_extent) const {
    return pattern_span(count == std::dynamic_extent ? size_ - first : count);
  }

 private:
  std::size_t size_ = 0;
};

/// Its owning counterpart: stands in for the std::vector<T> of other elements.
class pattern_array {
 public:
  using value_type = pattern;
  pattern_array() = default;
  explicit pattern_array(std::size_t size, pattern = {}) : size_(size) {}
  template <class Iterator>
  pattern_array(Iterator first, Iterator last) : size_(static_cast<std::size_t>(last - first)) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void resize(std::size_t size) { size_ = size; }
  void reserve(std::size_t) {}
  void clear() { size_ = 0; }
  void push_back(pattern) { ++size_; }
  const pattern* data() const { return nullptr; }
  /// One pattern is like another: writing to it changes nothing.
  struct reference {
    constexpr const reference& operator=(pattern) const { return *this; }
    constexpr const reference& operator+=(pattern) const { return *this; }
    constexpr operator pattern() const { return {}; }
  };
  reference operator[](std::size_t) { return {}; }
  pattern operator[](std::size_t) const { return {}; }
  pattern_span::iterator begin() const { return pattern_span(size_).begin(); }
  pattern_span::iterator end() const { return pattern_span(size_).end(); }
  operator pattern_span() const { return pattern_span(size_); }
  friend bool operator==(const pattern_array&, const pattern_array&) = default;

 private:
  std::size_t size_ = 0;
};

/// How the values of a matrix are passed and kept.
template <element T>
using element_span = std::conditional_t<std::same_as<T, pattern>, pattern_span, std::span<const T>>;
template <element T>
using element_array = std::conditional_t<std::same_as<T, pattern>, pattern_array, std::vector<T>>;

/// The same, to write to.
template <element T>
using element_values = std::conditional_t<std::same_as<T, pattern>, pattern_span, std::span<T>>;

}  // namespace bcsc
#pragma GCC visibility pop

/// @cond  doxygen does not find std's template
/// std::numeric_limits for them, as for a float of fewer bits.
template <int ExponentBits, int MantissaBits>
class std::numeric_limits<bcsc::detail::float16<ExponentBits, MantissaBits>> {
  using number = bcsc::detail::float16<ExponentBits, MantissaBits>;
  static constexpr unsigned infinite = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr number of(unsigned bits) noexcept { return number::from_bits(static_cast<std::uint16_t>(bits)); }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, is_iec559 = true;
  static constexpr bool is_bounded = true, is_modulo = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr int radix = 2, digits = MantissaBits + 1;
  static constexpr int max_exponent = 1 << (ExponentBits - 1), min_exponent = 3 - max_exponent;

  static constexpr number min() noexcept { return of(1u << MantissaBits); }
  static constexpr number max() noexcept { return of(infinite - 1); }
  static constexpr number lowest() noexcept { return of(0x8000u | (infinite - 1)); }
  static constexpr number denorm_min() noexcept { return of(1); }
  static constexpr number infinity() noexcept { return of(infinite); }
  static constexpr number quiet_NaN() noexcept { return of(infinite | 1u << (MantissaBits - 1)); }
  /// From 1 to the next number.
  static constexpr number epsilon() noexcept {
    return of(static_cast<unsigned>((1 << (ExponentBits - 1)) - 1 - MantissaBits) << MantissaBits);
  }
};
/// @endcond
