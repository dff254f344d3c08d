#include "bench/harness/bench.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/bound.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/remembered.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/cpu_caches.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::bench {
namespace {

namespace fs = std::filesystem;

// --- The checker ----------------------------------------------------------------------------------------------------

/// Row 0: two entries, row 1: none, row 2: one; B is 3 x 2.
template <class T>
struct small_product {
  csr_matrix<T, std::int32_t> a{3, 3, {0, 2, 2, 3}, {0, 2, 1}, {T(0.5), T(-3), T(2)}};
  dense_matrix<T> b{3, 2};
  small_product() {
    T next = 1;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 2; ++j) b(i, j) = next++;
    }
  }
  /// By hand: B = [1 2; 3 4; 5 6].
  dense_matrix<T> right(layout order) const {
    dense_matrix<T> c(3, 2, order);
    c(0, 0) = T(0.5 * 1 - 3 * 5);
    c(0, 1) = T(0.5 * 2 - 3 * 6);
    c(2, 0) = T(2 * 3);
    c(2, 1) = T(2 * 4);
    return c;
  }
  accuracy compare(const dense_matrix<T>& c) const { return expectation<T>(a.view(), b.view()).compare(c.view()); }
};

template <class T>
class checker : public testing::Test {};
using value_types = testing::Types<float, double>;
TYPED_TEST_SUITE(checker, value_types);

TYPED_TEST(checker, AcceptsTheRightResultInBothLayouts) {
  const small_product<TypeParam> p;
  for (const layout order : {layout::row_major, layout::col_major}) {
    const accuracy found = p.compare(p.right(order));
    EXPECT_TRUE(found.passed());
    EXPECT_EQ(found.max_error, 0);
    EXPECT_EQ(found.max_bound_share, 0);
    EXPECT_EQ(found.unchecked, 0);
  }
}

TYPED_TEST(checker, CatchesOneWrongEntryAndSaysWhere) {
  const small_product<TypeParam> p;
  for (const layout order : {layout::row_major, layout::col_major}) {
    auto c = p.right(order);
    c(0, 1) *= TypeParam(1.0001);
    const accuracy found = p.compare(c);
    EXPECT_EQ(found.violations, 1);
    EXPECT_EQ(found.not_finite, 0);
    EXPECT_EQ(found.worst_row, 0);
    EXPECT_EQ(found.worst_col, 1);
    // |error| / |A||B|, where |A||B| = 0.5 * 2 + 3 * 6 = 19 and C = -17.
    EXPECT_NEAR(found.max_error, 17 * 0.0001 / 19, 1e-6);
    EXPECT_NE(found.describe(6).find("(0, 1)"), std::string::npos);
  }
}

TYPED_TEST(checker, CatchesNaNAndInfinity) {
  const small_product<TypeParam> p;
  auto c = p.right(layout::row_major);
  c(2, 0) = std::numeric_limits<TypeParam>::quiet_NaN();
  c(2, 1) = std::numeric_limits<TypeParam>::infinity();
  const accuracy found = p.compare(c);
  EXPECT_EQ(found.violations, 2);
  EXPECT_EQ(found.not_finite, 2);
  EXPECT_FALSE(found.passed());
}

TYPED_TEST(checker, CatchesAnEmptyRowThatIsNotZero) {
  const small_product<TypeParam> p;
  auto c = p.right(layout::row_major);
  c(1, 0) = std::numeric_limits<TypeParam>::min();
  EXPECT_EQ(p.compare(c).violations, 1);
}

TYPED_TEST(checker, CatchesAMissedWriteOfAPoisonedResult) {
  const small_product<TypeParam> p;
  const auto where = make_cpu_stage(1);
  stage_array<TypeParam> c(*where, 6);
  where->poison(c.data(), c.bytes());
  const auto right = p.right(layout::row_major);
  for (int k = 0; k < 5; ++k) c.data()[k] = right.data()[k];  // the last one is forgotten
  const auto* fetched = static_cast<const TypeParam*>(where->fetch(c.data(), c.bytes()));
  const accuracy found = expectation<TypeParam>(p.a.view(), p.b.view()).compare({fetched, 3, 2});
  EXPECT_EQ(found.violations, 1);
  EXPECT_EQ(found.not_finite, 1);
}

TYPED_TEST(checker, BoundIsTightToSomeRoundings) {
  // One term: |A||B| = 6, so the bound is (gamma_4 + u) * 6, five roundings of 6: two pass, eleven do not.
  const small_product<TypeParam> p;
  const auto off_by = [&](int roundings) {
    auto c = p.right(layout::row_major);
    c(2, 0) = TypeParam(6) + TypeParam(6 * roundings) * (std::numeric_limits<TypeParam>::epsilon() / 2);
    return p.compare(c);
  };
  EXPECT_TRUE(off_by(2).passed());
  EXPECT_FALSE(off_by(11).passed());
}

TYPED_TEST(checker, OverflowingEntriesAreLeftOutAndCounted) {
  const TypeParam huge = std::numeric_limits<TypeParam>::max();
  const csr_matrix<TypeParam, std::int32_t> a{1, 2, {0, 2}, {0, 1}, {huge, -huge}};
  dense_matrix<TypeParam> b(2, 1), c(1, 1);
  b(0, 0) = b(1, 0) = 1;
  c(0, 0) = std::numeric_limits<TypeParam>::quiet_NaN();
  const accuracy found = expectation<TypeParam>(a.view(), b.view()).compare(c.view());
  EXPECT_EQ(found.unchecked, 1);
  EXPECT_TRUE(found.passed());
}

TYPED_TEST(checker, EntriesNothingWasAddedToAreExactlyZero) {
  const csr_matrix<TypeParam, std::int32_t> a{1, 2, {0, 0}, {}, {}};
  dense_matrix<TypeParam> b(2, 1), c(1, 1);
  b(0, 0) = b(1, 0) = 1;
  const expectation<TypeParam> right(a.view(), b.view());
  EXPECT_TRUE(right.compare(c.view()).passed());
  c(0, 0) = std::numeric_limits<TypeParam>::denorm_min();
  EXPECT_EQ(right.compare(c.view()).violations, 1);
}

