// A residual that was replaced goes on along the last direction: what the passes over vectors make of it, and what it
// saves.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/context_array.hpp"
#include "test/unit/cg_systems.hpp"

namespace bcsc::test {

namespace {

namespace ops = kernels::vector;
using ops::column_state;
using solvers::context_array;

template <class T>
const ops::operations<T>& operations_at(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return ops::on_cuda<T>();
#endif
  (void)where;
  return ops::on_cpu<T>();
}

struct direction_case {
  backend where;
  value_type type;
  bool jacobi;
};

class last_direction_test : public testing::TestWithParam<direction_case> {
 protected:
  static constexpr std::int64_t n = 700, k = 4;
  /// Column 0 goes forward along p, 1 back, 2 has no direction, and 3 rests.
  static constexpr std::size_t none = 2, rests = 3;

  template <class T>
  static long double dot(const std::vector<T>& u, const std::vector<T>& v, std::size_t j,
                         const std::vector<T>& weight) {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += static_cast<long double>(u[i * k + j]) * v[i * k + j] * (weight.empty() ? 1 : weight[i]);
    }
    return sum;
  }

  template <class T>
  void check() {
    const auto ctx = context_of(GetParam().where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    const ops::operations<T>& run = operations_at<T>(ctx->kind());
    const kernels::launch_env env{ctx->state().who(), nullptr, ctx->device().num_multiprocessors};
    const ops::shape s{n, k};
    test_random random(11);
    std::vector<T> x(n * k), b(n * k), p(n * k), q(n * k), weight(GetParam().jacobi ? n : 0);
    for (T& w : weight) w = static_cast<T>(0.5 + std::fabs(random.real()));
    for (std::size_t at = 0; at < b.size(); ++at) {
      x[at] = static_cast<T>(random.real());
      p[at] = at % k == none ? T{0} : static_cast<T>(random.real());
      q[at] = p[at] * static_cast<T>(1 + at / k % 3);
      b[at] = static_cast<T>(random.real()) + (at % k == 1 ? T{-0.25} : T{0.25}) * p[at];
    }
    const auto sent = [&]<class Number>(const std::vector<Number>& values) {
      context_array<Number> there(*ctx, std::ssize(values));
      there.upload(values);
      return there;
    };
    const auto got = [&]<class Number>(const context_array<Number>& there) {
      std::vector<Number> values(static_cast<std::size_t>(there.size()));
      there.download(values);
      return values;
    };
    const auto b_there = sent(b), q_there = sent(q), x_there = sent(x), p_there = sent(p), weight_there = sent(weight);
    const auto r_there = sent(std::vector<T>(n * k, T{0}));  // A x, which the residual takes the place of
    const auto partials = sent(std::vector<double>(static_cast<std::size_t>(ops::num_partials(s)), 0.0));
    const auto doubles = sent(std::vector<double>(5 * k, 0.0));
    const auto states = sent(std::vector<column_state>{column_state::active, column_state::active, column_state::active,
                                                       column_state::resting});
    const T* const inverse = weight.empty() ? nullptr : weight_there.data();
    double* const d = doubles.data();
    ops::column_scalars scalars{d, d + k, d + 2 * k, d + 3 * k, d + 4 * k, states.data()};
    ASSERT_EQ(run.residual(env, s, b_there.data(), r_there.data(), inverse, r_there.data(), partials.data(), scalars),
              0);
    EXPECT_EQ(got(r_there), b) << "in place";

    scalars.steps_again = scalars.turns_apart = scalars.polak_ribiere = true;
    ASSERT_EQ(run.dot(env, s, r_there.data(), p_there.data(), partials.data(), scalars.rz), 0);
    ASSERT_EQ(run.step_length(env, s, p_there.data(), q_there.data(), partials.data(), {}, scalars), 0);
    ASSERT_EQ(run.step(env, s, p_there.data(), q_there.data(), inverse, x_there.data(), r_there.data(), partials.data(),
                       scalars),
              0);
    ASSERT_EQ(run.turn(env, s, r_there.data(), q_there.data(), nullptr, inverse, partials.data(), {}, scalars), 0);
    const std::vector<T> r = got(r_there), new_x = got(x_there);
    ASSERT_EQ(run.direction(env, s, r_there.data(), inverse, nullptr, p_there.data(), scalars), 0);
    const std::vector<T> new_p = got(p_there);
    const std::vector<double> after = got(doubles);
    const long double u = 8 * std::numeric_limits<T>::epsilon();
    for (std::size_t j = 0; j < k; ++j) {
      SCOPED_TRACE("column " + std::to_string(j));
      EXPECT_EQ(got(states)[j], j == rests ? column_state::resting : column_state::active);
      const double alpha = after[2 * k + j];
      if (j == none || j == rests) {
        EXPECT_EQ(alpha, 0);
        EXPECT_EQ(after[3 * k + j], 0) << "beta";
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(new_x[i * k + j], x[i * k + j]);
          ASSERT_EQ(r[i * k + j], b[i * k + j]);
          if (j == none) {
            ASSERT_EQ(new_p[i * k + j], weight.empty() ? b[i * k + j] : weight[i] * b[i * k + j]);
          }
        }
        continue;
      }
      EXPECT_EQ(alpha > 0, j == 0);
      const long double length = std::sqrt(dot(r, r, j, {}) * dot(p, p, j, {}));
      EXPECT_LE(std::fabs(dot(r, p, j, {})), u * length) << "r is orthogonal to p";
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(new_x[i * k + j], x[i * k + j] + alpha * p[i * k + j], 4 * std::numeric_limits<T>::epsilon());
      }
      const long double rz = dot(r, r, j, weight);
      EXPECT_NEAR(after[k + j], static_cast<double>(rz), 1e-12 * static_cast<double>(rz));
      const long double beta = -dot(r, q, j, weight) / dot(p, q, j, {});
      if (beta <= 0) {
        EXPECT_EQ(after[3 * k + j], 0);
        continue;
      }
      EXPECT_NEAR(after[3 * k + j], static_cast<double>(beta), 1e-10);
      EXPECT_LE(std::fabs(dot(new_p, q, j, {})), u * std::sqrt(dot(new_p, new_p, j, {}) * dot(q, q, j, {})))
          << "conjugate to p";
    }
  }
};

