// Costs of the machine at hand: the file that keeps them, and an H200's for other GPUs.
#include "lib/choice/known_costs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "bcsc/calibrate.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/tuning_cache.hpp"
#include "bcsc/version.hpp"
#include "core/gzip.hpp"
#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/choice.hpp"
#include "lib/choice/registry.hpp"
#include "test/support/code_of.hpp"
#include "test/support/in_child.hpp"

namespace bcsc {
namespace {

namespace fs = std::filesystem;
using test::code_of;

choice::kept_costs some_costs(std::size_t num_cases = 3) {
  choice::kept_costs kept;
  kept.date = "2026-11-25";
  kept.constants = {.launch_seconds = 2.5e-6, .cache_bandwidth = 3e12, .memory_bandwidth = 2e12};
  kept.scale = 1.5;
  const choice::cost_table& built_in = choice::built_in_costs(backend::cpu);
  for (const choice::cpu_family& f : built_in.families) {
    kept.families.push_back({f.algorithm, f.m_tile, 1.25, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0.5}});
  }
  kept.cpu_configs.assign(built_in.cpu_configs.begin(), built_in.cpu_configs.end());
  const auto num = std::ranges::count(built_in.cpu_configs, value_type::fp64, &choice::cpu_config::type);
  for (std::size_t i = 0; i < num_cases; ++i) {
    const auto at = static_cast<float>(i);
    kept.cases.push_back(
        {value_type::fp64, {at, 1.5, 2.25, -3, 4, 5, 6}, std::string(static_cast<std::size_t>(num), '!')});
  }
  return kept;
}

TEST(built_in_costs, by_few_threads_and_by_many_stand_in_the_same_places) {
  const choice::cost_table& few = choice::built_in_costs(backend::cpu, 2);
  for (const int threads : {1, 3, 5, 6, 16, 1000}) {
    const choice::cost_table& costs = choice::built_in_costs(backend::cpu, threads);
    ASSERT_EQ(costs.families.size(), few.families.size());
    for (std::size_t i = 0; i < few.families.size(); ++i) {
      EXPECT_EQ(costs.families[i].algorithm, few.families[i].algorithm) << threads;
      EXPECT_EQ(costs.families[i].m_tile, few.families[i].m_tile) << threads;
    }
    const auto names = [](const choice::cost_table& of) {
      std::string all;
      for (const choice::cpu_config& c : of.cpu_configs) {
        all += fmt::format("{} {} {} {}\n", to_string(c.type), c.algorithm, c.m_tile, c.n_tile);
      }
      return all;
    };
    EXPECT_EQ(names(costs), names(few)) << threads;
    EXPECT_EQ(&costs == &few, threads < 6 || &choice::built_in_costs(backend::cpu, 16) == &few) << threads;
  }
}

class costs_file : public testing::Test {
 protected:
  costs_file() : folder_(fs::path(testing::TempDir()) / fmt::format("bcsc_costs_{}", ::getpid())) {
    fs::create_directories(folder_);
    ctx_.set_log([this](std::string_view line) { log_ += std::string(line) + "\n"; });
  }
  ~costs_file() override { fs::remove_all(folder_); }

  std::string cache() const { return (folder_ / "cache.txt").string(); }
  fs::path file() const { return choice::costs_file(ctx_, cache()); }
  std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string text() const { return core::gunzipped(content(), 1 << 20); }
  void write(const std::string& content) const { std::ofstream(file(), std::ios::binary) << content; }
  void write_text(const std::string& text) const { write(core::gzipped(text)); }
  void expect_ignored(const std::string& why) {
    log_.clear();
    EXPECT_FALSE(choice::read_costs(ctx_, cache())) << why;
    EXPECT_NE(log_.find("is ignored"), std::string::npos) << why;
    EXPECT_NE(log_.find(why), std::string::npos) << log_;
    EXPECT_FALSE(known_costs(ctx_, cache()));
  }

