#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bcsc/registry.hpp"
#include "bench/fit_cases.hpp"
#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "lib/choice/built_in_costs.hpp"
#include "lib/choice/kept_costs.hpp"
#include "lib/choice/known_costs.hpp"
#include "lib/tune/fit_costs.hpp"
#include "lib/tune/needed_configs.hpp"
#include "lib/tune/relatives.hpp"

/// Fits what each config costs (lib/choice/cost_terms.hpp) to times that config_times has taken, on two thirds of the
/// matrices, says how good a choice it makes on these and on the others, and writes files for lib/choice/costs. On a
/// GPU configs of a value type that none of the files holds keep the costs that they have, CPUs of other kinds keep
/// theirs. The fit is lib/tune/fit_costs.hpp's.
namespace {

using namespace bcsc;
using bench::operand;
using bench::types;
using choice::cpu_kind;
using choice::estimate;
using choice::kept_costs;
using tuning::config_key;
using tuning::fastest_config;
using tuning::fitted;
using tuning::fitted_on_cpu;
using tuning::timed_case;
using tuning::timing;
using json = nlohmann::json;

/// Those of `matrices`.
std::vector<timed_case> cases_of(const std::vector<timed_case>& cases, const std::set<std::string>& matrices) {
  std::vector<timed_case> some;
  std::ranges::copy_if(cases, std::back_inserter(some),
                       [&](const timed_case& c) { return matrices.contains(c.matrix); });
  return some;
}

constexpr double near_the_fastest = 1.1;

struct quality {
  double log_loss = 0, worst = 1, log_ratio = 0, worst_ratio = 1e9;
  int cases = 0, near = 0, ratios = 0, losses = 0;
  int within_doubt = 0, within_twice = 0;  ///< cases whose time was not further off than the prediction said
};

/// By vector instructions and threads.
using fitted_on_cpus = std::map<cpu_kind, fitted_on_cpu>;

fitted_on_cpu known_of(const choice::cost_table& costs) {
  fitted_on_cpu known;
  for (const choice::cpu_family& family : costs.families)
    known.families[tuning::key_of(family)] = {family.min_us, family.us};
  known.configs.assign(costs.cpu_configs.begin(), costs.cpu_configs.end());
  known.cases.assign(costs.cases.begin(), costs.cases.end());
  return known;
}

fitted_on_cpu known_of(const kept_costs& kept) {
  return known_of(choice::cost_table{
      .origin = {}, .families = kept.families, .cpu_configs = kept.cpu_configs, .cases = kept.cases});
}

/// What the library has.
fitted_on_cpus built_in_on_cpus() {
  fitted_on_cpus known;
  for (const cpu_kind& kind : choice::measured_cpus())
    known[kind] = known_of(choice::built_in(choice::file_name(kind)));
  return known;
}

/// The same, but for this machine's CPU what its plans with so many threads choose by.
fitted_on_cpus calibrated_on_cpus(int threads) {
  static const context ctx = context::cpu(threads);  // owns the costs
  const choice::cost_table& costs = choice::costs_on(ctx);
  fmt::print("{}\n", costs.origin);
  fitted_on_cpus known = built_in_on_cpus();
  for (auto& [kind, of] : known) {
    if (kind.isa == core::best_cpu_isa()) of = known_of(costs);
  }
  return known;
}

kept_costs kept_of(const cpu_kind& kind, const fitted_on_cpu& known) {
  kept_costs kept;
  kept.machine = fmt::format("CPUs with {} by {} threads", core::to_string(kind.isa), kind.threads);
  for (const auto& [key, costs] : known.families) {
    const std::size_t dash = key.second.find("-m");
    kept.families.push_back(
        {key.second.substr(0, dash), std::stoi(key.second.substr(dash + 2)), costs.min_us, costs.us});
  }
  kept.cpu_configs = known.configs;
  kept.cases = known.cases;
  return kept;
}

std::map<cpu_kind, std::vector<timed_case>> by_cpu(const std::vector<timed_case>& cases) {
  std::map<cpu_kind, std::vector<timed_case>> by_kind;
  for (const timed_case& c : cases) by_kind[{c.isa, c.threads}].push_back(c);
  return by_kind;
}

/// us of a config in a case; infinite where it has no costs.
constexpr estimate no_estimate{tuning::unknown_us};
using prediction = std::function<estimate(const timing&)>;
using predictor = std::function<prediction(const timed_case&)>;

predictor by_config(std::span<const choice::measured_config> known, std::span<const choice::measured_case> cases) {
  std::map<config_key, std::pair<const choice::measured_config*, std::size_t>> configs;
  std::map<value_type, std::size_t> of_type;
  for (const choice::measured_config& config : known) {
    configs.emplace(config_key{config.type, config.name}, std::pair(&config, of_type[config.type]++));
  }
  return [cases, configs](const timed_case& c) {
    const choice::neighbours near(cases, c.type, c.shape);
    return [&configs, near, type = c.type](const timing& t) {
      const auto config = configs.find({type, t.config->name});
      if (config == configs.end()) return no_estimate;
      const auto& [costs, index] = config->second;
      return choice::corrected(choice::us_by_terms(costs->min_us, costs->us, t.terms), near.correct(index));
    };
  };
}

predictor by_family(const fitted_on_cpus& of_cpus) {
  return [&of_cpus](const timed_case& c) {
    const fitted_on_cpu& known = of_cpus.at({c.isa, c.threads});
    const choice::neighbours near(known.cases, c.type, c.shape);
    return [&known, &c, near](const timing& t) {
      const auto place = choice::place_of(*t.config, c.cols, known.configs);
      return choice::corrected(known.us_of(c.type, *t.config, c.cols, t.terms),
                               place ? near.correct(*place) : choice::correction{});
    };
  };
}

quality judge(const std::vector<timed_case>& cases, const predictor& predict, const std::set<std::string>& matrices,
              bool inside, value_type type, bool tell) {
  quality q;
  for (const timed_case& c : cases) {
    if (c.type != type || matrices.contains(c.matrix) != inside) continue;
    const prediction estimate_of = predict(c);
    const timing* chosen = nullptr;
    estimate least = no_estimate;
    for (const timing& t : c.timings) {
      if (t.config->rounds_values) continue;
      const estimate one = estimate_of(t);
      if (one.time >= least.time) continue;
      chosen = &t;
      least = one;
    }
    if (chosen == nullptr) continue;
    const double loss = chosen->us / c.fastest;
    ++q.cases;
    q.log_loss += std::log(loss);
    q.worst = std::max(q.worst, loss);
    q.near += loss <= near_the_fastest;
    const double off = std::abs(std::log(chosen->us / least.time));
    q.within_doubt += off <= least.doubt;
    q.within_twice += off <= 2 * least.doubt;
    const bool is_behind = c.rival < 0.97 * chosen->us;
    if (tell && (loss > near_the_fastest || is_behind)) {
      fmt::print("  {:.2f}  {} N = {} {}: {} ({:.1f} us), fastest {}{}\n", loss, c.matrix, c.cols, to_string(c.type),
                 chosen->config->name, chosen->us, fastest_config(c).config->name,
                 is_behind ? fmt::format(", cuSPARSE {:.1f}", c.rival) : "");
    }
    if (std::isinf(c.rival)) continue;
    ++q.ratios;
    q.log_ratio += std::log(c.rival / chosen->us);
    q.worst_ratio = std::min(q.worst_ratio, c.rival / chosen->us);
    q.losses += is_behind;
  }
  return q;
}

void print(value_type type, const char* what, const quality& q) {
  if (q.cases == 0) return;
  const auto percent = [&](int some) { return fmt::format("{:.0f} %", 100.0 * some / q.cases); };
  fmt::print(
      "{}, {}: {} cases, {:.3f} times the fastest config ({} within 10 %, worst {:.2f}), within the doubt {}, twice {}",
      to_string(type), what, q.cases, std::exp(q.log_loss / q.cases), percent(q.near), q.worst, percent(q.within_doubt),
      percent(q.within_twice));
  if (q.ratios > 0) {
    fmt::print("; cuSPARSE {:.3f} times ours (worst {:.2f}, below 0.97: {})", std::exp(q.log_ratio / q.ratios),
               q.worst_ratio, q.losses);
  }
  fmt::print("\n");
}

/// In coarser steps residuals compress better. How far a slow config is behind the fastest hardly matters, as long as
/// rounding does not make it look fast.
char coarse(char residual, double behind) {
  constexpr double near = 1.3;
  const int step = behind <= 1.2 ? 3 : behind <= 1.6 ? 9 : 46;  // 7 %, 22 %, a factor of e
  const char told = choice::rounded(residual, step), next = static_cast<char>(told + step);
  const double seems = behind * std::exp(choice::log_of(told) - choice::log_of(residual));
  return behind > near && seems < near && choice::is_residual(next) ? next : told;
}

void coarsen(std::vector<choice::measured_case>& known, std::span<const choice::measured_config> configs,
             std::span<const timed_case> cases) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    auto residual = known[i].residuals.begin();
    for (const choice::measured_config& config : configs) {
      if (config.type != known[i].type) continue;
      const timing* const timed = tuning::timing_of(cases[i], config);
      *residual = coarse(*residual, timed == nullptr ? 1 : timed->us / cases[i].fastest);
      ++residual;
    }
  }
}

