#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/registry.hpp"
#include "bench/harness/check.hpp"
#include "bench/harness/contender.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/machine.hpp"
#include "bench/harness/own_kernels.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/program_options.hpp"
#include "bench/harness/read_results.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/stage.hpp"
#include "bench/harness/timing.hpp"
#include "core/fail.hpp"
#include "core/new_file.hpp"

/// The CPU plan beside Eigen and MKL, row-major. Everything is checked against a reference in higher precision before
/// it is timed; then all take turns, so that whatever else the machine does affects them alike.
namespace {

using namespace bcsc;
using bench::launch;
using json = nlohmann::ordered_json;

constexpr std::uint64_t seed = 1;
constexpr std::array rival_groups{"eigen", "mkl", "mkl-mv"};
constexpr std::string_view schema = "bcsc-cpu-peers-1";

constexpr int min_rounds = 3;

struct options {
  std::string mkl, out;
  int threads = 0, rounds = 11;
  double max_seconds = std::numeric_limits<double>::infinity();
  bool configs = false;
  workers whose = workers::openmp;
  std::int64_t min_nnz = 20000;
  std::vector<std::int64_t> cols = {1, 8, 32, 128};
  std::vector<std::string> types = {"fp32", "fp64"}, matrices;
};

/// One way to compute the product.
struct contender {
  std::string name, group;
  bench::prepared ready;
  double prepare_seconds = 0;
  bench::accuracy accuracy;
  std::vector<double> seconds;  ///< of one product, a sample each
  std::int64_t launches = 1;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds_of(const launch& work, std::int64_t count) {
  const double begin = now();
  for (std::int64_t i = 0; i < count; ++i) work();
  return now() - begin;
}

/// A sample is as many products as take this long.
constexpr double sample_seconds = 2e-3;

/// Waits until the last contender's threads have stopped spinning, which would slow those of the next, and wakes these.
void change_threads(const contender& next) {
  constexpr std::chrono::milliseconds to_sleep{25};
  constexpr double to_wake = 1e-3;
  std::this_thread::sleep_for(to_sleep);
  for (const double begin = now(); now() - begin < to_wake;) next.ready.start();
}

/// Each takes one sample after the other, `rounds` times around, or as often as `seconds` allow, but at least
/// min_rounds times. A short one follows an untimed product, since the others have used the cache.
void take_turns(std::vector<contender>& all, int rounds, double seconds, bool other_threads) {
  double round_seconds = 0;
  for (contender& c : all) {
    if (other_threads) change_threads(c);
    const double first = seconds_of(c.ready.start, 1);
    const double once = std::max(1e-7, first > 20 * sample_seconds ? first : seconds_of(c.ready.start, 2) / 2);
    c.launches = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(sample_seconds / once)));
    round_seconds += once * static_cast<double>(c.launches + (c.launches > 1));
  }
  if (rounds * round_seconds > seconds) {
    rounds = std::max(std::min(rounds, min_rounds), static_cast<int>(seconds / round_seconds));
  }
  for (int round = 0; round < rounds; ++round) {
    for (contender& c : all) {
      if (other_threads) change_threads(c);
      if (c.launches > 1) c.ready.start();
      c.seconds.push_back(seconds_of(c.ready.start, c.launches) / static_cast<double>(c.launches));
    }
  }
}

json to_json(const contender& c) {
  const bench::time_statistics t = bench::summarise(c.seconds, c.launches);
  json j = {{"name", c.name},
            {"group", c.group},
            {"median", t.median},
            {"min", t.min},
            {"p10", t.p10},
            {"p90", t.p90},
            {"samples", t.num_samples},
            {"launches_per_sample", t.launches_per_sample},
            {"prepare_seconds", c.prepare_seconds},
            {"bound_share", c.accuracy.max_bound_share}};
  if (!c.ready.kernel.empty()) {
    j["kernel"] = c.ready.kernel;
    j["m_block"] = c.ready.m_block;
  }
  return j;
}

struct peers {
  std::vector<std::unique_ptr<bench::rivals>> libraries;
};

