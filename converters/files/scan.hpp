#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

/// Fast parsing of plainly written numbers, eight digits at a time. Every function returns false for any other text,
/// which is left to line_cursor; what both accept they convert alike, to the last bit. All may read up to `overlook`
/// bytes beyond the text.
namespace bcsc::files::scan {

inline constexpr std::size_t overlook = 16;

__extension__ using uint128 = unsigned __int128;

/// The next eight bytes, the first of them lowest, '0' subtracted from each without borrowing.
inline std::uint64_t next_eight(const char* at) {
  std::uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  return bytes ^ 0x3030303030303030u;
}

/// How many of them are digits before the first that is not.
inline int leading_digits(std::uint64_t eight) {
  // Adding carries a byte above 9 into its highest bit; what spills over harms only bytes behind the first such.
  const std::uint64_t others = ((eight + 0x7676767676767676u) | eight) & 0x8080808080808080u;
  return others == 0 ? 8 : std::countr_zero(others) / 8;
}

/// The number that eight digits make: neighbours joined to pairs, pairs to fours, fours to the whole.
inline std::uint64_t join_eight(std::uint64_t eight) {
  constexpr std::uint64_t low_pairs = 0x000000ff000000ffu;
  eight = eight * 10 + (eight >> 8);
  return ((eight & low_pairs) * (100 + (std::uint64_t{1000000} << 32)) +
          ((eight >> 16) & low_pairs) * (1 + (std::uint64_t{10000} << 32))) >>
         32;
}

inline constexpr std::array<std::uint64_t, 9> powers_of_ten{1,      10,      100,      1000,     10000,
                                                            100000, 1000000, 10000000, 100000000};

/// Appends all digits at `at` to `number` (modulo 2^64); returns how many there were.
inline std::int64_t take_digits(const char*& at, std::uint64_t& number) {
  const char* const first = at;
  for (;;) {
    const std::uint64_t eight = next_eight(at);
    const int digits = leading_digits(eight);
    if (digits == 0) break;
    // Leading zeros make it eight digits.
    number = number * powers_of_ten[static_cast<std::size_t>(digits)] + join_eight(eight << (64 - 8 * digits));
    at += digits;
    if (digits < 8) break;
  }
  return at - first;
}

/// Digits only, as many as always fit.
inline bool take_natural(const char*& at, std::int64_t& value) {
  const std::uint64_t eight = next_eight(at);
  const int digits = leading_digits(eight);
  if (digits == 0) return false;
  std::uint64_t number = join_eight(eight << (64 - 8 * digits));
  at += digits;
  if (digits == 8 && take_digits(at, number) > std::numeric_limits<std::int64_t>::digits10 - 8) return false;
  value = static_cast<std::int64_t>(number);
  return true;
}

/// The same with an optional minus.
inline bool take_integer(const char*& at, std::int64_t& value) {
  const bool negative = *at == '-';
  if (negative) ++at;
  if (!take_natural(at, value)) return false;
  if (negative) value = -value;
  return true;
}

/// 10^q = significand / 2^127 x 2^exponent, the significand in [2^127, 2^128) and truncated.
struct power {
  std::uint64_t high, low;
  int exponent;
};

inline constexpr int max_power = 55;  ///< 5^55 is the last below 2^128

inline constexpr std::array<power, 2 * max_power + 1> powers = [] {
  std::array<power, 2 * max_power + 1> table{};
  const auto store = [&table](int q, uint128 significand, int exponent) {
    table[static_cast<std::size_t>(q + max_power)] = {static_cast<std::uint64_t>(significand >> 64),
                                                      static_cast<std::uint64_t>(significand), exponent};
  };
  uint128 five = 1;  // 5^n
  for (int n = 0; n <= max_power; ++n, five *= 5) {
    uint128 significand = five;
    int width = 128;
    for (; significand >> 127 == 0; significand <<= 1) --width;
    store(n, significand, width - 1 + n);
    if (n == 0) continue;
    // 1 / 5^n by long division: 2^width / 5^n has its first bit before the point, and 127 more follow.
    uint128 quotient = 0, rest = uint128{1} << (width - 1);
    for (int bit = 0; bit < 128; ++bit) {
      const bool carry = rest >> 127 != 0;
      rest <<= 1;
      quotient <<= 1;
      if (carry || rest >= five) {
        rest -= five;
        quotient |= 1;
      }
    }
    store(-n, quotient, -width - n);
  }
  return table;
}();

/// The T nearest to number x 10^q; false where a few multiplications cannot tell, or where it is not a normal number.
/// As in D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51, 2021: the product
/// with a 128-bit power, truncated, is too small by less than 4 of its last units, so only a number that close to the
/// middle between two T (2^-70 of all, and exact middles) is left undecided.
template <class T>
[[gnu::always_inline]] inline bool nearest(std::uint64_t number, std::int64_t q, T& value) {
  using bits_t = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int precision = std::numeric_limits<T>::digits;
  if (number == 0) {
    value = T{0};
    return true;
  }
  if (q < -max_power || q > max_power) return false;
  const power& ten = powers[static_cast<std::size_t>(q + max_power)];

  const int shift = std::countl_zero(number);
  number <<= shift;
  uint128 product = uint128{number} * ten.high + ((uint128{number} * ten.low) >> 64);
  // As likely as not: no branch.
  const bool is_below_half = product >> 127 == 0;
  product += is_below_half ? product : 0;
  const int exponent = 64 - shift + ten.exponent - (is_below_half ? 1 : 0);
  const auto high = static_cast<std::uint64_t>(product >> 64);
  constexpr int dropped = 64 - precision;
  constexpr std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t rest = high & (2 * half - 1);
  const auto low = static_cast<std::uint64_t>(product);
  if ((rest == half && low == 0) || (rest == half - 1 && low > std::numeric_limits<std::uint64_t>::max() - 4)) {
    return false;
  }
  constexpr int bias = std::numeric_limits<T>::max_exponent - 1;
  if (exponent <= -bias || exponent >= bias) return false;
  // The significand's leading one counts as one more in the exponent; rounding up may carry into it.
  const auto significand = static_cast<bits_t>((high >> dropped) + (rest >= half ? 1 : 0));
  const auto biased = static_cast<bits_t>(exponent + bias - 1);
  value = std::bit_cast<T>(static_cast<bits_t>((biased << (precision - 1)) + significand));
  return true;
}

/// A decimal number of at most 19 significant digits.
template <class T>
bool take_real(const char*& at, T& value) {
  const bool negative = *at == '-';
  if (negative) ++at;
  std::uint64_t number = 0;
  const char* const first = at;
  std::int64_t digits = take_digits(at, number), q = 0;
  if (*at == '.') {
    ++at;
    q = -take_digits(at, number);
    digits -= q;
  }
  if (digits == 0) return false;
  constexpr int always_fit = std::numeric_limits<std::uint64_t>::digits10;
  if (digits > always_fit) {
    for (const char* zero = first; *zero == '0' || *zero == '.'; ++zero) digits -= *zero == '0' ? 1 : 0;
    if (digits > always_fit) return false;
  }
  if (const char letter = static_cast<char>(*at | 0x20); letter == 'e' || letter == 'd') {
    ++at;
    const bool down = *at == '-';
    if (down || *at == '+') ++at;
    std::uint64_t exponent = 0;
    const std::int64_t exponent_digits = take_digits(at, exponent);
    if (exponent_digits == 0 || exponent_digits > 8) return false;
    q += down ? -static_cast<std::int64_t>(exponent) : static_cast<std::int64_t>(exponent);
  }
  if (!nearest(number, q, value)) return false;
  if (negative) value = -value;
  return true;
}

}  // namespace bcsc::files::scan
