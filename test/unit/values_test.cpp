#include "bcsc/values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/container.hpp"
#include "bcsc/error.hpp"
#include "bcsc/files.hpp"
#include "test/support/viewed.hpp"

// Statistics of a matrix's values, and what a narrower type makes of them.
namespace {

using namespace bcsc;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// 3 x 4, `special` at (2, 3) as messages count, among ones.
any_matrix holding(double special, value_type element = value_type::fp64) {
  const csr_matrix<double> a(3, 4, {0, 2, 4, 5}, {0, 3, 1, 2, 0}, {1, 1, 1, special, 1});
  return convert(any_matrix(a), matrix_format::csr, {.element = element, .overflow = overflow_policy::infinity});
}

/// The value at (2, 3) of a CSR matrix of any type.
double special_of(const any_view& a) {
  return a.visit([]<matrix_view View>(const View& view) -> double {
    if constexpr (format_of<View> == matrix_format::csr && number<typename View::value_t>) {
      return static_cast<double>(view.values[3]);
    } else {
      return nan;
    }
  });
}

struct narrowing_case {
  value_type from, to;
  double value;
  double greatest;  ///< of `to`
};
void PrintTo(const narrowing_case& c, std::ostream* out) {
  *out << to_string(c.from) << " " << c.value << " to " << to_string(c.to);
}

class beyond_the_range : public testing::TestWithParam<narrowing_case> {};

TEST_P(beyond_the_range, is_refused_by_name_in_every_format) {
  const narrowing_case& c = GetParam();
  for (const matrix_format format : all_matrix_formats) {
    try {
      const any_matrix narrow = convert(holding(c.value, c.from), format, {.element = c.to});
      ADD_FAILURE() << to_string(format) << " took it";
    } catch (const error& problem) {
      EXPECT_EQ(problem.code(), errc::value_out_of_range);
      const std::string message = problem.what();
      EXPECT_NE(message.find("(2, 3)"), std::string::npos) << message;
      EXPECT_NE(message.find(to_string(c.to)), std::string::npos) << message;
    }
  }
}

TEST_P(beyond_the_range, becomes_what_the_policy_says) {
  const narrowing_case& c = GetParam();
  const double sign = c.value < 0 ? -1 : 1;
  const auto by = [&](overflow_policy policy) {
    return special_of(
        viewed(convert(holding(c.value, c.from), matrix_format::csr, {.element = c.to, .overflow = policy})));
  };
  EXPECT_EQ(by(overflow_policy::infinity), sign * infinity);
  EXPECT_EQ(by(overflow_policy::clamp), sign * c.greatest);
  const narrowing_statistics lost = analyse_narrowing(viewed(holding(c.value, c.from)), c.to);
  EXPECT_EQ(lost.overflowed, 1);
  EXPECT_EQ(lost.underflowed, 0);
}

constexpr double max_float = std::numeric_limits<float>::max();
constexpr double max_bf16 = 0x1.fep127;
INSTANTIATE_TEST_SUITE_P(types, beyond_the_range,
                         testing::Values(narrowing_case{value_type::fp64, value_type::fp32, 1e39, max_float},
                                         narrowing_case{value_type::fp64, value_type::fp32, -1e300, max_float},
                                         narrowing_case{value_type::fp64, value_type::fp16, 65520, 65504},
                                         narrowing_case{value_type::fp64, value_type::bf16, 3.4e38, max_bf16},
                                         narrowing_case{value_type::fp32, value_type::fp16, -70000, 65504},
                                         narrowing_case{value_type::fp32, value_type::bf16, -3.4e38, max_bf16},
                                         narrowing_case{value_type::bf16, value_type::fp16, 1e38, 65504}));

class within_the_range : public testing::TestWithParam<narrowing_case> {};

TEST_P(within_the_range, is_rounded_and_nothing_is_refused) {
  const narrowing_case& c = GetParam();
  for (const overflow_policy policy : {overflow_policy::refuse, overflow_policy::infinity, overflow_policy::clamp}) {
    const any_matrix narrow =
        convert(holding(c.value, c.from), matrix_format::csr, {.element = c.to, .overflow = policy});
    const double found = special_of(narrow.view());
    EXPECT_TRUE(std::isnan(c.greatest) ? std::isnan(found) : found == c.greatest) << found;
  }
  EXPECT_EQ(analyse_narrowing(viewed(holding(c.value, c.from)), c.to).overflowed, 0);
}

// `greatest` is what it becomes.
INSTANTIATE_TEST_SUITE_P(types, within_the_range,
                         testing::Values(narrowing_case{value_type::fp64, value_type::fp16, 65519, 65504},
                                         narrowing_case{value_type::fp64, value_type::fp32, infinity, infinity},
                                         narrowing_case{value_type::fp64, value_type::fp16, -infinity, -infinity},
                                         narrowing_case{value_type::fp32, value_type::bf16, nan, nan},
                                         narrowing_case{value_type::fp64, value_type::fp32, 1e-60, 0},
                                         narrowing_case{value_type::fp16, value_type::bf16, 65504, 65536},
                                         narrowing_case{value_type::fp16, value_type::fp64, 65504, 65504}));

struct underflow_case {
  value_type from, to;
  double value;
  std::int64_t lost;
};
void PrintTo(const underflow_case& c, std::ostream* out) {
  *out << to_string(c.from) << " " << c.value << " to " << to_string(c.to);
}

class too_small : public testing::TestWithParam<underflow_case> {};

TEST_P(too_small, is_counted) {
  const underflow_case& c = GetParam();
  EXPECT_EQ(analyse_narrowing(viewed(holding(c.value, c.from)), c.to).underflowed, c.lost);
}

INSTANTIATE_TEST_SUITE_P(types, too_small,
                         testing::Values(underflow_case{value_type::fp64, value_type::fp32, 1e-60, 1},
                                         underflow_case{value_type::fp64, value_type::fp32, -1e-46, 1},
                                         underflow_case{value_type::fp64, value_type::fp32, 1e-45, 0},
                                         underflow_case{value_type::fp64, value_type::fp32, 0, 0},
                                         underflow_case{value_type::fp32, value_type::fp16, 1e-9, 1},
                                         underflow_case{value_type::bf16, value_type::fp16, -1e-20, 1},
                                         underflow_case{value_type::fp32, value_type::pattern, 1e-30, 0}));

/// Parts of the work are counted in parallel.
TEST(values, are_counted_in_a_large_matrix) {
  const std::int64_t n = 200'000;
  dense_matrix<double> a(1, n);
  for (std::int64_t j = 0; j < n; ++j) a(0, j) = static_cast<double>(j % 1000) + 1;
  a(0, 5) = nan, a(0, n - 1) = infinity, a(0, n - 2) = -infinity, a(0, n / 2) = -infinity;
  a(0, 77) = 0, a(0, 78) = -0.0, a(0, n / 3) = 1e-310, a(0, 99) = -4e7;
  const value_statistics s = analyse_values(a);
  EXPECT_EQ(s.count, n);
  EXPECT_EQ(s.nan, 1);
  EXPECT_EQ(s.plus_infinity, 1);
  EXPECT_EQ(s.minus_infinity, 2);
  EXPECT_EQ(s.zero, 2);
  EXPECT_EQ(s.denormal, 1);
  EXPECT_EQ(s.least, -4e7);
  EXPECT_EQ(s.greatest, 1000);
  EXPECT_EQ(s.min_magnitude, 1e-310);
  EXPECT_FALSE(s.finite());
  EXPECT_EQ(s.finite_values(), n - 4);
}

TEST(values, are_denormal_in_the_type_they_are_stored_in) {
  EXPECT_EQ(analyse_values(viewed(holding(1e-5, value_type::fp16))).denormal, 1);
  EXPECT_EQ(analyse_values(viewed(holding(1e-5, value_type::fp32))).denormal, 0);
}

TEST(values, of_a_pattern_and_of_nothing_are_none) {
  EXPECT_EQ(analyse_values(viewed(holding(1, value_type::pattern))).count, 0);
  const value_statistics none = analyse_values(any_view());
  EXPECT_EQ(none.count, 0);
  EXPECT_TRUE(none.finite());
}

TEST(values, of_padded_rows_leave_the_padding_out) {
  const std::vector<float> numbers{1, 2, std::numeric_limits<float>::infinity(), 3, 4, 7};
  const dense_view<const float> rows(numbers.data(), 2, 2, 3);
  const value_statistics s = analyse_values(rows);
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.greatest, 4);
  EXPECT_TRUE(s.finite());
}

class stored_as : public testing::TestWithParam<matrix_format> {};

TEST_P(stored_as, a_container_is_read_narrower_only_if_its_values_fit) {
  const std::string path = testing::TempDir() + "bcsc-values-" + std::string(to_string(GetParam())) + ".bcsc";
  write_container(path, convert(holding(1e39), GetParam()));
  for (const bool by_rows : {true, false}) {
    try {
      if (by_rows) {
        (void)read_csr<float>(path);
      } else {
        (void)read_coo<float>(path);
      }
      ADD_FAILURE() << "1e39 is no float";
    } catch (const error& problem) {
      EXPECT_EQ(problem.code(), errc::value_out_of_range);
      EXPECT_EQ(problem.where().path, path);
      EXPECT_NE(std::string(problem.what()).find("(2, 3)"), std::string::npos) << problem.what();
    }
  }
  const csr_matrix<double> whole = read_csr<double>(path);
  EXPECT_EQ(whole.values()[3], 1e39);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(formats, stored_as, testing::ValuesIn(all_matrix_formats),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
