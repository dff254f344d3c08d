#include "kernels/vector/vector_ops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "lib/solvers/context_array.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/advance_checks.hpp"

namespace bcsc::test {

namespace {

namespace ops = kernels::vector;
using ops::column_state;
using solvers::context_array;

constexpr long double u64 = std::numeric_limits<double>::epsilon() / 2;
constexpr double nan64 = std::numeric_limits<double>::quiet_NaN();

struct ops_case {
  backend where;
  int threads;
  value_type type;
  std::int64_t n, k;
};

std::string name_of(const testing::TestParamInfo<ops_case>& info) {
  const ops_case& c = info.param;
  return std::string(to_string(c.where)) + (c.where == backend::cpu ? std::to_string(c.threads) : "") + "_" +
         std::string(to_string(c.type)) + "_" + std::to_string(c.n) + "x" + std::to_string(c.k);
}

std::vector<ops_case> cases() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {0, 3},    {1, 1},     {5, 3},      {257, 1},    {1000, 2},   {3001, 8},  {700, 33},
      {90, 257}, {90, 1000}, {9000, 300}, {20000, 64}, {500000, 1}, {70000, 4},
  };
  std::vector<ops_case> all;
  std::vector<std::pair<backend, int>> places{{backend::cuda, 0}};
  for (const int threads : thread_counts) places.emplace_back(backend::cpu, threads);
  for (const auto& [where, threads] : places) {
    for (value_type type : {value_type::fp32, value_type::fp64}) {
      for (const auto& [n, k] : shapes) all.push_back({where, threads, type, n, k});
    }
  }
  return all;
}

template <class T>
const ops::operations<T>& operations_on(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return ops::on_cuda<T>();
#endif
  (void)where;
  return ops::on_cpu<T>();
}

/// The operations on one context, with host values in and out.
template <class T>
class bench {
 public:
  bench(const context& ctx, std::int64_t n, std::int64_t k)
      : ctx(ctx),
        shape{n, k},
        run(operations_on<T>(ctx.kind())),
        env{ctx.state().who(), nullptr, ctx.device().num_multiprocessors},
        partials(ctx, ops::num_partials(shape)),
        doubles(ctx, 6 * k),
        states(ctx, k) {
    scalars = {doubles.data(),         doubles.data() + k,     doubles.data() + 2 * k,
               doubles.data() + 3 * k, doubles.data() + 4 * k, states.data()};
    result = doubles.data() + 5 * k;
    doubles.clear();
  }

  context_array<T> sent(const std::vector<T>& values) {
    context_array<T> array(ctx, static_cast<std::int64_t>(values.size()));
    array.upload(values);
    return array;
  }
  template <class Number>
  std::vector<Number> got(const context_array<Number>& array) {
    std::vector<Number> values(static_cast<std::size_t>(array.size()));
    array.download(values);
    return values;
  }
  /// rr, rz, alpha, beta, limit, result: k each.
  void set(const std::vector<double>& all, const std::vector<column_state>& column_states) {
    doubles.upload(all);
    states.upload(column_states);
  }
  std::vector<double> get() {
    std::vector<double> all(static_cast<std::size_t>(doubles.size()));
    doubles.download(all);
    return all;
  }
  std::vector<column_state> get_states() {
    std::vector<column_state> all(static_cast<std::size_t>(states.size()));
    states.download(all);
    return all;
  }

  context ctx;
  ops::shape shape;
  const ops::operations<T>& run;
  kernels::launch_env env;
  context_array<double> partials, doubles;
  context_array<column_state> states;
  ops::column_scalars scalars;
  double* result = nullptr;
};

template <class T>
std::vector<T> random_values(std::int64_t size, std::uint64_t seed) {
  test_random random(seed);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& v : values) v = static_cast<T>(random.real());
  return values;
}

template <class T>
std::vector<T> random_positive(std::int64_t size, std::uint64_t seed) {
  std::vector<T> values = random_values<T>(size, seed);
  for (T& v : values) v = std::abs(v) + T{0.25};
  return values;
}

struct sum_of {
  long double value = 0, magnitude = 0;
  void add(long double term) {
    value += term;
    magnitude += std::fabs(term);
  }
};

/// Rounding of n products and additions in double, in any order.
void expect_sum(const sum_of& wanted, double got, std::int64_t n, const char* what) {
  const long double bound = static_cast<long double>(n + 4) * u64 * wanted.magnitude;
  EXPECT_LE(std::fabs(static_cast<long double>(got) - wanted.value), bound) << what;
}

