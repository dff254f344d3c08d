#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/vector/vector_ops.hpp"
#include "test/support/oracle.hpp"

/// What an iteration in one operation has to do, whoever computes it. The oracle: long double, element by element, from
/// what was there before; every column meets its own fate.
namespace bcsc::test {

/// What an iteration changes, on the host.
template <class T>
struct iterate {
  std::int64_t n, k;
  std::vector<T> x, r, p, q;
  std::vector<T> other;  ///< where the next direction goes, if not to p; then the last one
  std::vector<double> rr, rz, alpha, alpha_before, beta, limit, pp, least, largest;
  std::vector<double> log;  ///< [log_rows x k]
  std::vector<kernels::vector::column_state> states;
  std::vector<std::int32_t> taken, logged;

  static constexpr std::int32_t log_rows = 2;

  iterate(std::int64_t rows, std::int64_t cols) : n(rows), k(cols) {
    const auto size = static_cast<std::size_t>(n * k), columns = static_cast<std::size_t>(k);
    x.resize(size), r.resize(size), p.resize(size), q.resize(size);
    other.resize(size, std::numeric_limits<T>::quiet_NaN());
    for (auto* scalar : {&rr, &rz, &alpha, &alpha_before, &beta, &limit, &pp, &largest}) scalar->resize(columns, 0.0);
    least.resize(columns, std::numeric_limits<double>::infinity());
    log.resize(log_rows * columns, 0.0);
    states.resize(columns, kernels::vector::column_state::active);
    taken.resize(columns, 0), logged.resize(columns, 0);
  }
  std::size_t at(std::int64_t i, std::size_t j) const { return static_cast<std::size_t>(i * k) + j; }
};

/// The steps of x that an iteration takes: its own, none, or its own behind that of the one before.
enum class steps_of_x { own, none, both };

/// The operations of one backend on the memory of `Place`: send(values) gives an array with data(), and fetch(array,
/// values) reads it.
template <class T, class Place>
class advancing {
 public:
  advancing(Place& place, const kernels::vector::operations<T>& operations, const kernels::launch_env& environment,
            std::int64_t n, std::int64_t k, const std::vector<T>& inverse_diagonal)
      : place_(place),
        run_(operations),
        env_(environment),
        shape_{n, k},
        inverse_(inverse_diagonal),
        inverse_there_(place.send(inverse_diagonal)),
        partials_(place.send(std::vector<double>(static_cast<std::size_t>(num_advance_partials(shape_)), 0.0))) {}

  /// The next state, by advance() or (`apart`) by the operations that it stands for. `pq` [k], as a product leaves it.
  void go_on(iterate<T>& now, bool apart = false, const std::vector<double>& pq = {},
             steps_of_x steps = steps_of_x::own) {
    auto x = place_.send(now.x), r = place_.send(now.r), p = place_.send(now.p), q = place_.send(now.q);
    auto other = place_.send(now.other);
    auto alpha_before = place_.send(now.alpha_before);
    auto rr = place_.send(now.rr), rz = place_.send(now.rz), alpha = place_.send(now.alpha);
    auto beta = place_.send(now.beta), limit = place_.send(now.limit), least = place_.send(now.least);
    auto largest = place_.send(now.largest), log = place_.send(now.log), pp = place_.send(now.pp);
    auto dots = place_.send(pq);
    auto states = place_.send(now.states);
    auto taken = place_.send(now.taken), logged = place_.send(now.logged);
    kernels::vector::column_scalars scalars{rr.data(),   rz.data(),    alpha.data(),
                                            beta.data(), limit.data(), states.data()};
    scalars.alpha_before = alpha_before.data();
    scalars.pp = pp.data();
    scalars.min_curvature = least.data();
    scalars.max_curvature = largest.data();
    scalars.taken = taken.data();
    scalars.logged = logged.data();
    scalars.log = log.data();
    scalars.log_rows = iterate<T>::log_rows;
    scalars.log_cols = static_cast<std::int32_t>(shape_.k);
    const T* const inverse = inverse_.empty() ? nullptr : inverse_there_.data();
    const auto way = [&]() -> kernels::vector::directions<T> {
      if (steps == steps_of_x::own) return p.data();
      return {p.data(), other.data(), steps == steps_of_x::both ? other.data() : nullptr};
    }();
    T* const moved = steps == steps_of_x::none ? nullptr : x.data();
    if (apart) {
      ASSERT_EQ(run_.step_length(env_, shape_, p.data(), q.data(), partials_.data(), {}, scalars), 0);
      ASSERT_EQ(run_.step(env_, shape_, p.data(), q.data(), inverse, x.data(), r.data(), partials_.data(), scalars), 0);
      ASSERT_EQ(run_.direction(env_, shape_, r.data(), inverse, nullptr, p.data(), scalars), 0);
    } else {
      const kernels::vector::partial_dots left{dots.data(), std::ssize(pq) / std::max<std::int64_t>(shape_.k, 1)};
      ASSERT_EQ(run_.advance(env_, shape_, q.data(), inverse, moved, r.data(), way, partials_.data(), left, scalars),
                0);
    }
    place_.fetch(x, now.x), place_.fetch(r, now.r), place_.fetch(p, now.p);
    place_.fetch(other, now.other);
    if (steps != steps_of_x::own) std::swap(now.p, now.other);
    place_.fetch(alpha_before, now.alpha_before);
    place_.fetch(rr, now.rr), place_.fetch(rz, now.rz), place_.fetch(alpha, now.alpha);
    place_.fetch(beta, now.beta), place_.fetch(pp, now.pp), place_.fetch(least, now.least),
        place_.fetch(largest, now.largest);
    place_.fetch(log, now.log), place_.fetch(states, now.states);
    place_.fetch(taken, now.taken), place_.fetch(logged, now.logged);
  }

