// Operators made of others, against dense tables written down by the test itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/linear_operator.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

namespace bcsc::test {

namespace {

using exact_table = dense_table<long double>;

template <class T>
dense_table<T> random_table(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  dense_table<T> table(rows, cols);
  for (T& entry : table.at) entry = static_cast<T>(random.real());
  return table;
}

/// About half of the entries, none of them 0.
sparse_case random_sparse(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  test_random random(seed);
  sparse_case a{"random", rows, cols, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      if (random.real() > 0) a.entries.push_back({i, j, random.real() + 1.5});
    }
  }
  return a;
}

sparse_case transposed(const sparse_case& a) {
  sparse_case t{"transposed", a.cols, a.rows, {}};
  for (const triplet& e : a.entries) t.entries.push_back({e.col, e.row, e.value});
  std::stable_sort(t.entries.begin(), t.entries.end(),
                   [](const triplet& l, const triplet& r) { return l.row < r.row; });
  return t;
}

/// As `T` holds its values.
template <class T>
exact_table table_of(const sparse_case& a) {
  exact_table table(a.rows, a.cols);
  for (const triplet& e : a.entries) table(e.row, e.col) = static_cast<T>(e.value);
  return table;
}

exact_table product(const exact_table& a, const exact_table& b) {
  exact_table c(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t l = 0; l < a.cols; ++l) {
      for (std::int64_t j = 0; j < b.cols; ++j) c(i, j) += a(i, l) * b(l, j);
    }
  }
  return c;
}

template <class T>
exact_table widened_table(const dense_table<T>& a, bool magnitudes = false) {
  exact_table wide(a.rows, a.cols);
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    wide.at[i] = magnitudes ? std::fabs(static_cast<long double>(a.at[i])) : static_cast<long double>(a.at[i]);
  }
  return wide;
}

struct composed_case {
  backend where;
  std::int64_t k, padding;
};

class composed_operators_test : public testing::TestWithParam<composed_case> {
 protected:
  template <class T>
  using made_by = std::function<linear_operator<T>(const context& ctx)>;