/// One rounding to T, and those of three operations in double.
template <class T>
void expect_rounded(long double wanted, long double magnitude, T got, const char* what) {
  const long double u = std::numeric_limits<T>::epsilon() / 2;
  ASSERT_LE(std::fabs(static_cast<long double>(got) - wanted), u * std::fabs(wanted) + 4 * u64 * magnitude) << what;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void check_sums(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto u = random_values<T>(n * k, 1), v = random_values<T>(n * k, 2);
  const auto u_there = on.sent(u), v_there = on.sent(v);
  std::vector<double> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_EQ(on.run.dot(on.env, on.shape, u_there.data(), v_there.data(), on.partials.data(), on.result), 0);
    const auto all = on.get();
    const std::vector<double> dots(all.end() - k, all.end());
    if (repeat == 1) {
      EXPECT_EQ(dots, first) << "a second run gave other bits";
    }
    first = dots;
  }
  ASSERT_EQ(on.run.abs_sum(on.env, on.shape, u_there.data(), on.partials.data(), on.result), 0);
  const auto all = on.get();
  for (std::int64_t j = 0; j < k; ++j) {
    sum_of dot, size;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i * k + j);
      dot.add(static_cast<long double>(u[at]) * static_cast<long double>(v[at]));
      size.add(std::fabs(static_cast<long double>(u[at])));
    }
    expect_sum(dot, first[static_cast<std::size_t>(j)], n, "dot");
    expect_sum(size, all[static_cast<std::size_t>(5 * k + j)], n, "abs_sum");
  }
}

template <class T>
void check_residual(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto b = random_values<T>(n * k, 3), q = random_values<T>(n * k, 4);
  const auto inverse = random_positive<T>(n, 5);
  const auto b_there = on.sent(b), q_there = on.sent(q), inverse_there = on.sent(inverse);
  const std::vector<T> nothing(static_cast<std::size_t>(n * k), std::numeric_limits<T>::quiet_NaN());
  for (bool with_product : {true, false}) {
    for (const auto& [jacobi, in_place] : {std::pair(true, false), {false, false}, {true, true}}) {
      const auto r_there = on.sent(in_place ? with_product ? q : b : nothing);
      const T* const b_of_run = in_place && !with_product ? r_there.data() : b_there.data();
      const T* const q_of_run = in_place ? r_there.data() : q_there.data();
      on.set(std::vector<double>(static_cast<std::size_t>(6 * k), nan64),
             std::vector<column_state>(static_cast<std::size_t>(k), column_state::not_finite));
      ASSERT_EQ(
          on.run.residual(on.env, on.shape, b_of_run, with_product ? q_of_run : nullptr,
                          jacobi ? inverse_there.data() : nullptr, r_there.data(), on.partials.data(), on.scalars),
          0);
      const auto r = on.got(r_there);
      const auto scalars = on.get();
      for (std::int64_t j = 0; j < k; ++j) {
        sum_of rr, rz;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i * k + j);
          const long double exact =
              static_cast<long double>(b[at]) - (with_product ? static_cast<long double>(q[at]) : 0);
          expect_rounded(exact, std::fabs(exact), r[at], "r");
          const long double square = static_cast<long double>(r[at]) * static_cast<long double>(r[at]);
          rr.add(square);
          rz.add(jacobi ? square * static_cast<long double>(inverse[static_cast<std::size_t>(i)]) : square);
        }
        expect_sum(rr, scalars[static_cast<std::size_t>(j)], n, "rr");
        expect_sum(rz, scalars[static_cast<std::size_t>(k + j)], n, "rz");
        EXPECT_EQ(scalars[static_cast<std::size_t>(2 * k + j)], 0) << "alpha";
        EXPECT_EQ(scalars[static_cast<std::size_t>(3 * k + j)], 0) << "beta";
      }
      for (column_state s : on.get_states()) EXPECT_EQ(s, column_state::not_finite) << "states stay";
    }
  }
}

/// States that cycle over the columns, so that active ones have every kind of neighbour.
std::vector<column_state> mixed_states(std::int64_t k) {
  const column_state kinds[] = {column_state::active, column_state::resting, column_state::active,
                                column_state::not_positive, column_state::not_finite};
  std::vector<column_state> states;
  for (std::int64_t j = 0; j < k; ++j) states.push_back(kinds[j % 5]);
  return states;
}

