#include "converters/files/scan_line.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

/// The fast number reader against the C library, which rounds correctly, and what it leaves to the exact one.
namespace bcsc::files {
namespace {

double by_c_library(const std::string& text, double) { return std::strtod(text.c_str(), nullptr); }
float by_c_library(const std::string& text, float) { return std::strtof(text.c_str(), nullptr); }

/// Whether it is accepted; if so, it must be the nearest number, and use up all of the text.
template <class T>
bool is_taken(const std::string& number) {
  const std::string text = number + "\n" + std::string(scan::overlook, '7');
  const char* at = text.data();
  T value{};
  if (!scan::take_real(at, value)) return false;
  const T expected = by_c_library(number, T{});
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  EXPECT_EQ(std::bit_cast<bits>(value), std::bit_cast<bits>(expected)) << number << ": " << value;
  EXPECT_EQ(at, text.data() + number.size()) << number;
  return true;
}

std::string printed(const char* format, int precision, double value) {
  char text[512];
  std::snprintf(text, sizeof text, format, precision, value);
  return text;
}

/// Any double with an exponent of 2 in [low, high].
double some_double(std::mt19937_64& random, int low, int high) {
  const auto exponent = static_cast<std::uint64_t>(low + 1023) + random() % static_cast<std::uint64_t>(high - low + 1);
  return std::bit_cast<double>((random() & 0x800fffffffffffffu) | (exponent << 52));
}

TEST(ScanReal, RoundsToNearest) {
  std::mt19937_64 random(1);
  int taken = 0;
  constexpr int num_rounds = 100'000;
  for (int k = 0; k < num_rounds; ++k) {
    const double usual = some_double(random, -60, 60), any = some_double(random, -1022, 1023);
    taken += is_taken<double>(printed("%.*e", 16, usual)) ? 1 : 0;
    for (const double value : {usual, any}) {
      for (const std::string& text :
           {printed("%.*g", 17, value), printed("%.*g", static_cast<int>(random() % 20), value),
            printed("%.*e", 18, value), printed("%.*f", static_cast<int>(random() % 12), usual)}) {
        is_taken<double>(text);
        is_taken<float>(text);
      }
    }
  }
  EXPECT_EQ(taken, num_rounds) << "the usual form of the usual numbers must be fast";
}

/// The midpoint of two neighbours, and what lies closest to it on both sides.
TEST(ScanReal, NeverGuessesAtTheMiddle) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 100'000; ++k) {
    const auto low =
        std::bit_cast<float>(static_cast<std::uint32_t>((127 - 40 + random() % 80) << 23 | random() % (1 << 23)));
    const double middle = (static_cast<double>(low) + static_cast<double>(std::nextafter(low, FLT_MAX))) / 2;
    for (const int digits : {18, 17, 16, 9}) is_taken<float>(printed("%.*e", digits, middle));
    is_taken<float>(printed("%.*f", 0, middle));
    // Integers of 54 to 64 bits: odd ones with one bit too many are middles.
    const std::uint64_t whole = (std::uint64_t{1} << 53) + random() % (std::uint64_t{1} << (54 + random() % 9));
    for (const std::uint64_t near : {whole, whole + 1, whole | 1, (whole >> 10) << 10 | 1 << 9}) {
      is_taken<double>(std::to_string(near));
      is_taken<float>(std::to_string(near));
      is_taken<double>(std::to_string(near) + "e-" + std::to_string(random() % 30));
      is_taken<double>(std::to_string(near) + "E+" + std::to_string(random() % 30));
    }
  }
}

TEST(ScanReal, KnowsThePlainForms) {
  for (const std::string text : {"0",
                                 "-0",
                                 "0.0",
                                 "-0.000",
                                 "0e0",
                                 "0e999",
                                 "1",
                                 "-1",
                                 "10",
                                 "3.",
                                 ".5",
                                 "-.5",
                                 "1e5",
                                 "1E5",
                                 "1e+05",
                                 "1.e-5",
                                 ".1e1",
                                 "00001.5",
                                 "0.000000000000000000000000012345678901234567",
                                 "00000000000000000000000000000001",
                                 "1234567890123456789",
                                 "12345678.12345678",
                                 "9999999999999999999",
                                 "1e00000022",
                                 "123456789012345678.9"}) {
    EXPECT_TRUE(is_taken<double>(text)) << text;
    EXPECT_TRUE(is_taken<float>(text)) << text;
  }
  // Exponents of 10 at and beyond the table's ends, and of 2 at fp32's.
  for (int q = -70; q <= 70; ++q) {
    EXPECT_EQ(is_taken<double>("3e" + std::to_string(q)), std::abs(q) <= scan::max_power) << q;
    EXPECT_EQ(is_taken<float>("1e" + std::to_string(q)), q >= -37 && q <= 38) << q;
  }
}

TEST(ScanReal, LeavesTheRestAlone) {
  for (const std::string text : {"",
                                 ".",
                                 "-",
                                 "+1",
                                 "--1",
                                 "-+1",
                                 "e5",
                                 ".e5",
                                 "-.",
                                 "1e",
                                 "1e+",
                                 "1e-",
                                 "1d",
                                 "nan",
                                 "inf",
                                 "-inf",
                                 "x",
                                 " 1",
                                 "12345678901234567890",
                                 "0.12345678901234567890",
                                 "1e123456789"}) {
    const std::string padded = text + "\n" + std::string(scan::overlook, '7');
    const char* at = padded.data();
    double value = 0;
    EXPECT_FALSE(scan::take_real(at, value)) << text;
  }
}

