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
#include "lib/plan/cost_terms.hpp"
#include "lib/plan/cpu_costs.hpp"
#include "lib/plan/measured_costs.hpp"
#include "lib/plan/registry.hpp"

/// Fits what each config costs (lib/plan/cost_terms.hpp) to times that config_times has taken, on half of the matrices,
/// says how good a choice it makes on either half, and writes lib/plan/measured_costs.hpp, or with --device cpu
/// lib/plan/cpu_costs.hpp. On a GPU configs of a value type that none of the files holds keep the costs that they have.
///
/// For each config the costs, none negative, with the least sum of squares of relative errors. A case counts less the
/// slower the config is relative to the fastest: by how much a config loses that would not be chosen does not matter.
/// How far the costs are off in each of the cases fitted to is kept too (lib/plan/neighbours.hpp).
namespace {

using namespace bcsc;
using bench::fastest_config;
using bench::measured_case;
using bench::operand;
using bench::timing;
using bench::types;
using json = nlohmann::json;

using config_key = std::pair<value_type, std::string>;
/// Configs with the same key share their costs.
config_key cost_key(value_type type, const kernel_info& config, std::int64_t cols) {
  if (config.where == backend::cuda) return {type, config.name};
  const std::string family = config.algorithm == "rows" && cols == 1 ? "vector" : config.algorithm;
  return {value_type::fp32, fmt::format("{}-m{}", family, config.m_tile)};
}
using cost_table = std::map<config_key, plan::cost_terms>;

/// What lib/plan/measured_costs.hpp holds of one way to read B.
struct fitted {
  std::vector<plan::measured_config> configs;  ///< by type, then by name
  std::vector<plan::measured_case> cases;
  std::deque<std::string> texts;  ///< that they point to
};

/// argmin |A x - y|, x >= 0, by coordinate descent on the normal equations: few unknowns, convex.
plan::cost_terms solve(const std::vector<plan::cost_terms>& a, const std::vector<double>& y) {
  constexpr std::size_t n = plan::num_cost_terms;
  plan::cost_terms scale{}, x{};
  for (const auto& row : a) {
    for (std::size_t j = 0; j < n; ++j) scale[j] = std::max(scale[j], std::abs(row[j]));
  }
  std::array<plan::cost_terms, n> g{};
  plan::cost_terms h{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (scale[j] == 0) continue;
      h[j] += a[i][j] / scale[j] * y[i];
      for (std::size_t k = 0; k < n; ++k) g[j][k] += scale[k] > 0 ? a[i][j] / scale[j] * a[i][k] / scale[k] : 0;
    }
  }
  for (int sweep = 0; sweep < 20000; ++sweep) {
    double moved = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (g[j][j] <= 0) continue;
      double gradient = -h[j];
      for (std::size_t k = 0; k < n; ++k) gradient += g[j][k] * x[k];
      const double next = std::max(0.0, x[j] - gradient / g[j][j]);
      moved = std::max(moved, std::abs(next - x[j]));
      x[j] = next;
    }
    if (moved < 1e-12) break;
  }
  for (std::size_t j = 0; j < n; ++j) x[j] = scale[j] > 0 ? x[j] / scale[j] : 0;
  return x;
}

cost_table fit(const std::vector<measured_case>& cases, const std::set<std::string>& matrices) {
  std::map<config_key, std::pair<std::vector<plan::cost_terms>, std::vector<double>>> systems;
  for (const measured_case& c : cases) {
    // The terms know nothing of loads of less than 16 bytes: what odd N cost more is left to the cases that are alike.
    // N = 1 and 2 have configs that are made for such loads.
    const bool odd = c.cols > 2 && c.shape.bytes_at_once() < 16;
    if (!matrices.contains(c.matrix) || odd) continue;
    for (const timing& t : c.timings) {
      const double behind = t.us / c.fastest;
      const double weight = (behind < 1.3 ? 1.0 : behind < 2 ? 0.6 : 0.25) / t.us;
      auto& [a, y] = systems[cost_key(c.type, *t.config, c.cols)];
      a.push_back(t.terms);
      for (double& term : a.back()) term *= weight;
      y.push_back(t.us * weight);
    }
  }
  cost_table costs;
  for (const auto& [config, system] : systems) {
    constexpr std::size_t fewest = 2 * plan::num_cost_terms;
    if (system.second.size() >= fewest) costs[config] = solve(system.first, system.second);
  }
  return costs;
}

