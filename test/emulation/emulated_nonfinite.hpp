#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "test/emulation/emulated_product.hpp"
#include "test/support/nonfinite.hpp"

/// What every kernel that multiplies zeros between A's entries has to keep, on the emulated GPU. `run(a, b, c0, s)` is
/// the product by one config, `by` what it may err by.
namespace bcsc::test {

/// Of a B that is not finite in one row, in the settings setting_of(k), setting_of(k + 1), ...
template <class T, class SettingOf, class Run>
void check_stored_entries_alone(const sparse_case& a, const arithmetic& by, std::size_t k, SettingOf setting_of,
                                Run run) {
  for (const std::int64_t planted : telling_rows(a)) {
    for (const odd kind : all_odd) {
      const auto s = setting_of(++k);
      SCOPED_TRACE(std::string(to_string(kind)) + " in row " + std::to_string(planted) + ", " + words(s));
      auto b = random_table<T>(a.cols, s.n, values::real, k);
      auto c0 = random_table<T>(a.rows, s.n, values::real, k + 1);
      if (s.alpha != 0) plant(b, planted, kind);
      if (s.beta != 0) plant(c0, a.rows / 2, odd::nan);
      const stored_product wanted = multiply_stored<T>(a, false, s.alpha, b, s.beta, c0, by);
      if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
      expect_stored_only<T>(wanted, run(a, b, c0, s), "");
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// The same for A's own values, which reach only their own rows.
template <class T, class Setting, class Run>
void check_odd_values_in_their_rows(const arithmetic& by, Setting s, Run run) {
  sparse_case a = make_case("scattered", 40, 30, scatter(40, 30, 200, 21), values::small_integers, 3);
  s.n = 37;
  for (const odd kind : all_odd) {
    SCOPED_TRACE(to_string(kind));
    a.entries[a.entries.size() / 2].value = static_cast<double>(odd_value<T>(kind));
    const auto b = random_table<T>(a.cols, s.n, values::small_integers, 8);
    const dense_table<T> c0(a.rows, s.n, std::numeric_limits<T>::quiet_NaN());
    const stored_product wanted = multiply_stored<T>(a, false, 1, b, 0, c0, by);
    expect_stored_only<T>(wanted, run(a, b, c0, s), "");
  }
}

}  // namespace bcsc::test
