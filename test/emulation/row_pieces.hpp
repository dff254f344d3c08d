#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "test/support/battery.hpp"

/// What tests of kernels that walk pieces of rows share.
namespace bcsc::test {

/// Rows of every length from none to 40, a row of all columns, and empty ones at both ends.
inline sparse_case every_length(values kind) {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t i = 0; i < 41; ++i) {
    for (std::int64_t k = 0; k < i; ++k) positions.insert({(7 * i) % 41 + 1, (11 * k + i) % 90});
  }
  for (std::int64_t j = 0; j < 90; ++j) positions.insert({20, j});
  return make_case("every_length", 44, 90, positions, kind, 3);
}

/// Workspace for partial sums, of so many bytes: NaN until it is written.
template <class T>
class partial_sums {
 public:
  explicit partial_sums(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    EXPECT_EQ(bytes % 16, 0);
    vector unwritten;
    std::ranges::fill(unwritten.at, std::numeric_limits<T>::quiet_NaN());
    vectors_.assign(bytes_ / sizeof(vector) + 1, unwritten);
  }
  T* data() { return vectors_.data()->at; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct alignas(16) vector {
    T at[16 / sizeof(T)];
  };
  std::size_t bytes_;
  std::vector<vector> vectors_;
};

}  // namespace bcsc::test
