#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/error.hpp"
#include "bcsc/tune.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/results.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"

/// What each effort's choice costs over the best config of the tables, and against the fastest rival. All configs are
/// timed quickly; then the fastest of them, the choices and the fastest rivals take turns, in all three timings, each
/// checked first. Row-major operands; the tuning cache is off.
namespace {

using namespace bcsc;
using bench::json;

constexpr std::string_view schema = "bcsc-efforts-1";
constexpr std::uint64_t seed = 1;

constexpr effort all_efforts[] = {effort::predict, effort::check, effort::search};

/// How many of the fastest configs and of the fastest rivals enter the second pass.
constexpr std::size_t num_configs = 3, num_rivals = 3;

/// From this time on a product is not warmed up again before each of its samples.
constexpr double long_seconds = 5e-3;

struct options {
  std::string device = "cuda", out = "efforts.json";
  std::vector<std::string> matrices, types = {"fp32"};
  std::vector<std::int64_t> cols = {8, 32, 128, 512};
  int rounds = 11, repetitions = 3;
  double max_seconds = 1e9, max_products = 1e18;
  bool rivals = true;
};

/// A product that takes part in the second pass.
struct contender {
  std::string name;
  bool ours = true;
  bench::prepared ready;
  double estimate = 0;
  bench::per_setting<std::vector<double>> seconds = {};
  bench::per_setting<bench::time_statistics> times = {};
};

/// One sample of each per round, in alternating order so that a drifting clock favours none. Short products are warmed
/// up before each sample, since the others have used the cache.
void take_turns(bench::stage& where, std::vector<contender>& all, int rounds) {
  const auto launches_of = [](const contender& c, bench::setting in) {
    return in != bench::setting::warm ? std::int64_t{1} : bench::plan_samples(in, c.estimate, 0, {}).launches;
  };
  std::vector<std::unique_ptr<bench::series>> warm;
  for (const contender& c : all) warm.push_back(where.repeated(c.ready.start, launches_of(c, bench::setting::warm)));
  for (const bench::setting in : bench::all_settings) {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t turn = 0; turn < all.size(); ++turn) {
        const std::size_t i = round % 2 == 0 ? turn : all.size() - 1 - turn;
        contender& c = all[i];
        if (in == bench::setting::cold) {
          where.flush();
        } else {
          if (c.estimate < long_seconds) c.ready.start();
          if (in == bench::setting::single) where.foreign_work();
        }
        const double all_of_them = in == bench::setting::warm ? warm[i]->seconds() : where.seconds(c.ready.start, 1);
        c.seconds[in].push_back(all_of_them / static_cast<double>(launches_of(c, in)));
      }
    }
    for (contender& c : all) c.times[in] = bench::summarise(std::move(c.seconds[in]), launches_of(c, in));
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].times[bench::setting::warm].recorded = warm[i]->is_recorded();
}

/// What became of an effort in one case.
struct outcome {
  effort kind{};
  std::string product;  ///< the contender that it chose
  double make_seconds = 0;
  plan_facts facts;
};

/// A file for a tuning cache, removed with the object.
class temporary_cache {
 public:
  temporary_cache()
      : file_(std::filesystem::temp_directory_path() / fmt::format("bcsc-efforts-{}.txt", std::random_device()())) {}
  ~temporary_cache() {
    std::error_code ignored;
    for (const char* const ending : {"", ".lock"}) std::filesystem::remove(file_.string() + ending, ignored);
  }
  temporary_cache(const temporary_cache&) = delete;
  temporary_cache& operator=(const temporary_cache&) = delete;
  std::string file() const { return file_.string(); }

 private:
  std::filesystem::path file_;
};

/// Over all cases.
struct tally {
  std::vector<bench::named_ratio> best_over_chosen;
  bench::per_setting<std::vector<bench::named_ratio>> rival_over_chosen;
};