TYPED_TEST(checker, MeansAreOverTheEntriesThatHaveTerms) {
  // Four entries have terms; one is wrong by eight roundings of itself, |C| = 6 = |A||B|.
  const small_product<TypeParam> p;
  auto c = p.right(layout::row_major);
  constexpr double u = std::numeric_limits<TypeParam>::epsilon() / 2;
  c(2, 0) = TypeParam(6) + TypeParam(48 * u);
  const accuracy found = p.compare(c);
  EXPECT_EQ(found.compared, 4);
  EXPECT_DOUBLE_EQ(found.max_error, 8 * u);
  EXPECT_DOUBLE_EQ(found.mean_error, 2 * u);
  EXPECT_GT(found.max_bound_share, 0);
  EXPECT_DOUBLE_EQ(found.mean_bound_share, found.max_bound_share / 4);
}

TYPED_TEST(checker, AResultMayHaveTheFirstColumnsOnlyAndAnyLeadingDimension) {
  const small_product<TypeParam> p;
  const expectation<TypeParam> expected(p.a.view(), p.b.view());
  const auto right = p.right(layout::row_major);
  for (const layout order : {layout::row_major, layout::col_major}) {
    std::vector<TypeParam> room(40, std::numeric_limits<TypeParam>::quiet_NaN());
    const dense_view<TypeParam> c(room.data() + 1, 3, 1, 5, order);
    for (int i = 0; i < 3; ++i) c(i, 0) = right(i, 0);
    EXPECT_TRUE(expected.compare(dense_view<const TypeParam>(c)).passed());
    c(2, 0) = right(2, 1);
    EXPECT_EQ(expected.compare(dense_view<const TypeParam>(c)).violations, 1);
  }
  const dense_matrix<TypeParam> wider(3, 3), lower(2, 2);
  EXPECT_THROW(expected.compare(wider.view()), error);
  EXPECT_THROW(expected.compare(lower.view()), error);
}

TYPED_TEST(checker, TheReferenceIsFinerThanTheType) {
  // 1/3 * 1/3 rounded is wrong by less than a rounding, and not by nothing.
  const TypeParam third = TypeParam(1) / 3;
  const csr_matrix<TypeParam, std::int32_t> a{1, 1, {0, 1}, {0}, {third}};
  dense_matrix<TypeParam> b(1, 1), c(1, 1);
  b(0, 0) = third;
  c(0, 0) = third * third;
  const accuracy found = expectation<TypeParam>(a.view(), b.view()).compare(c.view());
  EXPECT_GT(found.max_error, 0);
  EXPECT_LE(found.max_error, std::numeric_limits<TypeParam>::epsilon() / 2);
}

TYPED_TEST(checker, SubnormalResultsMayNotBeFlushed) {
  constexpr TypeParam least = std::numeric_limits<TypeParam>::min();
  const csr_matrix<TypeParam, std::int32_t> a{1, 1, {0, 1}, {0}, {least}};
  dense_matrix<TypeParam> b(1, 1), c(1, 1);
  b(0, 0) = TypeParam(0.5);
  const expectation<TypeParam> right(a.view(), b.view());
  c(0, 0) = least / 2;
  EXPECT_TRUE(right.compare(c.view()).passed());
  c(0, 0) = 0;
  EXPECT_EQ(right.compare(c.view()).violations, 1);
}

template <class T>
class coarse : public testing::Test {};
using short_types = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(coarse, short_types);

TYPED_TEST(coarse, SumsKeptInTheTypeItselfAreInaccurateAndWrongOnesAreWrong) {
  // Added up in T, the sum loses what fp32 keeps.
  constexpr int terms = 200;
  std::vector<std::int32_t> columns(terms);
  std::iota(columns.begin(), columns.end(), 0);
  const csr_matrix<TypeParam, std::int32_t> a{
      1, terms, {0, terms}, columns, std::vector<TypeParam>(terms, TypeParam(0.7F))};
  dense_matrix<TypeParam> b(terms, 1), c(1, 1);
  TypeParam sum{};
  for (int k = 0; k < terms; ++k) {
    b(k, 0) = TypeParam(0.01F * static_cast<float>(k % 7 + 1));
    sum = TypeParam(static_cast<float>(sum) + static_cast<float>(a.view().values[0]) * static_cast<float>(b(k, 0)));
  }
  const expectation<TypeParam> right(a.view(), b.view());
  c(0, 0) = sum;
  EXPECT_FALSE(right.compare(c.view()).passed());
  EXPECT_TRUE(right.compare(c.view(), coarse_bound<TypeParam>(terms)).passed());
  c(0, 0) = TypeParam(0.4F * static_cast<float>(sum));
  EXPECT_FALSE(right.compare(c.view(), coarse_bound<TypeParam>(terms)).passed());
}

TEST(gamma, GrowsWithTheNumberOfTerms) {
  EXPECT_DOUBLE_EQ(gamma_bound(4, 0.125), 1.0);
  EXPECT_EQ(gamma_bound(8, 0.125), std::numeric_limits<double>::infinity());
}

TEST(operands, SeededValuesAreTheSameInBothLayouts) {
  dense_matrix<double> row(37, 5, layout::row_major), col(37, 5, layout::col_major), copied(37, 5, layout::col_major);
  fill_seeded<double>(row.view(), 7);
  fill_seeded<double>(col.view(), 7);
  copy_elements<double>(row.view(), copied.view());
  std::set<double> distinct;
  for (int i = 0; i < 37; ++i) {
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(row(i, j), col(i, j));
      EXPECT_EQ(row(i, j), copied(i, j));
      EXPECT_LT(std::abs(row(i, j)), 1.0);
      EXPECT_NE(row(i, j), 0.0);
      EXPECT_EQ(row(i, j), static_cast<double>(static_cast<float>(row(i, j))));
      distinct.insert(row(i, j));
    }
  }
  EXPECT_EQ(distinct.size(), 37u * 5u);
}