 private:
  template <class Number>
  using array = decltype(std::declval<Place&>().send(std::vector<Number>{}));

  Place& place_;
  const kernels::vector::operations<T>& run_;
  kernels::launch_env env_;
  kernels::vector::shape shape_;
  std::vector<T> inverse_;
  array<T> inverse_there_;
  array<double> partials_;
};

/// What becomes of a column in the second iteration.
enum class fate { goes_on, arrives, is_indefinite, meets_nan, rests, overflows };
constexpr int num_fates = 6;

/// One iteration, from `before` to `after`.
template <class T>
class expected_iteration {
 public:
  expected_iteration(const iterate<T>& before, const iterate<T>& after, const std::vector<T>& inverse)
      : before_(before), after_(after), inverse_(inverse) {}

  void expect() {
    for (j_ = 0; j_ < before_.states.size() && !testing::Test::HasFailure(); ++j_) {
      SCOPED_TRACE("column " + std::to_string(j_));
      expect_column();
    }
  }

 private:
  using column_state = kernels::vector::column_state;
  static constexpr long double u64 = std::numeric_limits<double>::epsilon() / 2;
  static constexpr long double u = std::numeric_limits<T>::epsilon() / 2;

  struct sum {
    long double value = 0, magnitude = 0;
    void add(long double term) {
      value += term;
      magnitude += std::fabs(term);
    }
  };
  long double error_of(const sum& s) const { return static_cast<long double>(before_.n + 4) * u64 * s.magnitude; }
  long double weight(std::int64_t i) const {
    return inverse_.empty() ? 1 : static_cast<long double>(inverse_[static_cast<std::size_t>(i)]);
  }
  static bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
  void expect_kept(const std::vector<T>& was, const std::vector<T>& is, const char* what) const {
    for (std::int64_t i = 0; i < before_.n; ++i) {
      const std::size_t at = before_.at(i, j_);
      ASSERT_EQ(std::memcmp(&was[at], &is[at], sizeof(T)), 0) << what << " changed in row " << i;
    }
  }
  /// One rounding to T of a value that took a few in double.
  void expect_rounded(long double wanted, long double magnitude, T got, const char* what) const {
    const long double error = std::fabs(static_cast<long double>(got) - wanted);
    ASSERT_LE(error, u * std::fabs(wanted) + 4 * u64 * magnitude) << what;
  }