template <number T>
class effort_matrix {
 public:
  effort_matrix(bench::place& here, bench::rivals* others, const csr_matrix<T>& a, const options& wanted)
      : here_(here),
        where_(*here.where),
        a_(a.view()),
        placed_(where_, a_),
        own_(here.ctx, where_, a_, placed_.view()),
        wanted_(wanted) {
    if (others != nullptr) rivals_ = others->on(bench::problem<T>{a_, placed_.view()});
    if (others != nullptr) main_group_ = others->main_group();
  }

  json run(std::int64_t n, std::vector<tally>& total, const std::string& name) {
    const bench::stage_array<T> b_data(where_, a_.cols * n), c_data(where_, a_.rows * n);
    dense_matrix<T> host_b(a_.cols, n, layout::row_major);
    bench::fill_seeded<T>(host_b.view(), seed);
    where_.upload(b_data.data(), host_b.view().data, b_data.bytes());
    const dense_view<const T> b(b_data.data(), a_.cols, n);
    const dense_view<T> c(c_data.data(), a_.rows, n);
    const bench::expectation<T> expected(a_, host_b.view());

    std::vector<contender> all;
    failures_ = json::array();
    const auto enter = [&](contender it) {
      const auto same = [&](const contender& other) { return other.name == it.name; };
      if (std::ranges::any_of(all, same)) return;
      where_.poison(c_data.data(), c_data.bytes());
      it.ready.start();
      const void* found = where_.fetch(c_data.data(), c_data.bytes());
      const bench::accuracy error =
          expected.compare({static_cast<const T*>(found), a_.rows, n, c.ld, c.order}, it.ready.bound);
      if (error.passed()) {
        it.estimate = bench::quick_seconds(where_, it.ready.start, std::numeric_limits<double>::infinity());
        all.push_back(std::move(it));
      } else if (it.ours) {  // a rival may be less precise: then it is no rival
        failures_.push_back({{"name", it.name}, {"message", error.describe(a_.rows * n)}});
      }
    };
    std::vector<outcome> outcomes;
    for (const effort kind : all_efforts) outcomes.push_back(choose(kind, b, c, enter));
    json swept = enter_configs(b, c, enter);
    enter_rivals(b, c, enter);
    take_turns(where_, all, wanted_.rounds);
    return judged(n, all, outcomes, std::move(swept), total, name);
  }

  /// What it costs to make the plan for n columns, from A on the host and from where it lies: predicted, by a cache
  /// that remembers the choice, and with that kernel asked for by name. Medians.
  json remembering(std::int64_t n) const {
    json told{{"cols", n}, {"type", to_string(value_type_of<T>)}};
    told["host"] = remembering(n, a_);
    if (where_.space() == memory_space::device) told["device"] = remembering(n, placed_.view());
    return told;
  }

 private:
  json remembering(std::int64_t n, const csr_view<T, std::int32_t>& a) const {
    const temporary_cache cache;
    const auto make = [&](effort kind, std::string kernel) {
      return tuned_plan(here_.ctx, a,
                        {.plan = {.cols = n, .check = trust::trusted, .expert = {.kernel = std::move(kernel)}},
                         .effort = kind,
                         .cache = cache.file()});
    };
    const auto median = [&](const auto& made) {
      std::vector<double> seconds;
      for (int i = 0; i < wanted_.repetitions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        made();
        seconds.push_back(bench::seconds_since(begin));
      }
      std::ranges::sort(seconds);
      return bench::quantile(seconds, 0.5);
    };
    make(effort::check, "");
    const plan_facts facts = make(effort::check, "").facts();
    return {{"kernel", facts.kernel.name},
            {"remembered", facts.trials.empty() && facts.reason.starts_with("remembered")},
            {"predict_seconds", median([&] { make(effort::predict, ""); })},
            {"remembered_seconds", median([&] { make(effort::check, ""); })},
            {"by_name_seconds", median([&] { make(effort::predict, facts.kernel.name); })}};
  }