TEST(ScanReal, TakesFortransExponents) {
  const std::string text = "-1.5D+03 ", padded = text + std::string(scan::overlook, '7');
  const char* at = padded.data();
  double value = 0;
  ASSERT_TRUE(scan::take_real(at, value));
  EXPECT_EQ(value, -1500);
  EXPECT_EQ(*at, ' ');
}

/// Every number of digits, followed by every byte that is not a digit.
TEST(ScanNatural, TakesAllDigitsAndNoMore) {
  std::mt19937_64 random(3);
  for (int digits = 0; digits <= 22; ++digits) {
    for (int behind = 0; behind < 256; ++behind) {
      if (behind >= '0' && behind <= '9') continue;
      std::string number;
      for (int k = 0; k < digits; ++k) number += static_cast<char>('0' + random() % 10);
      const std::string text = number + static_cast<char>(behind) + std::string(scan::overlook, '9');
      const char* at = text.data();
      std::int64_t value = -1;
      const bool is_natural = digits >= 1 && digits <= 18;
      ASSERT_EQ(scan::take_natural(at, value), is_natural) << text;
      if (!is_natural) continue;
      ASSERT_EQ(value, std::strtoll(number.c_str(), nullptr, 10)) << text;
      ASSERT_EQ(at, text.data() + digits) << text;
      const std::string negative = "-" + text;
      at = negative.data();
      ASSERT_TRUE(scan::take_integer(at, value));
      ASSERT_EQ(value, -std::strtoll(number.c_str(), nullptr, 10)) << text;
    }
  }
}

#if BCSC_SCAN_LINES

/// What the reader of usual lines accepts, the other one accepts, too, equal to the last bit; the rest is left to that
/// one.
template <class T>
void expect_short_real(const std::string& number, char behind, bool is_short) {
  const std::string text = number + behind + std::string(scan::overlook, '7');
  const char *at = text.data(), *general = text.data();
  T value{}, expected{};
  ASSERT_EQ(scan::take_short_real(at, value), is_short) << text;
  if (!is_short) {
    ASSERT_EQ(at, text.data()) << text;
    return;
  }
  ASSERT_EQ(at, text.data() + number.size()) << text;
  if (!scan::take_real(general, expected)) expected = by_c_library(number, T{});
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  ASSERT_EQ(std::bit_cast<bits>(value), std::bit_cast<bits>(expected)) << number;
}

TEST(ScanShortReal, IsTheSameNumber) {
  std::mt19937_64 random(6);
  for (int k = 0; k < 100'000; ++k) {
    std::string number = random() % 2 == 0 ? "-" : "";
    const std::uint64_t whole_digits = random() % 5, digits = random() % 18;
    for (std::uint64_t d = 0; d < whole_digits; ++d) number += static_cast<char>('0' + random() % 10);
    number += '.';
    for (std::uint64_t d = 0; d < digits; ++d) number += static_cast<char>('0' + random() % 10);
    const bool is_short = whole_digits >= 1 && whole_digits <= 3 && digits <= 16;
    for (const char behind : {'\n', '\r', ' ', '\t'}) {
      expect_short_real<double>(number, behind, is_short);
      expect_short_real<float>(number, behind, is_short);
    }
  }
}

TEST(ScanShortReal, LeavesOtherForms) {
  for (const char* const other :
       {"",     "-",    "+1.5", "1",     "12",   "1.5e3", "1.5E3", "1.5d3", ".5",     "-.5", "1,5",
        "1..5", "1.5.", "1.5-", "--1.5", "1.5x", "0x1.5", "nan",   "inf",   "1234.5", " 1.5"}) {
    expect_short_real<double>(other, '\n', false);
  }
}

TEST(ScanShortPlace, TakesTwoNumbersOfUpToEightDigits) {
  std::mt19937_64 random(7);
  for (int k = 0; k < 100'000; ++k) {
    std::string row, col;
    const std::uint64_t row_digits = random() % 10, col_digits = random() % 10;
    for (std::uint64_t d = 0; d < row_digits; ++d) row += static_cast<char>('0' + random() % 10);
    for (std::uint64_t d = 0; d < col_digits; ++d) col += static_cast<char>('0' + random() % 10);
    const std::string text = row + " " + col + " " + std::string(scan::overlook, '7');
    const char* at = text.data();
    std::int64_t i = -1, j = -1;
    const bool is_short =
        row_digits >= 1 && row_digits <= 8 && col_digits >= 1 && col_digits <= 8 && row_digits + col_digits + 1 <= 15;
    ASSERT_EQ(scan::take_short_place(at, i, j), is_short) << text;
    if (!is_short) {
      ASSERT_EQ(at, text.data());
      continue;
    }
    ASSERT_EQ(i, std::stoll(row)) << text;
    ASSERT_EQ(j, std::stoll(col)) << text;
    ASSERT_EQ(at, text.data() + row.size() + col.size() + 2) << text;
  }
  for (const std::string other : {"1  2 3", "1\t2 3", " 1 2 3", "-1 2 3", "1 2\n3", "1 2\t3", "1.2 3 4", "% 1 2 3"}) {
    const std::string text = other + "\n" + std::string(scan::overlook, '7');
    const char* at = text.data();
    std::int64_t i = -1, j = -1;
    EXPECT_FALSE(scan::take_short_place(at, i, j)) << other;
  }
}

#endif

}  // namespace
}  // namespace bcsc::files
