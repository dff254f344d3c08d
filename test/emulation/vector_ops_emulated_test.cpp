// What conjugate gradients need on blocks of vectors, on the emulated GPU: whole iterations, compared with the CPU's in
// every scalar, state and element, whatever the order of threads, with grids cut short.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/vector/vector_cuda.cu"
#include "test/support/oracle.hpp"
#include "test/unit/advance_checks.hpp"

namespace bcsc::test {
namespace {

namespace ops = kernels::vector;
using ops::column_state;

constexpr std::int32_t log_rows = 2;

/// The vectors and scalars of an iteration, in one backend's hands.
template <class T>
struct iteration {
  const ops::operations<T>& run;
  ops::shape shape;
  std::vector<T> b, x, r, p, q, z, d;
  std::vector<double> partials, doubles, log;
  std::vector<column_state> states;
  std::vector<std::int32_t> counts;
  ops::column_scalars scalars;

  iteration(const ops::operations<T>& by, std::int64_t n, std::int64_t k) : run(by), shape{n, k} {
    const auto size = static_cast<std::size_t>(n * k), columns = static_cast<std::size_t>(k);
    test_random random(5);
    const auto fill = [&](std::vector<T>& v, std::size_t length) {
      for (std::size_t at = 0; at < length; ++at) v.push_back(static_cast<T>(random.real()));
    };
    fill(b, size);
    fill(x, size);
    fill(q, size);
    fill(d, static_cast<std::size_t>(n));
    for (T& entry : d) entry = std::abs(entry) + T{0.25};
    r = z = p = b;
    partials.resize(static_cast<std::size_t>(ops::num_partials(shape)));
    doubles.assign(9 * columns, 0.5);
    log.assign(log_rows * columns, 0.0);
    counts.assign(2 * columns, 0);
    for (std::size_t j = 0; j < columns; ++j) {
      doubles[4 * columns + j] = j % 4 == 1 ? 1e30 : 0;  // limit
      doubles[6 * columns + j] = std::numeric_limits<double>::infinity();
      states.push_back(j % 5 == 3 ? column_state::resting : column_state::active);
    }
    double* const at = doubles.data();
    scalars = {at,
               at + k,
               at + 2 * k,
               at + 3 * k,
               at + 4 * k,
               states.data(),
               at + 8 * k,
               at + 6 * k,
               at + 7 * k,
               counts.data(),
               counts.data() + k,
               log.data(),
               log_rows,
               static_cast<std::int32_t>(k)};
  }

  /// u.v in up to 7 rows that add up to it.
  std::vector<double> dots_left(const std::vector<T>& u, const std::vector<T>& v) const {
    const auto columns = static_cast<std::size_t>(shape.k),
               rows = std::min<std::size_t>(7, static_cast<std::size_t>(shape.n));
    std::vector<double> left(rows * columns, 0.0);
    for (std::size_t at = 0; at < u.size(); ++at) {
      left[at / columns % rows * columns + at % columns] += static_cast<double>(u[at]) * static_cast<double>(v[at]);
    }
    return left;
  }

