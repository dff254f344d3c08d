// Rounded values whose errors cancel in each row.
#include "lib/solvers/row_rounding.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bcsc/generate.hpp"

namespace bcsc::test {

namespace {

using solvers::rounded_to;

csr_matrix<double> made(const char* specification) { return generate::from_specification<double>(specification); }

template <index I>
std::int64_t unknowns_of(const csr_matrix<double, I>& a) {
  return solvers::unknowns_per_node(a.view().row_ptr, a.view().col_ind);
}

std::vector<float> rounded(const csr_matrix<double>& a, rounded_to precision) {
  return solvers::values_with_row_sums(a.view().row_ptr, a.view().col_ind, a.view().values, precision);
}

/// One unit in the last of `digits` binary places, from frexp() alone.
double unit_in_place(double x, int digits) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, exponent - digits);
}

struct precision_row {
  const char* name;
  rounded_to precision;
  int digits;
};
const precision_row precisions[] = {{"fp32", rounded_to::fp32, 24}, {"bf16", rounded_to::bf16, 8}};

}  // namespace

TEST(row_rounding, counts_the_unknowns_of_a_node) {
  EXPECT_EQ(unknowns_of(made("elasticity:4,3,3")), 3);
  EXPECT_EQ(unknowns_of(made("elasticity:4,3,3,dof=2")), 2);
  EXPECT_EQ(unknowns_of(made("elasticity:4,3,3,dof=6")), 6);
  EXPECT_EQ(unknowns_of(made("elasticity:4,3,3,dof=5")), 5);
  EXPECT_EQ(unknowns_of(made("stencil5:30,30")), 1);
  EXPECT_EQ(unknowns_of(made("banded:60,7")), 1);
  EXPECT_EQ(unknowns_of(made("rmat:6,4,seed=1")), 1);
  EXPECT_EQ(unknowns_of(made("uniform:0,0,0")), 1);
  EXPECT_EQ(unknowns_of(made("uniform:1,1,0")), 1);
}

TEST(row_rounding, keeps_the_sums_of_each_unknown_and_values_within_three_units) {
  for (const char* const specification :
       {"elasticity:6,5,4", "elasticity:4,4,4,dof=6", "stencil27:6,5,4", "spd:500,1e4"}) {
    const csr_matrix<double> a = made(specification);
    const std::int64_t unknowns = unknowns_of(a);
    for (const precision_row& to : precisions) {
      SCOPED_TRACE(std::string(specification) + ", " + to.name);
      const std::vector<float> kept = rounded(a, to.precision);
      ASSERT_EQ(kept.size(), a.view().values.size());
      double worst_alone = 0, worst_kept = 0;  // of a row's sum of errors, in units of its smallest value
      for (std::int64_t row = 0; row < a.rows(); ++row) {
        std::vector<long double> alone(static_cast<std::size_t>(unknowns)), together(alone.size());
        std::vector<double> smallest(alone.size(), std::numeric_limits<double>::infinity());
        for (auto k = static_cast<std::size_t>(a.view().row_ptr[static_cast<std::size_t>(row)]);
             k < static_cast<std::size_t>(a.view().row_ptr[static_cast<std::size_t>(row) + 1]); ++k) {
          const double value = a.view().values[k], unit = unit_in_place(value, to.digits);
          ASSERT_LE(std::fabs(kept[k] - value), 3 * unit) << "row " << row << ", value " << value;
          ASSERT_EQ(solvers::rounded_value(kept[k], to.precision), kept[k]) << "is one of those numbers";
          const auto of = static_cast<std::size_t>(a.view().col_ind[k] % unknowns);
          alone[of] += static_cast<long double>(solvers::rounded_value(value, to.precision)) - value;
          together[of] += static_cast<long double>(kept[k]) - value;
          if (value != 0) smallest[of] = std::min(smallest[of], unit);
        }
        for (std::size_t of = 0; of < alone.size(); ++of) {
          if (std::isinf(smallest[of])) continue;
          worst_alone = std::max(worst_alone, static_cast<double>(std::fabs(alone[of])) / smallest[of]);
          worst_kept = std::max(worst_kept, static_cast<double>(std::fabs(together[of])) / smallest[of]);
        }
      }
      EXPECT_LE(worst_kept, worst_alone / 10);
    }
  }
}

TEST(row_rounding, rounds_alone_what_cannot_take_part) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double largest = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::int32_t> row_ptr{0, 4, 4, 8, 9}, col_ind{0, 1, 2, 3, 0, 1, 2, 3, 3};
  const std::vector<double> values{nan, 0.1, -0.0, 0.3, largest, largest, 1e300, 0.7, 0.4 * tiny};
  const auto view = [](const auto& of) { return std::span(of.data(), of.size()); };
  const std::vector<float> kept =
      solvers::values_with_row_sums(view(row_ptr), view(col_ind), view(values), rounded_to::fp32);
  EXPECT_TRUE(std::isnan(kept[0]));
  EXPECT_NEAR(kept[1], 0.1, 3 * unit_in_place(0.1, 24));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(kept[2]), std::bit_cast<std::uint32_t>(-0.0f));
  EXPECT_NEAR(kept[3], 0.3, 3 * unit_in_place(0.3, 24));
  EXPECT_EQ(kept[4], std::numeric_limits<float>::max());
  EXPECT_EQ(kept[5], std::numeric_limits<float>::max());
  EXPECT_EQ(kept[6], std::numeric_limits<float>::infinity()) << "is for the caller to refuse";
  EXPECT_NEAR(kept[7], 0.7, 3 * unit_in_place(0.7, 24));
  EXPECT_EQ(kept[8], 0);
  const std::vector<std::int32_t> one_row{0, 1}, no_rows{0}, one_column{0}, no_columns;
  const std::vector<float> no_number{std::numeric_limits<float>::quiet_NaN()}, no_values;
  EXPECT_TRUE(std::isnan(
      solvers::values_with_row_sums(view(one_row), view(one_column), view(no_number), rounded_to::bf16).front()));
  EXPECT_TRUE(
      solvers::values_with_row_sums(view(no_rows), view(no_columns), view(no_values), rounded_to::fp32).empty());
}

TEST(row_rounding, changes_no_value_that_needs_no_rounding) {
  const csr_matrix<double> a = made("stencil9:20,20");
  for (const precision_row& to : precisions) {
    const std::vector<float> kept = rounded(a, to.precision);
    for (std::size_t k = 0; k < kept.size(); ++k) ASSERT_EQ(kept[k], a.view().values[k]) << to.name;
  }
}

}  // namespace bcsc::test