// --- Arithmetic of the results --------------------------------------------------------------------------------------

TEST(statistics, QuantilesLieBetweenNeighbours) {
  const std::vector<double> sorted{1, 2, 3, 4, 10};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.1), 1.4);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.9), 7.6);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 10);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{5}, 0.9), 5);
}

TEST(statistics, SummaryOfUnsortedSamples) {
  const time_statistics s = summarise({4, 1, 3, 2}, 8);
  EXPECT_DOUBLE_EQ(s.median, 2.5);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 4);
  EXPECT_EQ(s.num_samples, 4);
  EXPECT_EQ(s.launches_per_sample, 8);
  EXPECT_EQ(summarise({}, 1).num_samples, 0);
}

TEST(sampling_plan, ShortWorkIsRepeatedAndLongWorkIsSampledLess) {
  const timing_options options{
      .seconds = 0.02, .min_samples = 10, .max_samples = 20, .sample_seconds = 3e-4, .max_seconds = 1.0};
  const auto warm = [&](double seconds) { return plan_samples(setting::warm, seconds, 0, options); };
  EXPECT_EQ(warm(1e-5).launches, 30);
  EXPECT_EQ(warm(1e-5).num_samples, 20);
  EXPECT_EQ(warm(0.05).launches, 1);
  EXPECT_EQ(warm(0.05).num_samples, 10);
  EXPECT_EQ(warm(0.2).num_samples, 5);
  EXPECT_EQ(warm(30.0).num_samples, 3);
  timing_options hurried = options;
  hurried.fewest_samples = 1;
  EXPECT_EQ(plan_samples(setting::warm, 30.0, 0, hurried).num_samples, 1);
  EXPECT_EQ(plan_samples(setting::warm, 0.2, 0, hurried).num_samples, 5);
  for (const setting in : {setting::single, setting::cold}) {
    EXPECT_EQ(plan_samples(in, 1e-3, 1e-3, options).num_samples, 10);
    EXPECT_EQ(plan_samples(in, 1e-5, 0, options).launches, 1);
    EXPECT_EQ(plan_samples(in, 1e-5, 0.5, options).num_samples, 3);  // what comes before costs time as well
  }
}

TEST(payback_products, IsTheFirstCountThatCoversTheConversion) {
  EXPECT_EQ(payback(0.010, 1e-3, 3e-3), 5);
  EXPECT_EQ(payback(0.011, 1e-3, 3e-3), 6);
  EXPECT_EQ(payback(0.0, 1e-3, 3e-3), 0);
  EXPECT_EQ(payback(0.010, 3e-3, 3e-3), std::nullopt);
  EXPECT_EQ(payback(0.010, 4e-3, 3e-3), std::nullopt);
}

TEST(roofline, IsTheLargerOfMovingAndComputing) {
  // 10 x 20, 50 non-zeros, N = 4, fp32: CSR 11*4 + 50*8 = 444, B 320, C 160 bytes: 924; 400 flops.
  EXPECT_DOUBLE_EQ(roofline_seconds(10, 20, 4, 50, value_type::fp32, 1e3, 0), 0.924);
  EXPECT_DOUBLE_EQ(roofline_seconds(10, 20, 4, 50, value_type::fp32, 1e3, 100), 4.0);
}

TEST(ratios, MeanWorstAndLosses) {
  const std::vector<named_ratio> ratios{{4, "a"}, {0.25, "b"}, {8, "c"}, {1, "d"}};
  const ratio_summary s = summarise_ratios(ratios);
  EXPECT_EQ(s.num_cases, 4);
  EXPECT_NEAR(s.geometric_mean, std::pow(8.0, 0.25), 1e-12);
  EXPECT_DOUBLE_EQ(s.worst, 0.25);
  EXPECT_EQ(s.worst_case, "b");
  EXPECT_DOUBLE_EQ(s.share_of_losses, 0.25);
  EXPECT_EQ(summarise_ratios({}).num_cases, 0);
}

/// One at a time it takes a second longer than back to back.
entry_result timed_entry(std::string name, std::string group, double warm, double cold, layout order, bool ours) {
  entry_result e;
  e.name = std::move(name);
  e.group = std::move(group);
  e.ours = ours;
  e.order = order;
  e.times[setting::warm] = summarise({warm}, 1);
  e.times[setting::single] = summarise({warm + 1}, 1);
  e.times[setting::cold] = summarise({cold}, 1);
  return e;
}

TEST(verdicts, ComparesWithTheBestRivalInTheSameLayoutOnly) {
  constexpr auto row = layout::row_major, col = layout::col_major;
  case_result c;
  c.entries = {timed_entry("tiled-1", "tiled", 2, 4, row, true),     timed_entry("warp-1", "warp", 1.5, 4, row, true),
               timed_entry("plan", "plan", 2, 4, row, true),         timed_entry("alg2", "cusparse", 5, 5, row, false),
               timed_entry("alg3", "cusparse", 4, 12, row, false),   timed_entry("alg1", "cusparse", 1, 1, col, false),
               timed_entry("cublas", "cublas", 0.5, 0.5, row, false)};
  c.entries[2].convert_seconds = 7;
  verdict v = judge(c, "cusparse");
  EXPECT_EQ(v.rival->name, "alg3");
  EXPECT_EQ(v.config->name, "warp-1");
  EXPECT_DOUBLE_EQ(*v.ratios[setting::warm], 2);
  EXPECT_DOUBLE_EQ(*v.ratios[setting::single], 5.0 / 3);
  EXPECT_DOUBLE_EQ(*v.ratios[setting::cold], 1.25);  // alg2 is the fastest there
  EXPECT_EQ(*v.payback, 4);

  c.entries[4].status = entry_status::failed;  // a wrong result does not count as a rival
  v = judge(c, "cusparse");
  EXPECT_EQ(v.rival->name, "alg2");
  for (const setting in : all_settings) EXPECT_FALSE(judge(c, "eigen").ratios[in].has_value());

  EXPECT_EQ(v.any_ratios[setting::warm], v.ratios[setting::warm]);
  c.entries[4].status = entry_status::inaccurate;  // nor does an inaccurate one, but it is reported
  v = judge(c, "cusparse");
  EXPECT_EQ(v.rival->name, "alg2");
  EXPECT_DOUBLE_EQ(*v.ratios[setting::warm], 2.5);
  EXPECT_DOUBLE_EQ(*v.any_ratios[setting::warm], 2);
  EXPECT_DOUBLE_EQ(*v.any_ratios[setting::cold], 1.25);
  c.entries[4].times = {};
  EXPECT_DOUBLE_EQ(*judge(c, "cusparse").any_ratios[setting::warm], 2.5);

  for (entry_result& e : c.entries) e.times[setting::single].reset();
  v = judge(c, "cusparse");
  EXPECT_TRUE(v.ratios[setting::warm] && v.ratios[setting::cold]);
  EXPECT_FALSE(v.ratios[setting::single]);
}

