#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "test/support/oracle.hpp"

/// Partial sums of B'C that a product, or the last pass of a preconditioner, leaves behind (kernels::dots_with_b).
namespace bcsc::test {

/// The first `rows` rows [b.cols] of `sums` add up to the dot products of the columns of b and c, within `share` of the
/// sum of their terms' sizes. 0: to the last bit, as on small integers.
template <class B, class C>
void expect_left_dots(const std::vector<double>& sums, std::int64_t rows, const dense_table<B>& b,
                      const dense_table<C>& c, long double share = 0) {
  for (std::int64_t j = 0; j < b.cols && rows > 0; ++j) {
    long double got = 0, exact = 0, size = 0;
    for (std::int64_t i = 0; i < rows; ++i) got += sums[static_cast<std::size_t>(i * b.cols + j)];
    for (std::int64_t i = 0; i < b.rows; ++i) {
      const long double term = static_cast<long double>(static_cast<double>(b(i, j))) * static_cast<double>(c(i, j));
      exact += term;
      size += std::fabs(term);
    }
    const long double error = std::fabs(got - exact);
    if (error <= share * size) continue;  // a NaN does not pass
    ADD_FAILURE() << "column " << j << " of " << b.cols << ": " << got << " in " << rows << " parts, exact " << exact;
    return;
  }
}

}  // namespace bcsc::test