/// Values a resting column must keep bit for bit.
template <class T>
void plant_oddities(std::vector<T>& values, std::int64_t k, const std::vector<column_state>& states) {
  const T odd[] = {T{-0.0}, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                   std::numeric_limits<T>::denorm_min()};
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (states[at % static_cast<std::size_t>(k)] != column_state::active) values[at] = odd[at % 4];
  }
}

template <class T>
void check_direction(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto states = mixed_states(k);
  const auto r = random_values<T>(n * k, 6), inverse = random_positive<T>(n, 7);
  auto p = random_values<T>(n * k, 8);
  const auto x = random_values<T>(n * k, 9);
  plant_oddities(p, k, states);
  std::vector<double> scalars(static_cast<std::size_t>(6 * k), nan64);
  for (std::int64_t j = 0; j < k; ++j)
    scalars[static_cast<std::size_t>(3 * k + j)] = j % 3 == 0 ? 0.0 : 0.25 + 0.01 * j;
  const auto r_there = on.sent(r), inverse_there = on.sent(inverse);
  for (const auto& [jacobi, moves] : {std::pair{true, false}, {false, false}, {true, true}, {false, true}}) {
    // Of a step that x still lacks; a column may have come to rest in it.
    for (std::int64_t j = 0; j < k; ++j) {
      scalars[static_cast<std::size_t>(2 * k + j)] = !moves ? nan64 : j % 4 == 1 ? 0.0 : 0.3 + 0.01 * j;
    }
    const auto p_there = on.sent(p), x_there = on.sent(x);
    on.set(scalars, states);
    ASSERT_EQ(on.run.direction(on.env, on.shape, r_there.data(), jacobi ? inverse_there.data() : nullptr,
                               moves ? x_there.data() : nullptr, p_there.data(), on.scalars),
              0);
    const auto turned = on.got(p_there), moved = on.got(x_there);
    for (std::size_t at = 0; at < p.size(); ++at) {
      const long double alpha = moves ? scalars[at % static_cast<std::size_t>(k) + static_cast<std::size_t>(2 * k)] : 0;
      if (alpha == 0) {
        ASSERT_TRUE(same_bits(moved[at], x[at])) << "x moved without a step";
      } else if (std::isfinite(p[at])) {
        const long double dx = alpha * static_cast<long double>(p[at]);
        expect_rounded(x[at] + dx, std::fabs(static_cast<long double>(x[at])) + std::fabs(dx), moved[at], "x");
      } else {
        ASSERT_FALSE(std::isfinite(moved[at]));
      }
    }
    for (std::size_t at = 0; at < p.size(); ++at) {
      const std::size_t j = at % static_cast<std::size_t>(k), i = at / static_cast<std::size_t>(k);
      if (states[j] != column_state::active) {
        ASSERT_TRUE(same_bits(turned[at], p[at])) << "a resting column changed";
        continue;
      }
      const long double z = static_cast<long double>(r[at]) * (jacobi ? static_cast<long double>(inverse[i]) : 1);
      const long double kept =
          static_cast<long double>(scalars[3 * static_cast<std::size_t>(k) + j]) * static_cast<long double>(p[at]);
      expect_rounded(z + kept, std::fabs(z) + std::fabs(kept), turned[at], "p");
    }
  }
}

template <class T>
void check_restart_ignores_old_direction(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto r = random_values<T>(n * k, 9);
  const auto r_there = on.sent(r);
  const auto p_there = on.sent(std::vector<T>(static_cast<std::size_t>(n * k), std::numeric_limits<T>::quiet_NaN()));
  on.set(std::vector<double>(static_cast<std::size_t>(6 * k), 0.0),
         std::vector<column_state>(static_cast<std::size_t>(k), column_state::active));
  ASSERT_EQ(on.run.direction(on.env, on.shape, r_there.data(), nullptr, nullptr, p_there.data(), on.scalars), 0);
  EXPECT_EQ(on.got(p_there), r);
}

