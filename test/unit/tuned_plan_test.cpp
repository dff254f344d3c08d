// Plans that are chosen by timing: what is tried, told and remembered, by a clock that the tests make.
#include "lib/tune/tuned_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bcsc/calibrate.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/registry.hpp"
#include "bcsc/tune.hpp"
#include "lib/plan/access.hpp"
#include "lib/tune/cached_choice.hpp"
#include "lib/tune/ranking.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/scripted_clock.hpp"

namespace bcsc::test {
namespace {

namespace fs = std::filesystem;

class tuned : public ::testing::Test {
 protected:
  tuned() {
    std::string name = testing::TempDir() + "bcsc-tuned-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = name;
    ctx_.set_log([this](std::string_view line) { said_ += std::string(line) + "\n"; });
  }
  ~tuned() override { fs::remove_all(folder_); }

  std::string cache() const { return (folder_ / "cache.txt").string(); }
  tuning_options options(effort how, const std::string& in_cache = "off") const {
    return {.plan = {.cols = 9}, .effort = how, .cache = in_cache};
  }
  template <class View>
  auto plan(const View& a, const tuning_options& how) {
    return tuning::make_tuned_plan<typename View::value_t>(ctx_, a, how, script_.maker());
  }
  template <class T>
  void expect_product(const context& ctx, const spmm_plan<T>& made, const sparse_case& a, std::int64_t n,
                      bool transposed = false) {
    const auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::real, 5);
    const dense_table<T> c0(transposed ? a.cols : a.rows, n);
    operand<T> on_b(ctx, b, {}), on_c(ctx, c0, {});
    made.run(1, on_b.view(), 0, on_c.view());
    expect_within_bound<T>(multiply<T>(a, transposed, 1, b, 0, c0, arithmetic_of(made.facts().kernel)), on_c.read(),
                           made.explain());
  }
  static std::set<std::string> kernels_tried(const plan_facts& facts) {
    std::set<std::string> names;
    for (const trial& t : facts.trials) names.insert(t.kernel);
    return names;
  }