/// Non-empty columns at the block heights of the kernel tables.
json non_empty_columns(const csr_matrix<double>& a) {
  std::set<std::int64_t> heights;
  for (const kernel_info& config : kernel_table(backend::cpu, value_type::fp64)) heights.insert(config.m_tile);
  const std::vector<std::int64_t> m_blocks(heights.begin(), heights.end());
  json counts = json::object();
  for (const block_statistics& s : analyse_blocks(a.view(), m_blocks)) counts[std::to_string(s.m_block)] = s.nnzc;
  return counts;
}

/// The least median of a case's entries in `group`; 0 if there is none.
double best_of(const json& c, std::string_view group) {
  double best = 0;
  for (const json& e : c["entries"]) {
    if (e["group"] == group && (best == 0 || e["median"] < best)) best = e["median"];
  }
  return best;
}

/// `seconds`: for the samples.
template <value T>
json measure_case(const context& ctx, bench::stage& where, peers& others, const options& o, const std::string& name,
                  const csr_view<T, std::int32_t>& a, std::int64_t cols, double seconds) {
  const bench::stage_array<T> b_data(where, a.cols * cols), c_data(where, a.rows * cols);
  const dense_view<T> b(b_data.data(), a.cols, cols), c(c_data.data(), a.rows, cols);
  bench::fill_seeded<T>(b, seed);
  const bench::expectation<T> expected(a, b);

  json failures = json::array();
  const auto admit = [&](std::vector<contender>& to, contender it, const std::function<bench::prepared()>& prepare) {
    try {
      const double begin = now();
      it.ready = prepare();
      it.prepare_seconds = now() - begin;
      where.poison(c_data.data(), c_data.bytes());
      it.ready.start();
    } catch (const error& e) {
      if (e.code() != errc::unsupported) throw;
      return;
    }
    it.accuracy = expected.compare(dense_view<const T>(c));
    if (it.accuracy.passed()) {
      to.push_back(std::move(it));
    } else {
      failures.push_back({{"name", it.name}, {"message", it.accuracy.describe(a.rows * cols)}});
    }
  };

  bench::own_kernels<T> ours(ctx, where, a, a);
  std::vector<contender> contenders, configs;
  admit(contenders, {.name = "plan", .group = "plan"}, [&] { return ours.chosen(b, c); });
  const bench::problem<T> task{a, a};
  for (const auto& library : others.libraries) {
    for (const auto& rival : library->on(task)) {
      if (rival.group == "reference" || !rival.computes(cols)) continue;
      admit(contenders, {.name = rival.name, .group = rival.group}, [&] { return rival.prepare(b, c); });
    }
  }
  take_turns(contenders, o.rounds, seconds, o.whose == workers::own);
  if (o.configs) {
    for (const auto& algorithm : ours.configs_by_algorithm(false)) {
      for (const kernel_info& config : algorithm) {
        // Tiles wider than the narrowest that holds all columns do the same work.
        const bool is_wide = std::ranges::any_of(algorithm, [&](const kernel_info& other) {
          return other.m_tile == config.m_tile && other.n_tile < config.n_tile && other.n_tile >= cols;
        });
        if (is_wide) continue;
        admit(configs, {.name = config.name, .group = "config"},
              [&] { return ours.config_from_host(config.name, b, c); });
      }
    }
    take_turns(configs, min_rounds, seconds, false);
  }

  json result = {{"matrix", name}, {"cols", cols}, {"type", to_string(value_type_of<T>)}, {"nnz", a.nnz()}};
  json entries = json::array();
  for (const contender& it : contenders) entries.push_back(to_json(it));
  for (const contender& it : configs) entries.push_back(to_json(it));
  result["entries"] = std::move(entries);
  result["failures"] = std::move(failures);
  for (const char* group : rival_groups) {
    const double plan = best_of(result, "plan"), other = best_of(result, group);
    if (plan > 0 && other > 0) result[fmt::format("{}_over_plan", group)] = other / plan;
  }
  return result;
}

std::string key_of(const json& c) {
  return fmt::format("{} N={} {}", c["matrix"].get<std::string>(), c["cols"].get<std::int64_t>(),
                     c["type"].get<std::string>());
}