/// `leaves_dots`: the product has left p.q in a row of sums for each row, and q is not read.
template <class T>
void check_step_lengths(const context& ctx, std::int64_t n, std::int64_t k, bool leaves_dots) {
  bench<T> on(ctx, n, k);
  // Column j by j % 6: a good one; p.q < 0; p.q = 0; p.q NaN; r.z too large for a quotient; one that rests.
  auto p = random_positive<T>(n * k, 10), q = random_positive<T>(n * k, 11);
  std::vector<double> scalars(static_cast<std::size_t>(6 * k), nan64);
  std::vector<column_state> states(static_cast<std::size_t>(k), column_state::active);
  for (std::size_t at = 0; at < p.size(); ++at) {
    switch (at % static_cast<std::size_t>(k) % 6) {
      case 1:
        q[at] = -q[at];
        break;
      case 2:
        q[at] = 0;
        break;
      case 3:
        q[at] = at / static_cast<std::size_t>(k) == 0 ? std::numeric_limits<T>::quiet_NaN() : q[at];
        break;
      default:
        break;
    }
  }
  for (std::int64_t j = 0; j < k; ++j) {
    scalars[static_cast<std::size_t>(k + j)] = j % 6 == 4 ? std::numeric_limits<double>::infinity() : 1.5 + j;
    if (j % 6 == 5) states[static_cast<std::size_t>(j)] = column_state::resting;
  }
  std::vector<double> dots;
  for (std::size_t at = 0; at < p.size() && leaves_dots; ++at) {
    dots.push_back(static_cast<double>(p[at]) * static_cast<double>(q[at]));
  }
  const auto p_there = on.sent(p), q_there = on.sent(leaves_dots ? std::vector<T>{} : q);
  context_array<double> dots_there(ctx, std::ssize(dots));
  dots_there.upload(dots);
  on.set(scalars, states);
  ASSERT_EQ(on.run.step_length(on.env, on.shape, p_there.data(), q_there.data(), on.partials.data(),
                               {dots_there.data(), leaves_dots ? n : 0}, on.scalars),
            0);
  const auto after = on.get();
  const auto after_states = on.get_states();
  const column_state wanted[] = {column_state::active,     column_state::not_positive, column_state::not_positive,
                                 column_state::not_finite, column_state::not_finite,   column_state::resting};
  for (std::int64_t j = 0; j < k; ++j) {
    const double alpha = after[static_cast<std::size_t>(2 * k + j)];
    // Without rows every p.q is an empty sum, 0.
    const column_state state = n > 0 || j % 6 == 5 ? wanted[j % 6] : column_state::not_positive;
    EXPECT_EQ(after_states[static_cast<std::size_t>(j)], state) << "column " << j;
    if (state != column_state::active) {
      EXPECT_EQ(alpha, 0) << "column " << j;
      continue;
    }
    sum_of pq;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i * k + j);
      pq.add(static_cast<long double>(p[at]) * static_cast<long double>(q[at]));
    }
    const long double exact = (1.5L + j) / pq.value;
    EXPECT_LE(std::fabs(alpha - exact), static_cast<long double>(n + 8) * u64 * exact) << "column " << j;
  }
}

template <class T>
void check_step_length(const context& ctx, std::int64_t n, std::int64_t k) {
  check_step_lengths<T>(ctx, n, k, false);
  if (ctx.kind() == backend::cuda) check_step_lengths<T>(ctx, n, k, true);
}

