// half, bfloat16 and pattern: every 16-bit number against ldexp, rounding against a table of all of them (and against
// the compiler's own _Float16 where it has one), and what casts of matrices make of odd values.
#include "bcsc/elements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "test/support/any_oracle.hpp"
#include "test/support/oracle.hpp"

namespace bcsc {
namespace {

using test::test_random;

template <class T, int ExponentBits, int MantissaBits>
struct narrow {
  using type = T;
  static constexpr int exponent_bits = ExponentBits, mantissa_bits = MantissaBits;
  static constexpr int exponents = (1 << exponent_bits) - 1, bias = exponents / 2;
  static constexpr std::uint16_t infinity = exponents << mantissa_bits;

  /// What the bits of a finite number mean.
  static double value(std::uint16_t bits) {
    const int exponent = bits >> mantissa_bits & exponents, mantissa = bits & ((1 << mantissa_bits) - 1);
    const double magnitude = exponent == 0
                                 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                 : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }

  /// All numbers from 0 up, then the power of two where infinity would stand. Their bits are their position.
  static const std::vector<double>& table() {
    static const std::vector<double> all = [] {
      std::vector<double> list;
      for (std::uint16_t bits = 0; bits < infinity; ++bits) list.push_back(value(bits));
      list.push_back(std::ldexp(1.0, exponents - bias));
      return list;
    }();
    return all;
  }

