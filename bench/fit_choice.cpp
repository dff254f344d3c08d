#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
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
#include "bench/harness/report.hpp"
#include "lib/plan/cpu_costs.hpp"
#include "lib/plan/known_costs.hpp"
#include "lib/plan/measured_costs.hpp"
#include "lib/plan/registry.hpp"
#include "lib/tune/fit_costs.hpp"

/// Fits what each config costs (lib/plan/cost_terms.hpp) to times that config_times has taken, on half of the matrices,
/// says how good a choice it makes on either half, and writes lib/plan/measured_costs.hpp, or with --device cpu
/// lib/plan/cpu_costs.hpp. On a GPU configs of a value type that none of the files holds keep the costs that they have.
/// The fit is lib/tune/fit_costs.hpp's.
namespace {

using namespace bcsc;
using bench::operand;
using bench::types;
using plan::estimate;
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

struct quality {
  double log_loss = 0, worst = 1, log_ratio = 0, worst_ratio = 1e9;
  int cases = 0, ratios = 0, losses = 0;
  int within_doubt = 0, within_twice = 0;  ///< cases whose time was not further off than the prediction said
};

/// By vector instructions and threads.
using cpu_kind = std::pair<core::cpu_isa, int>;
using fitted_on_cpus = std::map<cpu_kind, fitted_on_cpu>;

fitted_on_cpu known_of(std::span<const plan::cpu_family> families, std::span<const plan::cpu_config> configs,
                       std::span<const plan::measured_case> cases) {
  fitted_on_cpu known;
  for (const plan::cpu_family& family : families) known.families[tuning::key_of(family)] = {family.min_us, family.us};
  known.configs.assign(configs.begin(), configs.end());
  known.cases.assign(cases.begin(), cases.end());
  return known;
}

/// What the library has.
fitted_on_cpus built_in_on_cpus() {
  fitted_on_cpus known;
  for (const plan::cpu_measurements& of : plan::measured_on_cpus) {
    known[{of.isa, of.threads}] = known_of(of.families, of.configs, of.cases);
  }
  return known;
}

/// The same, but for this machine's CPU what its plans with so many threads choose by.
fitted_on_cpus calibrated_on_cpus(int threads) {
  static const context ctx = context::cpu(threads);  // owns the costs
  const plan::cost_table& costs = plan::costs_on(ctx);
  fmt::print("{}\n", costs.origin);
  fitted_on_cpus known = built_in_on_cpus();
  for (auto& [kind, of] : known) {
    if (kind.first == core::best_cpu_isa()) of = known_of(costs.families, costs.cpu_configs, costs.cases);
  }
  return known;
}

/// Of the CPUs that no case is from what is built in stays.
fitted_on_cpus learn_on_cpus(const std::vector<timed_case>& cases, const std::set<std::string>& matrices) {
  std::map<cpu_kind, std::vector<timed_case>> by_kind;
  for (const timed_case& c : cases_of(cases, matrices)) by_kind[{c.isa, c.threads}].push_back(c);
  fitted_on_cpus known = built_in_on_cpus();
  for (const auto& [kind, some] : by_kind) known[kind] = tuning::learn_on_cpu(some);
  return known;
}

/// us of a config in a case; infinite where it has no costs.
constexpr estimate no_estimate{tuning::unknown_us};
using prediction = std::function<estimate(const timing&)>;
using predictor = std::function<prediction(const timed_case&)>;

predictor by_config(const fitted& known) {
  std::map<config_key, std::pair<const plan::measured_config*, std::size_t>> configs;
  std::map<value_type, std::size_t> of_type;
  for (const plan::measured_config& config : known.configs) {
    configs.emplace(config_key{config.type, config.name}, std::pair(&config, of_type[config.type]++));
  }
  return [&known, configs](const timed_case& c) {
    const plan::neighbours near(known.cases, c.type, c.shape);
    return [&configs, near, type = c.type](const timing& t) {
      const auto config = configs.find({type, t.config->name});
      if (config == configs.end()) return no_estimate;
      const auto& [costs, index] = config->second;
      return plan::corrected(plan::us_by_terms(costs->min_us, costs->us, t.terms), near.correct(index));
    };
  };
}

predictor by_family(const fitted_on_cpus& of_cpus) {
  return [&of_cpus](const timed_case& c) {
    const fitted_on_cpu& known = of_cpus.at({c.isa, c.threads});
    const plan::neighbours near(known.cases, c.type, c.shape);
    return [&known, &c, near](const timing& t) {
      const auto place = plan::place_of(*t.config, c.cols, known.configs);
      return plan::corrected(known.us_of(c.type, *t.config, c.cols, t.terms),
                             place ? near.correct(*place) : plan::correction{});
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
    const double off = std::abs(std::log(chosen->us / least.time));
    q.within_doubt += off <= least.doubt;
    q.within_twice += off <= 2 * least.doubt;
    const bool is_behind = c.rival < 0.97 * chosen->us;
    if (tell && (loss > 1.15 || is_behind)) {
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
  fmt::print(
      "{}, {}: {} cases, {:.3f} times the fastest config (worst {:.2f}), within the doubt {:.0f} %, twice {:.0f} %",
      to_string(type), what, q.cases, std::exp(q.log_loss / q.cases), q.worst, 100.0 * q.within_doubt / q.cases,
      100.0 * q.within_twice / q.cases);
  if (q.ratios > 0) {
    fmt::print("; cuSPARSE {:.3f} times ours (worst {:.2f}, below 0.97: {})", std::exp(q.log_ratio / q.ratios),
               q.worst_ratio, q.losses);
  }
  fmt::print("\n");
}

/// Keeps what is known of the types that nothing was fitted to.
void keep_the_others(fitted& known, std::span<const plan::measured_config> configs,
                     std::span<const plan::measured_case> cases) {
  std::set<value_type> of;
  for (const plan::measured_config& config : known.configs) of.insert(config.type);
  const auto is_left = [&](const auto& one) { return !of.contains(one.type); };
  std::ranges::copy_if(configs, std::back_inserter(known.configs), is_left);
  std::ranges::copy_if(cases, std::back_inserter(known.cases), is_left);
}

/// "Made by", in lines that clang-format leaves as they are.
std::string origin(const std::set<value_type>& of, const std::vector<std::string>& files, unsigned seed) {
  std::vector<std::string> words{"Made by bench/fit_choice;", "last,", fmt::format("with --seed {},", seed)};
  for (const value_type type : of) words.push_back(fmt::format("{},", to_string(type)));
  words.emplace_back("from");
  for (const std::string& file : files) words.push_back(std::filesystem::path(file).filename().string() + ",");
  words.back().back() = '.';
  std::string text, line = "///";
  for (const std::string& word : words) {
    constexpr std::size_t widest = 120;
    if (line.size() + 1 + word.size() > widest) {
      text += line + "\n";
      line = "///";
    }
    line += " " + word;
  }
  return text + line;
}

/// As a string literal without a to-do marker or a trigraph in it.
std::string quoted(std::string_view text) {
  std::string inside;
  for (const char c : text) {
    if (c == '"' || c == '\\') inside += '\\';
    // Splits "XXX" and trigraphs, in which these characters stand side by side.
    constexpr std::string_view apart = "Xx?";
    if (apart.find(c) != std::string_view::npos && !inside.empty() &&
        apart.find(inside.back()) != std::string_view::npos)
      inside += "\"\"";
    inside += c;
  }
  return '"' + inside + '"';
}

std::string cases_array(const std::string& name, const std::vector<plan::measured_case>& cases) {
  std::string text = fmt::format("inline constexpr measured_case {}[] = {{\n", name);
  for (const plan::measured_case& c : cases) {
    text += fmt::format("    {{value_type::{}, {{{:.2f}}}, {}}},\n", to_string(c.type), fmt::join(c.at, ", "),
                        quoted(c.residuals));
  }
  return text + "};\n";
}

/// As two arrays of these names.
std::string arrays(const fitted& known, const std::string& configs, const std::string& cases) {
  std::string text = fmt::format("inline constexpr measured_config {}[] = {{\n", configs);
  for (const plan::measured_config& config : known.configs) {
    text += fmt::format("    {{value_type::{}, \"{}\", {:.4g}, {{{:.4g}}}}},\n", to_string(config.type), config.name,
                        config.min_us, fmt::join(config.us, ", "));
  }
  return text + "};\n\n" + cases_array(cases, known.cases);
}

std::string header(const std::string& needs, const std::string& made_by, const std::string& content) {
  return fmt::format(R"(#pragma once

{}

{}
namespace bcsc::plan {{

// clang-format off
{}// clang-format on

}}  // namespace bcsc::plan
)",
                     fmt::format("#include \"lib/plan/{}.hpp\"", needs), made_by, content);
}

std::string gpu_header(const fitted& row_major, const fitted& in_place, const std::string& made_by) {
  return header("neighbours", made_by,
                "/// Configs that do not stand here have not been measured.\n" +
                    arrays(row_major, "measured_costs", "measured_cases") +
                    "\n/// The same with a column-major B, read where it lies.\n" +
                    arrays(in_place, "measured_in_place", "measured_cases_in_place"));
}

std::string configs_array(std::string_view isa, const std::vector<plan::cpu_config>& configs) {
  std::string text = fmt::format("inline constexpr cpu_config configs_{}[] = {{\n", isa);
  for (const plan::cpu_config& config : configs) {
    text += fmt::format("    {{value_type::{}, \"{}\", {}, {}}},\n", to_string(config.type), config.algorithm,
                        config.m_tile, config.n_tile);
  }
  return text + "};\n";
}

/// The configs stand once for each instruction set, however many threads it was measured by.
std::string cpu_header(const fitted_on_cpus& of_cpus, const std::string& made_by) {
  std::string text, all;
  std::map<core::cpu_isa, std::string> of_isa;
  std::size_t num_isas = 0;
  for (const auto& [kind, known] : of_cpus) {
    const std::string_view isa = core::to_string(kind.first);
    const std::string name = fmt::format("{}_by_{}", isa, kind.second);
    text += fmt::format("inline constexpr cpu_family families_{}[] = {{\n", name);
    for (const auto& [key, costs] : known.families) {
      const std::size_t dash = key.second.find("-m");
      text += fmt::format("    {{\"{}\", {}, {:.4g}, {{{:.4g}}}}},\n", key.second.substr(0, dash),
                          key.second.substr(dash + 2), costs.min_us, fmt::join(costs.us, ", "));
    }
    text += "};\n\n";
    const std::string configs = configs_array(isa, known.configs);
    const std::string& configs_of_isa = of_isa.try_emplace(kind.first, configs).first->second;
    if (configs != configs_of_isa) {
      core::fail(errc::invalid_argument, "{} was measured by {} threads with other configs", isa, kind.second);
    }
    if (of_isa.size() > num_isas) text += configs + "\n";
    num_isas = of_isa.size();
    text += cases_array(fmt::format("cases_{}", name), known.cases) + "\n";
    all +=
        fmt::format("    {{core::cpu_isa::{0}, {1}, families_{2}, configs_{0}, cases_{2}}},\n", isa, kind.second, name);
  }
  return header("neighbours", made_by,
                fmt::format("{}inline constexpr cpu_measurements measured_on_cpus[] = {{\n{}}};\n", text, all));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fits what each config costs to what config_times has measured"};
  std::vector<std::string> files, to_learn, algorithms;
  std::string out, device = "cuda";
  unsigned seed = 1;
  bool tell = false, as_it_is = false;
  int calibrated_threads = 0;
  app.add_option("FILE", files, "Output of config_times")->required()->check(CLI::ExistingFile);
  app.add_option("--learn", to_learn, "Output of config_times on matrices that are all fitted to, and judge nothing")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  app.add_option("--device", device, "Where it was measured")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--algorithm", algorithms, "Whose configs (rowwise,sliced,fma,mma,staged or rows,blocks,columns,slices)")
      ->delimiter(',');
  app.add_option("--seed", seed, "Draws the half of the matrices that is fitted to; 0: all")->capture_default_str();
  app.add_option("--out", out, "The header, e.g. lib/plan/measured_costs.hpp");
  app.add_flag("--tell", tell, "Names the cases where more than 15 % is lost, and those behind cuSPARSE");
  app.add_flag("--as-it-is", as_it_is, "On a CPU: judges the costs that the library has, and fits nothing");
  app.add_option("--as-calibrated", calibrated_threads,
                 "On a CPU: judges what bcsc calibrate has found on this machine with so many threads")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    const backend where = device == "cpu" ? backend::cpu : backend::cuda;
    if (algorithms.empty()) {
      algorithms = where == backend::cpu ? std::vector<std::string>{"rows", "blocks", "columns", "slices"}
                                         : std::vector<std::string>{"rowwise", "sliced", "fma", "mma", "staged"};
    }
    std::set<std::string> learned, judged;
    std::vector<json> documents = bench::read_documents(files);
    for (json& document : bench::read_documents(to_learn)) {
      for (const json& m : document.at("matrices")) learned.insert(m.at("name"));
      documents.push_back(std::move(document));
    }
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
    if (seed != 0) order.resize((order.size() + 1) / 2);
    std::set<std::string> half(order.begin(), order.end());
    half.insert(learned.begin(), learned.end());
    fitted_on_cpus on_cpus;
    if (where == backend::cpu) {
      on_cpus = calibrated_threads > 0 ? calibrated_on_cpus(calibrated_threads)
                : as_it_is             ? built_in_on_cpus()
                                       : learn_on_cpus(cases, half);
    }
    fitted known = where == backend::cpu ? fitted{} : tuning::learn(cases_of(cases, half));
    fitted measured_cases_in_place = tuning::learn(cases_of(cases_in_place, half));
    fmt::print("{} matrices and {} to learn from\n", judged.size(), learned.size());
    const auto tell_of = [&](const char* b, const std::vector<timed_case>& some, const predictor& fit) {
      fmt::print("B {}: {} cases\n", b, some.size());
      for (const value_type type : types) {
        print(type, seed != 0 ? "what was fitted to" : "all", judge(some, fit, half, true, type, tell));
        print(type, "the other half", judge(some, fit, half, false, type, tell));
      }
    };
    tell_of("row-major", cases, where == backend::cpu ? by_family(on_cpus) : by_config(known));
    if (where == backend::cuda) tell_of("column-major, in place", cases_in_place, by_config(measured_cases_in_place));
    if (out.empty()) return 0;
    std::set<value_type> of;
    for (const timed_case& c : cases) of.insert(c.type);
    const std::string made_by = origin(of, files, seed);
    if (where == backend::cpu) {
      fmt::print("written: {}\n", bench::write_text(cpu_header(on_cpus, made_by), out).string());
      return 0;
    }
    keep_the_others(known, plan::measured_costs, plan::measured_cases);
    keep_the_others(measured_cases_in_place, plan::measured_in_place, plan::measured_cases_in_place);
    fmt::print("written: {}\n", bench::write_text(gpu_header(known, measured_cases_in_place, made_by), out).string());
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "fit_choice: {}\n", e.what());
    return 1;
  }
}