template <class T>
void check_step(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto states = mixed_states(k);
  const auto p = random_values<T>(n * k, 12), inverse = random_positive<T>(n, 13);
  auto q = random_values<T>(n * k, 14), x = random_values<T>(n * k, 15), r = random_values<T>(n * k, 16);
  plant_oddities(x, k, states);
  plant_oddities(r, k, states);
  std::vector<double> scalars(static_cast<std::size_t>(6 * k), 0.0);
  for (std::int64_t j = 0; j < k; ++j) {
    const auto c = static_cast<std::size_t>(j);
    const bool active = states[c] == column_state::active;
    scalars[c] = 7.0;                                                               // rr
    scalars[static_cast<std::size_t>(k) + c] = 0.5 + 0.001 * j;                     // rz
    scalars[static_cast<std::size_t>(2 * k) + c] = active ? 0.3 + 0.001 * j : 0.0;  // alpha
    scalars[static_cast<std::size_t>(4 * k) + c] = j % 2 == 0 ? 0.0 : 1e30;         // limit: every other one arrives
  }
  if (k > 2 && n > 0) q[2] = std::numeric_limits<T>::quiet_NaN();  // column 2 is active: this must be detected
  const auto p_there = on.sent(p), q_there = on.sent(q), inverse_there = on.sent(inverse);
  for (bool jacobi : {true, false}) {
    const auto x_there = on.sent(x), r_there = on.sent(r);
    on.set(scalars, states);
    ASSERT_EQ(on.run.step(on.env, on.shape, p_there.data(), q_there.data(), jacobi ? inverse_there.data() : nullptr,
                          x_there.data(), r_there.data(), on.partials.data(), on.scalars),
              0);
    const auto new_x = on.got(x_there), new_r = on.got(r_there);
    const auto after = on.get();
    {  // x may be left out; what the compiler fuses then may differ
      const auto r_alone = on.sent(r);
      on.set(scalars, states);
      ASSERT_EQ(on.run.step(on.env, on.shape, p_there.data(), q_there.data(), jacobi ? inverse_there.data() : nullptr,
                            nullptr, r_alone.data(), on.partials.data(), on.scalars),
                0);
      const auto alone = on.got(r_alone);
      const auto is_near = [](double a, double b, double size, double tolerance) {
        return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance * size;
      };
      for (std::size_t at = 0; at < r.size(); ++at) {
        const double size = std::fabs(static_cast<double>(r[at])) + std::fabs(static_cast<double>(q[at]));
        ASSERT_TRUE(is_near(alone[at], new_r[at], size, std::numeric_limits<T>::epsilon())) << alone[at] << new_r[at];
      }
      const auto scalars_alone = on.get();
      for (std::size_t at = 0; at < after.size(); ++at) {
        ASSERT_TRUE(is_near(scalars_alone[at], after[at], std::fabs(after[at]),
                            1e-5 * std::sqrt(std::numeric_limits<T>::epsilon())))
            << scalars_alone[at] << ", " << after[at];
      }
    }
    const auto after_states = on.get_states();
    for (std::int64_t j = 0; j < k; ++j) {
      const auto c = static_cast<std::size_t>(j);
      sum_of rr, rz;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i * k + j);
        if (states[c] != column_state::active) {
          ASSERT_TRUE(same_bits(new_x[at], x[at])) << "x of a resting column changed";
          ASSERT_TRUE(same_bits(new_r[at], r[at])) << "r of a resting column changed";
          continue;
        }
        const long double alpha = scalars[static_cast<std::size_t>(2 * k) + c];
        const long double dx = alpha * static_cast<long double>(p[at]), dr = alpha * static_cast<long double>(q[at]);
        expect_rounded(x[at] + dx, std::fabs(static_cast<long double>(x[at])) + std::fabs(dx), new_x[at], "x");
        if (std::isnan(q[at])) continue;
        expect_rounded(r[at] - dr, std::fabs(static_cast<long double>(r[at])) + std::fabs(dr), new_r[at], "r");
        const long double square = static_cast<long double>(new_r[at]) * static_cast<long double>(new_r[at]);
        rr.add(square);
        rz.add(jacobi ? square * static_cast<long double>(inverse[static_cast<std::size_t>(i)]) : square);
      }
      const double beta = after[static_cast<std::size_t>(3 * k) + c];
      if (states[c] != column_state::active) {
        EXPECT_EQ(after_states[c], states[c]);
        EXPECT_EQ(beta, 0);
        EXPECT_EQ(after[c], 7.0) << "rr of a resting column changed";
      } else if (k > 2 && n > 0 && j == 2) {
        EXPECT_EQ(after_states[c], column_state::not_finite);
        EXPECT_EQ(beta, 0);
      } else {
        expect_sum(rr, after[c], n, "rr");
        expect_sum(rz, after[static_cast<std::size_t>(k) + c], n, "rz");
        const bool arrived = j % 2 == 1 || n == 0;
        EXPECT_EQ(after_states[c], arrived ? column_state::resting : column_state::active) << "column " << j;
        const long double exact = arrived ? 0 : rz.value / scalars[static_cast<std::size_t>(k) + c];
        EXPECT_LE(std::fabs(beta - exact), static_cast<long double>(n + 8) * u64 * exact) << "column " << j;
      }
    }
  }
}

