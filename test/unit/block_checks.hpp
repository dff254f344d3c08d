#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/vector/block_ops.hpp"
#include "test/support/left_dots.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

/// What the operations on blocks of vectors have to do, whoever computes them. The oracle: long double, entry by entry.
namespace bcsc::test {

namespace block_ops = kernels::vector;

struct block_shape {
  std::int64_t n, k, l;
  std::int64_t padding = 0;
};

inline std::string name_of(const block_shape& s) {
  return std::to_string(s.n) + "x" + std::to_string(s.k) + "x" + std::to_string(s.l) + (s.padding > 0 ? "_padded" : "");
}

inline const std::vector<block_shape>& block_shapes() {
  static const std::vector<block_shape> all{
      {0, 3, 2},       {1, 1, 1},    {5, 3, 4, 1},    {1000, 1, 1},     {700, 8, 8},  {333, 16, 16},
      {257, 33, 7},    {90, 70, 65}, {3001, 16, 5},   {333, 16, 12, 4}, {40, 4, 300}, {129, 0, 3},
      {64, 24, 40, 3}, {1027, 1, 2}, {1200, 1, 1, 3}, {130, 67, 24},
  };
  return all;
}

/// The operations of one backend on the memory of `memory`.
template <class T>
class block_checks {
 public:
  block_checks(const context& memory, const block_ops::block_operations<T>& operations,
               const kernels::launch_env& environment, const block_shape& shape)
      : ctx_(memory), run_(operations), env_(environment), s_(shape) {}

  /// `on_gpu`: the operations are those of CUDA.
  void all(bool on_gpu) {
    gram();
    combine();
    recombine();
    axpby();
    scale_rows();
    scale_rows_and_dot(on_gpu);
    scale_columns();
    convert();
    fill_random();
  }

  /// G of random blocks, for comparisons bit by bit.
  dense_table<double> gram_of_random() { return gram_of(random(s_.n, s_.k, 1), random(s_.n, s_.l, 2)); }

  /// Columns of G and of a combination do not depend, by a single bit, on those beside them.
  void columns_by_themselves() {
    const auto x = random(s_.n, s_.k, 1), y = random(s_.n, s_.l, 2);
    const auto s = random<double>(s_.k, s_.l, 5);
    const auto g = gram_of(x, y), c = combination_of(x, s);
    for (std::int64_t b = 0; b < s_.l; ++b) {
      const auto own_g = gram_of(x, column_of(y, b)), own_c = combination_of(x, column_of(s, b));
      for (std::int64_t a = 0; a < s_.k; ++a) ASSERT_EQ(own_g(a, 0), g(a, b)) << "gram, column " << b;
      for (std::int64_t i = 0; i < s_.n; ++i) ASSERT_EQ(own_c(i, 0), c(i, b)) << "combine, column " << b;
    }
  }

 private:
  static constexpr long double u = std::numeric_limits<T>::epsilon() / 2;
  static constexpr long double u64 = std::numeric_limits<double>::epsilon() / 2;

  template <class Number = T>
  static dense_table<Number> random(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    test_random numbers(seed + 97);
    dense_table<Number> table(rows, cols);
    for (Number& entry : table.at) entry = static_cast<Number>(numbers.real());
    return table;
  }
  static dense_table<T> unset(std::int64_t rows, std::int64_t cols) {
    return {rows, cols, std::numeric_limits<T>::quiet_NaN()};
  }
  placement lies() const { return {.padding = s_.padding}; }
  static void started(int status) { ASSERT_EQ(status, 0); }

  /// |got - exact| <= bound, entry by entry; exact and bound from at(i, j).
  template <class Number, class At>
  static void expect_near(const dense_table<Number>& got, const char* what, const At& at) {
    for (std::int64_t i = 0; i < got.rows; ++i) {
      for (std::int64_t j = 0; j < got.cols; ++j) {
        const auto [exact, bound] = at(i, j);
        const long double error = std::fabs(static_cast<long double>(got(i, j)) - exact);
        if (error <= bound) continue;  // a NaN does not pass
        ADD_FAILURE() << what << ": entry (" << i << ", " << j << ") is " << got(i, j) << ", exact " << exact;
        return;
      }
    }
  }
  struct near {
    long double exact, bound;
  };