void print_case(const json& c) {
  const double flops = 2 * c["nnz"].get<double>() * c["cols"].get<double>();
  const auto gflops = [&](const char* group) {
    const double seconds = best_of(c, group);
    return seconds > 0 ? fmt::format("{:8.2f}", flops / seconds * 1e-9) : fmt::format("{:>8}", "-");
  };
  const auto ratio = [&](const char* key) {
    return c.contains(key) ? fmt::format("{:6.2f}", c[key].get<double>()) : fmt::format("{:>6}", "-");
  };
  std::string kernel, best_config;
  double least = 0;
  for (const json& e : c["entries"]) {
    if (e["group"] == "plan") kernel = e["kernel"];
    if (e["group"] == "config" && (least == 0 || e["median"] < least)) {
      least = e["median"];
      best_config = fmt::format("  best {} {:.2f}", e["name"].get<std::string>(), best_of(c, "plan") / least);
    }
  }
  fmt::print("{:<34.34} {:>4} {} | {} {:<18} | {} {} | {} {}{}\n", c["matrix"].get<std::string>(),
             c["cols"].get<std::int64_t>(), c["type"].get<std::string>(), gflops("plan"), kernel, gflops("eigen"),
             ratio("eigen_over_plan"), gflops("mkl"), ratio("mkl_over_plan"), best_config);
  for (const json& f : c["failures"]) {
    fmt::print("  FAILED: {}: {}\n", f["name"].get<std::string>(), f["message"].get<std::string>());
  }
  std::fflush(stdout);
}

/// Geometric mean, worst and shares of `key` over the cases that `keep` keeps.
template <class Keep>
json summarise(const json& cases, const std::string& key, const Keep& keep) {
  double log_sum = 0, worst = 0;
  std::int64_t count = 0, below_one = 0, below_08 = 0;
  std::string worst_case;
  for (const json& c : cases) {
    if (!c.contains(key) || !keep(c)) continue;
    const double ratio = c[key];
    log_sum += std::log(ratio);
    below_one += ratio < 1;
    below_08 += ratio < 0.8;
    if (count++ == 0 || ratio < worst) {
      worst = ratio;
      worst_case = key_of(c);
    }
  }
  if (count == 0) return nullptr;
  return {{"cases", count},
          {"geometric_mean", std::exp(log_sum / static_cast<double>(count))},
          {"worst", worst},
          {"worst_case", worst_case},
          {"share_below_1", static_cast<double>(below_one) / static_cast<double>(count)},
          {"share_below_0.8", static_cast<double>(below_08) / static_cast<double>(count)}};
}

json summarise(const json& cases) {
  std::map<std::pair<std::string, std::int64_t>, bool> kinds;
  for (const json& c : cases) kinds[{c["type"], c["cols"]}] = true;
  json summary = json::object();
  for (const char* group : rival_groups) {
    const std::string key = fmt::format("{}_over_plan", group);
    json of_group = {{"all", summarise(cases, key, [](const json&) { return true; })}};
    for (const auto& [kind, unused] : kinds) {
      const auto& [type, cols] = kind;
      of_group[fmt::format("{} N={}", type, cols)] = summarise(
          cases, key, [&, type = type, cols = cols](const json& c) { return c["type"] == type && c["cols"] == cols; });
    }
    summary[group] = std::move(of_group);
  }
  return summary;
}

void print_summary(const json& summary) {
  for (const auto& [group, of_group] : summary.items()) {
    for (const auto& [kind, s] : of_group.items()) {
      if (s.is_null()) continue;
      fmt::print(
          "{:>5} / plan, {:<11} geometric mean {:.2f} over {} cases; below 1: {:.0f} %, below 0.8: {:.0f} %; "
          "worst {:.2f} ({})\n",
          group, kind, s["geometric_mean"].get<double>(), s["cases"].get<int>(), 100 * s["share_below_1"].get<double>(),
          100 * s["share_below_0.8"].get<double>(), s["worst"].get<double>(), s["worst_case"].get<std::string>());
    }
  }
}

