// Q = X X' + I formed in each product, as bench/precisions multiplies with it: in blocks of rows, and from an X that is
// rounded to what is asked for. Integers and what lies just beside them make every sum exact.
#include "bench/solvers/formed_anew.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "bcsc/error.hpp"

namespace bcsc::bench {

namespace {

constexpr std::int64_t points = 3000, features = 3;  // two blocks of rows

std::int64_t some_integer(std::int64_t i) { return (i * 7919 + i / 13) % 7 - 3; }

/// Few, since Q is as large as 28 and sums are to be exact in fp32, and of 13 bits.
std::int64_t rare_and_long(std::int64_t i) { return i % 577 == 0 ? (i % 2 == 0 ? 4097 : -4097) : 0; }

/// Integers from -3 to 3, and `beside` more.
dense_matrix<double> near_integers(double beside) {
  dense_matrix<double> x(points, features);
  for (std::int64_t i = 0; i < points * features; ++i) x.data()[i] = static_cast<double>(some_integer(i)) + beside;
  return x;
}

template <class T>
struct block {
  std::int64_t cols, ld;
  std::vector<T> values;
  block(std::int64_t k, std::int64_t distance, const auto& value_of)
      : cols(k), ld(distance), values(points * distance) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(value_of(static_cast<std::int64_t>(i)));
    }
  }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * ld + j)]; }
};

class formed_anew_test : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      ctx_.emplace(context::cuda());
    } catch (const error& e) {
      GTEST_SKIP() << "no usable GPU: " << e.what();
    }
    where_ = make_stage(*ctx_);
  }

  /// 2 Q V - Y, Q formed in `precision` of `given`, is that of `expected`.
  template <class T>
  void expect_product(const dense_matrix<double>& given, const dense_matrix<double>& expected, cg_inner precision,
                      std::int64_t cols, std::int64_t ld, std::int64_t (*v_of)(std::int64_t) = some_integer) {
    const block<T> v(cols, ld, v_of), y(cols, ld, [](std::int64_t i) { return some_integer(i + 2); });
    const stage_array<T> v_there(*where_, v.values), y_there(*where_, y.values);
    const auto product = formed_anew<T>(*ctx_, *where_, given, precision);
    product.apply(T{2}, {v_there.data(), points, cols, ld}, T{-1}, {y_there.data(), points, cols, ld},
                  {.stream = where_->stream()});
    const auto* const result = static_cast<const T*>(where_->fetch(y_there.data(), y_there.bytes()));
    for (std::int64_t j = 0; j < ld; ++j) {
      double of_v[features] = {};
      for (std::int64_t i = 0; i < points; ++i) {
        for (std::int64_t f = 0; f < features; ++f) of_v[f] += expected(i, f) * v(i, j);
      }
      for (std::int64_t i = 0; i < points; ++i) {
        double sum = v(i, j);
        for (std::int64_t f = 0; f < features; ++f) sum += expected(i, f) * of_v[f];
        const double wanted = j < cols ? 2 * sum - y(i, j) : y(i, j);
        ASSERT_EQ(static_cast<double>(result[i * ld + j]), wanted) << i << ", " << j << " of " << cols;
      }
    }
  }

  std::optional<context> ctx_;
  std::unique_ptr<stage> where_;
};

}  // namespace

TEST_F(formed_anew_test, is_exact_in_fp64) {
  const dense_matrix<double> x = near_integers(0x1p-12);
  expect_product<double>(x, x, cg_inner::as_given, 1, 1);
  expect_product<double>(x, x, cg_inner::as_given, 3, 5);
}

TEST_F(formed_anew_test, is_exact_in_fp32_where_nothing_is_rounded) {
  const dense_matrix<double> x = near_integers(0);
  for (const cg_inner precision : {cg_inner::fp32, cg_inner::tf32, cg_inner::bf16}) {
    SCOPED_TRACE(to_string(precision));
    expect_product<float>(x, x, precision, 1, 1);
    expect_product<float>(x, x, precision, 3, 5);
  }
}

TEST_F(formed_anew_test, rounds_x_alone) {
  dense_matrix<double> given = near_integers(0x1p-13);
  const dense_matrix<double> rounded = near_integers(0);
  for (std::int64_t i = 0; i < points * features; ++i) {
    if (rounded.data()[i] == 0) given.data()[i] = 0;  // either type would hold the 2^-13
  }
  for (const cg_inner precision : {cg_inner::tf32, cg_inner::bf16}) {
    SCOPED_TRACE(to_string(precision));
    expect_product<float>(given, rounded, precision, 2, 2);
    expect_product<float>(given, rounded, precision, 2, 2, rare_and_long);
  }
}

}  // namespace bcsc::bench