  fs::path folder_;
  std::string log_;
  context ctx_ = context::cpu(2);
};

TEST_F(costs_file, gives_back_what_was_kept) {
  EXPECT_FALSE(choice::read_costs(ctx_, cache()));
  EXPECT_EQ(log_, "") << "there is nothing wrong with having none";
  const choice::kept_costs kept = some_costs();
  choice::keep_costs(ctx_, cache(), kept);
  const auto found = choice::read_costs(ctx_, cache());
  ASSERT_TRUE(found);
  choice::kept_costs expected = kept;
  expected.machine = machine_name(ctx_);
  expected.library = version;
  EXPECT_EQ(choice::text_of(*found), choice::text_of(expected));
  EXPECT_EQ(known_costs(ctx_, cache())->date, "2026-11-25");
  EXPECT_FALSE(known_costs(context::cpu(1), cache())) << "another number of threads is another machine";
  EXPECT_EQ(choice::costs_file(ctx_, "off"), "");
  EXPECT_EQ(log_, "");
}

TEST_F(costs_file, is_ignored_where_it_is_damaged) {
  choice::keep_costs(ctx_, cache(), some_costs());
  const std::string whole = content();
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 37) {
    write(whole.substr(0, size));
    ASSERT_FALSE(choice::read_costs(ctx_, cache())) << size;
  }
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  write(changed);
  expect_ignored("damaged");
  write("");
  expect_ignored("damaged");
  write("something else\n");
  expect_ignored("damaged");
  write(std::string(choice::max_kept_bytes + 1, 'x'));
  expect_ignored("too large");
}

TEST_F(costs_file, is_ignored_where_it_is_older_or_of_elsewhere) {
  choice::keep_costs(ctx_, cache(), some_costs());
  const std::string good = text();
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string changed = good;
    return changed.replace(changed.find(what), what.size(), by);
  };
  write_text(replaced("costs 6", "costs 5"));
  expect_ignored("another version");
  write_text(replaced("machine ", "machine Other "));
  expect_ignored("of another machine");
  write_text(replaced("library ", "library 0."));
  expect_ignored("another version of the library");
  write_text(replaced("family ", "family other"));
  expect_ignored("of other configs");
  write_text(replaced("tile fp32 rows ", "tile fp32 columns "));
  expect_ignored("of other configs");
  write_text(good + "colour green\n");
  expect_ignored("\"colour\" is not known");
  write_text(good);
  EXPECT_TRUE(choice::read_costs(ctx_, cache()));
}

TEST_F(costs_file, that_cannot_be_written_is_an_error_and_leaves_the_old_one) {
  EXPECT_EQ(code_of([&] { choice::keep_costs(ctx_, "/dev/null/cache.txt", some_costs()); }), errc::io_error);
  choice::keep_costs(ctx_, cache(), some_costs());
  const std::string before = content();
  EXPECT_TRUE(test::holds_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, 100};
    return setrlimit(RLIMIT_FSIZE, &small) == 0 &&
           code_of([&] { choice::keep_costs(ctx_, cache(), some_costs(9)); }) == errc::io_error;
  })) << "a full disk";
  EXPECT_EQ(content(), before);
}

TEST_F(costs_file, is_what_plans_of_later_contexts_choose_by) {
  ::setenv("BCSC_TUNING_CACHE", cache().c_str(), 1);
  const auto a = generate::banded<float>(300, 3, 1);
  const context before = context::cpu(2);
  EXPECT_NE(spmm_plan<float>(before, a.view()).explain().find("by the costs of CPUs with"), std::string::npos);
  choice::keep_costs(ctx_, cache(), some_costs());
  EXPECT_NE(spmm_plan<float>(before, a.view()).explain().find("by the costs of CPUs with"), std::string::npos)
      << "found once for each context";
  const context after = context::cpu(2);
  const std::string explained = spmm_plan<float>(after, a.view()).explain();
  EXPECT_NE(explained.find("by costs of this machine, calibrated on 2026-11-25"), std::string::npos) << explained;
  write(content() + "x");
  context damaged = context::cpu(2);
  damaged.set_log([this](std::string_view line) { log_ += line; });
  EXPECT_NE(spmm_plan<float>(damaged, a.view()).explain().find("by the costs of CPUs with"), std::string::npos);
  EXPECT_NE(log_.find("is ignored: damaged"), std::string::npos);
  ::setenv("BCSC_TUNING_CACHE", "off", 1);
}