  /// alpha M X + beta Y of the operator, M as a table. `roundings`: on a path from an operand to a result, those of
  /// type `R`.
  template <class T, class R = T>
  void expect_applies(const exact_table& m, const made_by<T>& make, int roundings) {
    const auto ctx = context_of(GetParam().where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    const linear_operator<T> op = make(*ctx);
    ASSERT_EQ(op.rows(), m.rows);
    ASSERT_EQ(op.cols(), m.cols);
    EXPECT_EQ(op.where().kind(), ctx->kind());
    EXPECT_TRUE(op.capturable()) << "plans are";
    const std::int64_t k = GetParam().k;
    const auto x = random_table<T>(m.cols, k, 1), y = random_table<T>(m.rows, k, 2);
    const placement lies{.padding = GetParam().padding};
    struct run {
      double alpha, beta;
      placement y_lies;  // as X does, and in two ways otherwise
    };
    const placement longer{.padding = lies.padding + 1}, aside{.padding = lies.padding, .offset = 1};
    for (const auto& [alpha, beta, y_lies] : std::vector<run>{
             {0.5, -2, lies}, {1, 0, lies}, {-3, 0, lies}, {-3, 1, lies}, {-3, 0, longer}, {-3, 0, aside}}) {
      SCOPED_TRACE("alpha " + std::to_string(alpha) + ", beta " + std::to_string(beta) + ", padding " +
                   std::to_string(y_lies.padding) + ", offset " + std::to_string(y_lies.offset));
      operand<T> x_there(*ctx, x, lies);
      operand<T> y_there = beta != 0 ? operand<T>(*ctx, y, y_lies) : operand<T>(*ctx, m.rows, k, y_lies);  // else NaN
      op.apply(static_cast<T>(alpha), x_there.view(), static_cast<T>(beta), y_there.view());
      const auto got = y_there.read();
      exact_table magnitudes = m;
      for (long double& entry : magnitudes.at) entry = std::fabs(entry);
      const exact_table wanted = product(m, widened_table(x)), sizes = product(magnitudes, widened_table(x, true));
      const long double u = std::numeric_limits<R>::epsilon();
      for (std::int64_t i = 0; i < m.rows; ++i) {
        for (std::int64_t j = 0; j < k; ++j) {
          const long double y_part = beta * static_cast<long double>(y(i, j));
          const long double error = std::fabs(alpha * wanted(i, j) + y_part - got(i, j));
          EXPECT_LE(error, roundings * u * (std::fabs(alpha) * sizes(i, j) + std::fabs(y_part)))
              << "row " << i << ", column " << j;
        }
      }
    }
  }

  template <class T>
  void check_all() {
    const sparse_case square = random_sparse(23, 23, 3), other = random_sparse(23, 23, 4),
                      wide = random_sparse(9, 31, 5);
    const auto plan = [](const sparse_case& a) -> made_by<T> {
      return [a](const context& ctx) { return linear_operator<T>(spmm_plan<T>(ctx, csr_of<T>(a), {})); };
    };
    const exact_table a = table_of<T>(square), b = table_of<T>(other), c = table_of<T>(wide);
    {
      SCOPED_TRACE("shifted");
      exact_table m = a;
      for (std::int64_t i = 0; i < m.rows; ++i) m(i, i) -= 1.75L;
      // Where the shift cancels a diagonal entry, 1.5 or 0 .. 2.5, sizes do not bound the error alone.
      expect_applies<T>(
          m, [&](const context& ctx) { return shifted(plan(square)(ctx), -1.75); }, 400);
    }
    {
      SCOPED_TRACE("sum");
      exact_table m = a;
      for (std::size_t i = 0; i < m.at.size(); ++i) m.at[i] += b.at[i];
      expect_applies<T>(
          m, [&](const context& ctx) { return sum(plan(square)(ctx), plan(other)(ctx)); }, 60);
    }
    {
      SCOPED_TRACE("gram");
      const exact_table m = product(table_of<T>(transposed(wide)), c);
      expect_applies<T>(
          m, [&](const context& ctx) { return gram(plan(wide)(ctx), plan(transposed(wide))(ctx)); }, 60);
    }
    {
      SCOPED_TRACE("shifted gram");
      exact_table m = product(table_of<T>(transposed(wide)), c);
      for (std::int64_t i = 0; i < m.rows; ++i) m(i, i) += 0.625L;
      expect_applies<T>(
          m, [&](const context& ctx) { return shifted(gram(plan(wide)(ctx), plan(transposed(wide))(ctx)), 0.625); },
          60);
    }
    {
      SCOPED_TRACE("scaled");
      const auto d = random_table<T>(23, 1, 8);
      exact_table m = a;
      for (std::int64_t i = 0; i < 23; ++i) {
        for (std::int64_t j = 0; j < 23; ++j) m(i, j) *= static_cast<long double>(d(i, 0)) * d(j, 0);
      }
      expect_applies<T>(
          m, [&](const context& ctx) { return scaled(plan(square)(ctx), d.at); }, 60);
    }
    for (const layout order : {layout::row_major, layout::col_major}) {
      SCOPED_TRACE("dense");
      const auto table = random_table<T>(9, 14, 6);
      dense_matrix<T> matrix(9, 14, order);
      for (std::int64_t i = 0; i < 9; ++i) {
        for (std::int64_t j = 0; j < 14; ++j) matrix(i, j) = table(i, j);
      }
      const dense_view<const T> view = matrix.view();
      expect_applies<T>(
          widened_table(table), [&](const context& ctx) { return dense_operator<T>(ctx, view); }, 40);
    }
    {
      SCOPED_TRACE("of composed ones");
      exact_table m = product(table_of<T>(transposed(square)), a);
      for (std::size_t i = 0; i < m.at.size(); ++i) m.at[i] += b.at[i];
      for (std::int64_t i = 0; i < 23; ++i) m(i, i) += 2;
      expect_applies<T>(
          m,
          [&](const context& ctx) {
            return shifted(sum(gram(plan(square)(ctx), plan(transposed(square))(ctx)), plan(other)(ctx)), 2);
          },
          100);
    }
  }
};

TEST_P(composed_operators_test, apply_in_double) { check_all<double>(); }
TEST_P(composed_operators_test, apply_in_float) { check_all<float>(); }

TEST_P(composed_operators_test, widened_to_double) {
  const sparse_case a = random_sparse(23, 17, 3);
  expect_applies<double, float>(
      table_of<float>(a),
      [&](const context& ctx) { return widened(linear_operator<float>(spmm_plan<float>(ctx, csr_of<float>(a), {}))); },
      60);
}

std::vector<composed_case> composed_cases() {
  std::vector<composed_case> all;
  for (const backend where : {backend::cpu, backend::cuda}) {
    for (const std::int64_t k : {1, 4, 19}) all.push_back({where, k, k == 4 ? 3 : 0});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(cases, composed_operators_test, testing::ValuesIn(composed_cases()), [](const auto& info) {
  return std::string(to_string(info.param.where)) + "_k" + std::to_string(info.param.k) + "_padding" +
         std::to_string(info.param.padding);
});

TEST(composed_operators, shift_by_what_a_value_cannot_hold) {
  const auto ctx = context::cpu(1);
  const sparse_case nothing{"nothing", 64, 64, {}};
  const linear_operator<float> zero(spmm_plan<float>(ctx, csr_of<float>(nothing), {}));
  std::vector<float> x = random_table<float>(64, 1, 9).at, y(64, 1.0f);
  for (float& entry : x) entry *= 1e-3f;
  x[0] = 0;
  const auto apply = [&](double sigma) {
    shifted(zero, sigma).apply(1.0f, {x.data(), 64, 1}, 0.0f, {y.data(), 64, 1});
  };
  for (const double sigma : {1e39, 0.1, 1e-46}) {
    apply(sigma);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], static_cast<float>(sigma * static_cast<double>(x[i]))) << "sigma " << sigma << ", row " << i;
    }
  }
}