template <class T>
void check_turn(const context& ctx, std::int64_t n, std::int64_t k) {
  const auto r = random_values<T>(n * k, 21), q = random_values<T>(n * k, 22), z = random_values<T>(n * k, 23);
  const auto inverse = random_positive<T>(n, 24);
  const auto states = mixed_states(k);
  for (const bool explicit_z : {true, false}) {
    for (const bool jacobi : {true, false}) {
      for (const bool polak_ribiere : {true, false}) {
        bench<T> on(ctx, n, k);
        on.scalars.polak_ribiere = polak_ribiere;
        on.scalars.turns_apart = true;
        const auto r_there = on.sent(r), q_there = on.sent(q), z_there = on.sent(z), inverse_there = on.sent(inverse);
        std::vector<double> scalars(static_cast<std::size_t>(6 * k), 0.0);
        for (std::int64_t j = 0; j < k; ++j) {
          scalars[static_cast<std::size_t>(k + j)] = 0.75;
          scalars[static_cast<std::size_t>(2 * k + j)] = j % 4 == 2 ? 0.0 : 0.5;  // 0: after a residual
        }
        on.set(scalars, states);
        ASSERT_EQ(on.run.turn(on.env, on.shape, r_there.data(), q_there.data(), explicit_z ? z_there.data() : nullptr,
                              jacobi ? inverse_there.data() : nullptr, on.partials.data(), {}, on.scalars),
                  0);
        const auto after = on.get();
        for (std::int64_t j = 0; j < k; ++j) {
          const auto c = static_cast<std::size_t>(j), size = static_cast<std::size_t>(k);
          if (states[c] != column_state::active) {
            EXPECT_EQ(after[3 * size + c], 0) << "beta of a column that rests";
            continue;
          }
          sum_of rz, qz;
          for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i * k + j);
            const long double weight = jacobi ? static_cast<long double>(inverse[static_cast<std::size_t>(i)]) : 1;
            const long double turned = explicit_z ? static_cast<long double>(z[at]) : weight * r[at];
            rz.add(turned * r[at]);
            qz.add(turned * q[at]);
          }
          expect_sum(rz, after[size + c], n, "rz");
          const bool restarted = j % 4 == 2;
          const long double share = restarted ? 0 : (polak_ribiere ? -0.5L * qz.value : rz.value) / 0.75L;
          const long double error = 8 * static_cast<long double>(n + 4) * u64 * (qz.magnitude + rz.magnitude) + 1e-300L;
          EXPECT_NEAR(after[3 * size + c], static_cast<double>(std::max(0.0L, share)), static_cast<double>(error));
        }
      }
    }
  }
}

/// What a step leaves for a host that looks later: which columns took part, and r.r after each, in a ring.
template <class T>
void check_log(const context& ctx, std::int64_t n, std::int64_t k) {
  if (n == 0) return;
  bench<T> on(ctx, n, k);
  constexpr std::int32_t rows = 3;
  context_array<double> log(ctx, rows * k), curvatures(ctx, 3 * k);  // least, largest, p.M p
  context_array<std::int32_t> counts(ctx, 2 * k);
  log.upload(std::vector<double>(static_cast<std::size_t>(rows * k), nan64));
  std::vector<double> ends(static_cast<std::size_t>(3 * k), 0.0);
  std::fill_n(ends.begin(), k, std::numeric_limits<double>::infinity());
  curvatures.upload(ends);
  counts.clear();
  on.scalars.log = log.data();
  on.scalars.log_rows = rows;
  on.scalars.log_cols = static_cast<std::int32_t>(k);
  on.scalars.taken = counts.data();
  on.scalars.logged = counts.data() + k;
  on.scalars.min_curvature = curvatures.data();
  on.scalars.max_curvature = curvatures.data() + k;
  on.scalars.pp = curvatures.data() + 2 * k;
  const auto states = mixed_states(k);
  std::vector<double> scalars(static_cast<std::size_t>(6 * k), 0.0);
  for (std::int64_t j = 0; j < k; ++j)
    scalars[static_cast<std::size_t>(j)] = scalars[static_cast<std::size_t>(k + j)] = 0.5;
  on.set(scalars, states);
  const auto p = random_values<T>(n * k, 31);
  std::vector<T> q = p;
  for (T& entry : q) entry *= T{4};  // A = 4 I: p.Ap = 4 p.p
  // p.M p of the directions whose r.z and beta the scalars say, though p stays the same.
  const auto size = static_cast<std::size_t>(k);
  std::vector<long double> length(size, 0), least(size, std::numeric_limits<long double>::infinity()), largest(size, 0);
  const auto note = [&](const std::vector<double>& now) {
    for (std::size_t j = 0; j < size; ++j) {
      if (states[j] != column_state::active) continue;
      sum_of pq;
      for (std::size_t at = j; at < p.size(); at += size) pq.add(4.0L * p[at] * p[at]);
      length[j] = now[size + j] + static_cast<long double>(now[3 * size + j]) * now[3 * size + j] * length[j];
      least[j] = std::min(least[j], pq.value / length[j]);
      largest[j] = std::max(largest[j], pq.value / length[j]);
    }
  };
  const auto p_there = on.sent(p), q_there = on.sent(q);
  auto x_there = on.sent(std::vector<T>(p.size(), T{0})), r_there = on.sent(p);
  std::vector<std::vector<double>> rr;
  for (int step = 0; step < 4; ++step) {
    note(on.get());
    ASSERT_EQ(on.run.step_length(on.env, on.shape, p_there.data(), q_there.data(), on.partials.data(), {}, on.scalars),
              0);
    ASSERT_EQ(on.run.step(on.env, on.shape, p_there.data(), q_there.data(), nullptr, x_there.data(), r_there.data(),
                          on.partials.data(), on.scalars),
              0);
    rr.push_back(on.get());
  }
  const auto noted = on.got(log), curved = on.got(curvatures);
  const auto counted = on.got(counts);
  for (std::int64_t j = 0; j < k; ++j) {
    const auto c = static_cast<std::size_t>(j);
    const bool active = states[c] == column_state::active;
    EXPECT_EQ(counted[c], active ? 4 : 0);
    EXPECT_EQ(counted[size + c], 4);
    for (std::size_t step = 1; step < 4; ++step) EXPECT_EQ(noted[step % rows * size + c], rr[step][c]);
    if (active) {
      EXPECT_NEAR(curved[c], static_cast<double>(least[c]), 1e-10 * curved[c]);
    } else {
      EXPECT_EQ(curved[c], std::numeric_limits<double>::infinity());
    }
    EXPECT_NEAR(curved[size + c], static_cast<double>(largest[c]), 1e-10 * curved[size + c]);
  }
}