  fs::path folder_;
  context ctx_ = context::cpu(2);
  std::string said_;
  scripted_clock script_;
  sparse_case case_ = case_named("band");
  csr_matrix<float> a_ = csr_of<float>(case_);
};

TEST_F(tuned, predicts_without_timing) {
  const auto made = plan(a_.view(), options(effort::predict, cache()));
  EXPECT_EQ(script_.num_made, 0);
  EXPECT_FALSE(fs::exists(cache()));
  EXPECT_EQ(made.facts().kernel.name, spmm_plan(ctx_, a_, {.cols = 9}).facts().kernel.name);
  EXPECT_TRUE(made.facts().trials.empty());
}

TEST_F(tuned, checks_a_few_and_takes_the_fastest) {
  const std::string predicted = spmm_plan(ctx_, a_, {.cols = 9}).facts().kernel.name;
  const plan_facts first = plan(a_.view(), options(effort::check)).facts();
  EXPECT_EQ(first.kernel.name, predicted) << "all take as long: the predicted one stays";
  ASSERT_GE(first.trials.size(), 2u);
  EXPECT_LE(first.trials.size(), 4u);
  std::set<std::int64_t> forms;
  for (const trial& t : first.trials) forms.insert(t.m_block);
  EXPECT_LE(forms.size(), 3u);
  for (const trial& wanted : first.trials) {
    script_.products.clear();
    script_.others = {{wanted.kernel, 0.8e-5}};
    const auto made = plan(a_.view(), options(effort::check));
    const plan_facts& facts = made.facts();
    EXPECT_EQ(facts.kernel.name, wanted.kernel);
    EXPECT_EQ(facts.m_block, wanted.m_block);
    EXPECT_EQ(facts.trials.front().kernel, wanted.kernel);
    EXPECT_DOUBLE_EQ(facts.trials.front().seconds, 0.8e-5);
    EXPECT_EQ(kernels_tried(facts), kernels_tried(first));
    EXPECT_TRUE(std::ranges::is_sorted(facts.trials, {}, &trial::seconds));
    EXPECT_NE(made.explain().find(fmt::format("fastest of {} configs timed on A, 8.0 us", first.trials.size())),
              std::string::npos)
        << made.explain();
    EXPECT_GT(facts.trial_seconds, 0);
    for (const trial& t : facts.trials) EXPECT_EQ(static_cast<double>(t.num_products), script_.products[t.kernel]);
    expect_product(ctx_, made, case_, 9);
    expect_product(ctx_, made, case_, 33);
  }
}

TEST_F(tuned, checks_another_algorithm_where_one_is_in_sight) {
  int in_sight = 0;
  for (const char* const specification :
       {"uniform:400,300,0.9", "banded:500,7", "rmat:9,6,seed=1", "nm:256,256,2,4", "uniform:300,300,0.2"}) {
    const auto a = generate::from_specification<float>(specification);
    for (const std::int64_t cols : {1, 3, 8, 20, 33, 100, 257}) {
      const plan_options wanted{.cols = cols};
      const tuning::ranking predicted =
          tuning::ranked(plan::access<float>::how(spmm_plan(ctx_, a.view(), wanted)), false);
      const std::string& first = predicted.names.front();
      const auto is_in_sight = [&](const std::string& name) {
        return tuning::algorithm_of(name) != tuning::algorithm_of(first) &&
               predicted.seconds_of(name) <= 1.5 * predicted.seconds_of(first);
      };
      if (std::ranges::none_of(predicted.names, is_in_sight)) continue;
      ++in_sight;
      const plan_facts facts = plan(a.view(), {.plan = wanted, .effort = effort::check, .cache = "off"}).facts();
      std::set<std::string_view> algorithms;
      for (const trial& t : facts.trials) algorithms.insert(tuning::algorithm_of(t.kernel));
      EXPECT_GT(algorithms.size(), 1u) << specification << ", N = " << cols;
    }
  }
  EXPECT_GT(in_sight, 0);
}

TEST_F(tuned, searches_everything_that_is_allowed) {
  std::set<std::string> allowed;
  for (const kernel_info& k : kernel_table(backend::cpu, value_type::fp32)) {
    if (is_tuned(k, 9)) allowed.insert(k.name);
  }
  tuning_options how = options(effort::search);
  how.budget_seconds = 1000;
  EXPECT_EQ(kernels_tried(plan(a_.view(), how).facts()), allowed);
  for (const std::string& wanted : allowed) {
    script_.others = {{wanted, 0.8e-5}};
    const auto made = plan(a_.view(), how);
    EXPECT_EQ(made.facts().kernel.name, wanted);
    expect_product(ctx_, made, case_, 9);
  }
}

TEST_F(tuned, search_keeps_to_its_budget) {
  for (const double budget : {1e-3, 0.02, 0.1}) {
    script_ = {};
    script_.usual = 1e-4;
    tuning_options how = options(effort::search);
    how.budget_seconds = budget;
    const plan_facts facts = plan(a_.view(), how).facts();
    // Each of its contests may end what it has begun.
    EXPECT_LE(script_.total, budget + 3e-4 * script_.num_made);
    EXPECT_NEAR(facts.trial_seconds, script_.total, 1e-9);
  }
}

TEST_F(tuned, stays_within_what_the_plan_was_asked_for) {
  script_.usual = 1e-5;
  tuning_options how = options(effort::search);
  how.plan.expert.kernel = "columns";
  for (const std::string& name : kernels_tried(plan(a_.view(), how).facts())) EXPECT_TRUE(name.starts_with("columns"));
  how.plan.expert.kernel = "";
  how.plan.expert.m_block = 4;
  const auto made = plan(a_.view(), how);
  EXPECT_EQ(made.facts().m_block, 4);
  EXPECT_GT(made.facts().trials.size(), 1u);
  for (const trial& t : made.facts().trials) EXPECT_EQ(t.m_block, 4);
  expect_product(ctx_, made, case_, 9);
  // One alone has nobody to be compared with.
  how.plan.expert = {.kernel = made.facts().kernel.name};
  script_.num_made = 0;
  EXPECT_TRUE(plan(a_.view(), how).facts().trials.empty());
  EXPECT_EQ(script_.num_made, 0);
}

TEST_F(tuned, takes_every_form_and_type) {
  script_.others = {{"columns-m32-n64", 0.5e-5}};
  const auto all = [&]<class T>(T) {
    const auto csr = csr_of<T>(case_);
    const auto wide = csr_of<T, std::int64_t>(case_);
    const auto bcsc = to_bcsc(csr, 4);
    const auto wide_bcsc = to_bcsc(wide, 4);
    for (const effort how : {effort::check, effort::search}) {
      expect_product(ctx_, plan(csr.view(), options(how)), case_, 9);
      expect_product(ctx_, plan(wide.view(), options(how)), case_, 9);
      const auto from_bcsc = plan(bcsc.view(), options(how));
      expect_product(ctx_, from_bcsc, case_, 9);
      EXPECT_EQ(from_bcsc.facts().reblocked, from_bcsc.facts().m_block != 4);
      expect_product(ctx_, plan(wide_bcsc.view(), options(how)), case_, 9);
      tuning_options turned = options(how);
      turned.plan.transpose = op::transpose;
      expect_product(ctx_, plan(csr.view(), turned), case_, 9, true);
    }
  };
  all(float{});
  all(double{});
  all(half{});
  all(bfloat16{});
}

TEST_F(tuned, plans_update_values_and_multiply_the_transpose) {
  auto made = plan(a_.view(), options(effort::search));
  expect_product(ctx_, *made.transposed(), case_, 9, true);
  sparse_case negated = case_;
  for (triplet& e : negated.entries) e.value = -e.value;
  made.update_values(viewed(csr_of<float>(negated)));
  expect_product(ctx_, made, negated, 9);
}

TEST_F(tuned, matrices_without_entries_need_no_timing) {
  for (const char* name : {"0x5", "5x0"}) {
    const sparse_case empty = case_named(name);
    const auto made = plan(viewed(csr_of<float>(empty)), options(effort::search));
    EXPECT_EQ(script_.num_made, 0) << name;
    expect_product(ctx_, made, empty, 3);
  }
}

TEST_F(tuned, remembers) {
  const std::string predicted = spmm_plan(ctx_, a_, {.cols = 9}).facts().kernel.name;
  const plan_facts first = plan(a_.view(), options(effort::check)).facts();
  const auto other = std::ranges::find_if(first.trials, [&](const trial& t) { return t.kernel != predicted; });
  ASSERT_NE(other, first.trials.end());
  script_.others = {{other->kernel, 0.5e-5}};
  EXPECT_EQ(plan(a_.view(), options(effort::check, cache())).facts().kernel.name, other->kernel);
  script_.num_made = 0;
  const auto again = plan(a_.view(), options(effort::check, cache()));
  EXPECT_EQ(script_.num_made, 0);
  EXPECT_EQ(again.facts().kernel.name, other->kernel);
  EXPECT_NE(again.explain().find("remembered"), std::string::npos) << again.explain();
  expect_product(ctx_, again, case_, 9);
  // Of other values, too; but of nothing that might choose otherwise.
  auto scaled = csr_of<float>(case_named("band", values::small_integers));
  plan(scaled.view(), options(effort::check, cache()));
  EXPECT_EQ(script_.num_made, 0);
  const auto timed = [&](const std::string& what, auto change) {
    script_.num_made = 0;
    tuning_options how = options(effort::check, cache());
    change(how);
    plan(a_.view(), how);
    EXPECT_EQ(script_.num_made, 1) << what;
  };
  timed("N", [](tuning_options& how) { how.plan.cols = 10; });
  timed("layout", [](tuning_options& how) { how.plan.b_layout = layout::col_major; });
  timed("transpose", [](tuning_options& how) { how.plan.transpose = op::transpose; });
  timed("workspace", [](tuning_options& how) { how.plan.max_workspace_bytes = 1 << 20; });
  timed("asked to", [](tuning_options& how) { how.again = true; });
  timed("threads", [&](tuning_options&) { ctx_ = context::cpu(1); });
  script_.num_made = 0;
  plan(viewed(csr_of<double>(case_)), options(effort::check, cache()));
  EXPECT_EQ(script_.num_made, 1) << "type";
  script_.num_made = 0;
  plan(viewed(csr_of<float>(case_named("ragged"))), options(effort::check, cache()));
  EXPECT_EQ(script_.num_made, 1) << "pattern";
}

TEST_F(tuned, remembers_the_order_of_rows_that_it_timed) {
  // Rows so uneven that `rows` sorts them by length, which nobody asked for.
  const auto uneven = generate::from_specification<float>("rmat:12,8,seed=1");
  script_.others = {{"rows-m1-n32", 0.5e-5}};
  for (int turn = 0; turn < 2; ++turn) {
    const auto made = plan(uneven.view(), options(effort::check, cache()));
    EXPECT_EQ(made.facts().kernel.name, "rows-m1-n32");
    EXPECT_NE(made.explain().find("sorted by length"), std::string::npos) << turn << ": " << made.explain();
  }
  EXPECT_EQ(script_.num_made, 1);
}

TEST_F(tuned, a_check_does_not_stand_for_a_search) {
  plan(a_.view(), options(effort::check, cache()));
  script_.num_made = 0;
  script_.others = {{"columns-m32-n64", 0.5e-5}};
  EXPECT_EQ(plan(a_.view(), options(effort::search, cache())).facts().kernel.name, "columns-m32-n64");
  EXPECT_GT(script_.num_made, 0);
  script_.num_made = 0;
  EXPECT_EQ(plan(a_.view(), options(effort::check, cache())).facts().kernel.name, "columns-m32-n64");
  EXPECT_EQ(script_.num_made, 0);
  const auto list = tune(ctx_, a_.view(), {.plan = {.cols = 9}, .repetitions = 1, .cache_file = cache()});
  ASSERT_EQ(list.size(), 1u) << "tune() looks in the same cache";
  EXPECT_EQ(list[0].kernel, "columns-m32-n64");
}

TEST_F(tuned, does_not_believe_a_cache_that_names_what_may_not_be_taken) {
  plan(a_.view(), options(effort::search, cache()));
  const tuning_cache file(cache());
  ASSERT_EQ(file.entries().size(), 1u);
  const std::string key = file.entries()[0].key;
  for (const char* value : {"kernel=no-such-kernel m_block=1 reordered=0 seconds=1 effort=search",
                            "kernel=mma-tf32-m16-n64-w4x1x1-r1 m_block=1 reordered=0 seconds=1 effort=search",
                            "kernel=rows-m1-n32-i64 m_block=1 reordered=0 seconds=1 effort=search",
                            "kernel=rows-m1-n32", "nonsense", "kernel= m_block=1 reordered=0 seconds=1 effort=search",
                            "kernel=rows-m1-n32 m_block=x reordered=0 seconds=1 effort=search",
                            "kernel=rows-m1-n32 m_block=1 reordered=0 seconds=1 effort=lots"}) {
    const std::array entries{cache_entry{key, value}};
    file.put(entries);
    script_.num_made = 0;
    expect_product(ctx_, plan(a_.view(), options(effort::search, cache())), case_, 9);
    EXPECT_GT(script_.num_made, 0) << value;
  }
}

TEST_F(tuned, makes_its_plan_whatever_the_cache_is) {
  std::ofstream(folder_ / "thesis.pdf") << "%PDF-1.7";
  fs::create_directory(folder_ / "folder");
  for (const std::string& file : {(folder_ / "thesis.pdf").string(), (folder_ / "folder").string(),
                                  std::string("/proc/bcsc/cache.txt"), std::string("/dev/full")}) {
    for (int run = 0; run < 2; ++run) {
      said_.clear();
      script_.num_made = 0;
      expect_product(ctx_, plan(a_.view(), options(effort::check, file)), case_, 9);
      EXPECT_EQ(script_.num_made, 1) << file;
      EXPECT_NE(said_.find("tuning cache " + file), std::string::npos) << said_;
    }
  }
  EXPECT_EQ(fs::file_size(folder_ / "thesis.pdf"), 8u);
}

TEST_F(tuned, tells_of_damage) {
  plan(a_.view(), options(effort::check, cache()));
  std::fstream file(cache(), std::ios::in | std::ios::out);
  file.seekp(-3, std::ios::end);
  file.put('~');
  file.close();
  said_.clear();
  script_.num_made = 0;
  plan(a_.view(), options(effort::check, cache()));
  EXPECT_EQ(script_.num_made, 1);
  EXPECT_NE(said_.find("1 damaged line"), std::string::npos) << said_;
  EXPECT_EQ(tuning_cache(cache()).entries().size(), 1u);
}

TEST_F(tuned, goes_by_the_prediction_where_timing_fails) {
  for (const errc code : {errc::out_of_memory, errc::cuda_error}) {
    const auto failing = [&](std::span<const tuning::contestant>) -> std::unique_ptr<tuning::stopwatch> {
      throw error(code, "as the test wants");
    };
    said_.clear();
    const auto made = tuning::make_tuned_plan<float>(ctx_, a_.view(), options(effort::check, cache()), failing);
    EXPECT_NE(said_.find("as the test wants: the choice is the predicted one"), std::string::npos) << said_;
    EXPECT_TRUE(made.facts().trials.empty());
    expect_product(ctx_, made, case_, 9);
    EXPECT_FALSE(fs::exists(cache())) << "a prediction is not remembered";
  }
}

TEST_F(tuned, refuses_nonsense) {
  tuning_options how = options(effort::check);
  for (const double budget : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    how.budget_seconds = budget;
    EXPECT_EQ(code_of([&] { plan(a_.view(), how); }), errc::invalid_argument) << budget;
  }
  how = options(static_cast<effort>(7));
  EXPECT_EQ(code_of([&] { plan(a_.view(), how); }), errc::invalid_argument);
  how = options(effort::check, cache());
  how.plan.cols = 0;
  EXPECT_EQ(code_of([&] { plan(a_.view(), how); }), errc::invalid_argument);
  how.plan.cols = 9;
  auto broken = a_.view();
  broken.row_ptr = broken.row_ptr.first(2);
  EXPECT_EQ(code_of([&] { plan(broken, how); }), errc::invalid_format);
  std::vector<std::int32_t> wild(a_.view().col_ind.begin(), a_.view().col_ind.end());
  wild[3] = 1 << 30;
  broken = a_.view();
  broken.col_ind = wild;
  EXPECT_EQ(code_of([&] { plan(broken, how); }), errc::index_out_of_range);
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(tuned, tells_its_progress) {
  std::vector<double> shares;
  tuning_options how = options(effort::search);
  how.progress = [&](double done, std::string_view now) {
    EXPECT_FALSE(now.empty());
    shares.push_back(done);
  };
  plan(a_.view(), how);
  ASSERT_GT(shares.size(), 10u);
  EXPECT_GE(*std::ranges::min_element(shares), 0);
  EXPECT_LE(*std::ranges::max_element(shares), 1);
}

/// With the clocks there are.
class tuned_on : public ::testing::TestWithParam<backend> {
 protected:
  void SetUp() override {
    ctx_ = context_of(GetParam());
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }
  std::optional<context> ctx_;
};

TEST_P(tuned_on, multiplies_right_however_it_was_chosen) {
  const std::string cache = testing::TempDir() + fmt::format("bcsc_tuned_on_{}.txt", ::getpid());
  for (const char* name : {"band", "ragged", "power_law"}) {
    const sparse_case a = case_named(name);
    const auto csr = csr_of<float>(a);
    for (const layout order : {layout::row_major, layout::col_major}) {
      for (const effort how : {effort::check, effort::search, effort::check}) {
        const auto made = tuned_plan(
            *ctx_, csr,
            {.plan = {.cols = 24, .b_layout = order}, .effort = how, .budget_seconds = 0.02, .cache = cache});
        const auto b = random_table<float>(a.cols, 24, values::real, 5);
        const dense_table<float> c0(a.rows, 24);
        operand<float> on_b(*ctx_, b, {order}), on_c(*ctx_, c0, {order});
        made.run(1, on_b.view(), 0, on_c.view());
        expect_within_bound<float>(multiply<float>(a, false, 1, b, 0, c0, arithmetic_of(made.facts().kernel)),
                                   on_c.read(), made.explain());
      }
    }
  }
  fs::remove(cache);
  fs::remove(cache + ".lock");
}

TEST_P(tuned_on, tells_times_that_can_be) {
  const auto a = generate::stencil<float>(9, 60, 60);
  const auto made = tuned_plan(*ctx_, a, {.plan = {.cols = 16}, .effort = effort::search, .cache = "off"});
  ASSERT_GT(made.facts().trials.size(), 4u);
  for (const trial& t : made.facts().trials) {
    EXPECT_GT(t.seconds, 1e-7) << t.kernel;
    EXPECT_LT(t.seconds, 1) << t.kernel;
    EXPECT_GT(t.num_products, 0) << t.kernel;
  }
  EXPECT_GT(made.facts().trial_seconds, made.facts().trials.front().seconds);
}

TEST_P(tuned_on, is_calibrated_once) {
  const fs::path folder = testing::TempDir() + fmt::format("bcsc_calibrated_{}", ::getpid());
  const std::string cache = (folder / "cache.txt").string();
  EXPECT_FALSE(known_constants(*ctx_, cache));
  EXPECT_EQ(code_of([&] { calibrate(*ctx_, {.max_seconds = 0, .cache = cache}); }), errc::invalid_argument);
  const machine_constants found = calibrate(*ctx_, {.cache = cache});
  EXPECT_GT(found.launch_seconds, 1e-9);
  EXPECT_LT(found.launch_seconds, 1e-2);
  EXPECT_GT(found.cache_bandwidth, 1e8);
  EXPECT_GT(found.memory_bandwidth, 1e8);
  EXPECT_LT(found.memory_bandwidth, 1e14);
  const auto known = known_constants(*ctx_, cache);
  ASSERT_TRUE(known);
  EXPECT_NEAR(known->memory_bandwidth / found.memory_bandwidth, 1, 1e-3);
  EXPECT_NEAR(known->launch_seconds / found.launch_seconds, 1, 1e-3);
  EXPECT_FALSE(known_constants(*ctx_, "off"));
  EXPECT_FALSE(known_costs(*ctx_, cache)) << "constants are not costs";
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(backends, tuned_on, ::testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace bcsc::test