  void expect_column() {
    EXPECT_EQ(after_.logged[j_], before_.logged[j_] + 1);
    const auto row = static_cast<std::size_t>(before_.logged[j_] % iterate<T>::log_rows);
    EXPECT_TRUE(same_bits(after_.log[row * before_.states.size() + j_], after_.rr[j_])) << "the log";
    const bool was_active = before_.states[j_] == column_state::active;
    EXPECT_EQ(after_.taken[j_], before_.taken[j_] + (was_active ? 1 : 0));
    if (!was_active) return expect_rest(before_.states[j_]);
    sum pq;
    for (std::int64_t i = 0; i < before_.n; ++i) {
      const long double along = before_.p[before_.at(i, j_)];
      pq.add(along * before_.q[before_.at(i, j_)]);
    }
    if (std::isnan(pq.value)) return expect_rest(column_state::not_finite);
    const long double beta = before_.beta[j_], pp = before_.rz[j_] + beta * beta * before_.pp[j_];
    EXPECT_LE(std::fabs(after_.pp[j_] - pp), 4 * u64 * pp) << "p.M p";
    if (pp > 0) {
      const auto curvature = static_cast<double>(std::fabs(pq.value) / pp);
      EXPECT_NEAR(after_.least[j_], std::min(before_.least[j_], curvature), 1e-10 * curvature);
      EXPECT_NEAR(after_.largest[j_], std::max(before_.largest[j_], curvature), 1e-10 * curvature);
    }
    if (pq.value <= 0) return expect_rest(column_state::not_positive);
    const long double length = before_.rz[j_] / pq.value;
    EXPECT_LE(std::fabs(after_.alpha[j_] - length), length * (error_of(pq) / pq.value + 4 * u64)) << "alpha";
    expect_step();
  }

  void expect_rest(column_state wanted) {
    EXPECT_EQ(after_.states[j_], wanted);
    EXPECT_EQ(after_.alpha[j_], 0);
    EXPECT_EQ(after_.beta[j_], 0);
    EXPECT_TRUE(same_bits(after_.rr[j_], before_.rr[j_]));
    EXPECT_TRUE(same_bits(after_.rz[j_], before_.rz[j_]));
    expect_kept(before_.x, after_.x, "x");
    expect_kept(before_.r, after_.r, "r");
    expect_kept(before_.p, after_.p, "p");
  }

  void expect_step() {
    const long double alpha = after_.alpha[j_];
    sum rr, rz;
    for (std::int64_t i = 0; i < before_.n; ++i) {
      const std::size_t at = before_.at(i, j_);
      const long double x = before_.x[at], r = before_.r[at];
      const long double dx = alpha * before_.p[at], dr = alpha * before_.q[at];
      expect_rounded(x + dx, std::fabs(x) + std::fabs(dx), after_.x[at], "x");
      if (std::isfinite(before_.r[at])) expect_rounded(r - dr, std::fabs(r) + std::fabs(dr), after_.r[at], "r");
      const long double square = static_cast<long double>(after_.r[at]) * after_.r[at];
      rr.add(square);
      rz.add(square * weight(i));
    }
    if (!std::isfinite(rr.value)) {
      EXPECT_EQ(after_.states[j_], column_state::not_finite);
      EXPECT_FALSE(std::isfinite(after_.rr[j_]));
    } else {
      EXPECT_LE(std::fabs(after_.rr[j_] - rr.value), error_of(rr)) << "rr";
      EXPECT_LE(std::fabs(after_.rz[j_] - rz.value), error_of(rz)) << "rz";
      EXPECT_EQ(after_.states[j_], rr.value <= before_.limit[j_] ? column_state::resting : column_state::active);
    }
    if (after_.states[j_] != column_state::active) {
      EXPECT_EQ(after_.beta[j_], 0);
      return expect_kept(before_.p, after_.p, "p");
    }
    const long double share = static_cast<long double>(after_.rz[j_]) / before_.rz[j_];
    EXPECT_LE(std::fabs(after_.beta[j_] - share), 4 * u64 * share) << "beta";
    for (std::int64_t i = 0; i < before_.n; ++i) {
      const std::size_t at = before_.at(i, j_);
      const long double z = weight(i) * after_.r[at];
      const long double kept = static_cast<long double>(after_.beta[j_]) * before_.p[at];
      expect_rounded(z + kept, std::fabs(z) + std::fabs(kept), after_.p[at], "p");
    }
  }

  const iterate<T>&before_, &after_;
  const std::vector<T>& inverse_;
  std::size_t j_ = 0;
};

/// p.q of each column as a product leaves it: in `rows` parts that add up to it.
template <class T>
std::vector<double> parts_of_dots(const iterate<T>& now, std::int64_t rows) {
  std::vector<double> parts(static_cast<std::size_t>(rows * now.k), 0.0);
  for (std::int64_t i = 0; i < now.n; ++i) {
    for (std::size_t j = 0; j < now.states.size(); ++j) {
      parts[static_cast<std::size_t>(i % rows * now.k) + j] +=
          static_cast<double>(now.p[now.at(i, j)]) * static_cast<double>(now.q[now.at(i, j)]);
    }
  }
  return parts;
}

/// What the columns begin with and meet, from turn to turn another fate each.
template <class T>
class fates_of_columns {
 public:
  explicit fates_of_columns(int turn) : turn_(turn) {}