  dense_table<double> gram_of(const dense_table<T>& x, const dense_table<T>& y, const dense_table<T>* d = nullptr) {
    operand<T> x_there(ctx_, x, lies()), y_there(ctx_, y, lies());
    operand<T> d_there(ctx_, d != nullptr ? *d : dense_table<T>(0, 0, T{0}), {});
    const T* const weights = d != nullptr ? d_there.view().data : nullptr;
    operand<double> g(ctx_, x.cols, y.cols, {});
    operand<double> partials(ctx_, 1, block_ops::num_block_partials(x.rows, x.cols, y.cols), {});
    const auto x_view = x_there.view(), y_view = y_there.view();
    started(run_.gram(env_, x_view, weights, y_view, partials.view().data, g.view().data));
    (void)partials.read();
    return g.read();
  }

  template <class Number>
  static dense_table<Number> column_of(const dense_table<Number>& of, std::int64_t column) {
    dense_table<Number> one(of.rows, 1);
    for (std::int64_t i = 0; i < of.rows; ++i) one(i, 0) = of(i, column);
    return one;
  }
  dense_table<double> combination_of(const dense_table<T>& x, const dense_table<double>& s) {
    operand<T> x_there(ctx_, x, lies()), y_there(ctx_, unset(s_.n, s.cols), lies());
    operand<double> s_there(ctx_, s, {});
    started(run_.combine(env_, x_there.view(), nullptr, s_there.view().data, 0, y_there.view()));
    const auto y = y_there.read();
    dense_table<double> exact(y.rows, y.cols);
    std::copy(y.at.begin(), y.at.end(), exact.at.begin());
    return exact;
  }

  void gram() {
    const auto x = random(s_.n, s_.k, 1), y = random(s_.n, s_.l, 2);
    const auto g = gram_of(x, y);
    expect_gram(g, x, y, 2, [](std::int64_t) { return 1.0L; });
    const auto d = random(s_.n, 1, 19);
    expect_gram(gram_of(x, y, &d), x, y, 3, [&](std::int64_t i) { return static_cast<long double>(d(i, 0)); });
    const auto again = gram_of(x, y);
    EXPECT_EQ(std::memcmp(again.at.data(), g.at.data(), g.at.size() * sizeof(double)), 0) << "gram, repeated";
    const auto own = gram_of(x, x);
    for (std::int64_t a = 0; a < s_.k; ++a) {
      for (std::int64_t b = 0; b < a; ++b) EXPECT_EQ(own(a, b), own(b, a)) << "X' X is not symmetric";
    }
  }

  template <class Weight>
  void expect_gram(const dense_table<double>& got, const dense_table<T>& x, const dense_table<T>& y, int roundings,
                   const Weight& weight) {
    expect_near(got, "gram", [&](std::int64_t a, std::int64_t b) {
      long double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < s_.n; ++i) {
        const long double term = weight(i) * x(i, a) * y(i, b);
        sum += term;
        magnitude += std::fabs(term);
      }
      return near{sum, (s_.n + roundings) * u64 * magnitude};
    });
  }

  void combine() {
    const auto x = random(s_.n, s_.k, 3), y = random(s_.n, s_.l, 4), d = random(s_.n, 1, 21);
    const auto s = random<double>(s_.k, s_.l, 5);
    operand<T> x_there(ctx_, x, lies()), d_there(ctx_, d, {});
    operand<double> s_there(ctx_, s, {});
    const auto x_view = x_there.view();
    const T half = T(0.5);
    operand<T> half_there(ctx_, dense_table<T>(1, 1, half), {});
    const struct {
      block_ops::factor<T> beta;
      long double means;
    } betas[] = {{0.0, 0}, {-1.5, -1.5L}, {{-3.0, half_there.view().data}, -1.5L}};
    for (const auto& [beta, means] : betas) {
      operand<T> y_there(ctx_, means == 0 ? unset(s_.n, s_.l) : y, lies());
      started(run_.combine(env_, x_view, nullptr, s_there.view().data, beta, y_there.view()));
      expect_combined(y_there.read(), x, nullptr, s, 4,
                      [&, means = means](std::int64_t i, std::int64_t b) { return means != 0 ? means * y(i, b) : 0; });
    }
    operand<T> y_there(ctx_, y, lies());
    started(run_.combine(env_, x_view, d_there.view().data, s_there.view().data, -1.5, y_there.view()));
    expect_combined(y_there.read(), x, &d, s, 5, [&](std::int64_t i, std::int64_t b) { return -1.5L * y(i, b); });
  }