  /// Two iterations from a residual; `q` stands for A p. `leaves_dots`: there are parts of p.q and, where it is no
  /// other sum's, r.z, as on a GPU.
  void go(bool jacobi, bool turns_apart, bool polak_ribiere, bool explicit_z, bool leaves_dots) {
    scalars.turns_apart = turns_apart;
    scalars.polak_ribiere = polak_ribiere;
    const T* const diagonal = jacobi ? d.data() : nullptr;
    const T* const given_z = explicit_z ? z.data() : nullptr;
    const auto started = [](int status) { ASSERT_EQ(status, 0); };
    started(run.residual({}, shape, b.data(), q.data(), diagonal, r.data(), partials.data(), scalars));
    T* const left_out = turns_apart ? x.data() : nullptr;  // by step(), for the next direction()
    for (int step = 0; step < 2; ++step) {
      started(run.direction({}, shape, r.data(), diagonal, step > 0 ? left_out : nullptr, p.data(), scalars));
      for (std::size_t at = 0; at < q.size(); ++at) {  // a diagonal A
        q[at] = p[at] * static_cast<T>(1.5 + 0.1 * static_cast<double>(at / static_cast<std::size_t>(shape.k) % 3));
      }
      const std::vector<double> left = leaves_dots ? dots_left(p, q) : std::vector<double>{};
      const ops::partial_dots pq{left.data(), std::ssize(left) / shape.k};
      started(run.step_length({}, shape, p.data(), q.data(), partials.data(), pq, scalars));
      started(run.step({}, shape, p.data(), q.data(), diagonal, turns_apart ? nullptr : x.data(), r.data(),
                       partials.data(), scalars));
      if (turns_apart) {
        for (std::size_t at = 0; at < z.size(); ++at) z[at] = 2 * r[at];  // M = I / 2: r.z is the norm of something
        const bool leaves_rz = leaves_dots && explicit_z && !polak_ribiere;
        const std::vector<double> of_rz = leaves_rz ? dots_left(r, z) : std::vector<double>{};
        const ops::partial_dots rz{of_rz.data(), std::ssize(of_rz) / shape.k};
        started(run.turn({}, shape, r.data(), q.data(), given_z, diagonal, partials.data(), rz, scalars));
      }
    }
    if (turns_apart) started(run.direction({}, shape, r.data(), diagonal, left_out, p.data(), scalars));
    started(run.abs_sum({}, shape, r.data(), partials.data(), doubles.data() + 5 * shape.k));
    started(run.clear_inactive({}, shape, x.data(), scalars));
  }
};

template <class Number>
void expect_close(const std::vector<Number>& got, const std::vector<Number>& wanted, double tolerance,
                  const char* what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t at = 0; at < got.size(); ++at) {
    const double a = got[at], b = wanted[at];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(b))) << what << ", element " << at;
  }
}

class vector_ops_emulated : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
 protected:
  template <class T>
  void check() {
    const auto [n, k] = GetParam();
    const double tolerance = std::is_same_v<T, float> ? 1e-4 : 1e-11;
    std::uint64_t turn = 0;
    for (const bool jacobi : {false, true}) {
      for (const int way : {0, 1, 2, 3}) {
        emulation::current_settings() = {.order = static_cast<emulation::run_order>(turn % 3), .seed = turn};
        SCOPED_TRACE("turn " + std::to_string(turn++));
        iteration<T> got(ops::on_cuda<T>(), n, k), wanted(ops::on_cpu<T>(), n, k);
        got.go(jacobi, way > 0, way == 2, way == 3, jacobi);
        wanted.go(jacobi, way > 0, way == 2, way == 3, false);
        expect_close(got.x, wanted.x, tolerance, "x");
        expect_close(got.r, wanted.r, tolerance, "r");
        expect_close(got.p, wanted.p, tolerance, "p");
        expect_close(got.doubles, wanted.doubles, tolerance, "scalars");
        expect_close(got.log, wanted.log, tolerance, "log");
        EXPECT_EQ(got.states, wanted.states);
        EXPECT_EQ(got.counts, wanted.counts);
        if (HasFailure()) FAIL() << emulation::report();
      }
    }
    emulation::current_settings() = {};
  }
};

TEST_P(vector_ops_emulated, are_the_cpus_in_double) { check<double>(); }
TEST_P(vector_ops_emulated, are_the_cpus_in_float) { check<float>(); }

INSTANTIATE_TEST_SUITE_P(shapes, vector_ops_emulated,
                         testing::Values(std::pair{1, 1}, std::pair{5, 3}, std::pair{257, 1}, std::pair{300, 8},
                                         std::pair{70, 33}, std::pair{20, 300}, std::pair{3000, 2}),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "x" + std::to_string(info.param.second);
                         });

// --- An iteration in one kernel, whose thread blocks wait for each other --------------------------------------------