/// How far `us_of` is off for each of `configs` of the case's type, as plan::measured_case has it; `timed_as` says
/// which timing is a config's, or null.
template <class Config>
std::string residuals_in(const measured_case& c, const std::vector<Config>& configs,
                         const std::function<const timing*(const Config&)>& timed_as,
                         const std::function<double(const Config&, const timing&)>& us_of) {
  std::string residuals;
  for (const Config& config : configs) {
    if (config.type != c.type) continue;
    const timing* const timed = timed_as(config);
    residuals += timed == nullptr ? plan::no_residual : plan::residual_of(timed->us / us_of(config, *timed));
  }
  return residuals;
}

/// The timing that `is_it` holds for, or null.
template <class IsIt>
const timing* find_timing(const measured_case& c, const IsIt& is_it) {
  const auto found = std::ranges::find_if(c.timings, is_it);
  return found == c.timings.end() ? nullptr : &*found;
}

/// The costs with the least times, and how far they are off in the cases that they are fitted to.
fitted learn(const std::vector<measured_case>& cases, const std::set<std::string>& matrices) {
  fitted known;
  for (const auto& [config, us] : fit(cases, matrices)) {
    known.configs.push_back({config.first, known.texts.emplace_back(config.second), 0, us});
  }
  const auto timed_in = [](const measured_case& c) {
    return [&c](const plan::measured_config& config) {
      return find_timing(c, [&](const timing& t) { return t.config->name == config.name; });
    };
  };
  for (const measured_case& c : cases) {
    if (!matrices.contains(c.matrix)) continue;
    for (plan::measured_config& config : known.configs) {
      const timing* const timed = config.type == c.type ? timed_in(c)(config) : nullptr;
      if (timed == nullptr) continue;
      config.min_us = config.min_us > 0 ? std::min(config.min_us, timed->us) : timed->us;
    }
  }
  for (const measured_case& c : cases) {
    if (!matrices.contains(c.matrix)) continue;
    const std::string& residuals = known.texts.emplace_back(residuals_in<plan::measured_config>(
        c, known.configs, timed_in(c), [](const plan::measured_config& config, const timing& t) {
          return plan::us_by_terms(config.min_us, config.us, t.terms);
        }));
    known.cases.push_back({c.type, plan::features_of(c.shape), residuals});
  }
  return known;
}

struct quality {
  double log_loss = 0, worst = 1, log_ratio = 0, worst_ratio = 1e9;
  int cases = 0, ratios = 0, losses = 0;
};

constexpr double unknown = std::numeric_limits<double>::infinity();

struct family_costs {
  double min_us = unknown;  ///< none of its configs ever took less
  plan::cost_terms us{};
};

/// What lib/plan/cpu_costs.hpp holds of one kind of CPU.
struct fitted_on_cpu {
  std::map<config_key, family_costs> families;
  std::vector<plan::cpu_config> configs;  ///< by type, algorithm, height and width
  std::vector<plan::measured_case> cases;
  std::deque<std::string> texts;  ///< that the cases point to

  double us_of(value_type type, const kernel_info& config, std::int64_t cols, const plan::cost_terms& terms) const {
    const auto family = families.find(cost_key(type, config, cols));
    return family == families.end() ? unknown : plan::us_by_terms(family->second.min_us, family->second.us, terms);
  }
};