  template <class Enter>
  outcome choose(effort kind, dense_view<const T> b, dense_view<T> c, const Enter& enter) const {
    const auto begin = std::chrono::steady_clock::now();
    auto plan = std::make_shared<const spmm_plan<T>>(
        tuned_plan(here_.ctx, placed_.view(),
                   {.plan = {.cols = b.cols, .check = trust::trusted}, .effort = kind, .cache = "off"}));
    outcome found{.kind = kind, .make_seconds = bench::seconds_since(begin), .facts = plan->facts()};
    found.product = found.facts.kernel.name + (found.facts.reordered ? " (reordered)" : "");
    enter(contender{
        .name = found.product,
        .ready = {.start = [plan, b, c, stream = where_.stream()] { plan->run(1, b, 0, c, {.stream = stream}); },
                  .kernel = found.facts.kernel.name,
                  .m_block = found.facts.m_block,
                  .bound = found.facts.kernel.bound}});
    return found;
  }

  /// The quickest of the configs that a plan may take: none that rounds the values. Returns every config's quick time.
  template <class Enter>
  json enter_configs(dense_view<const T> b, dense_view<T> c, const Enter& enter) {
    std::vector<std::pair<double, std::string>> ranking;
    double best = std::numeric_limits<double>::infinity();
    for (const auto& configs : own_.configs_by_algorithm(false)) {
      for (const kernel_info& config : configs) {
        if (config.rounds_values) continue;
        try {
          const double seconds = bench::quick_seconds(where_, own_.config(config.name, b, c), best, 3.0);
          best = std::min(best, seconds);
          ranking.emplace_back(seconds, config.name);
        } catch (const error& e) {
          if (bench::is_fatal(e)) throw;  // others are not made for such a product, or for so little memory
        }
      }
    }
    std::ranges::sort(ranking);
    for (std::size_t i = 0; i < std::min(num_configs, ranking.size()); ++i) {
      enter(contender{.name = ranking[i].second, .ready = own_.config_prepared(ranking[i].second, b, c)});
    }
    json swept = json::object();
    for (const auto& [seconds, config] : ranking) swept[config] = bench::in_five_digits(seconds);
    return swept;
  }

  /// The quickest of those that the plan is held against, in the layout of the operands.
  template <class Enter>
  void enter_rivals(dense_view<const T> b, dense_view<T> c, const Enter& enter) const {
    std::vector<std::pair<double, contender>> ranking;
    double best = std::numeric_limits<double>::infinity();
    for (const bench::rival<T>& r : rivals_) {
      if (r.group != main_group_ || r.thorough || !r.bounded || !r.computes(b.cols)) continue;
      try {
        contender it{.name = r.name, .ours = false, .ready = r.prepare(b, c)};
        const double seconds = bench::quick_seconds(where_, it.ready.start, best, 3.0);
        best = std::min(best, seconds);
        ranking.emplace_back(seconds, std::move(it));
      } catch (const error& e) {
        if (bench::is_fatal(e)) throw;
      }
    }
    std::ranges::sort(ranking, {}, [](const auto& ranked) { return ranked.first; });
    if (ranking.size() > num_rivals) ranking.erase(ranking.begin() + num_rivals, ranking.end());
    for (auto& [seconds, it] : ranking) enter(std::move(it));
  }

  /// The fastest of our products, or of the rivals, in this timing; null if there is none.
  static const contender* fastest(const std::vector<contender>& all, bool ours, bench::setting in) {
    const contender* best = nullptr;
    for (const contender& c : all) {
      if (c.ours == ours && (best == nullptr || c.times[in].median < best->times[in].median)) best = &c;
    }
    return best;
  }