TEST(failures, WrongResultsAndUnreadableInputsCount) {
  run_result run;
  EXPECT_EQ(count_failures(run), 0);
  run.problems = {{"a", "no such file", true}, {"b", "complex", false}};
  run.cases.emplace_back();
  run.cases[0].entries.resize(3);
  run.cases[0].entries[1].status = entry_status::failed;
  run.cases[0].entries[2].status = entry_status::unavailable;
  EXPECT_EQ(count_failures(run), 2);
}

// --- Stage and clock ------------------------------------------------------------------------------------------------

TEST(cpu_stage, FlushWritesTwiceTheCacheEachTime) {
  const auto where = make_cpu_stage(2);
  EXPECT_EQ(where->num_flushes(), 0);
  where->flush();
  where->flush();
  EXPECT_EQ(where->num_flushes(), 2);
  EXPECT_GE(where->flush_bytes(), 2 * core::find_cpu_caches().l3);
}

TEST(cpu_stage, ForeignWorkLeavesMostOfTheCacheAsItWas) {
  const auto where = make_cpu_stage(2);
  where->foreign_work();
  EXPECT_GT(where->foreign_bytes(), 0);
  EXPECT_LE(where->foreign_bytes(), core::find_cpu_caches().l3 / 8);
  EXPECT_LE(where->foreign_bytes(), 8 << 20);
  EXPECT_EQ(where->num_flushes(), 0);
}

/// A stage whose clock counts a millisecond for each product, so that the arithmetic can be tested on a busy machine.
class ticking_stage final : public stage {
 public:
  /// `late_call`: which call of seconds() takes 10 ms longer; 0: none. `each`: what a product takes; `start`: what the
  /// first product of a call takes on top.
  explicit ticking_stage(int late_call = 0, double each = 1e-3, double start = 0)
      : late_call_(late_call), each_(each), start_(start) {}
  memory_space space() const override { return memory_space::host; }
  cuda_stream stream() const override { return nullptr; }
  void* allocate(std::int64_t) override { throw error(errc::out_of_memory, "a stage of no memory"); }
  void release(void*) noexcept override {}
  void upload(void*, const void*, std::int64_t) override {}
  const void* fetch(const void* from, std::int64_t) override { return from; }
  void poison(void*, std::int64_t) override {}
  void wait() override {}
  double seconds(const launch& work, std::int64_t count) override {
    samples_after[last_started_].push_back(count);
    for (std::int64_t i = 0; i < count; ++i) work();
    last_started_ = setting::warm;
    return start_ + each_ * static_cast<double>(count) + (++num_calls_ == late_call_ ? 1e-2 : 0);
  }
  void flush() override {
    ++num_flushes_;
    last_started_ = setting::cold;
  }
  void foreign_work() override { last_started_ = setting::single; }
  std::int64_t foreign_bytes() const override { return 0; }
  std::int64_t num_flushes() const override { return num_flushes_; }
  std::int64_t flush_bytes() const override { return 0; }
  double measure_copy_bandwidth() override { return 1; }
  void describe(machine_facts&) const override {}

  /// How many products each call of seconds() was for, by what was started just before it.
  per_setting<std::vector<std::int64_t>> samples_after;

 private:
  setting last_started_ = setting::warm;
  int late_call_, num_calls_ = 0;
  double each_, start_;
  std::int64_t num_flushes_ = 0;
};

TEST(measuring, TheFirstProductMayHaveLoadedCode) {
  std::int64_t runs = 0;
  const auto work = [&] { ++runs; };
  for (const double first : {1e-3, 0.049, 0.051, 2.0}) {
    ticking_stage where;
    EXPECT_NEAR(seconds_after_first(where, work, first), 1e-3, 1e-9) << first;
  }
  runs = 0;
  ticking_stage slow(0, 0.2);
  EXPECT_DOUBLE_EQ(seconds_after_first(slow, work, 0.3), 0.2);
  EXPECT_EQ(runs, 1);
}