/// The whole in two lines.
void print_verdict(const json& cases, const json& left_out) {
  const auto of = [&](std::string_view type) {
    return summarise(cases, "eigen_over_plan", [&](const json& c) { return type.empty() || c["type"] == type; });
  };
  const auto mean = [&](std::string_view type) {
    const json s = of(type);
    return s.is_null() ? std::string("-") : fmt::format("{:.2f}", s["geometric_mean"].get<double>());
  };
  const json all = of("");
  if (all.is_null()) {
    fmt::print("no case was compared with Eigen\n");
  } else {
    fmt::print("Eigen's time over the plan's: geometric mean {} over {} cases (fp32 {}, fp64 {})\n", mean(""),
               all["cases"].get<int>(), mean("fp32"), mean("fp64"));
  }
  fmt::print("worst {}; left out for want of time: {} cases\n",
             all.is_null()
                 ? "-"
                 : fmt::format("{:.2f} ({})", all["worst"].get<double>(), all["worst_case"].get<std::string>()),
             left_out.size());
}

json describe(const bench::machine_facts& m) {
  return {{"git_hash", m.git_hash},   {"library_version", m.library_version},
          {"compiler", m.compiler},   {"context", m.context},
          {"cpu_model", m.cpu_model}, {"num_cpus", m.num_cpus},
          {"threads", m.threads},     {"last_level_cache_bytes", m.caches.l3},
          {"versions", m.versions}};
}

/// What the file holds from before, if it was measured by the same build on the same machine.
json begin_results(const std::string& path, const json& machine) {
  const json fresh = {{"schema", schema},       {"machine", machine},         {"seed", seed},
                      {"dates", json::array()}, {"matrices", json::object()}, {"cases", json::array()}};
  if (path.empty() || core::is_written_directly(path)) return fresh;
  // What write_text() has found long has another name.
  const std::string file = std::filesystem::exists(path) ? path : path + ".gz";
  if (!std::filesystem::exists(file)) return fresh;
  json found = json::parse(bench::read_text(file));
  if (found["schema"] != schema || found["machine"] != machine) {
    core::fail(errc::invalid_argument, "--out {}: holds results of another build or machine", path);
  }
  return found;
}

void put_case(json& cases, json c) {
  const std::string key = key_of(c);
  for (json& old : cases) {
    if (key_of(old) == key) {
      old = std::move(c);
      return;
    }
  }
  cases.push_back(std::move(c));
}