template <class T>
void check_packing(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto values = random_values<T>(n * k, 17);
  for (layout order : {layout::row_major, layout::col_major}) {
    for (std::int64_t padding : {0, 3}) {
      dense_table<T> table(n, k);
      table.at = values;
      operand<T> there(ctx, table, {order, padding, 1});
      const dense_view<T> view = there.view();
      const auto packed = on.sent(std::vector<T>(values.size(), T{-7}));
      ASSERT_EQ(on.run.pack(on.env, on.shape, view.data, view.row_stride(), view.col_stride(), packed.data()), 0);
      EXPECT_EQ(on.got(packed), values);

      operand<T> back(ctx, n, k, {order, padding, 1});
      const dense_view<T> target = back.view();
      ASSERT_EQ(on.run.unpack(on.env, on.shape, packed.data(), target.data, target.row_stride(), target.col_stride()),
                0);
      EXPECT_EQ(back.read().at, values);
    }
  }
}

template <class T>
void check_clearing(const context& ctx, std::int64_t n, std::int64_t k) {
  bench<T> on(ctx, n, k);
  const auto states = mixed_states(k);
  const auto x = random_values<T>(n * k, 18);
  const auto x_there = on.sent(x);
  on.set(std::vector<double>(static_cast<std::size_t>(6 * k), nan64), states);
  ASSERT_EQ(on.run.clear_inactive(on.env, on.shape, x_there.data(), on.scalars), 0);
  const auto cleared = on.got(x_there);
  for (std::size_t at = 0; at < x.size(); ++at) {
    const bool active = states[at % static_cast<std::size_t>(k)] == column_state::active;
    ASSERT_EQ(cleared[at], active ? x[at] : T{0});
  }
}

/// Where a context computes.
struct context_place {
  const context& ctx;

  template <class Number>
  context_array<Number> send(const std::vector<Number>& values) {
    context_array<Number> array(ctx, static_cast<std::int64_t>(values.size()));
    array.upload(values);
    return array;
  }
  template <class Number>
  void fetch(const context_array<Number>& from, std::vector<Number>& values) {
    from.download(values);
  }
};

template <class T>
void check_advancing(const context& ctx, std::int64_t n, std::int64_t k) {
  context_place place{ctx};
  check_advance<T>(place, operations_on<T>(ctx.kind()), {ctx.state().who(), nullptr, ctx.device().num_multiprocessors},
                   n, k);
  if (ctx.kind() == backend::cuda || n * k <= 20000) {  // on a CPU one loop serves all sizes
    check_two_steps_of_x<T>(place, operations_on<T>(ctx.kind()),
                            {ctx.state().who(), nullptr, ctx.device().num_multiprocessors}, n, k);
  }
  if (ctx.kind() != backend::cuda || k > ops::max_advance_cols) return;
  for (const std::int64_t dot_rows : {1, 37, 1100}) {
    SCOPED_TRACE("p.q in " + std::to_string(dot_rows) + " parts");
    check_advance<T>(place, operations_on<T>(ctx.kind()),
                     {ctx.state().who(), nullptr, ctx.device().num_multiprocessors}, n, k, dot_rows);
    if (dot_rows != 37) continue;  // who adds the parts up does not know how many steps x takes
    check_two_steps_of_x<T>(place, operations_on<T>(ctx.kind()),
                            {ctx.state().who(), nullptr, ctx.device().num_multiprocessors}, n, k, dot_rows);
  }
}