/// What a CPU's families cost, and how far that is off for each config.
fitted_on_cpu learn_on_cpu(const std::vector<measured_case>& cases, const std::set<std::string>& matrices) {
  fitted_on_cpu known;
  for (const auto& [key, us] : fit(cases, matrices)) known.families[key].us = us;
  std::set<std::tuple<value_type, std::string_view, int, int>> configs;
  for (const measured_case& c : cases) {
    if (!matrices.contains(c.matrix)) continue;
    for (const timing& t : c.timings) {
      const auto family = known.families.find(cost_key(c.type, *t.config, c.cols));
      if (family == known.families.end()) continue;
      family->second.min_us = std::min(family->second.min_us, t.us);
      configs.emplace(c.type, t.config->algorithm, t.config->m_tile, t.config->n_tile);
    }
  }
  for (const auto& [type, algorithm, m_tile, n_tile] : configs) {
    known.configs.push_back({type, algorithm, m_tile, n_tile});
  }
  for (const measured_case& c : cases) {
    if (!matrices.contains(c.matrix)) continue;
    const std::string& residuals = known.texts.emplace_back(residuals_in<plan::cpu_config>(
        c, known.configs,
        [&](const plan::cpu_config& config) {
          return find_timing(c, [&](const timing& t) {
            return t.config->algorithm == config.algorithm && t.config->m_tile == config.m_tile &&
                   t.config->n_tile == config.n_tile;
          });
        },
        [&](const plan::cpu_config&, const timing& t) { return known.us_of(c.type, *t.config, c.cols, t.terms); }));
    known.cases.push_back({c.type, plan::features_of(c.shape), residuals});
  }
  return known;
}

using fitted_on_cpus = std::map<core::cpu_isa, fitted_on_cpu>;

/// What the library has.
fitted_on_cpus built_in_on_cpus() {
  fitted_on_cpus known;
  for (const plan::cpu_measurements& of : plan::measured_on_cpus) {
    fitted_on_cpu& here = known[of.isa];
    for (const plan::cpu_family& family : of.families) {
      here.families[{value_type::fp32, fmt::format("{}-m{}", family.algorithm, family.m_tile)}] = {family.min_us,
                                                                                                   family.us};
    }
    here.configs.assign(of.configs.begin(), of.configs.end());
    here.cases.assign(of.cases.begin(), of.cases.end());
  }
  return known;
}

/// Of the CPUs that no case is from what is built in stays.
fitted_on_cpus learn_on_cpus(const std::vector<measured_case>& cases, const std::set<std::string>& matrices) {
  std::map<core::cpu_isa, std::vector<measured_case>> by_isa;
  for (const measured_case& c : cases) by_isa[c.isa].push_back(c);
  fitted_on_cpus known = built_in_on_cpus();
  for (const auto& [isa, some] : by_isa) known[isa] = learn_on_cpu(some, matrices);
  return known;
}

/// us of a config in a case; infinite where it has no costs.
using prediction = std::function<double(const timing&)>;
using predictor = std::function<prediction(const measured_case&)>;

predictor by_config(const fitted& known) {
  std::map<config_key, std::pair<const plan::measured_config*, std::size_t>> configs;
  std::map<value_type, std::size_t> of_type;
  for (const plan::measured_config& config : known.configs) {
    configs.emplace(config_key{config.type, config.name}, std::pair(&config, of_type[config.type]++));
  }
  return [&known, configs](const measured_case& c) {
    const plan::neighbours near(known.cases, c.type, c.shape);
    return [&configs, near, type = c.type](const timing& t) {
      const auto config = configs.find({type, t.config->name});
      if (config == configs.end()) return unknown;
      const auto& [costs, index] = config->second;
      return plan::us_by_terms(costs->min_us, costs->us, t.terms) * near.factor(index);
    };
  };
}

predictor by_family(const fitted_on_cpus& of_cpus) {
  return [&of_cpus](const measured_case& c) {
    const fitted_on_cpu& known = of_cpus.at(c.isa);
    const plan::neighbours near(known.cases, c.type, c.shape);
    return [&known, &c, near](const timing& t) {
      const auto place = plan::place_of(*t.config, c.cols, known.configs);
      return known.us_of(c.type, *t.config, c.cols, t.terms) * (place ? near.factor(*place) : 1);
    };
  };
}