  json judged(std::int64_t n, const std::vector<contender>& all, const std::vector<outcome>& outcomes, json swept,
              std::vector<tally>& total, const std::string& name) const {
    json told{{"cols", n}, {"type", to_string(value_type_of<T>)}, {"swept", std::move(swept)}, {"failures", failures_}};
    json& products = told["products"] = json::array();
    for (const contender& c : all) {
      json one{{"name", c.name}, {"ours", c.ours}, {"m_block", c.ready.m_block}};
      for (const bench::setting in : bench::all_settings) {
        one[std::string(to_string(in))] = bench::to_json(std::optional(c.times[in]));
      }
      products.push_back(std::move(one));
    }
    const contender* const best = fastest(all, true, bench::setting::warm);
    told["best"] = best == nullptr ? json(nullptr) : json(best->name);
    json& efforts = told["efforts"] = json::array();
    std::string line = fmt::format("{:<36.36} {:>4} {}", name, n, to_string(value_type_of<T>));
    line += best == nullptr ? fmt::format(" {:>9} us", "-")
                            : fmt::format(" {:>9.2f} us", 1e6 * best->times[bench::setting::warm].median);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const outcome& o = outcomes[i];
      json one{{"effort", to_string(o.kind)},
               {"product", o.product},
               {"make_seconds", o.make_seconds},
               {"trial_seconds", o.facts.trial_seconds},
               {"trial_setup_seconds", o.facts.trial_setup_seconds},
               {"tried", o.facts.trials.size()}};
      const auto chosen = std::ranges::find(all, o.product, &contender::name);
      if (chosen != all.end()) {
        const double ratio = chosen->times[bench::setting::warm].median / best->times[bench::setting::warm].median;
        one["over_best"] = ratio;
        const std::string where = fmt::format("{}, N = {}", name, n);
        total[i].best_over_chosen.push_back({1 / ratio, where});
        line += fmt::format(" {:>7.3f}", ratio);
        for (const bench::setting in : bench::all_settings) {
          const contender* const rival = fastest(all, false, in);
          if (rival == nullptr) continue;
          const double gain = rival->times[in].median / chosen->times[in].median;
          one[fmt::format("{}_ratio", to_string(in))] = gain;
          total[i].rival_over_chosen[in].push_back({gain, where});
          line += fmt::format(" {:>5.2f}", gain);
        }
      }
      efforts.push_back(std::move(one));
    }
    fmt::print("{}  {}\n", line, best == nullptr ? "" : best->name);
    std::fflush(stdout);
    return told;
  }

  bench::place& here_;
  bench::stage& where_;
  csr_view<T, std::int32_t> a_;
  bench::placed_csr<T> placed_;
  bench::own_kernels<T> own_;
  std::vector<bench::rival<T>> rivals_;
  std::string main_group_;
  json failures_;
  const options& wanted_;
};

double share_of_at_least(double ratio, const std::vector<bench::named_ratio>& ratios) {
  const auto kept = std::ranges::count_if(ratios, [&](const bench::named_ratio& r) { return r.ratio >= ratio; });
  return static_cast<double>(kept) / static_cast<double>(ratios.size());
}

json summary_of(const std::vector<tally>& total) {
  json summary = json::object();
  for (std::size_t i = 0; i < total.size(); ++i) {
    const tally& t = total[i];
    if (t.best_over_chosen.empty()) continue;
    const bench::ratio_summary of_best = bench::summarise_ratios(t.best_over_chosen);
    json& one = summary[std::string(to_string(all_efforts[i]))];
    one = {{"cases", of_best.num_cases},
           {"over_best", 1 / of_best.geometric_mean},
           {"within_10_percent", share_of_at_least(1 / 1.1, t.best_over_chosen)},
           {"worst", 1 / of_best.worst},
           {"worst_case", of_best.worst_case}};
    for (const bench::setting in : bench::all_settings) {
      const auto& ratios = t.rival_over_chosen[in];
      if (ratios.empty()) continue;
      const bench::ratio_summary against = bench::summarise_ratios(ratios);
      one[std::string(to_string(in))] = {{"cases", against.num_cases},
                                         {"geometric_mean", against.geometric_mean},
                                         {"at_least_0.97", share_of_at_least(0.97, ratios)},
                                         {"at_least_0.9", share_of_at_least(0.9, ratios)},
                                         {"worst", against.worst}};
    }
  }
  return summary;
}