  /// diag(d) X S and what is added to it.
  template <class Addend>
  void expect_combined(const dense_table<T>& got, const dense_table<T>& x, const dense_table<T>* d,
                       const dense_table<double>& s, int roundings, const Addend& addend) {
    expect_near(got, "combine", [&](std::int64_t i, std::int64_t b) {
      const long double weight = d != nullptr ? (*d)(i, 0) : T{1};
      long double sum = addend(i, b), magnitude = std::fabs(sum);
      for (std::int64_t a = 0; a < x.cols; ++a) {
        const long double term = weight * x(i, a) * s(a, b);
        sum += term;
        magnitude += std::fabs(term);
      }
      return near{sum, (x.cols + roundings) * u64 * magnitude + u * std::fabs(sum)};
    });
  }

  void recombine() {
    const std::int64_t m = (s_.k + 5) / 2;
    const auto x = random(s_.n, s_.k, 22), z = random(s_.n, m, 23), d = random(s_.n, 1, 24), e = random(s_.n, 1, 25);
    const auto s = random<double>(s_.k, s_.l, 26), r = random<double>(m, s_.l, 27);
    for (const bool weighs : {false, true}) {
      for (const bool measures : {false, true}) {
        const auto y = recombined(x, weighs ? &d : nullptr, s, z, r, measures, weighs ? &e : nullptr);
        expect_near(y, "recombine", [&](std::int64_t i, std::int64_t b) {
          long double sum = 0, magnitude = 0;
          const auto add = [&](long double term) {
            sum += term;
            magnitude += std::fabs(term);
          };
          for (std::int64_t a = 0; a < s_.k; ++a)
            add((weighs ? d(i, 0) : T{1}) * static_cast<long double>(x(i, a)) * s(a, b));
          for (std::int64_t a = 0; a < m; ++a) add(static_cast<long double>(z(i, a)) * r(a, b));
          // Where the blocks are too wide for one pass Y is rounded twice.
          return near{sum, (s_.k + m + 5) * u64 * magnitude + 2 * u * (std::fabs(sum) + magnitude)};
        });
      }
    }
  }

  /// Y; its Gram matrices, where it `measures`, are checked.
  dense_table<T> recombined(const dense_table<T>& x, const dense_table<T>* d, const dense_table<double>& s,
                            const dense_table<T>& z, const dense_table<double>& r, bool measures,
                            const dense_table<T>* e) {
    operand<T> x_there(ctx_, x, lies()), z_there(ctx_, z, lies()), y_there(ctx_, unset(s_.n, s_.l), lies());
    operand<T> d_there(ctx_, d != nullptr ? *d : dense_table<T>(0, 0, T{0}), {});
    operand<T> e_there(ctx_, e != nullptr ? *e : dense_table<T>(0, 0, T{0}), {});
    operand<double> s_there(ctx_, s, {}), r_there(ctx_, r, {});
    const std::int64_t num_grams = e != nullptr ? 2 : 1;
    operand<double> g_there(ctx_, num_grams * s_.l, s_.l, {});
    operand<double> partials(ctx_, 1, 2 * block_ops::num_block_partials(s_.n, s_.l, s_.l), {});
    block_ops::grams_of_result<T> grams;
    if (measures) {
      grams = {e != nullptr ? e_there.view().data : nullptr, partials.view().data, g_there.view().data};
    }
    started(run_.recombine(env_, x_there.view(), d != nullptr ? d_there.view().data : nullptr, s_there.view().data,
                           z_there.view(), r_there.view().data, y_there.view(), grams));
    const dense_table<T> y = y_there.read();
    if (!measures) return y;
    (void)partials.read();
    const dense_table<double> g = g_there.read();
    for (std::int64_t part = 0; part < num_grams; ++part) {
      dense_table<double> one(s_.l, s_.l);
      for (std::int64_t a = 0; a < s_.l; ++a) {
        for (std::int64_t b = 0; b < s_.l; ++b) one(a, b) = g(part * s_.l + a, b);
      }
      const bool weighs = e != nullptr && part == 0;
      expect_gram(one, y, y, 3, [&](std::int64_t i) { return weighs ? static_cast<long double>((*e)(i, 0)) : 1.0L; });
    }
    return y;
  }