/// The memory of the emulated GPU; a kernel that touches any other is in error.
class emulated_place {
 public:
  template <class Number>
  class array {
   public:
    explicit array(const std::vector<Number>& values) : values_(new std::vector<Number>(values)) {
      if (values.empty()) return;
      emulation::current_settings().global_memory.push_back({data(), values.size() * sizeof(Number), true});
    }
    ~array() {
      if (values_ == nullptr) return;
      std::erase_if(emulation::current_settings().global_memory,
                    [&](const emulation::memory_range& range) { return range.begin == data(); });
    }
    array(array&&) = default;
    Number* data() const { return values_->data(); }
    const std::vector<Number>& values() const { return *values_; }

   private:
    std::unique_ptr<std::vector<Number>> values_;
  };

  template <class Number>
  array<Number> send(const std::vector<Number>& values) {
    return array<Number>(values);
  }
  template <class Number>
  void fetch(const array<Number>& from, std::vector<Number>& values) {
    values = from.values();
  }
};

class advance_emulated : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {
 protected:
  /// On devices of one, two and four multiprocessors.
  template <class T>
  void check(bool together = true) {
    const auto [n, k] = GetParam();
    std::uint64_t turn = 0;
    for (const int multiprocessors : {4, 2, 1}) {
      emulation::current_settings() = {
          .order = static_cast<emulation::run_order>(turn % 3), .seed = 3 + turn, .can_launch_together = together};
      SCOPED_TRACE("turn " + std::to_string(turn++));
      emulated_place place;
      check_advance<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k);
      check_advance_is_its_parts<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k);
      if (multiprocessors == 2 || !together) {  // the longest of these checks
        check_two_steps_of_x<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k);
      }
      if (!together || k > ops::max_advance_cols) continue;
      for (const std::int64_t dot_rows : {1, 37, 1100}) {
        SCOPED_TRACE("p.q in " + std::to_string(dot_rows) + " parts");
        check_advance<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k, dot_rows);
        check_advance_is_its_parts<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k, dot_rows);
        if (dot_rows == 37) {  // who adds the parts up does not know how many steps x takes
          check_two_steps_of_x<T>(place, ops::on_cuda<T>(), {{}, nullptr, multiprocessors}, n, k, dot_rows);
        }
      }
      if (HasFailure()) FAIL() << emulation::report();
    }
    emulation::current_settings() = {};
  }
};

TEST_P(advance_emulated, is_an_iteration_in_double) { check<double>(); }
TEST_P(advance_emulated, is_an_iteration_in_float) { check<float>(); }
TEST_P(advance_emulated, is_one_where_blocks_cannot_wait_for_each_other) { check<double>(false); }

INSTANTIATE_TEST_SUITE_P(shapes, advance_emulated,
                         testing::Values(std::pair{0, 1}, std::pair{0, 3}, std::pair{1, 1}, std::pair{31, 1},
                                         std::pair{257, 1}, std::pair{1500, 1}, std::pair{10000, 1}, std::pair{31, 2},
                                         std::pair{257, 3}, std::pair{5000, 3}, std::pair{31, 16}, std::pair{1000, 16},
                                         std::pair{31, 17}, std::pair{31, 300}),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "x" + std::to_string(info.param.second);
                         });

/// The sums repeat bit by bit, whatever the order in which thread blocks come.
TEST(advance_emulated, repeats_in_every_order) {
  std::vector<std::vector<double>> seen;
  for (const std::uint64_t turn : {0, 1, 2, 5}) {
    emulation::current_settings() = {.order = static_cast<emulation::run_order>(turn % 3), .seed = turn};
    emulated_place place;
    iterate<double> now(3000, 2);
    test_random random(8);
    for (auto* values : {&now.r, &now.p}) {
      for (double& entry : *values) entry = random.real();
    }
    now.q = now.p;
    now.rz = {400, 500};
    advancing<double, emulated_place> steps(place, ops::on_cuda<double>(), {{}, nullptr, 4}, now.n, now.k, {});
    for (int step = 0; step < 3; ++step) steps.go_on(now);
    now.p.insert(now.p.end(), now.rr.begin(), now.rr.end());
    seen.push_back(now.p);
    EXPECT_EQ(seen.back(), seen.front()) << emulation::report();
  }
  emulation::current_settings() = {};
}

}  // namespace
}  // namespace bcsc::test