TEST_P(last_direction_test, is_kept_conjugate) {
  GetParam().type == value_type::fp32 ? check<float>() : check<double>();
}

std::vector<direction_case> direction_cases() {
  std::vector<direction_case> all;
  for (const backend where : {backend::cpu, backend::cuda}) {
    for (const value_type type : {value_type::fp32, value_type::fp64}) {
      for (const bool jacobi : {false, true}) all.push_back({where, type, jacobi});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(cases, last_direction_test, testing::ValuesIn(direction_cases()), [](const auto& info) {
  return std::string(to_string(info.param.where)) + "_" + std::string(to_string(info.param.type)) +
         (info.param.jacobi ? "_jacobi" : "");
});

// --- What it saves --------------------------------------------------------------------------------------------------

class kept_course_test : public testing::TestWithParam<place> {};
INSTANTIATE_TEST_SUITE_P(places, kept_course_test, testing::Values(place::cpu_two_threads, place::gpu),
                         [](const auto& info) { return to_string(info.param); });

/// Replaced residuals in fp32 cost a few iterations; along fresh directions they would cost half of fp64's.
TEST_P(kept_course_test, takes_hardly_more_iterations_than_fp64) {
  const auto ctx = context_at(GetParam());
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = laplace(31, 29);
  const auto b = random_table<double>(a.rows, 1, values::real, 9);
  cg_options options{.tolerance = 1e-11};
  const auto wanted = solve(GetParam(), *ctx, a, b, options);
  ASSERT_EQ(wanted.result.reason, cg_stop::converged);
  options.inner = cg_inner::fp32;
  for (const double share : {0.1, 0.01, 0.001}) {
    SCOPED_TRACE(share);
    options.correction = cg_correction::reliable(share);
    const auto reliable = solve(GetParam(), *ctx, a, b, options);
    EXPECT_EQ(reliable.result.reason, cg_stop::converged);
    EXPECT_GE(reliable.result.num_replacements, 3);
    EXPECT_LE(reliable.result.iterations, wanted.result.iterations * 6 / 5);
    const auto exact = true_residual(a, b, reliable.x, 0);
    EXPECT_LE(exact.relative, options.tolerance + exact.rounding);
    // Where all vectors can be fp32, they are: the same solve by either name, bit for bit.
    options.correction = cg_correction::refine(share);
    const auto refined = solve(GetParam(), *ctx, a, b, options);
    EXPECT_EQ(refined.x.at, reliable.x.at);
    EXPECT_EQ(refined.result.history, reliable.result.history);
  }
  // In fp64 alike.
  options.inner = cg_inner::as_given;
  options.correction = cg_correction::reliable(0.1);
  const auto in_fp64 = solve(GetParam(), *ctx, a, b, options);
  EXPECT_GE(in_fp64.result.num_replacements, 9);
  EXPECT_LE(in_fp64.result.iterations, wanted.result.iterations + 3);
}

/// A column goes on, or not, by its own residuals alone.
TEST(kept_course, does_not_depend_on_the_company) {
  const sparse_case a = laplace(17, 12);
  const auto ctx = context::cpu(2);
  auto b = random_table<double>(a.rows, 3, values::real, 9);
  for (std::int64_t i = 0; i < a.rows; ++i) b(i, 1) = i == 5 ? 1 : 0;
  const cg_options options{.tolerance = 1e-11, .correction = cg_correction::reliable(0.05)};
  const auto together = solve(place::cpu_two_threads, ctx, a, b, options);
  for (std::int64_t j = 0; j < 3; ++j) {
    dense_table<double> one(a.rows, 1);
    for (std::int64_t i = 0; i < a.rows; ++i) one(i, 0) = b(i, j);
    const auto alone = solve(place::cpu_two_threads, ctx, a, one, options);
    EXPECT_EQ(alone.result.column_iterations[0], together.result.column_iterations[static_cast<std::size_t>(j)]);
    EXPECT_EQ(together.result.column_reason[static_cast<std::size_t>(j)], cg_stop::converged);
  }
}

}  // namespace

}  // namespace bcsc::test