  fate of(std::size_t j) const { return static_cast<fate>((j + static_cast<std::size_t>(turn_)) % num_fates); }

  /// Of every other turn; none otherwise.
  std::vector<T> inverse(std::int64_t n) const {
    test_random random(static_cast<std::uint64_t>(41 + turn_));
    std::vector<T> diagonal(static_cast<std::size_t>(turn_ % 2 == 0 ? n : 0));
    for (T& entry : diagonal) entry = static_cast<T>(std::fabs(random.real()) + 0.25);
    return diagonal;
  }
  iterate<T> begin(std::int64_t n, std::int64_t k) const {
    using kernels::vector::column_state;
    test_random random(static_cast<std::uint64_t>(91 + turn_));
    iterate<T> now(n, k);
    for (auto* values : {&now.x, &now.r, &now.p}) {
      for (T& entry : *values) entry = static_cast<T>(random.real());
    }
    for (std::size_t j = 0; j < now.states.size(); ++j) {
      now.rr[j] = 7.0 + static_cast<double>(j);
      now.rz[j] = 0.5 * static_cast<double>(n) + 0.125;
      if (of(j) != fate::rests) continue;
      now.states[j] = j % 2 == 0 ? column_state::resting : column_state::not_positive;
      const T odd[] = {T{-0.0}, nan, infinity, std::numeric_limits<T>::denorm_min()};
      for (std::int64_t i = 0; i < n; ++i) now.x[now.at(i, j)] = now.r[now.at(i, j)] = now.p[now.at(i, j)] = odd[i % 4];
    }
    return now;
  }
  /// q = A p with a diagonal A, and in iteration 1 what makes the fates.
  void meet(iterate<T>& now, int iteration) const {
    for (std::size_t j = 0; j < now.states.size(); ++j) {
      for (std::int64_t i = 0; i < now.n; ++i) {
        now.q[now.at(i, j)] = now.p[now.at(i, j)] * static_cast<T>(1.5 + 0.25 * static_cast<double>(i % 3));
        if (iteration == 1 && of(j) == fate::is_indefinite) now.q[now.at(i, j)] *= T{-1};
      }
      if (iteration != 1 || now.n == 0) continue;
      if (of(j) == fate::arrives) now.limit[j] = 1e100;
      if (of(j) == fate::meets_nan) now.q[now.at(now.n / 2, j)] = nan;
      if (of(j) == fate::overflows) now.r[now.at(now.n - 1, j)] = infinity;
    }
  }

 private:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  int turn_;
};

/// Three iterations with an A that is diagonal and positive, until the columns meet their fates in the second.
/// `dot_rows`: p.q is there, in so many parts.
template <class T, class Place>
void check_advance(Place& place, const kernels::vector::operations<T>& run, const kernels::launch_env& env,
                   std::int64_t n, std::int64_t k, std::int64_t dot_rows = 0) {
  using kernels::vector::column_state;
  for (int turn = 0; turn < (k < num_fates ? num_fates : 1); ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    const fates_of_columns<T> fates(turn);
    const std::vector<T> inverse = fates.inverse(n);
    iterate<T> now = fates.begin(n, k);
    advancing<T, Place> steps(place, run, env, n, k, inverse);
    for (int iteration = 0; iteration < 3; ++iteration) {
      SCOPED_TRACE("iteration " + std::to_string(iteration));
      fates.meet(now, iteration);
      const iterate<T> before = now;
      steps.go_on(now, false, dot_rows > 0 ? parts_of_dots(now, dot_rows) : std::vector<double>{});
      expected_iteration<T>(before, now, inverse).expect();
      if (testing::Test::HasFailure()) return;
    }
    if (n == 0) continue;
    const column_state ends[] = {column_state::active,     column_state::resting, column_state::not_positive,
                                 column_state::not_finite, column_state::resting, column_state::not_finite};
    for (std::size_t j = 0; j < now.states.size(); ++j) {
      if (fates.of(j) == fate::rests) continue;
      EXPECT_EQ(now.states[j], ends[static_cast<int>(fates.of(j))]) << "column " << j;
    }
  }
}

template <class Values>
bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

template <class T>
void expect_same(const iterate<T>& a, const iterate<T>& b) {
  EXPECT_TRUE(same_bits(a.x, b.x)) << "x";
  EXPECT_TRUE(same_bits(a.r, b.r)) << "r";
  EXPECT_TRUE(same_bits(a.p, b.p)) << "p";
  for (const auto scalar : {&iterate<T>::rr, &iterate<T>::rz, &iterate<T>::alpha, &iterate<T>::beta, &iterate<T>::pp,
                            &iterate<T>::least, &iterate<T>::largest, &iterate<T>::log}) {
    EXPECT_TRUE(same_bits(a.*scalar, b.*scalar)) << "a scalar";
  }
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.taken, b.taken);
  EXPECT_EQ(a.logged, b.logged);
}