TEST(measuring, EachSettingHasItsWorkBeforeEverySample) {
  ticking_stage where;
  std::int64_t runs = 0;
  const std::vector<timing_request> requests{{"counting", [&] { ++runs; }, 1e-3}};
  const timing_options options{.seconds = 1e-3, .min_samples = 4, .max_samples = 4, .sample_seconds = 2e-3};
  const auto results = measure(where, requests, options);
  ASSERT_EQ(results.size(), 1u);
  for (const setting in : all_settings) {
    ASSERT_TRUE(results[0].times[in]) << to_string(in);
    EXPECT_EQ(results[0].times[in]->num_samples, 4);
    EXPECT_EQ(results[0].times[in]->launches_per_sample, in == setting::warm ? 2 : 1);
  }
  EXPECT_EQ(where.samples_after[setting::single], (std::vector<std::int64_t>{1, 1, 1, 1, 1}));  // and its own duration
  EXPECT_EQ(where.samples_after[setting::cold], (std::vector<std::int64_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(where.samples_after[setting::warm], (std::vector<std::int64_t>{2, 2, 2, 2, 2, 1}));  // two to warm up
  EXPECT_EQ(where.num_flushes(), 2 + 4);       // two to learn how long one takes
  EXPECT_EQ(runs, (2 + 4 * 2) + (1 + 4) + 4);  // warm-up and samples
}

TEST(measuring, TimesAreOfOneProduct) {
  ticking_stage where;
  const std::vector<timing_request> requests{{"ticking", [] {}, 1e-3}};
  const timing_options options{.min_samples = 3, .max_samples = 3, .sample_seconds = 4e-3, .settings = {setting::warm}};
  const auto results = measure(where, requests, options);
  const auto& warm = results[0].times[setting::warm];
  ASSERT_TRUE(warm);
  EXPECT_FALSE(results[0].times[setting::single]);
  EXPECT_FALSE(results[0].times[setting::cold]);
  EXPECT_EQ(warm->launches_per_sample, 4);
  EXPECT_NEAR(warm->min, 1e-3, 1e-12);  // not the four of a sample
  EXPECT_NEAR(warm->max, 1e-3, 1e-12);
  EXPECT_EQ(where.num_flushes(), 0);
  EXPECT_NEAR(quick_seconds(
                  where, [] {}, 1),
              1e-3, 1e-12);
}

TEST(measuring, SlowWorkIsGivenUpAfterTwoRuns) {
  ticking_stage where;
  int runs = 0;
  quick_seconds(
      where, [&] { ++runs; }, 1e-4);
  EXPECT_EQ(runs, 3);  // warm-up, and the two that were too slow
}

TEST(measuring, WorkIsNotGivenUpForOneLateRun) {
  for (const int late_call : {1, 2, 3, 4, 5, 6}) {
    ticking_stage where(late_call);
    EXPECT_NEAR(quick_seconds(
                    where, [] {}, 1e-3),
                1e-3, 1e-12);
  }
}

TEST(measuring, ShortWorkIsRepeatedSoThatItsStartDoesNotCount) {
  constexpr double start = 4e-6;
  for (const double each : {2e-6, 5e-6, 3e-5, 6e-5, 9e-5, 5e-4}) {
    for (const int late_call : {0, 2, 3}) {
      ticking_stage where(late_call, each, start);
      const double seconds = quick_seconds(
          where, [] {}, 1);
      EXPECT_GE(seconds, each);
      EXPECT_LE(seconds, each + start / 5) << each << ", late at call " << late_call;
    }
  }
}

TEST(measuring, AnExceptionIsKeptAsTheErrorOfItsEntry) {
  const auto where = make_cpu_stage(1);
  const std::vector<timing_request> requests{{"breaking", [] { throw std::runtime_error("it broke"); }, 1e-3},
                                             {"working", [] {}, 1e-3}};
  const auto results = measure(*where, requests, {.min_samples = 3, .max_samples = 3});
  EXPECT_EQ(results[0].error, "it broke");
  for (const setting in : all_settings) {
    EXPECT_FALSE(results[0].times[in]);
    EXPECT_TRUE(results[1].times[in]);
  }
}

// --- Inputs ---------------------------------------------------------------------------------------------------------

class temporary_folder {
 public:
  temporary_folder()
      : path_(fs::temp_directory_path() / ("bcsc-bench-" + std::to_string(::getpid()) + "-" +
                                           testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(path_);
  }
  ~temporary_folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

TEST(inputs, FoldersGiveTheirMatrixFilesByName) {
  const temporary_folder folder;
  folder.write("b.mtx", "");
  folder.write("a.mtx.gz", "");
  folder.write("readme.txt", "");
  const auto inputs = expand_inputs(std::vector<std::string>{folder.path().string(), "stencil5:3,3"});
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].name, "a");
  EXPECT_EQ(inputs[1].name, "b");
  EXPECT_TRUE(inputs[1].from_folder);
  EXPECT_EQ(inputs[2].name, "stencil5:3,3");
  EXPECT_FALSE(inputs[2].is_file);
}

TEST(inputs, AnEmptyFolderIsAnError) {
  const temporary_folder folder;
  try {
    expand_inputs(std::vector<std::string>{folder.path().string()});
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::io_error);
  }
}

TEST(inputs, AManifestIsItsMatricesWithTheirChecksums) {
  const temporary_folder folder;
  const std::string right = fmt::format("{:016x}", load({.name = "s", .source = "stencil5:3,3"}, 1).checksum);
  const std::string text = R"({"about": "two of one", "matrices": [
    {"specification": "stencil5:3,3", "checksum": ")" +
                           right + R"("},
    {"specification": "stencil5:3,3", "checksum": "0123456789abcdef"}]})";
  const auto inputs = expand_inputs(std::vector<std::string>{folder.write("large.json", text).string()});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "stencil5:3,3");
  EXPECT_EQ(load(inputs[0], 1).a.rows(), 9);
  try {
    load(inputs[1], 1);
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::invalid_format);
    EXPECT_NE(std::string(e.what()).find("0123456789abcdef"), std::string::npos) << e.what();
  }
}

TEST(inputs, AManifestThatIsNoneIsAnError) {
  const temporary_folder folder;
  for (const char* text : {"", "{}", R"({"matrices": [{"specification": "stencil5:3,3"}]})", "[1"}) {
    try {
      expand_inputs(std::vector<std::string>{folder.write("bad.json", text).string()});
      FAIL() << text;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::parse_error) << text;
    }
  }
}