/// Keeps what is known of the types that nothing was fitted to.
void keep_the_others(std::vector<choice::measured_config>& known, std::vector<choice::measured_case>& cases,
                     std::span<const choice::measured_config> built_in,
                     std::span<const choice::measured_case> built_in_cases) {
  std::set<value_type> of;
  for (const choice::measured_config& config : known) of.insert(config.type);
  const auto is_left = [&](const auto& one) { return !of.contains(one.type); };
  std::ranges::copy_if(built_in, std::back_inserter(known), is_left);
  std::ranges::copy_if(built_in_cases, std::back_inserter(cases), is_left);
}

kept_costs learn_on_gpu(const std::vector<timed_case>& cases, const std::vector<timed_case>& cases_in_place) {
  fitted row_major = tuning::learn(cases), in_place = tuning::learn(cases_in_place);
  coarsen(row_major.cases, row_major.configs, cases);
  coarsen(in_place.cases, in_place.configs, cases_in_place);
  const kept_costs& before = choice::built_in(choice::h200_file);
  keep_the_others(row_major.configs, row_major.cases, before.configs, before.cases);
  keep_the_others(in_place.configs, in_place.cases, before.configs_in_place, before.cases_in_place);
  kept_costs kept;
  kept.machine = before.machine;
  kept.configs = std::move(row_major.configs);
  kept.configs_in_place = std::move(in_place.configs);
  kept.cases = std::move(row_major.cases);
  kept.cases_in_place = std::move(in_place.cases);
  return kept;
}