  /// The bits of the nearest, ties to even. Exact: the midpoint of two neighbours has one digit more than they.
  template <class Wide>
  static std::uint16_t nearest(Wide x) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
    const Wide magnitude = std::fabs(x);
    const auto above = std::upper_bound(table().begin(), table().end(), magnitude);
    if (above == table().end()) return sign | infinity;
    const auto low = static_cast<std::uint16_t>(above - table().begin() - 1);
    const Wide middle = (static_cast<Wide>(table()[low]) + *above) / 2;
    const bool up = magnitude > middle || (magnitude == middle && low % 2 == 1);
    return static_cast<std::uint16_t>(sign | (low + (up ? 1 : 0)));
  }
};

template <class N>
class narrow_floats : public ::testing::Test {};
using narrow_kinds = ::testing::Types<narrow<half, 5, 10>, narrow<bfloat16, 8, 7>>;
struct narrow_names {
  template <class N>
  static std::string GetName(int) {
    return std::string(to_string(value_type_of<typename N::type>));
  }
};
TYPED_TEST_SUITE(narrow_floats, narrow_kinds, narrow_names);

TYPED_TEST(narrow_floats, every_number_means_what_ldexp_says_and_comes_back) {
  using T = typename TypeParam::type;
  static_assert(sizeof(T) == 2 && number<T> && !value<T>);
  for (std::uint32_t all = 0; all < 0x10000; ++all) {
    const auto bits = static_cast<std::uint16_t>(all);
    const T x = T::from_bits(bits);
    const auto as_float = static_cast<float>(x);
    const auto as_double = static_cast<double>(x);
    ASSERT_EQ(std::signbit(as_float), (bits & 0x8000) != 0) << bits;
    if ((bits & 0x7fff) < TypeParam::infinity) {
      ASSERT_EQ(as_double, TypeParam::value(bits)) << bits;
      ASSERT_EQ(as_float, TypeParam::value(bits)) << bits;
    } else if ((bits & 0x7fff) == TypeParam::infinity) {
      ASSERT_TRUE(std::isinf(as_float) && std::isinf(as_double)) << bits;
    } else {
      ASSERT_TRUE(std::isnan(as_float) && std::isnan(as_double)) << bits;
      // A NaN stays one, with its sign and what fits of its payload, and becomes quiet.
      ASSERT_EQ(T(as_float).bits, bits | 1 << (TypeParam::mantissa_bits - 1)) << bits;
      ASSERT_EQ(T(as_double).bits, bits | 1 << (TypeParam::mantissa_bits - 1)) << bits;
      continue;
    }
    ASSERT_EQ(T(as_float).bits, bits);
    ASSERT_EQ(T(as_double).bits, bits);
    ASSERT_EQ((-x).bits, bits ^ 0x8000);
    ASSERT_EQ(is_zero_element(x), as_float == 0) << bits;
    ASSERT_EQ(is_finite_element(x), std::isfinite(as_float)) << bits;
  }
}

/// The numbers where rounding can go wrong: each 16-bit number, the middle between two, and their neighbours.
template <class N, class Wide, class Body>
void for_hard_numbers(Body&& body) {
  for (std::size_t k = 0; k + 1 < N::table().size(); ++k) {
    const double low = N::table()[k], high = N::table()[k + 1];
    for (const double exact : {low, low + (high - low) / 2, high}) {
      const auto x = static_cast<Wide>(exact);
      for (const Wide y : {x, std::nextafter(x, Wide(0)), std::nextafter(x, std::numeric_limits<Wide>::infinity())}) {
        body(y);
        body(-y);
      }
    }
  }
}

/// Numbers of every magnitude: random bits.
template <class Wide, class Bits, class Body>
void for_random_numbers(int count, Body&& body) {
  test_random random(5);
  for (int k = 0; k < count; ++k) {
    const auto x = std::bit_cast<Wide>(static_cast<Bits>(random.bits()));
    if (!std::isnan(x)) body(x);
  }
}

TYPED_TEST(narrow_floats, floats_are_rounded_to_nearest_ties_to_even) {
  using T = typename TypeParam::type;
  const auto check = [](float x) { ASSERT_EQ(T(x).bits, TypeParam::nearest(x)) << std::hexfloat << x; };
  for_hard_numbers<TypeParam, float>(check);
  for_random_numbers<float, std::uint32_t>(1'000'000, check);
}

TYPED_TEST(narrow_floats, doubles_are_rounded_once) {
  using T = typename TypeParam::type;
  const auto check = [](double x) { ASSERT_EQ(T(x).bits, TypeParam::nearest(x)) << std::hexfloat << x; };
  for_hard_numbers<TypeParam, double>(check);
  for_random_numbers<double, std::uint64_t>(1'000'000, check);
  // The narrow range that random bits rarely hit.
  test_random random(6);
  for (int k = 0; k < 1'000'000; ++k) {
    check(std::ldexp(random.real(), static_cast<int>(random.below(2 * TypeParam::bias + 40)) - TypeParam::bias - 30));
  }
}

TYPED_TEST(narrow_floats, integers_are_rounded_once) {
  using T = typename TypeParam::type;
  test_random random(7);
  for (int k = 0; k < 200'000; ++k) {
    const std::uint64_t wide = random.bits() >> random.below(64);
    const auto x = static_cast<std::int64_t>(random.bits()) >> random.below(64);
    ASSERT_EQ(T(wide).bits, TypeParam::nearest(static_cast<long double>(wide))) << wide;
    ASSERT_EQ(T(x).bits, TypeParam::nearest(static_cast<long double>(x))) << x;
    ASSERT_EQ(T(static_cast<int>(x)).bits, TypeParam::nearest(static_cast<long double>(static_cast<int>(x)))) << x;
  }
  // One more than a tie, far beyond a double's digits; and the ends.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << (61 - TypeParam::mantissa_bits));
  for (const std::int64_t x : {tie - 1, tie, tie + 1, -tie, -tie - 1, std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(T(x).bits, TypeParam::nearest(static_cast<long double>(x))) << x;
  }
}

TYPED_TEST(narrow_floats, sums_are_rounded_once) {
  using T = typename TypeParam::type;
  test_random random(8);
  for (int k = 0; k < 1'000'000; ++k) {
    const T x = T::from_bits(static_cast<std::uint16_t>(random.bits()));
    // Half of the time of x's magnitude, where digits cancel.
    const T y =
        T::from_bits(static_cast<std::uint16_t>(random.below(2) == 0 ? random.bits() : x.bits ^ random.below(0x300)));
    if (!is_finite_element(x) || !is_finite_element(y)) continue;
    const long double sum = static_cast<long double>(static_cast<double>(x)) + static_cast<double>(y);
    ASSERT_EQ((x + y).bits, TypeParam::nearest(sum)) << x.bits << " + " << y.bits;
    T also = x;
    also += y;
    ASSERT_EQ(also.bits, (x + y).bits);
  }
  const T inf = T::from_bits(TypeParam::infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(inf + -inf)));
  EXPECT_EQ((inf + T(1)).bits, TypeParam::infinity);
}

TYPED_TEST(narrow_floats, compare_like_the_numbers_they_are) {
  using T = typename TypeParam::type;
  test_random random(9);
  for (int k = 0; k < 300'000; ++k) {
    const T x = T::from_bits(static_cast<std::uint16_t>(random.bits()));
    const T y =
        T::from_bits(static_cast<std::uint16_t>(random.below(2) == 0 ? random.bits() : x.bits ^ random.below(3)));
    const auto a = static_cast<double>(x), b = static_cast<double>(y);
    ASSERT_EQ(x == y, a == b);
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x > y, a > b);
    ASSERT_EQ(x <= y, a <= b);
  }
  EXPECT_TRUE(T(0.0f) == T(-0.0f));
}