TEST(inputs, PatternFilesGetSeededValues) {
  const temporary_folder folder;
  const auto path =
      folder.write("p.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n").string();
  const auto inputs = expand_inputs(std::vector<std::string>{path});
  const loaded_matrix one = load(inputs[0], 1), again = load(inputs[0], 1), other = load(inputs[0], 2);
  EXPECT_TRUE(one.seeded_values);
  EXPECT_NE(one.a.view().values[0], 1.0);
  EXPECT_EQ(one.checksum, again.checksum);
  EXPECT_NE(one.checksum, other.checksum);
}

TEST(programs, EveryMultipliedTypeIsVisitedAndNoOther) {
  const auto names = multiplied_types(backend::cpu);
  EXPECT_FALSE(names.empty());
  for (const value_type type : all_value_types) {
    std::string visited;
    const bool found = with_multiplied(to_string(type), [&]<class T>(T) { visited = to_string(value_type_of<T>); });
    EXPECT_EQ(found, std::ranges::count(names, to_string(type)) == 1) << to_string(type);
    EXPECT_EQ(visited, found ? to_string(type) : "");
  }
  EXPECT_FALSE(with_multiplied("fp128", [](auto) { FAIL(); }));
}

TEST(programs, ErrorsBecomeExitStatus) {
  const auto ends = [](errc code) { return run_program("test", [&]() -> int { throw error(code, "why"); }); };
  EXPECT_EQ(ends(errc::no_device), exit_skipped);
  EXPECT_EQ(ends(errc::invalid_argument), exit_error);
  EXPECT_EQ(run_program("test", [] { return 3; }), exit_not_met);
}

TEST(inputs, ChecksumIsFnv1aOverAllArrays) {
  // FNV-1a of the empty matrix of no rows: one 64-bit zero, computed by the definition.
  std::uint64_t expected = 0xcbf29ce484222325u;
  for (int byte = 0; byte < 8; ++byte) expected *= 0x100000001b3u;
  EXPECT_EQ(checksum(viewed(csr_matrix<double, std::int32_t>())), expected);
  const csr_matrix<double, std::int32_t> a{1, 2, {0, 1}, {0}, {1.0}}, b{1, 2, {0, 1}, {1}, {1.0}},
      c{1, 2, {0, 1}, {0}, {2.0}};
  EXPECT_NE(checksum(a.view()), checksum(b.view()));
  EXPECT_NE(checksum(a.view()), checksum(c.view()));
}

TEST(inputs, PatternClasses) {
  EXPECT_EQ(classify_pattern(2048, 512, 100000, 60), "dense");
  EXPECT_EQ(classify_pattern(100000, 100000, 1600000, 5000), "skewed");
  EXPECT_EQ(classify_pattern(100000, 100000, 200000, 3), "hypersparse");
  EXPECT_EQ(classify_pattern(100000, 100000, 700000, 7), "regular");
  EXPECT_EQ(classify_pattern(0, 0, 0, 0), "regular");
}

// --- Reports --------------------------------------------------------------------------------------------------------

std::string gunzip(const fs::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (int n = 0; (n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  gzclose(file);
  return text;
}

TEST(writing, SmallTextIsPlainAndLargeTextIsCompressed) {
  const temporary_folder folder;
  const fs::path plain = write_text("{}", folder / "small.json");
  EXPECT_EQ(plain, folder / "small.json");
  EXPECT_EQ(fs::file_size(plain), 2u);

  const std::string large(gzip_above_bytes + 1, 'x');
  write_text("{}", folder / "large.json");
  const fs::path packed = write_text(large, folder / "large.json");
  EXPECT_EQ(packed, folder / "large.json.gz");
  EXPECT_FALSE(fs::exists(folder / "large.json")) << "the shorter text of before is still there";
  EXPECT_EQ(gunzip(packed), large);

  EXPECT_EQ(write_text("{}", folder / "asked.json.gz"), folder / "asked.json.gz");
  EXPECT_EQ(gunzip(folder / "asked.json.gz"), "{}");
  for (const auto& entry : fs::directory_iterator(folder.path())) EXPECT_NE(entry.path().extension(), ".part");
}

TEST(writing, APipeTakesLongTextAsItIs) {
  const temporary_folder folder;
  const fs::path pipe = folder / "pipe.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int end = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(end, 0);
  std::string taken;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    std::vector<char> buffer(1 << 16);
    for (bool was_over = over;; was_over = over) {
      const ssize_t size = ::read(end, buffer.data(), buffer.size());
      if (size > 0) taken.append(buffer.data(), static_cast<std::size_t>(size));
      if (size <= 0 && was_over) break;
    }
  });
  const std::string large(gzip_above_bytes + 1, 'x');
  EXPECT_EQ(write_text(large, pipe), pipe);
  over = true;
  reader.join();
  ::close(end);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(taken == large) << taken.size() << " bytes";
}

TEST(writing, AnImpossiblePathIsAnErrorThatNamesIt) {
  const temporary_folder folder;
  try {
    write_text("{}", folder / "missing" / "x.json");
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::io_error);
    EXPECT_NE(std::string(e.what()).find("x.json"), std::string::npos);
  }
}

bench_options tiny_options() {
  return {
      .matrices = {"stencil7:8,8,8"},
      .cols = {8},
      .types = {value_type::fp32},
      // A flush of a large cache takes long, so only the runs that ask for cold times do it.
      .timing = {
          .seconds = 1e-3, .min_samples = 3, .max_samples = 3, .sample_seconds = 1e-5, .settings = {setting::warm}}};
}

const nlohmann::json& entry_named(const nlohmann::json& entries, const std::string& name) {
  for (const auto& entry : entries) {
    if (entry["name"] == name) return entry;
  }
  throw std::out_of_range(name);
}

class whole_run : public testing::TestWithParam<std::tuple<value_type, layout>> {};