quality judge(const std::vector<measured_case>& cases, const predictor& predict, const std::set<std::string>& matrices,
              bool inside, value_type type, bool tell) {
  quality q;
  for (const measured_case& c : cases) {
    if (c.type != type || matrices.contains(c.matrix) != inside) continue;
    const prediction us_of = predict(c);
    const timing* chosen = nullptr;
    double least = unknown;
    for (const timing& t : c.timings) {
      if (t.config->rounds_values) continue;
      const double us = us_of(t);
      if (us >= least) continue;
      chosen = &t;
      least = us;
    }
    if (chosen == nullptr) continue;
    const double loss = chosen->us / c.fastest;
    ++q.cases;
    q.log_loss += std::log(loss);
    q.worst = std::max(q.worst, loss);
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
  fmt::print("{}, {}: {} cases, {:.3f} times the fastest config (worst {:.2f})", to_string(type), what, q.cases,
             std::exp(q.log_loss / q.cases), q.worst);
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

std::string cpu_header(const fitted_on_cpus& of_cpus, const std::string& made_by) {
  std::string text, all;
  for (const auto& [isa, known] : of_cpus) {
    const std::string_view name = core::to_string(isa);
    text += fmt::format("inline constexpr cpu_family families_{}[] = {{\n", name);
    for (const auto& [key, costs] : known.families) {
      const std::size_t dash = key.second.find("-m");
      text += fmt::format("    {{\"{}\", {}, {:.4g}, {{{:.4g}}}}},\n", key.second.substr(0, dash),
                          key.second.substr(dash + 2), costs.min_us, fmt::join(costs.us, ", "));
    }
    text += fmt::format("}};\n\ninline constexpr cpu_config configs_{}[] = {{\n", name);
    for (const plan::cpu_config& config : known.configs) {
      text += fmt::format("    {{value_type::{}, \"{}\", {}, {}}},\n", to_string(config.type), config.algorithm,
                          config.m_tile, config.n_tile);
    }
    text += fmt::format("}};\n\n{}\n", cases_array(fmt::format("cases_{}", name), known.cases));
    all += fmt::format("    {{core::cpu_isa::{0}, families_{0}, configs_{0}, cases_{0}}},\n", name);
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
  app.add_option("FILE", files, "Output of config_times")->required()->check(CLI::ExistingFile);
  app.add_option("--learn", to_learn, "Output of config_times on matrices that are all fitted to, and judge nothing")
      ->delimiter(',')
      ->check(CLI::ExistingFile);
  app.add_option("--device", device, "Where it was measured")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--algorithm", algorithms, "Whose configs (rowwise,sliced,mma,staged or rows,blocks,columns,slices)")
      ->delimiter(',');
  app.add_option("--seed", seed, "Draws the half of the matrices that is fitted to; 0: all")->capture_default_str();
  app.add_option("--out", out, "The header, e.g. lib/plan/measured_costs.hpp");
  app.add_flag("--tell", tell, "Names the cases where more than 15 % is lost, and those behind cuSPARSE");
  app.add_flag("--as-it-is", as_it_is, "On a CPU: judges the costs that the library has, and fits nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    const backend where = device == "cpu" ? backend::cpu : backend::cuda;
    if (algorithms.empty()) {
      algorithms = where == backend::cpu ? std::vector<std::string>{"rows", "blocks", "columns", "slices"}
                                         : std::vector<std::string>{"rowwise", "sliced", "mma", "staged"};
    }
    std::set<std::string> learned, judged;
    std::vector<json> documents = bench::read_documents(files);
    for (json& document : bench::read_documents(to_learn)) {
      for (const json& m : document.at("matrices")) learned.insert(m.at("name"));
      documents.push_back(std::move(document));
    }
    files.insert(files.end(), to_learn.begin(), to_learn.end());
    const std::vector<measured_case> cases = bench::read_cases(documents, where, algorithms, operand::row_major);
    const std::vector<measured_case> cases_in_place =
        bench::read_cases(documents, where, algorithms, operand::in_place);
    for (const auto* some : {&cases, &cases_in_place}) {
      for (const measured_case& c : *some) {
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
    if (where == backend::cpu) on_cpus = as_it_is ? built_in_on_cpus() : learn_on_cpus(cases, half);
    fitted known = where == backend::cpu ? fitted{} : learn(cases, half);
    fitted measured_cases_in_place = learn(cases_in_place, half);
    fmt::print("{} matrices and {} to learn from\n", judged.size(), learned.size());
    const auto tell_of = [&](const char* b, const std::vector<measured_case>& some, const predictor& fit) {
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
    for (const measured_case& c : cases) of.insert(c.type);
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