/// Whether everything asked for was right.
bool measure_all(const context& ctx, const options& o) {
  const auto where = bench::make_cpu_stage(ctx.threads());
  peers others;
  others.libraries.push_back(bench::open_cpu_rivals(ctx.threads()));
  if (!o.mkl.empty()) others.libraries.push_back(bench::open_mkl_rivals(o.mkl, ctx.threads()));
  bench::machine_facts machine = bench::describe_machine(ctx);
  for (const auto& library : others.libraries) library->describe(machine);

  json results = begin_results(o.out, describe(machine));
  results["dates"].push_back(machine.date);
  fmt::print("{}; {}\n", machine.context, machine.git_hash);
  for (const auto& [name, version] : machine.versions) fmt::print("{}: {}\n", name, version);
  fmt::print(
      "{:<34} {:>4} type |   GFLOP/s of the plan       | Eigen's, over it | MKL's, over it (above 1: the plan "
      "is faster)\n",
      "matrix", "N");

  bool all_right = true;
  const double begin = now();
  const auto inputs = bench::expand_inputs(o.matrices);
  auto remaining = static_cast<std::int64_t>(inputs.size() * o.types.size() * o.cols.size());
  json left_out = json::array();
  const auto leave_out = [&](const std::string& name, std::string_view type, std::int64_t cols) {
    left_out.push_back(fmt::format("{} N={} {}", name, cols, type));
    fmt::print("left out, for the time is over: {}\n", left_out.back().get<std::string>());
    --remaining;
  };
  const auto run_case = [&]<value T>(const bench::loaded_matrix& m, const csr_matrix<T>& a, std::int64_t cols) {
    const double left = o.max_seconds - (now() - begin);
    if (left <= 0) {
      leave_out(m.from.name, to_string(value_type_of<T>), cols);
      return;
    }
    // Half of what is left, shared equally: matrices have to be read and results checked, too.
    const double seconds = 0.5 * left / static_cast<double>(remaining--);
    json c = measure_case<T>(ctx, *where, others, o, m.from.name, a.view(), cols, seconds);
    all_right = all_right && c["failures"].empty();
    print_case(c);
    put_case(results["cases"], std::move(c));
  };
  for (const bench::input& from : inputs) {
    if (now() - begin > o.max_seconds) {
      for (const std::string& type : o.types) {
        for (const std::int64_t cols : o.cols) leave_out(from.name, type, cols);
      }
      continue;
    }
    const auto pass_over = [&] { remaining -= static_cast<std::int64_t>(o.types.size() * o.cols.size()); };
    bench::loaded_matrix m;
    try {
      m = bench::load(from, seed);
    } catch (const error& e) {
      if (!from.from_folder) throw;
      fmt::print("passed over: {}: {}\n", from.name, e.what());
      pass_over();
      continue;
    }
    if (from.from_folder && m.a.nnz() <= o.min_nnz) {
      pass_over();
      continue;
    }
    results["matrices"][m.from.name] = {{"source", from.is_file ? from.name : from.source},
                                        {"rows", m.a.rows()},
                                        {"cols", m.a.cols()},
                                        {"nnz", m.a.nnz()},
                                        {"max_row", m.max_row},
                                        {"nnzc", non_empty_columns(m.a)},
                                        {"checksum", fmt::format("{:016x}", m.checksum)},
                                        {"seeded_values", m.seeded_values},
                                        {"pattern_class", m.pattern_class}};
    for (const std::string& type : o.types) {
      const auto all_widths = [&]<value T>(const csr_matrix<T>& a) {
        for (const std::int64_t cols : o.cols) run_case(m, a, cols);
      };
      type == "fp32" ? all_widths(cast<float, std::int32_t>(m.a)) : all_widths(m.a);
    }
    results["summary"] = summarise(results["cases"]);
    if (!o.out.empty() && !core::is_written_directly(o.out)) bench::write_text(results.dump(1) + '\n', o.out);
  }
  results["left_out"] = left_out;
  if (!o.out.empty()) bench::write_text(results.dump(1) + '\n', o.out);
  print_summary(summarise(results["cases"]));
  print_verdict(results["cases"], left_out);
  return all_right;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The plan beside Eigen and MKL on the CPU, row-major"};
  options o;
  bench::add_matrices(app, o.matrices);
  app.add_option("--mkl", o.mkl, "libmkl_rt, to compare with MKL");
  app.add_option("--threads", o.threads, "Of everybody; 0: all CPUs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--workers", o.whose,
                 "Whose threads the plan has; with own, each contender begins when the others' threads sleep")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, workers>{{"openmp", workers::openmp}, {"own", workers::own}}))
      ->default_str("openmp");
  bench::add_list(app, "--cols", o.cols, "Values of N", CLI::PositiveNumber);
  bench::add_list(app, "--types", o.types, "Value types", CLI::IsMember({"fp32", "fp64"}));
  app.add_option("--min-nnz,--least-nnz", o.min_nnz, "Passes over files in a folder with so few non-zeros")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "Samples of each")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option(
         "--seconds", o.max_seconds,
         "Of the whole run: where they are scarce, fewer samples, never under 3; cases that cannot begin in time "
         "are left out, and told")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--configs", o.configs, "Times every config of the kernel tables too, in 3 rounds of their own");
  app.add_option("--out", o.out, "JSON; what it holds of the same build stays, cases of the same name are replaced");
  app.footer(
      "Exit status: 0, 3 a result was wrong, 1 an error.\nExamples:\n"
      "  cpu_peers --seconds 85 --out peers.json bench/large.json folder/of/matrices\n"
      "  cpu_peers --mkl /path/to/libmkl_rt.so.3 --threads 2 --cols 1,8 wave.mtx.gz");
  CLI11_PARSE(app, argc, argv);
  return bench::run_program("cpu_peers", [&] {
    return measure_all(context::cpu(o.threads, o.whose), o) ? bench::exit_done : bench::exit_not_met;
  });
}