TEST_P(whole_run, ChecksAndTimesEveryAlgorithmOnTheCpu) {
  bench_options options = tiny_options();
  options.types = {std::get<0>(GetParam())};
  options.order = std::get<1>(GetParam());
  options.json_to_stdout = true;
  options.thorough = true;
  options.timing.settings = {all_settings.begin(), all_settings.end()};
  std::ostringstream out;
  ASSERT_EQ(run_bench(context::cpu(2), options, out), 0) << out.str();

  const auto run = nlohmann::json::parse(out.str());
  EXPECT_EQ(run["schema"], json_schema);
  for (const char* key : {"machine", "main_rival", "algorithms", "matrices", "cases", "problems", "summary"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  for (const char* key : {"git_hash", "library_version", "date", "backend", "cpu_model", "threads", "gpu_name",
                          "gpu_clocks", "versions", "copy_bandwidth"}) {
    EXPECT_TRUE(run["machine"].contains(key)) << key;
  }
  EXPECT_EQ(run["machine"]["backend"], "cpu");
  EXPECT_EQ(run["machine"]["threads"], 2);
  EXPECT_GT(run["machine"]["copy_bandwidth"].get<double>(), 1e8);

  const auto& matrix = run["matrices"][0];
  EXPECT_EQ(matrix["rows"], 512);
  EXPECT_EQ(matrix["nnz"], 7 * 512 - 6 * 64);
  EXPECT_EQ(matrix["checksum"].get<std::string>().size(), 16u);

  ASSERT_EQ(run["cases"].size(), 1u);
  const auto& c = run["cases"][0];
  EXPECT_EQ(c["cols"], 8);
  EXPECT_EQ(c["type"], std::string(to_string(std::get<0>(GetParam()))));
  EXPECT_EQ(c["layout"], std::string(to_string(std::get<1>(GetParam()))));

  std::set<std::string> groups;
  for (const auto& entry : c["entries"]) {
    groups.insert(entry["group"].get<std::string>());
    EXPECT_EQ(entry["status"], "ok") << entry;
    for (const char* in : {"warm", "single", "cold"}) EXPECT_GT(entry[in]["median"].get<double>(), 0) << entry;
    EXPECT_GT(entry["gflops"].get<double>(), 0) << entry;
    EXPECT_LE(entry["bound_share"].get<double>(), 1) << entry;
    for (const char* key : {"min", "max", "p10", "p90", "samples", "launches_per_sample"}) {
      EXPECT_TRUE(entry["warm"].contains(key)) << key;
    }
  }
  for (const auto& algorithm : run["algorithms"]) EXPECT_TRUE(groups.contains(algorithm)) << algorithm;
  EXPECT_FALSE(run["algorithms"].empty());
  EXPECT_TRUE(groups.contains("plan"));
  EXPECT_TRUE(groups.contains("reference"));
  EXPECT_TRUE(groups.contains(run["main_rival"].get<std::string>()));

  const auto& plan = entry_named(c["entries"], "plan");
  EXPECT_FALSE(plan["kernel"].get<std::string>().empty());
  EXPECT_GT(plan["convert_seconds"].get<double>(), 0);
  for (const char* ratio : {"ratio", "single_ratio", "cold_ratio"}) EXPECT_GT(c[ratio].get<double>(), 0) << ratio;
  for (const char* plan : {"plan_warm", "plan_single", "plan_cold"})
    EXPECT_EQ(run["summary"][plan]["cases"], 1) << plan;
  EXPECT_EQ(run["summary"]["failures"], 0);
}

INSTANTIATE_TEST_SUITE_P(types_and_layouts, whole_run,
                         testing::Combine(testing::Values(value_type::fp32, value_type::fp64),
                                          testing::Values(layout::row_major, layout::col_major)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) == layout::row_major ? "_row" : "_col");
                         });

TEST(whole_runs, MeasureNarrowTypesBesideTheReference) {
  bench_options options = tiny_options();
  options.types = {value_type::fp16, value_type::bf16};
  options.thorough = true;
  const run_result run = measure_all(context::cpu(1), options);
  ASSERT_EQ(run.cases.size(), 2u);
  for (const case_result& c : run.cases) {
    std::set<std::string> groups;
    for (const entry_result& e : c.entries) {
      groups.insert(e.group);
      EXPECT_EQ(e.status, entry_status::ok) << e.name << ": " << e.message;
    }
    EXPECT_EQ(groups, (std::set<std::string>{"rows", "plan", "reference"}));
  }
  EXPECT_EQ(count_failures(run), 0);
}

std::multiset<std::string> groups_of(const bench_options& options) {
  const run_result run = measure_all(context::cpu(1), options);
  std::multiset<std::string> groups;
  for (const entry_result& e : run.cases.at(0).entries) groups.insert(e.group);
  return groups;
}

TEST(whole_runs, AreOfThePlanAndItsRivalUnlessMoreIsAskedFor) {
  bench_options options = tiny_options();
  const std::string rival = measure_all(context::cpu(1), options).main_rival;
  EXPECT_EQ(groups_of(options), (std::multiset<std::string>{"plan", rival}));
  options.kernels = {"columns"};
  EXPECT_GT(groups_of(options).count("columns"), 1u);
  EXPECT_EQ(groups_of(options).count("rows"), 0u);

  options.thorough = true;
  options.kernels = {"plan"};
  const auto all_rivals = groups_of(options);
  EXPECT_EQ(all_rivals.count("plan"), 1u);
  EXPECT_EQ(all_rivals.count("reference"), 1u);
  EXPECT_EQ(all_rivals.count("columns") + all_rivals.count("rows") + all_rivals.count("blocks"), 0u);
  EXPECT_EQ(all_rivals.count("eigen"), rival == "eigen" ? 2u : 0u);  // both layouts
  options.kernels.clear();
  EXPECT_EQ(groups_of(options).count("columns"), 1u);
}