TEST_F(costs_file, comes_from_a_calibration_of_whatever_length) {
  EXPECT_EQ(code_of([&] { calibrate_costs(ctx_, generate::from_specification<double>, {.max_seconds = 0}); }),
            errc::invalid_argument);
  double last = -1;
  const auto small = [](std::string_view) { return generate::banded<double>(200, 2, 1); };
  const calibrated_costs made = calibrate_costs(
      ctx_, small, {.max_seconds = 0.5, .cache = cache(), .progress = [&](double done, std::string_view) {
                      EXPECT_GE(done, last);
                      EXPECT_LE(done, 1);
                      last = done;
                    }});
  EXPECT_GT(made.num_products, 0);
  EXPECT_EQ(made.file, file());
  EXPECT_EQ(known_costs(ctx_, cache())->date, made.date);
  EXPECT_EQ(calibrate_costs(ctx_, small, {.max_seconds = 1e-9, .cache = "off"}).num_products, 1) << "on a busy machine";
  EXPECT_EQ(calibrate_costs(ctx_, small, {.max_seconds = 0.01, .cache = "/dev/null/x"}).file, "");
  EXPECT_NE(log_.find("costs file /dev/null/bcsc-costs-"), std::string::npos) << log_;
}

// --- an H200's costs for another GPU --------------------------------------------------------------------------------

device_info gpu_like(const char* name, double share) {
  device_info gpu{.device = 0, .name = name};
  gpu.num_multiprocessors = static_cast<int>(132 * share);
  gpu.peak_bandwidth = choice::h200_constants.peak_bandwidth * share;
  return gpu;
}

TEST(transfer, of_equal_constants_changes_no_bit) {
  const auto own = choice::costs_from(backend::cuda, gpu_like("NVIDIA H200", 1), std::nullopt);
  EXPECT_EQ(own->origin, "an H200's costs");
  const auto twin = choice::costs_from(backend::cuda, gpu_like("NVIDIA Other", 1), std::nullopt);
  EXPECT_EQ(twin->origin, "an H200's costs, scaled by this GPU's constants");
  for (const auto& table : {own, twin}) {
    const auto built_in = choice::built_in_costs(backend::cuda).configs;
    ASSERT_EQ(table->configs.size(), built_in.size());
    for (std::size_t i = 0; i < table->configs.size(); ++i) {
      EXPECT_EQ(table->configs[i].us, built_in[i].us);
      EXPECT_EQ(table->configs[i].min_us, built_in[i].min_us);
    }
    EXPECT_EQ(table->cases.data(), choice::built_in_costs(backend::cuda).cases.data());
  }
}

TEST(transfer, is_to_a_part_of_an_h200_as_well) {
  const auto half = choice::costs_from(backend::cuda, gpu_like("NVIDIA H200", 0.5), std::nullopt);
  EXPECT_EQ(half->origin, "an H200's costs, scaled by this GPU's constants");
  EXPECT_DOUBLE_EQ(half->scales.multiprocessors, 2);
}

TEST(transfer, gathers_as_slowly_as_l2_or_the_multiprocessors_say) {
  constexpr auto gathered = static_cast<std::size_t>(choice::cost_term::gathered);
  const auto whole = choice::built_in_costs(backend::cuda).configs;
  const auto longer = [&](double share_of_multiprocessors, double share_of_cache) {
    choice::kept_costs kept;
    kept.constants = {.launch_seconds = choice::h200_constants.launch_seconds,
                      .cache_bandwidth = choice::h200_constants.cache_bandwidth * share_of_cache,
                      .memory_bandwidth = choice::h200_constants.memory_bandwidth};
    const auto own = choice::costs_from(backend::cuda, gpu_like("NVIDIA Part", share_of_multiprocessors), kept);
    const auto one = std::ranges::find_if(whole, [](const auto& config) { return config.us[gathered] > 0; });
    return own->configs[static_cast<std::size_t>(one - whole.begin())].us[gathered] / one->us[gathered];
  };
  EXPECT_DOUBLE_EQ(longer(0.25, 0.5), 4);
  EXPECT_DOUBLE_EQ(longer(0.5, 0.25), 4);
  EXPECT_DOUBLE_EQ(longer(1, 0.5), 2);
}

