#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "converters/files/scan.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <emmintrin.h>
#define BCSC_SCAN_LINES 1
#else
#define BCSC_SCAN_LINES 0
#endif

/// The form of line that nearly all large Matrix Market files consist of: `row column value`, one blank between them,
/// the value with a point and without an exponent. Sixteen characters at a time, in half of scan's instructions.
namespace bcsc::files::scan {

#if BCSC_SCAN_LINES

namespace sixteen {

/// Bit k: character k is not a digit. `digits` are the characters less '0'.
inline unsigned others(__m128i digits) {
  const __m128i at_most_nine = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
  return static_cast<unsigned>(_mm_movemask_epi8(at_most_nine)) ^ 0xffffu;
}
inline __m128i load(const char* at) {
  return _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), _mm_set1_epi8('0'));
}

/// The two numbers below 10^8 that two times eight digits make; the first in the low half.
inline std::uint64_t join(__m128i digits) {
  // Tens and ones, then hundreds, then ten thousands.
  const __m128i tens = _mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xff)), _mm_set1_epi16(10));
  const __m128i pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i packed = _mm_packs_epi32(fours, fours);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_madd_epi16(packed, _mm_set1_epi32(1 << 16 | 10000))));
}

/// Ones for the first n characters, from 16 - n on.
inline constexpr unsigned char first_ones[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
inline __m128i keep_first(__m128i digits, int n) {
  return _mm_and_si128(digits, _mm_loadu_si128(reinterpret_cast<const __m128i*>(first_ones + 16 - n)));
}

}  // namespace sixteen

/// Takes a number of one to three digits, a point and at most sixteen digits, but not the blank or line end that must
/// follow. False for any other form, and then `at` stays.
template <class T>
[[gnu::always_inline]] inline bool take_short_real(const char*& at, T& value) {
  // A sign is as likely as not: added, not branched upon.
  const std::uint64_t negative = *at == '-' ? 1 : 0;
  const char* const first = at + negative;
  const int whole_digits = __builtin_ctz(sixteen::others(sixteen::load(first)) | 1u << 15);
  if (whole_digits < 1 || whole_digits > 3 || first[whole_digits] != '.') return false;
  std::uint32_t word;
  std::memcpy(&word, first, sizeof word);
  word = (word ^ 0x30303030u) << (32 - 8 * whole_digits);
  const std::uint64_t whole = (word >> 8 & 0xff) * 100 + (word >> 16 & 0xff) * 10 + (word >> 24);

  const char* const behind_point = first + whole_digits + 1;
  const __m128i characters = sixteen::load(behind_point);
  const int digits = __builtin_ctz(sixteen::others(characters) | 1u << 16);
  const char* const end = behind_point + digits;
  if (static_cast<unsigned char>(*end) > ' ') return false;
  // Trailing zeros make it sixteen digits: 19 digits in all always fit.
  const std::uint64_t both = sixteen::join(sixteen::keep_first(characters, digits));
  const std::uint64_t number = whole * 10'000'000'000'000'000u + (both & 0xffffffffu) * 100'000'000u + (both >> 32);
  if (!nearest(number, -16, value)) return false;
  using bits_t = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  value = std::bit_cast<T>(
      static_cast<bits_t>(std::bit_cast<bits_t>(value) | static_cast<bits_t>(negative << (8 * sizeof(T) - 1))));
  at = end;
  return true;
}

/// Takes `row column ` of at most eight digits each, and 15 characters in all. False for any other form, and then `at`
/// stays.
[[gnu::always_inline]] inline bool take_short_place(const char*& at, std::int64_t& row, std::int64_t& col) {
  const unsigned others = sixteen::others(sixteen::load(at)) | 3u << 16;
  const int first_end = __builtin_ctz(others), second_end = __builtin_ctz(others & (others - 1));
  const int first_digits = first_end, second_digits = second_end - first_end - 1;
  if (first_digits - 1u > 7u || second_digits - 1u > 7u || second_end > 15 || at[first_end] != ' ' ||
      at[second_end] != ' ') {
    return false;
  }
  const auto first = static_cast<long long>(next_eight(at) << (64 - 8 * first_digits));
  const auto second = static_cast<long long>(next_eight(at + first_end + 1) << (64 - 8 * second_digits));
  const std::uint64_t both = sixteen::join(_mm_unpacklo_epi64(_mm_cvtsi64_si128(first), _mm_cvtsi64_si128(second)));
  row = static_cast<std::int64_t>(both & 0xffffffffu);
  col = static_cast<std::int64_t>(both >> 32);
  at += second_end + 1;
  return true;
}

#endif

}  // namespace bcsc::files::scan