TEST(whole_runs, LeaveOutColumnsThatWouldTakeTooLong) {
  bench_options options = tiny_options();
  options.cols = {1, 5, 9};
  EXPECT_TRUE(std::ranges::all_of(measure_all(context::cpu(1), options).cases,
                                  [](const case_result& c) { return c.skipped.empty(); }));
  options.seconds_per_matrix = 1e-9;
  const run_result run = measure_all(context::cpu(1), options);
  ASSERT_EQ(run.cases.size(), 3u);
  EXPECT_EQ(run.cases[0].skipped, "");
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_TRUE(run.cases[i].entries.empty());
    EXPECT_NE(run.cases[i].skipped.find(fmt::format("--cols {} ", options.cols[i])), std::string::npos);
  }
  EXPECT_EQ(count_failures(run), 0);
  std::ostringstream out;
  EXPECT_EQ(run_bench(context::cpu(1), options, out), 0);
  EXPECT_NE(out.str().find("not measured: stencil7:8,8,8 N=5 fp32: it would take"), std::string::npos) << out.str();
}

TEST(whole_runs, FullSweepHasEveryRowOfTheTables) {
  bench_options options = tiny_options();
  options.full = true;
  const run_result run = measure_all(context::cpu(1), options);
  ASSERT_EQ(run.cases.size(), 1u);
  std::set<std::string> seen;
  for (const entry_result& e : run.cases[0].entries) seen.insert(e.name);
  for (const kernel_info& row : kernel_table(backend::cpu, value_type::fp32)) {
    EXPECT_TRUE(seen.contains(row.name)) << row.name;
  }
  EXPECT_EQ(count_failures(run), 0);
}

TEST(whole_runs, TableHasALineForEachCaseAndTheFileHasTheJson) {
  const temporary_folder folder;
  bench_options options = tiny_options();
  options.cols = {1, 5};
  options.out = folder / "run.json";
  std::ostringstream out;
  EXPECT_EQ(run_bench(context::cpu(1), options, out), 0);
  const std::string text = out.str();
  EXPECT_NE(text.find("copy bandwidth"), std::string::npos);
  EXPECT_NE(text.find("geometric mean"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = text.find("\nstencil7:8,8,8 ", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 2u);
  std::ifstream file(options.out);
  EXPECT_EQ(nlohmann::json::parse(file)["cases"].size(), 2u);
}

TEST(whole_runs, AnUnreadableFileIsToldAndTheRestIsMeasured) {
  const temporary_folder folder;
  bench_options options = tiny_options();
  options.matrices.insert(options.matrices.begin(), folder.write("bad.mtx", "not a matrix\n").string());
  std::ostringstream out;
  EXPECT_EQ(run_bench(context::cpu(1), options, out), 1);
  EXPECT_NE(out.str().find("FAILED: bad"), std::string::npos);
  EXPECT_NE(out.str().find("\nstencil7:8,8,8 "), std::string::npos);
}

TEST(whole_runs, ComplexFilesOfAFolderArePassedOver) {
  const temporary_folder folder;
  folder.write("c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2.0\n");
  folder.write("r.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 -2\n");
  bench_options options = tiny_options();
  options.matrices = {folder.path().string()};
  std::ostringstream out;
  EXPECT_EQ(run_bench(context::cpu(1), options, out), 0) << out.str();
  EXPECT_NE(out.str().find("passed over: c"), std::string::npos);
}

TEST(whole_runs, BadOptionsAreTypedErrors) {
  const auto code_of = [](const bench_options& options) {
    try {
      measure_all(context::cpu(1), options);
    } catch (const error& e) {
      return e.code();
    }
    return errc::ok;
  };
  bench_options none = tiny_options(), zero = tiny_options(), instant = tiny_options(), cold = tiny_options();
  none.matrices.clear();
  zero.cols = {8, 0};
  instant.timing.seconds = 0;
  cold.timing.settings = {setting::cold};
  EXPECT_EQ(code_of(none), errc::invalid_argument);
  EXPECT_EQ(code_of(zero), errc::invalid_argument);
  EXPECT_EQ(code_of(instant), errc::invalid_argument);
  EXPECT_EQ(code_of(cold), errc::invalid_argument);
}

TEST(remembering, WhatIsMeasuredOnceIsNotMeasuredAgain) {
  const temporary_folder folder;
  const fs::path file = folder / "below" / "bench.json";
  int measured = 0;
  const auto value = [&](const std::string& what, double found) {
    return remembered(file, what, [&] {
      ++measured;
      return found;
    });
  };
  EXPECT_EQ(value("one", 2.5), 2.5);
  EXPECT_EQ(value("one", 3.5), 2.5);
  EXPECT_EQ(value("two", 4.5), 4.5);
  EXPECT_EQ(value("one", 3.5), 2.5);  // beside the other
  EXPECT_EQ(measured, 2);
}

TEST(remembering, ABrokenFileIsWrittenAnew) {
  const temporary_folder folder;
  for (const char* text : {"", "{", "[1, 2]", R"({"one": "fast"})", R"({"one": 0})", R"({"one": -1})", "\xff\xfe"}) {
    const fs::path file = folder.write("bench.json", text);
    EXPECT_EQ(remembered(file, "one", [] { return 2.5; }), 2.5) << text;
    EXPECT_EQ(remembered(file, "one", []() -> double { throw std::logic_error("measured again"); }), 2.5) << text;
  }
}

TEST(remembering, AFileThatCannotBeWrittenIsNoError) {
  const temporary_folder folder;
  const fs::path below_a_file = folder.write("file", "") / "bench.json";
  for (const double found : {2.5, 3.5}) EXPECT_EQ(remembered(below_a_file, "one", [&] { return found; }), found);
}

TEST(machine, TheEnvironmentNamesTheVersionOfACopiedTree) {
  setenv("BCSC_GIT_HASH", "0123456789ab", 1);
  const machine_facts facts = describe_machine(context::cpu(3));
  unsetenv("BCSC_GIT_HASH");
  EXPECT_EQ(facts.git_hash, "0123456789ab");
  EXPECT_EQ(facts.threads, 3);
  EXPECT_GT(facts.caches.l3, 0);
  EXPECT_EQ(first_line_of("printf 'one\\ntwo\\n'"), "one");
  EXPECT_EQ(first_line_of("exit 3"), "");
}

}  // namespace
}  // namespace bcsc::bench