TEST(transfer, scales_each_term_by_what_it_is_made_of) {
  choice::gpu_constants whole = choice::h200_constants;
  whole.launch_seconds = 2e-6;
  choice::gpu_constants half = whole;
  half.launch_seconds *= 3;
  half.cache_bandwidth /= 2;
  half.memory_bandwidth /= 4;
  half.multiprocessors /= 2;
  const choice::gpu_scales by = choice::scales_from(half, whole);
  EXPECT_DOUBLE_EQ(by.launch, 3);
  EXPECT_DOUBLE_EQ(by.cache, 2);
  EXPECT_DOUBLE_EQ(by.memory, 4);
  EXPECT_DOUBLE_EQ(by.multiprocessors, 2);
  // What was not measured comes from the device's properties.
  const choice::gpu_scales guessed = choice::scales_from({.peak_bandwidth = 1.6e12, .multiprocessors = 66});
  EXPECT_DOUBLE_EQ(guessed.launch, 1);
  EXPECT_DOUBLE_EQ(guessed.cache, 2);
  EXPECT_DOUBLE_EQ(guessed.memory, 3);
  const choice::gpu_scales unknown = choice::scales_from({});
  EXPECT_EQ(unknown.launch * unknown.cache * unknown.memory * unknown.multiprocessors, 1);
}

TEST(transfer, predicts_twice_the_time_of_large_products_on_half_a_gpu) {
  const auto half = choice::costs_from(backend::cuda, gpu_like("NVIDIA Half", 0.5), std::nullopt);
  choice::problem p{.where = backend::cuda, .rows = 1'000'000, .inner = 1'000'000, .nnz = 20'000'000, .cols = 128};
  choice::problem on_half = p;
  on_half.costs = half.get();
  // Of chains and starts there is little in a large product.
  const block_statistics s{
      .m_block = 1, .num_row_blocks = 1'000'000, .nnzc = 20'000'000, .reuse = 1, .max_block_nnz = 20, .skew = 1};
  int seen = 0;
  for (const choice::registered_kernel& kernel : choice::registry()) {
    if (!kernel.measured || kernel.info.type != value_type::fp32 || kernel.info.algorithm != "rowwise") continue;
    const double ratio = choice::predict(on_half, kernel, s) / choice::predict(p, kernel, s);
    EXPECT_GT(ratio, 1.8) << kernel.info.name;
    EXPECT_LE(ratio, 2.001) << kernel.info.name;
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(transfer, believes_constants_that_were_measured) {
  const device_info gpu = gpu_like("NVIDIA Other", 1);
  choice::kept_costs kept;
  kept.constants = {2e-6, choice::h200_constants.cache_bandwidth / 5, choice::h200_constants.memory_bandwidth};
  const auto scaled = choice::costs_from(backend::cuda, gpu, kept);
  const auto gathered = static_cast<std::size_t>(choice::cost_term::gathered),
             chain = static_cast<std::size_t>(choice::cost_term::chain);
  const choice::measured_config& first = choice::built_in_costs(backend::cuda).configs[0];
  EXPECT_DOUBLE_EQ(scaled->configs[0].us[gathered], 5 * first.us[gathered]);
  EXPECT_EQ(scaled->configs[0].us[chain], first.us[chain]);
  EXPECT_DOUBLE_EQ(scaled->scales.cache, 5);
  // Costs of its own come before those.
  kept.date = "2026-11-25";
  kept.scale = 2;
  kept.configs.push_back({first.type, first.name, 7, {1, 2, 3}});
  const auto own = choice::costs_from(backend::cuda, gpu, kept);
  EXPECT_EQ(own->origin, "costs of this machine, calibrated on 2026-11-25");
  EXPECT_EQ(own->configs[0].us[1], 2);
  EXPECT_EQ(own->configs[1].us, scaled->configs[1].us) << "what was not measured stays as transferred";
  EXPECT_DOUBLE_EQ(own->configs_in_place[0].us[chain], 2 * scaled->configs_in_place[0].us[chain]);
}

}  // namespace
}  // namespace bcsc