/// Runs one check in the case's type on the case's context; skips where there is no GPU for it.
#define BCSC_RUN_CASE(check)                                         \
  const ops_case& c = GetParam();                                    \
  const std::optional<context> ctx = context_of(c.where, c.threads); \
  BCSC_SKIP_WITHOUT_GPU(ctx);                                        \
  c.type == value_type::fp32 ? check<float>(*ctx, c.n, c.k) : check<double>(*ctx, c.n, c.k)

class vector_ops_test : public testing::TestWithParam<ops_case> {};

TEST_P(vector_ops_test, column_sums_are_accurate_and_repeat) { BCSC_RUN_CASE(check_sums); }
TEST_P(vector_ops_test, residual) { BCSC_RUN_CASE(check_residual); }
TEST_P(vector_ops_test, direction) { BCSC_RUN_CASE(check_direction); }
TEST_P(vector_ops_test, restart_ignores_old_direction) { BCSC_RUN_CASE(check_restart_ignores_old_direction); }
TEST_P(vector_ops_test, step_length) { BCSC_RUN_CASE(check_step_length); }
TEST_P(vector_ops_test, step) { BCSC_RUN_CASE(check_step); }
TEST_P(vector_ops_test, advance) { BCSC_RUN_CASE(check_advancing); }
TEST_P(vector_ops_test, turn) { BCSC_RUN_CASE(check_turn); }
TEST_P(vector_ops_test, log) { BCSC_RUN_CASE(check_log); }
TEST_P(vector_ops_test, packing) { BCSC_RUN_CASE(check_packing); }
TEST_P(vector_ops_test, clearing) { BCSC_RUN_CASE(check_clearing); }

INSTANTIATE_TEST_SUITE_P(shapes, vector_ops_test, testing::ValuesIn(cases()), name_of);

/// On the CPU a column's sums depend neither on the threads nor on its neighbours. Large enough for all threads to take
/// part.
template <class T>
void check_order(std::int64_t n, std::int64_t k) {
  const auto u = random_values<T>(n * k, 19), v = random_values<T>(n * k, 20);
  std::vector<std::vector<double>> runs;
  for (const context& ctx : cpu_contexts()) {
    bench<T> on(ctx, n, k);
    on.run.dot(on.env, on.shape, u.data(), v.data(), on.partials.data(), on.result);
    const auto all = on.get();
    runs.emplace_back(all.end() - k, all.end());
    EXPECT_EQ(runs.back(), runs.front()) << ctx.describe();
  }
  for (std::int64_t j = 0; j < k; ++j) {
    std::vector<T> u_alone, v_alone;
    for (std::int64_t i = 0; i < n; ++i) {
      u_alone.push_back(u[static_cast<std::size_t>(i * k + j)]);
      v_alone.push_back(v[static_cast<std::size_t>(i * k + j)]);
    }
    bench<T> on(context::cpu(2), n, 1);
    on.run.dot(on.env, on.shape, u_alone.data(), v_alone.data(), on.partials.data(), on.result);
    EXPECT_EQ(on.get().back(), runs.front()[static_cast<std::size_t>(j)]) << "column " << j << " alone";
  }
}

class vector_order_test : public testing::TestWithParam<std::int64_t> {};

TEST_P(vector_order_test, fp32) { check_order<float>(500009 / GetParam(), GetParam()); }
TEST_P(vector_order_test, fp64) { check_order<double>(500009 / GetParam(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(columns, vector_order_test, testing::Values(1, 2, 3, 4, 8, 11, 33));

TEST(vector_ops, partials_of_a_smaller_block_fit_where_those_of_a_larger_one_do) {
  for (const std::int64_t n : {1, 15, 16, 17, 1000, 8191, 8193, 32767, 32769, 65537, 1 << 20}) {
    for (std::int64_t k = 1; k <= 1200; ++k) {
      ASSERT_GE(ops::num_partials({n, k + 1}), ops::num_partials({n, k})) << n << " x " << k;
      ASSERT_GE(ops::num_partials({n + 1, k}), ops::num_partials({n, k})) << n << " x " << k;
      ASSERT_GE(ops::num_partials({n, k}), 2 * k * ops::num_gpu_chunks({n, k})) << n << " x " << k;
    }
  }
}

}  // namespace

}  // namespace bcsc::test
