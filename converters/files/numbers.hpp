#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

/// Tokens of a line and the numbers they stand for. Nothing here depends on the locale.
namespace bcsc::files {

enum class token_status : std::uint8_t {
  ok,
  missing,      ///< the line ends before the token
  malformed,    ///< not a number of the kind asked for
  out_of_range  ///< a number, but beyond its type
};

/// Walks over the blank-separated tokens of one line. A CR counts as a blank, so that CRLF files need no care.
class line_cursor {
 public:
  line_cursor() = default;
  explicit line_cursor(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  /// Whether only blanks are left.
  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }
  /// The next token, not consumed; empty at the end.
  std::string_view peek() {
    skip_blanks();
    return {at_, static_cast<std::size_t>(std::find_if(at_, end_, is_blank) - at_)};
  }
  std::string_view take() {
    const std::string_view token = peek();
    at_ += token.size();
    return token;
  }
  char front() const { return *at_; }

  /// A decimal integer with optional sign; consumed only if ok. Beyond 63 bits: out_of_range, `value` saturated.
  token_status integer(std::int64_t& value);
  /// A decimal floating-point number; consumed only if ok. A leading '+' and Fortran's exponents (1.5D+03) are numbers
  /// too. Out of range: what overflows T, infinities and NaN. What is too small for T becomes a zero.
  template <class T>
  token_status real(T& value);

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  bool token_ends(const char* at) const { return at == end_ || is_blank(*at); }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

inline token_status line_cursor::integer(std::int64_t& value) {
  skip_blanks();
  if (at_ == end_) return token_status::missing;
  const bool negative = *at_ == '-';
  const char* const digits = at_ + (negative || *at_ == '+' ? 1 : 0);
  const char* last = digits;
  std::uint64_t magnitude = 0;
  for (; last != end_ && is_digit(*last); ++last) {
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(*last - '0');
  }
  if (last == digits || !token_ends(last)) return token_status::malformed;

  constexpr int always_safe_digits = std::numeric_limits<std::int64_t>::digits10;
  if (last - digits <= always_safe_digits) {
    value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  } else {
    const char* const from = negative ? at_ : digits;
    if (std::from_chars(from, last, value).ec == std::errc::result_out_of_range) {
      value = negative ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
      return token_status::out_of_range;
    }
  }
  at_ = last;
  return token_status::ok;
}

/// Whether a decimal number (syntax already checked) that lies beyond a type's range is too small rather than too
/// large.
inline bool is_underflow(std::string_view number) {
  const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, exponent_at);
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto leading = static_cast<std::int64_t>(std::min(mantissa.find_first_of("123456789"), mantissa.size()));
  std::int64_t exponent = 0;
  if (exponent_at < number.size()) {
    std::string_view digits = number.substr(exponent_at + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec == std::errc::result_out_of_range) {
      return digits.starts_with('-');
    }
  }
  // `point - leading` is within one of the mantissa's decimal exponent, and ranges end far from 10^0.
  return exponent < leading - point;
}

template <class T>
token_status line_cursor::real(T& value) {
  skip_blanks();
  if (at_ == end_) return token_status::missing;
  const char* first = at_ + (*at_ == '+' ? 1 : 0);
  if (first != at_ && (first == end_ || *first == '-')) return token_status::malformed;

  const char* last = end_;
  auto [next, ec] = std::from_chars(first, last, value);
  std::string with_e;
  if (ec != std::errc::invalid_argument && next != end_ && (*next == 'D' || *next == 'd')) {
    with_e.assign(first, std::find_if(first, end_, is_blank));
    with_e[static_cast<std::size_t>(next - first)] = 'e';
    const char* const behind_token = first + with_e.size();
    first = with_e.data();
    last = first + with_e.size();
    const auto again = std::from_chars(first, last, value);
    if (again.ptr != last) return token_status::malformed;
    next = behind_token;
    ec = again.ec;
  }
  if (ec == std::errc::invalid_argument || !token_ends(next)) return token_status::malformed;
  if (ec == std::errc::result_out_of_range || !std::isfinite(value)) {
    const std::string_view number = with_e.empty() ? std::string_view(first, next) : std::string_view(with_e);
    const bool is_a_word = number.find_first_of("nN") != std::string_view::npos;  // nan, inf, infinity
    if (is_a_word || !is_underflow(number)) return token_status::out_of_range;
    value = number.starts_with('-') ? -T{0} : T{0};
  }
  at_ = next;
  return token_status::ok;
}

}  // namespace bcsc::files
