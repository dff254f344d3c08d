// Matrices most of whose rows are empty, by every config of the CPU kernels, on every instruction set this machine has:
// exact on small whole numbers, and a C that beta = 0 overwrites is not read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/dispatch.hpp"
#include "kernels/tables/cpu.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/unit/cpu_kernels.hpp"
#include "test/unit/cpu_product.hpp"

namespace bcsc::test {
namespace {

namespace tables = kernels::tables;

constexpr std::int64_t num_rows = 71, inner = 47;

template <class Length>
sparse_case with_lengths(const char* name, const Length& length) {
  sparse_case a{name, num_rows, inner, {}};
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::int64_t k = 0; k < length(row); ++k) {
      a.entries.push_back({row, row % 11 + 9 * k, static_cast<double>((row + k) % 5 - 2)});
    }
  }
  return a;
}

const std::vector<sparse_case>& matrices() {
  static const std::vector<sparse_case> all{
      with_lengths("no entries", [](std::int64_t) { return 0; }),
      with_lengths("the first row", [](std::int64_t row) { return row == 0 ? 2 : 0; }),
      with_lengths("the last row", [](std::int64_t row) { return row == num_rows - 1 ? 1 : 0; }),
      with_lengths("short rows here and there", [](std::int64_t row) { return row % 3 == 1 ? row % 4 + row / 60 : 0; }),
  };
  return all;
}

class cpu_empty_rows : public ::testing::TestWithParam<kernel_case> {
 protected:
  /// Calls check(A, N, A as the kernel takes it, a setting for it): C by rows and by columns, rows in order and not.
  template <class T, class I, class Check>
  void for_each_product(const Check& check) const {
    for (const sparse_case& a : matrices()) {
      for (const bool permuted : {false, true}) {
        cpu_setting s{.form = GetParam().form, .m_block = GetParam().m_tile, .permuted = permuted};
        const auto stored = cpu_operand<T, I>(a, s);
        for (const std::int64_t n : {1, 2, 5, 8, 17, 70}) {
          s.n = n;
          s.for_c = {n == 17 ? layout::col_major : layout::row_major, n % 2, n % 3};
          s.who.threads = n == 70 ? 2 : 1;
          check(a, stored, s);
          if (HasFailure()) return;
        }
      }
    }
  }
  template <class Check>
  void with_types(const Check& check) const {
    with_value_type(GetParam().type, [&]<class T>() {
      GetParam().index_bits == 64 ? check.template operator()<T, std::int64_t>()
                                  : check.template operator()<T, std::int32_t>();
    });
  }
};

TEST_P(cpu_empty_rows, is_exact_on_small_whole_numbers) {
  with_types([&]<class T, class I>() {
    for_each_product<T, I>([&](const sparse_case& a, const auto& stored, cpu_setting s) {
      const auto b = random_table<T>(a.cols, s.n, values::small_integers, 3);
      for (const double beta : {0.0, -2.0}) {
        s.alpha = 2;
        s.beta = beta;
        auto c0 = random_table<T>(a.rows, s.n, values::small_integers, 4);
        if (beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
        const auto wanted = multiply<T>(a, false, s.alpha, b, beta, c0);
        const auto c = run_on_cpu(GetParam().launch, stored, s, b, c0);
        for (std::size_t k = 0; k < c.at.size(); ++k) {
          ASSERT_EQ(static_cast<double>(static_cast<float>(c.at[k])), static_cast<double>(wanted.value.at[k]))
              << a.name << ", " << words(s) << ", element " << k;
        }
      }
    });
  });
}

TEST_P(cpu_empty_rows, nothing_times_an_infinite_alpha_is_not_a_number) {
  with_types([&]<class T, class I>() {
    for_each_product<T, I>([&](const sparse_case& a, const auto& stored, cpu_setting s) {
      if (!a.entries.empty()) return;
      const dense_table<T> b(a.cols, s.n), c0(a.rows, s.n);
      s.alpha = std::numeric_limits<double>::infinity();
      const auto c = run_on_cpu(GetParam().launch, stored, s, b, c0);
      for (const T value : c.at) ASSERT_TRUE(std::isnan(static_cast<float>(value))) << words(s);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(tables, cpu_empty_rows, ::testing::ValuesIn(untransposed_cpu_kernels()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bcsc::test
