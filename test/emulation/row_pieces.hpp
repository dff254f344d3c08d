#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "test/emulation/include/emulated_gpu.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

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

/// Workspace for this many partial sums: NaN until it is written.
template <class T>
class partial_sums {
 public:
  explicit partial_sums(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    EXPECT_EQ(bytes_ % 16, 0u);
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

/// Each matrix of the battery, `turns` times: check(a, s, k) with s of setting_of(k, n). Each config has settings of
/// its own.
template <class Settings, class Check>
void check_every_matrix(std::size_t config, int turns, bool transposed, const Settings& setting_of,
                        const Check& check) {
  constexpr std::int64_t widths[] = {1, 3, 8, 33, 130};
  std::size_t k = config * 7919;
  for (const sparse_case& a : battery(values::small_integers)) {
    if ((transposed ? a.cols : a.rows) == 0) continue;  // nothing is launched then
    for (int turn = 0; turn < turns; ++turn, ++k) {
      check(a, setting_of(k, widths[k % std::size(widths)]), k);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// The same for widths of B and C around all that kernels cut them into; `vector`: the most elements loaded at once.
template <class Settings, class Check>
void check_every_width(std::size_t config, std::int64_t vector, const Settings& setting_of, const Check& check) {
  const sparse_case a = every_length(values::small_integers);
  std::size_t k = config * 104729;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 32, 33, 64, 100, 127, 128, 129, 130, 256, 257}) {
    for (int turn = 0; turn < 4; ++turn, ++k) {
      auto s = setting_of(k, n);
      if (turn == 0) {  // whole vectors wherever n allows
        s.for_b = {layout::row_major, (vector - n % vector) % vector, 0};
        s.for_c = s.for_b;
      }
      check(a, s, k);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// C = run(s, a, b, c0), within its bound, has the same bits in every order of threads, and where a grid is cut short.
template <class T, class Setting, class Run>
void check_same_bits_in_every_order(const Run& run) {
  const sparse_case a = every_length(values::real);
  for (const std::int64_t n : {1, 8, 130}) {
    Setting s{};
    s.n = n;
    s.alpha = 1.5;
    s.beta = -0.25;
    const auto b = random_table<T>(a.cols, n, values::real, 1);
    const auto c0 = random_table<T>(a.rows, n, values::real, 2);
    const dense_table<T> first = run(s, a, b, c0);
    expect_within_bound<T>(multiply<T>(a, false, s.alpha, b, s.beta, c0), first, words(s));
    for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
      s.gpu = {order, 5, 2};
      EXPECT_EQ(run(s, a, b, c0).at, first.at) << words(s);
    }
  }
}

/// Infinity in row `bad` of B must come to the rows of C whose sums have it, and to no other: C = run(b, c0) is A * B,
/// or A' * B.
template <class T, class Run>
void check_infinity(const sparse_case& a, bool transposed, std::int64_t bad, std::int64_t n, const Run& run) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::int64_t rows = transposed ? a.cols : a.rows;
  auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::small_integers, 4);
  for (std::int64_t j = 0; j < n; ++j) b(bad, j) = infinity;
  const dense_table<T> c = run(b, dense_table<T>(rows, n));
  std::vector<double> factor(static_cast<std::size_t>(rows), 0);
  for (const triplet& e : a.entries) {
    if ((transposed ? e.row : e.col) == bad) factor[static_cast<std::size_t>(transposed ? e.col : e.row)] = e.value;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double by = factor[static_cast<std::size_t>(i)];
      if (by == 0) {
        EXPECT_TRUE(is_finite_element(c(i, j))) << i << ", " << j;
      } else {
        EXPECT_EQ(c(i, j), by > 0 ? infinity : -infinity) << i << ", " << j;
      }
    }
  }
}

}  // namespace bcsc::test