/// Iterations by twos, which take the steps of x together, leave the bits of iterations one by one; the columns meet
/// their fates in the first of two (`behind_one`) or in the second.
template <class T, class Place>
void check_two_steps_of_x(Place& place, const kernels::vector::operations<T>& run, const kernels::launch_env& env,
                          std::int64_t n, std::int64_t k, std::int64_t dot_rows = 0) {
  // Of large blocks one turn alone: with a diagonal, or of one column the one in which it arrives.
  const int first = n * k <= 20000 ? 0 : k == 1 ? 1 : 2, last = n * k > 20000 || k >= num_fates ? first + 1 : num_fates;
  for (int turn = first; turn < last; ++turn) {
    const fates_of_columns<T> fates(turn);
    for (const bool behind_one : {false, true}) {
      SCOPED_TRACE("turn " + std::to_string(turn) + (behind_one ? ", behind one" : ""));
      advancing<T, Place> steps(place, run, env, n, k, fates.inverse(n));
      iterate<T> single = fates.begin(n, k), twos = single;
      for (int iteration = 0; iteration < (behind_one ? 5 : 4); ++iteration) {
        const int place_in_twos = iteration - (behind_one ? 1 : 0);
        const auto go_on = [&](iterate<T>& now, steps_of_x of_x) {
          fates.meet(now, iteration);
          steps.go_on(now, false, dot_rows > 0 ? parts_of_dots(now, dot_rows) : std::vector<double>{}, of_x);
        };
        go_on(single, steps_of_x::own);
        go_on(twos, place_in_twos < 0 ? steps_of_x::own : place_in_twos % 2 == 0 ? steps_of_x::none : steps_of_x::both);
        if (place_in_twos % 2 != 0) expect_same(single, twos);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// With sums of small integers, which are exact in any order, and a step length of a half: the same bits as by
/// step_length(), step() and direction(). Only where no product and sum are rounded as one.
template <class T, class Place>
void check_advance_is_its_parts(Place& place, const kernels::vector::operations<T>& run, const kernels::launch_env& env,
                                std::int64_t n, std::int64_t k, std::int64_t dot_rows = 0) {
  using kernels::vector::column_state;
  test_random random(17);
  std::vector<T> inverse(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] = i % 3 == 0 ? T{0.5} : i % 3 == 1 ? T{1} : T{2};
  iterate<T> now(n, k);
  for (auto* values : {&now.x, &now.r, &now.p}) {
    for (T& entry : *values) entry = static_cast<T>(std::floor(8 * random.real()));
  }
  for (std::size_t j = 0; j < now.states.size(); ++j) {
    double pq = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      now.q[now.at(i, j)] = now.p[now.at(i, j)] * static_cast<T>(1 + i % 3);
      pq += static_cast<double>(now.p[now.at(i, j)]) * static_cast<double>(now.q[now.at(i, j)]);
    }
    now.rz[j] = 0.5 * pq;
    if (j % 5 == 1) now.limit[j] = 1e100;
    if (j % 5 == 3) now.states[j] = column_state::resting;
  }
  iterate<T> parts = now;
  advancing<T, Place> steps(place, run, env, n, k, inverse);
  steps.go_on(now, false, dot_rows > 0 ? parts_of_dots(now, dot_rows) : std::vector<double>{});
  steps.go_on(parts, true);
  expect_same(now, parts);
}

}  // namespace bcsc::test