/// Plans count on it: where a kernel's costs stand is looked up once for all CPUs with the same instructions.
void require_same_configs(const fitted_on_cpus& of_cpus) {
  std::map<core::cpu_isa, std::string> of_isa;
  for (const auto& [kind, known] : of_cpus) {
    std::string names;
    for (const auto& [key, costs] : known.families) names += key.second + "\n";
    for (const choice::cpu_config& c : known.configs) {
      names += fmt::format("{} {} {} {}\n", to_string(c.type), c.algorithm, c.m_tile, c.n_tile);
    }
    if (of_isa.try_emplace(kind.isa, names).first->second != names) {
      core::fail(errc::invalid_argument, "{} was measured with other configs than the others", choice::file_name(kind));
    }
  }
}

/// The command, with files as they lie in bench/results.
std::string origin(const std::vector<std::string>& files, unsigned seed) {
  std::string text = fmt::format("bench/fit_choice --seed {}", seed);
  for (const std::filesystem::path file : files) {
    text += " " + (file.parent_path().filename() / file.filename()).string();
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fits what each config costs to what config_times has measured"};
  std::vector<std::string> files, to_learn, fresh, algorithms;
  std::string out, device = "cuda";
  unsigned seed = 1;
  bool tell = false, as_it_is = false;
  int calibrated_threads = 0;
  std::size_t max_bytes = choice::max_kept_bytes;
  double most_loss = 0.09;
  app.add_option("--most-loss", most_loss,
                 "A GPU's configs that no product misses by more than this share get no costs")
      ->capture_default_str();
  app.add_option("FILE", files, "Output of config_times")->required()->check(CLI::ExistingFile);
  app.add_option("--learn", to_learn, "Output of config_times on matrices that are all fitted to, and judge nothing")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  app.add_option("--fresh", fresh, "Output of config_times on matrices that nothing is fitted to, judged by themselves")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  app.add_option("--device", device, "Where it was measured")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--algorithm", algorithms,
                 "Whose configs (rowwise,sliced,fma,mma,staged,wgmma or rows,blocks,columns,slices)")
      ->delimiter(',');
  app.add_option("--seed", seed, "Draws the two thirds of the matrices that are fitted to; 0: all")
      ->capture_default_str();
  app.add_option("--out", out, "The folder of the files, e.g. lib/choice/costs")->check(CLI::ExistingDirectory);
  app.add_option("--max-bytes", max_bytes, "Of a file: what it cannot hold is not judged either")
      ->capture_default_str();
  app.add_flag("--tell", tell, "Names the cases where more than 10 % is lost, and those behind cuSPARSE");
  app.add_flag("--as-it-is", as_it_is, "Judges the costs that the library has, and fits nothing");
  app.add_option("--as-calibrated", calibrated_threads,
                 "On a CPU: judges what bcsc calibrate has found on this machine with so many threads")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const backend where = device == "cpu" ? backend::cpu : backend::cuda;
    if (algorithms.empty()) {
      algorithms = where == backend::cpu
                       ? std::vector<std::string>{"rows", "blocks", "columns", "slices"}
                       : std::vector<std::string>{"rowwise", "sliced", "fma", "mma", "staged", "wgmma"};
    }
    std::set<std::string> learned, judged;
    std::vector<json> documents = bench::read_documents(files);
    for (json& document : bench::read_documents(to_learn)) {
      for (const json& m : document.at("matrices")) learned.insert(m.at("name"));
      documents.push_back(std::move(document));
    }
    const std::vector<json> of_fresh = bench::read_documents(fresh);
    const auto fresh_cases = [&](operand b) { return bench::read_cases(of_fresh, where, algorithms, b); };
    files.insert(files.end(), to_learn.begin(), to_learn.end());
    const std::vector<timed_case> cases = bench::read_cases(documents, where, algorithms, operand::row_major);
    const std::vector<timed_case> cases_in_place = bench::read_cases(documents, where, algorithms, operand::in_place);
    for (const auto* some : {&cases, &cases_in_place}) {
      for (const timed_case& c : *some) {
        if (!learned.contains(c.matrix)) judged.insert(c.matrix);
      }
    }
    std::vector<std::string> order(judged.begin(), judged.end());
    std::mt19937 random(seed);  // std::shuffle is not the same everywhere
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    if (seed != 0) order.resize((2 * order.size() + 2) / 3);
    std::set<std::string> seen(order.begin(), order.end());
    seen.insert(learned.begin(), learned.end());
    std::map<std::string, std::string> made;  // files, by name
    // What the library will know is judged: with the cases that fit a file.
    const auto as_kept = [&](std::string_view name, kept_costs kept) {
      kept.from = origin(files, seed);
      return choice::read_file(made[std::string(name)] = choice::file_of(kept, max_bytes));
    };
    const auto learned_cases = [&](const std::vector<timed_case>& all) {
      return tuning::with_relatives(tuning::with_needed_configs(cases_of(all, seen), most_loss));
    };
    fitted_on_cpus on_cpus;
    kept_costs on_gpu;
    if (where == backend::cpu) {
      on_cpus = calibrated_threads > 0 ? calibrated_on_cpus(calibrated_threads) : built_in_on_cpus();
      if (calibrated_threads == 0 && !as_it_is) {
        for (const auto& [kind, some] : by_cpu(cases_of(cases, seen))) {
          on_cpus[kind] = known_of(as_kept(choice::file_name(kind), kept_of(kind, tuning::learn_on_cpu(some))));
        }
      }
      if (!out.empty()) require_same_configs(on_cpus);
    } else if (as_it_is) {
      on_gpu = choice::built_in(choice::h200_file);
    } else {
      on_gpu = as_kept(choice::h200_file, learn_on_gpu(learned_cases(cases), learned_cases(cases_in_place)));
    }
    fmt::print("{} matrices and {} to learn from\n", judged.size(), learned.size());
    const auto tell_of = [&](const char* b, const std::vector<timed_case>& some,
                             const std::vector<timed_case>& fresh_ones, const predictor& fit) {
      fmt::print("B {}: {} cases\n", b, some.size());
      for (const value_type type : types) {
        print(type, seed != 0 ? "what was fitted to" : "all", judge(some, fit, seen, true, type, tell));
        print(type, "the others", judge(some, fit, seen, false, type, tell));
        print(type, "fresh", judge(fresh_ones, fit, {}, false, type, tell));
      }
    };
    const predictor fit = where == backend::cpu ? by_family(on_cpus) : by_config(on_gpu.configs, on_gpu.cases);
    tell_of("row-major", cases, fresh_cases(operand::row_major), fit);
    if (where == backend::cuda) {
      tell_of("column-major, in place", cases_in_place, fresh_cases(operand::in_place),
              by_config(on_gpu.configs_in_place, on_gpu.cases_in_place));
    }
    for (const auto& [name, file] : made) {
      fmt::print("{}: {} bytes\n", name, file.size());
      if (!out.empty()) core::replace_whole("costs", std::filesystem::path(out) / (name + ".gz"), file);
    }
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fit_choice: {}\n", e.what());
    return 1;
  }
}