// The compiler computes them as well.
static_assert(half(1.0f).bits == 0x3c00 && half(65504).bits == 0x7bff && half(65520).bits == 0x7c00);
static_assert(bfloat16(1.0f).bits == 0x3f80 && static_cast<float>(bfloat16(3.0)) == 3.0f);

#ifdef __FLT16_MAX__
// Another implementation, on every float there is where BCSC_EXHAUSTIVE asks for it, else on every 4099th.
TEST(half, rounds_like_the_compilers_own_type) {
  const std::uint64_t step = std::getenv("BCSC_EXHAUSTIVE") != nullptr ? 1 : 4099;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += step) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) continue;
    const auto theirs = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
    if (half(x).bits != theirs) FAIL() << std::hexfloat << x << ": " << half(x).bits << ", not " << theirs;
  }
  test_random random(10);
  for (int k = 0; k < 1'000'000; ++k) {
    const double x = std::ldexp(random.real(), static_cast<int>(random.below(46)) - 28);
    ASSERT_EQ(half(x).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))) << std::hexfloat << x;
  }
}
#endif

// --- Patterns -------------------------------------------------------------------------------------------------------

TEST(pattern, takes_no_memory_and_counts_one) {
  static_assert(element<pattern> && !number<pattern> && !value<pattern>);
  EXPECT_EQ(size_of(value_type::pattern), 0);
  EXPECT_EQ(static_cast<float>(pattern(7.0)), 1.0f);
  EXPECT_EQ(static_cast<half>(pattern{}).bits, half(1).bits);
  EXPECT_EQ(static_cast<std::int64_t>(pattern{}), 1);
  EXPECT_TRUE(pattern(1.0f) == pattern(half(2)));

  pattern_array array(5);
  EXPECT_EQ(array.size(), 5u);
  array.push_back({});
  array[0] = pattern(3);
  array[1] += pattern(3);
  EXPECT_EQ(array.size(), 6u);
  const pattern_span span = array;
  EXPECT_EQ(span.size(), 6u);
  EXPECT_EQ(span.size_bytes(), 0u);
  EXPECT_EQ(span.end() - span.begin(), 6);
  EXPECT_EQ(span.subspan(2).size(), 4u);
  EXPECT_EQ(span.subspan(2, 3).size(), 3u);
  EXPECT_EQ(pattern_array(span.begin() + 1, span.end()).size(), 5u);
  // More of them than there is memory in the world.
  EXPECT_EQ(pattern_array(std::size_t{1} << 62).size(), std::size_t{1} << 62);
}

// --- Casts of matrices ----------------------------------------------------------------------------------------------

