// Products in less precision, as bench/precisions multiplies: what is called TF32 there is TF32.
#include "bench/solvers/rounded_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bcsc/dense.hpp"

namespace bcsc::bench {

namespace {

/// To 11 significant bits, ties away from zero, by arithmetic alone.
double nearest_tf32(double x) {
  if (x == 0) return x;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 11)), exponent - 11);
}

/// Values with all their digits, of both signs and many sizes.
double digits_of(std::int64_t i) {
  const auto t = static_cast<double>(i);
  return std::sin(3 * t + 1) * std::exp2(std::fmod(7 * t, 11) - 5);
}

csr_matrix<double> some_matrix(std::int64_t rows, std::int64_t cols) {
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i % 2; j < cols; j += 2) {
      col_ind.push_back(static_cast<std::int32_t>(j));
      values.push_back(digits_of(i * cols + j));
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  return {rows, cols, row_ptr, col_ind, values};
}

}  // namespace

TEST(rounded_products, tf32_is_the_nearest_value_of_eleven_bits) {
  for (std::int64_t i = 0; i < 2000; ++i) {
    const auto x = static_cast<float>(digits_of(i));
    EXPECT_EQ(to_tf32(x), nearest_tf32(x)) << x;
  }
  EXPECT_EQ(to_tf32(1 + 0x1p-11f), 1 + 0x1p-10f) << "a tie";
  EXPECT_EQ(to_tf32(-1 - 0x1p-11f), -1 - 0x1p-10f) << "a tie";
  EXPECT_EQ(to_tf32(2 - 0x1p-20f), 2) << "into the next binade";
  EXPECT_EQ(to_tf32(0), 0);
  EXPECT_TRUE(std::isnan(to_tf32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(to_tf32(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
}

TEST(rounded_products, an_emulated_product_is_that_of_rounded_operands) {
  const auto ctx = context::cpu(2);
  const csr_matrix<double> a = some_matrix(37, 50);
  const auto v = a.view();
  dense_matrix<float> x(50, 2), y(37, 2);
  for (std::int64_t i = 0; i < 100; ++i) x.data()[i] = static_cast<float>(digits_of(5000 + i));
  for (const cg_inner precision : {cg_inner::fp32, cg_inner::tf32, cg_inner::tf32x3, cg_inner::bf16}) {
    SCOPED_TRACE(name_of(precision));
    const rounded_product product = multiplied_in(ctx, a, precision);
    const csr_matrix<double> rounded = rounded_values(a, precision);
    const bool is_tf32 = precision == cg_inner::tf32;
    EXPECT_EQ(product.how.find("emulated") != std::string::npos, is_tf32 || precision == cg_inner::tf32x3);
    for (std::int64_t i = 0; i < 74; ++i) y.data()[i] = 3;
    product.by.apply(2.0f, x.view(), -1.0f, y.view());
    double lost = 0;
    for (std::int64_t i = 0; i < 37; ++i) {
      for (std::int64_t j = 0; j < 2; ++j) {
        double of_rounded = -3, of_given = -3, size = 3;
        for (auto at = static_cast<std::size_t>(v.row_ptr[static_cast<std::size_t>(i)]);
             at < static_cast<std::size_t>(v.row_ptr[static_cast<std::size_t>(i) + 1]); ++at) {
          const double entry = x(v.col_ind[at], j);
          of_rounded += 2 * rounded.values()[at] * (is_tf32 ? nearest_tf32(entry) : entry);
          of_given += 2 * v.values[at] * entry;
          size += 2 * std::abs(v.values[at] * entry);
        }
        EXPECT_NEAR(y(i, j), of_rounded, 40 * 0x1p-24 * size) << i << ", " << j;
        lost = std::max(lost, std::abs(y(i, j) - of_given) / size);
      }
    }
    const bool loses = is_tf32 || precision == cg_inner::bf16;
    EXPECT_EQ(lost > 0x1p-17, loses) << lost;
  }
}

TEST(rounded_products, values_are_those_of_the_precision) {
  const csr_matrix<double> a = some_matrix(9, 8);
  const auto as_given = rounded_values(a, cg_inner::as_given), fp32 = rounded_values(a, cg_inner::fp32),
             tf32 = rounded_values(a, cg_inner::tf32), bf16 = rounded_values(a, cg_inner::bf16);
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    const double x = a.values()[i];
    EXPECT_EQ(as_given.values()[i], x);
    EXPECT_EQ(fp32.values()[i], static_cast<float>(x));
    EXPECT_EQ(tf32.values()[i], nearest_tf32(static_cast<float>(x)));
    EXPECT_LE(std::abs(bf16.values()[i] - x), 0x1p-8 * std::abs(x));
  }
}

}  // namespace bcsc::bench