void print(const json& summary) {
  for (const auto& [kind, one] : summary.items()) {
    fmt::print("{:<8} {} cases: {:.4f} times the best (geometric mean), {:.1f} % within 10 %, worst {:.2f} ({})\n",
               kind, one["cases"].get<std::size_t>(), one["over_best"].get<double>(),
               100 * one["within_10_percent"].get<double>(), one["worst"].get<double>(),
               one["worst_case"].get<std::string>());
    for (const bench::setting in : bench::all_settings) {
      const auto found = one.find(std::string(to_string(in)));
      if (found == one.end()) continue;
      fmt::print(
          "         {}: {:.2f} of the best rival's speed, {:.1f} % at least 0.97, {:.1f} % at least 0.9, worst "
          "{:.2f}\n",
          bench::describe(in), (*found)["geometric_mean"].get<double>(), 100 * (*found)["at_least_0.97"].get<double>(),
          100 * (*found)["at_least_0.9"].get<double>(), (*found)["worst"].get<double>());
    }
  }
}

int run(const options& wanted) {
  bench::place here = bench::open_place(wanted.device);
  std::unique_ptr<bench::rivals> others;
#if BCSC_BENCH_WITH_CUSPARSE
  if (wanted.rivals && here.ctx.kind() == backend::cuda) others = bench::open_cuda_rivals(*here.where);
#endif
  if (wanted.rivals && here.ctx.kind() == backend::cpu) others = bench::open_cpu_rivals(here.ctx.threads());
  if (others) others->describe(here.machine);
  bench::results_file results(schema, here.machine, wanted.out);
  json& document = results.document;
  document["seed"] = seed;
  document["main_rival"] = others ? others->main_group() : "";
  document["matrices"] = json::array();
  std::vector<tally> total(std::size(all_efforts));
  std::size_t failures = 0;
  fmt::print(
      "{}; {}\n{:<36} {:>4} type {:>9}    predict: over best, against the best rival back to back, one at a time, "
      "cold; check; search\n",
      here.machine.context, here.machine.git_hash, "matrix", "N", "best");
  results.for_each_matrix(wanted.matrices, seed, wanted.max_seconds, [&](const bench::loaded_matrix& m) {
    json found = bench::to_json(bench::facts_of(m));
    found["cases"] = found["remembering"] = json::array();
    results.for_each_type(m, wanted.types, [&]<class T>(const csr_matrix<T>& a) {
      effort_matrix<T> matrix(here, others.get(), a, wanted);
      found["remembering"].push_back(matrix.remembering(wanted.cols.front()));
      for (const std::int64_t n : wanted.cols) {
        if (results.seconds() > wanted.max_seconds) continue;
        if (static_cast<double>(a.nnz()) * static_cast<double>(n) > wanted.max_products) continue;
        found["cases"].push_back(matrix.run(n, total, m.from.name));
        failures += found["cases"].back()["failures"].size();
      }
    });
    document["matrices"].push_back(std::move(found));
    document["summary"] = summary_of(total);
  });
  print(summary_of(total));
  fmt::print("written: {} ({:.0f} s); wrong: {}\n", results.write().string(), results.seconds(), failures);
  return failures == 0 ? bench::exit_done : bench::exit_not_met;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What the choice of a kernel costs: each effort's plan beside the best config and the best rival"};
  options wanted;
  bench::add_matrices(app, wanted.matrices);
  bench::add_device(app, wanted.device);
  bench::add_list(app, "--cols", wanted.cols, "Values of N", CLI::PositiveNumber);
  bench::add_list(app, "--type", wanted.types, "Value types", CLI::IsMember({"fp32", "fp64", "fp16", "bf16"}));
  app.add_option("--rounds", wanted.rounds, "Samples of each product in each timing")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("!--no-rivals", wanted.rivals, "Our own kernels only");
  app.add_option("--limit", wanted.max_seconds, "Begins nothing after this many seconds");
  app.add_option("--max-products", wanted.max_products, "Passes over an N of which non-zeros times N are more");
  app.add_option("--out", wanted.out, "JSON, written anew after each matrix")->capture_default_str();
  app.footer(
      "Exit status: 0, 3 a result was wrong, 77 no GPU here.\nExamples:\n"
      "  efforts elasticity:30,30,30 rmat:17,16,seed=1 --out efforts.json\n"
      "  efforts folder/of/matrices --device cpu --cols 8,32 --max-products 1e8");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("efforts", [&] { return run(wanted); });
}