/// The bits a value must have in another type: rounded once, from what it is exactly.
template <class T>
std::uint64_t cast_bits(double exact) {
  if constexpr (std::same_as<T, half>) {
    return narrow<half, 5, 10>::nearest(exact);
  } else if constexpr (std::same_as<T, bfloat16>) {
    return narrow<bfloat16, 8, 7>::nearest(exact);
  } else if constexpr (std::same_as<T, pattern>) {
    return 0;
  } else {
    return test::bits_of(static_cast<T>(exact));
  }
}

TEST(cast, rounds_each_value_once_from_any_type_to_any_other) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers{0.0,
                                    -0.0,
                                    1,
                                    -1,
                                    0.1,
                                    inf,
                                    -inf,
                                    65504,
                                    65519.9,
                                    65520,
                                    -65520,
                                    1e5,
                                    3.3e38,
                                    3.5e38,
                                    1e300,
                                    -1e300,
                                    6e-8,
                                    2.9e-8,
                                    2.99e-8,
                                    -1e-8,
                                    1e-40,
                                    1e-45,
                                    1e-310,
                                    5e-324,
                                    1.0 / 3,
                                    2049,
                                    2051,
                                    257,
                                    0x1.01p+0,
                                    0x1.010001p+0,
                                    0x1.ffep+0,
                                    0x1.002p+0,
                                    0x1.00200000001p+0,
                                    0x1.0100000001p+0};
  const auto count = static_cast<std::int64_t>(numbers.size());
  for (const value_type from : all_value_types) {
    std::vector<std::int32_t> col_ind;
    std::vector<double> values;
    for (std::int32_t k = 0; k < count; ++k) {
      col_ind.push_back(k);
      values.push_back(numbers[static_cast<std::size_t>(k)]);
    }
    const csr_matrix<double> a(1, count, {0, static_cast<std::int32_t>(count)}, col_ind, values);
    const any_matrix source =
        convert(any_view(a), matrix_format::csr, {.element = from, .overflow = overflow_policy::infinity});
    for (const value_type to : all_value_types) {
      for (const index_type indices : all_index_types) {
        SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
        const any_matrix made = convert(source.view(), matrix_format::csr,
                                        {.element = to, .overflow = overflow_policy::infinity, .indices = indices});
        EXPECT_EQ(made.element(), to);
        EXPECT_EQ(made.indices(), indices);
        const std::vector<test::stored_entry> entries = test::sorted_entries(made);
        ASSERT_EQ(entries.size(), numbers.size());
        test::with_types(from, indices, [&]<class From, class>() {
          test::with_types(to, indices, [&]<class To, class>() {
            for (std::size_t k = 0; k < numbers.size(); ++k) {
              const double exact =
                  std::same_as<From, pattern> ? 1.0 : static_cast<double>(static_cast<From>(numbers[k]));
              EXPECT_EQ(entries[k].bits, cast_bits<To>(exact)) << std::hexfloat << numbers[k];
            }
            return 0;
          });
          return 0;
        });
      }
    }
  }
}

TEST(cast, keeps_nan_and_the_signs_of_nan_and_zero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const csr_matrix<double> a(1, 4, {0, 4}, {0, 1, 2, 3}, {nan, -nan, 0.0, -0.0});
  for (const value_type from : all_value_types) {
    for (const value_type to : all_value_types) {
      if (!can_hold(matrix_format::dense, from) || !can_hold(matrix_format::dense, to)) continue;
      SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
      const any_matrix made =
          convert(convert(any_view(a), matrix_format::csr, {.element = from}), matrix_format::csr, {.element = to});
      made.view().visit([&]<class View>(const View& view) {
        if constexpr (format_of<View> == matrix_format::csr && number<typename View::value_t>) {
          for (std::size_t k = 0; k < 4; ++k) {
            const auto x = static_cast<double>(view.values[k]);
            EXPECT_EQ(std::isnan(x), k < 2);
            EXPECT_TRUE(k < 2 || x == 0);
            EXPECT_EQ(std::signbit(x), k % 2 == 1) << k;
          }
        } else {
          ADD_FAILURE();
        }
      });
    }
  }
}

}  // namespace
}  // namespace bcsc