TEST(composed_operators, say_what_they_are_made_of) {
  const auto ctx = context::cpu(1);
  const linear_operator<double> a(spmm_plan<double>(ctx, csr_of<double>(random_sparse(6, 6, 3)), {}));
  const std::vector<double> d(6, 2.0);
  EXPECT_EQ(shifted(a, 2.5).describe(), "6 x 6: (" + a.describe() + ") + 2.5 I");
  EXPECT_EQ(sum(a, a).describe(), "6 x 6: (" + a.describe() + ") + (" + a.describe() + ")");
  EXPECT_EQ(gram(a, a).describe(), "6 x 6: A' A, A = (" + a.describe() + ")");
  EXPECT_EQ(scaled(a, d).describe(), "6 x 6: D (" + a.describe() + ") D");
}

TEST(composed_operators, ask_for_the_workspace_of_their_parts) {
  const auto ctx = context::cpu(1);
  const auto needing = [&](std::int64_t bytes) {
    return linear_operator<double>(
        ctx, 6, 6,
        [bytes](auto&&, auto&&, auto&&, auto&&, const apply_options& options) {
          EXPECT_GE(std::ssize(options.workspace), bytes);
        },
        {.capturable = bytes == 512, .workspace_bytes = [bytes](std::int64_t k) { return k > 0 ? bytes : 0; }});
  };
  const auto small = needing(512), large = needing(4096);
  EXPECT_EQ(shifted(large, 1).workspace_bytes(2), 4096);
  EXPECT_EQ(sum(small, large).workspace_bytes(2), 4096);
  EXPECT_GE(gram(small, large).workspace_bytes(2), 4096 + 6 * 2 * 8);
  EXPECT_TRUE(sum(small, small).capturable());
  EXPECT_FALSE(sum(small, large).capturable());
  EXPECT_FALSE(gram(large, small).capturable());
  std::vector<double> x(12, 1.0), y(12, 1.0);
  gram(small, large).apply(1.0, {x.data(), 6, 2}, 0.0, {y.data(), 6, 2});
  sum(small, large).apply(1.0, {x.data(), 6, 2}, 0.0, {y.data(), 6, 2});
}

TEST(composed_operators, that_do_not_fit_are_refused) {
  const auto ctx = context::cpu(1);
  const auto plan = [&](std::int64_t rows, std::int64_t cols) {
    return linear_operator<double>(spmm_plan<double>(ctx, csr_of<double>(random_sparse(rows, cols, 3)), {}));
  };
  const auto a = plan(6, 6), wide = plan(6, 8);
  const std::vector<double> five(5, 1.0), six(6, 1.0);
  EXPECT_EQ(code_of([&] { (void)shifted(wide, 1.0); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { (void)sum(a, wide); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { (void)gram(wide, wide); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { (void)scaled(wide, six); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { (void)scaled(a, five); }), errc::size_mismatch);
  EXPECT_EQ(code_of([&] { (void)dense_operator<double>(ctx, {nullptr, 3, 3}); }), errc::invalid_argument);
  const auto elsewhere = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(elsewhere);
  const linear_operator<double> far(spmm_plan<double>(*elsewhere, csr_of<double>(random_sparse(6, 6, 3)), {}));
  EXPECT_EQ(code_of([&] { (void)sum(a, far); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)gram(a, far); }), errc::invalid_argument);
}

}  // namespace

}  // namespace bcsc::test