  void axpby() {
    const auto x = random(s_.n, s_.k, 6), y = random(s_.n, s_.k, 7);
    const auto nothing = unset(s_.n, s_.k);
    const auto check = [&](double alpha, double beta, const dense_table<T>& from, const dense_table<T>& to) {
      operand<T> x_there(ctx_, from, lies()), y_there(ctx_, to, lies());
      started(run_.axpby(env_, alpha, x_there.view(), beta, y_there.view()));
      expect_near(y_there.read(), "axpby", [&](std::int64_t i, std::int64_t j) {
        const long double left = alpha != 0 ? alpha * static_cast<long double>(from(i, j)) : 0;
        const long double right = beta != 0 ? beta * static_cast<long double>(to(i, j)) : 0;
        return near{left + right, 3 * u64 * (std::fabs(left) + std::fabs(right)) + u * std::fabs(left + right)};
      });
    };
    check(2.5, -0.75, x, y);
    check(1, 0, x, nothing);
    check(0, 3, nothing, y);
    operand<T> both(ctx_, x, lies());
    const auto view = both.view();
    started(run_.axpby(env_, 1, view, 1, view));
    expect_near(both.read(), "axpby in place", [&](std::int64_t i, std::int64_t j) {
      return near{2 * static_cast<long double>(x(i, j)), 0};
    });
  }

  void scale_rows() {
    const auto x = random(s_.n, s_.k, 8), w = random(s_.n, s_.k, 14), y = random(s_.n, s_.k, 9),
               d = random(s_.n, 1, 10);
    operand<T> d_there(ctx_, d, {});
    for (const double gamma : {0.0, 0.7}) {
      operand<T> x_there(ctx_, x, lies()), y_there(ctx_, y, lies());
      operand<T> w_there(ctx_, gamma != 0 ? w : unset(s_.n, s_.k), lies());
      const block_ops::sum_of<T> sum{x_there.view(), gamma, w_there.view()};
      started(run_.scale_rows(env_, d_there.view().data, -2, sum, 0.5, y_there.view()));
      expect_near(y_there.read(), "scale_rows", [&](std::int64_t i, std::int64_t j) {
        return weighted_sum(-2 * static_cast<long double>(d(i, 0)), x(i, j), gamma, w(i, j), 0.5L, y(i, j));
      });
    }
  }

  template <class From, class Weight, class Run>
  void check_dots(bool on_gpu, const char* what, const Run& run) {
    const auto x = random<From>(s_.n, s_.k, 8), w = random<From>(s_.n, s_.k, 14);
    const auto r = random(s_.n, s_.k, 20);
    const auto d = random<Weight>(s_.n, 1, 10);
    operand<From> x_there(ctx_, x, lies()), w_there(ctx_, w, lies());
    operand<Weight> d_there(ctx_, d, {});
    operand<T> r_there(ctx_, r, lies());
    constexpr std::int64_t most_rows = 4096, wide = 16 / std::int64_t{std::max(sizeof(T), sizeof(From))};
    const bool has_room = s_.k != 8, in_vectors = s_.k % wide == 0 && (s_.k + s_.padding) % wide == 0;
    for (const auto& [alpha, gamma] : {std::pair(-2.0, 0.0), {-2.0, 0.7}, {0.0, 0.7}}) {
      operand<T> y_there(ctx_, unset(s_.n, s_.k), lies());
      operand<double> sums_there(ctx_, most_rows, s_.k, {});
      std::int64_t rows = 0;
      const block_ops::sum_of<From> sum{x_there.view(), gamma, w_there.view()};
      started(run(d_there.view().data, alpha, sum, y_there.view(), r_there.view(),
                  kernels::dots_with_b{sums_there.view().data, has_room ? most_rows * s_.k : 1, &rows}));
      const auto y = y_there.read();
      expect_near(y, what, [&](std::int64_t i, std::int64_t j) {
        return weighted_sum(alpha * static_cast<long double>(d(i, 0)), x(i, j), gamma, w(i, j), 0, 0);
      });
      EXPECT_EQ(rows > 0, on_gpu && has_room && in_vectors && s_.n > 0 && s_.k > 0 && alpha != 0) << what;
      SCOPED_TRACE(what);
      expect_left_dots(sums_there.read().at, rows, y, r, static_cast<long double>(s_.n) * u64);
    }
  }

  void scale_rows_and_dot(bool on_gpu) {
    using other = typename block_ops::block_operations<T>::other;
    check_dots<T, T>(on_gpu, "scale_rows_and_dot",
                     [&](const auto&... of) { return run_.scale_rows_and_dot(env_, of...); });
    check_dots<other, float>(on_gpu, "convert_and_dot",
                             [&](const auto&... of) { return run_.convert_and_dot(env_, of...); });
  }

  /// a (x + g w) + b y.
  static near weighted_sum(long double a, long double x, long double g, long double w, long double b, long double y) {
    const long double exact = a * (x + g * w) + b * y;
    const long double size = std::fabs(a) * (std::fabs(x) + std::fabs(g * w)) + std::fabs(b * y);
    return {exact, 6 * u64 * size + u * std::fabs(exact)};
  }

  void scale_columns() {
    const auto x = random(s_.n, s_.k, 11);
    auto s = random<double>(1, s_.k, 12);
    if (s_.k > 1) s(0, 1) = 0;
    operand<T> x_there(ctx_, x, lies());
    operand<double> s_there(ctx_, s, {});
    started(run_.scale_columns(env_, s_there.view().data, x_there.view()));
    expect_near(x_there.read(), "scale_columns", [&](std::int64_t i, std::int64_t j) {
      const long double exact = static_cast<long double>(s(0, j)) * x(i, j);
      return near{exact, 2 * (u + u64) * std::fabs(exact)};
    });
  }

  void convert() {
    using other = typename block_ops::block_operations<T>::other;
    const auto x = random<other>(s_.n, s_.k, 13);
    operand<other> x_there(ctx_, x, lies());
    operand<T> y_there(ctx_, unset(s_.n, s_.k), lies());
    started(run_.convert(env_, nullptr, 1, x_there.view(), 0, y_there.view()));
    expect_near(y_there.read(), "convert", [&](std::int64_t i, std::int64_t j) {
      return near{static_cast<long double>(static_cast<T>(x(i, j))), 0};
    });
    const auto y = random(s_.n, s_.k, 17);
    const auto w = random<other>(s_.n, s_.k, 16);
    const auto d = random<float>(s_.n, 1, 18);
    operand<T> sum_there(ctx_, y, lies());
    operand<other> w_there(ctx_, w, lies());
    operand<float> d_there(ctx_, d, {});
    const block_ops::sum_of<other> sum{x_there.view(), -1.5, w_there.view()};
    started(run_.convert(env_, d_there.view().data, -2, sum, 0.5, sum_there.view()));
    expect_near(sum_there.read(), "convert, weighted", [&](std::int64_t i, std::int64_t j) {
      return weighted_sum(-2 * static_cast<long double>(d(i, 0)), x(i, j), -1.5L, w(i, j), 0.5L, y(i, j));
    });
  }

  /// SplitMix64's first outputs for seed 0, as its authors publish them.
  static constexpr std::uint64_t known[] = {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f};

  void fill_random() {
    operand<T> x_there(ctx_, s_.n, s_.k, lies());
    started(run_.fill_random(env_, 0, x_there.view()));
    const auto x = x_there.read();
    for (std::size_t at = 0; at < std::min(std::size(known), x.at.size()); ++at) {
      const long double share = static_cast<long double>(known[at]) * 0x1p-63L - 1;
      EXPECT_NEAR(static_cast<double>(x.at[at]), static_cast<double>(share), 2 * u);
    }
    long double sum = 0, squares = 0;
    for (const T entry : x.at) {
      EXPECT_TRUE(entry >= -1 && entry < 1) << entry;
      sum += entry;
      squares += static_cast<long double>(entry) * entry;
    }
    const auto count = static_cast<long double>(x.at.size());
    if (count < 500) return;
    EXPECT_LT(std::fabs(sum / count), 5 / std::sqrt(3 * count)) << "the mean of uniform numbers";
    EXPECT_NEAR(static_cast<double>(squares / count), 1 / 3.0, static_cast<double>(5 / std::sqrt(11 * count)));
    operand<T> other_seed(ctx_, s_.n, s_.k, lies());
    started(run_.fill_random(env_, 1, other_seed.view()));
    const auto other = other_seed.read();
    std::size_t equal = 0;
    for (std::size_t at = 0; at < x.at.size(); ++at) equal += x.at[at] == other.at[at] ? 1 : 0;
    EXPECT_LT(equal, x.at.size() / 100 + 2);
  }

  context ctx_;
  const block_ops::block_operations<T>& run_;
  kernels::launch_env env_;
  block_shape s_;
};

}  // namespace bcsc::test
