#include "lib/tune/fit_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/format.hpp"

namespace bcsc::tuning {

namespace {

/// The timing that `is_it` holds for, or null.
template <class IsIt>
const timing* find_timing(const timed_case& c, const IsIt& is_it) {
  const auto found = std::ranges::find_if(c.timings, is_it);
  return found == c.timings.end() ? nullptr : &*found;
}

/// What is fitted: weighted terms and times.
struct linear_system {
  std::vector<choice::cost_terms> terms;
  std::vector<double> times;
};

/// The types whose products take the same time with configs of the same name.
std::vector<value_type> alike(value_type type) {
  if (size_of(type) == 2) return {value_type::fp16, value_type::bf16};
  return {type};
}

/// `before`: the costs of an earlier fit, if there was one. Where they call a config faster than it is, it weighs as if
/// it were: what would be chosen by mistake has to be got right as well.
std::map<config_key, linear_system> systems_of(std::span<const timed_case> cases, const costs_by_config& before = {}) {
  std::map<config_key, linear_system> systems;
  for (const timed_case& c : cases) {
    // The terms know nothing of loads of less than 16 bytes: what odd N cost more is left to the cases that are alike.
    // N = 1 and 2 have configs that are made for such loads.
    if (c.cols > 2 && c.shape.bytes_at_once() < 16) continue;
    const std::vector<value_type> types = alike(c.type);
    for (const timing& t : c.timings) {
      double least_us = t.us;
      if (const auto known = before.find(cost_key(c.type, *t.config, c.cols)); known != before.end()) {
        least_us = std::min(least_us, choice::us_by_terms(0, known->second, t.terms));
      }
      const double behind = least_us / c.fastest;
      const double weight = (behind < 1.3 ? 1.0 : behind < 2 ? 0.6 : 0.25) / t.us;
      for (const value_type type : types) {
        linear_system& system = systems[cost_key(type, *t.config, c.cols)];
        system.terms.push_back(t.terms);
        for (double& term : system.terms.back()) term *= weight;
        system.times.push_back(t.us * weight);
      }
    }
  }
  return systems;
}

/// A cost that is wrong altogether weighs as much as `belief` products that are. What cost nothing stays so: free to
/// take part, it would take over what others are kept from.
void believe(linear_system& system, const choice::cost_terms& before) {
  constexpr double belief = 50;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] <= 0) {
      for (choice::cost_terms& row : system.terms) row[i] = 0;
      continue;
    }
    choice::cost_terms row{};
    row[i] = std::sqrt(belief) / before[i];
    system.terms.push_back(row);
    system.times.push_back(std::sqrt(belief));
  }
}

/// Costs as they are believed in before something is measured, in the order of a table's.
struct believed_cost {
  config_key key;
  double min_us;
  choice::cost_terms us;

  double us_for(const choice::cost_terms& terms) const { return choice::us_by_terms(min_us, us, terms); }
};

std::vector<believed_cost> costs_in(const choice::cost_table& table) {
  std::vector<believed_cost> all;
  for (const choice::measured_config& c : table.configs) all.push_back({{c.type, std::string(c.name)}, c.min_us, c.us});
  for (const choice::cpu_family& f : table.families) all.push_back({key_of(f), f.min_us, f.us});
  return all;
}

double median(std::vector<double> values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

const timing& fastest_config(const timed_case& c) {
  return *std::ranges::min_element(c.timings, {},
                                   [](const timing& t) { return std::pair(t.config->rounds_values, t.us); });
}

void share_times_of_equals(timed_case& c) {
  const auto holds_all = [&](const timing& t) { return t.config->n_tile >= c.cols; };
  const auto family = [](const timing& t) { return std::tuple(t.config->algorithm, t.config->m_tile); };
  std::map<std::tuple<std::string, int>, double> least;
  for (const timing& t : c.timings) {
    if (!holds_all(t)) continue;
    const auto [known, is_new] = least.try_emplace(family(t), t.us);
    if (!is_new) known->second = std::min(known->second, t.us);
  }
  for (timing& t : c.timings) {
    if (holds_all(t)) t.us = least.at(family(t));
  }
}

choice::cost_terms solve(const std::vector<choice::cost_terms>& a, const std::vector<double>& y) {
  constexpr std::size_t n = choice::num_cost_terms;
  choice::cost_terms scale{}, x{};
  for (const auto& row : a) {
    for (std::size_t j = 0; j < n; ++j) scale[j] = std::max(scale[j], std::abs(row[j]));
  }
  std::array<choice::cost_terms, n> g{};
  choice::cost_terms h{};
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

config_key cost_key(value_type type, const kernel_info& config, std::int64_t cols) {
  if (config.where == backend::cuda) return {type, config.name};
  const std::string family = config.algorithm == "rows" && cols == 1 ? "vector" : config.algorithm;
  return {value_type::fp32, core::format("{}-m{}", family, config.m_tile)};
}
config_key key_of(const choice::cpu_family& family) {
  return {value_type::fp32, core::format("{}-m{}", family.algorithm, family.m_tile)};
}

costs_by_config fit(std::span<const timed_case> cases) {
  constexpr std::size_t fewest = 2 * choice::num_cost_terms;
  constexpr int num_passes = 3;
  costs_by_config costs;
  for (int pass = 0; pass < num_passes; ++pass) {
    for (const auto& [config, system] : systems_of(cases, costs)) {
      if (system.times.size() >= fewest) costs[config] = solve(system.terms, system.times);
    }
  }
  return costs;
}

const timing* timing_of(const timed_case& c, std::string_view config) {
  return find_timing(c, [&](const timing& t) { return t.config->name == config; });
}
const timing* timing_of(const timed_case& c, const choice::measured_config& config) {
  return timing_of(c, config.name);
}
const timing* timing_of(const timed_case& c, const choice::cpu_config& config) {
  return find_timing(c, [&](const timing& t) {
    return t.config->algorithm == config.algorithm && t.config->m_tile == config.m_tile &&
           t.config->n_tile == config.n_tile;
  });
}

fitted learn(std::span<const timed_case> cases) {
  fitted known;
  for (const auto& [config, us] : fit(cases)) {
    known.configs.push_back({config.first, config.second, 0, us});
  }
  for (const timed_case& c : cases) {
    for (choice::measured_config& config : known.configs) {
      const timing* const timed = config.type == c.type ? timing_of(c, config) : nullptr;
      if (timed == nullptr) continue;
      config.min_us = config.min_us > 0 ? std::min(config.min_us, timed->us) : timed->us;
    }
  }
  // fp16 and bf16 are fitted as one, but each has kernels of its own.
  std::erase_if(known.configs, [](const choice::measured_config& config) { return config.min_us == 0; });
  for (const timed_case& c : cases) {
    std::string residuals = residuals_in<choice::measured_config>(
        c, known.configs, [&](const choice::measured_config& config) { return timing_of(c, config); },
        [](const choice::measured_config& config, const timing& t) {
          return choice::us_by_terms(config.min_us, config.us, t.terms);
        });
    known.cases.push_back({c.type, choice::features_of(c.shape), std::move(residuals)});
  }
  return known;
}

double fitted_on_cpu::us_of(value_type type, const kernel_info& config, std::int64_t cols,
                            const choice::cost_terms& terms) const {
  const auto family = families.find(cost_key(type, config, cols));
  return family == families.end() ? unknown_us : choice::us_by_terms(family->second.min_us, family->second.us, terms);
}

fitted_on_cpu learn_on_cpu(std::span<const timed_case> cases) {
  fitted_on_cpu known;
  for (const auto& [key, us] : fit(cases)) known.families[key].us = us;
  std::set<std::tuple<value_type, std::string_view, int, int>> configs;
  for (const timed_case& c : cases) {
    for (const timing& t : c.timings) {
      const auto family = known.families.find(cost_key(c.type, *t.config, c.cols));
      if (family == known.families.end()) continue;
      family->second.min_us = std::min(family->second.min_us, t.us);
      configs.emplace(c.type, t.config->algorithm, t.config->m_tile, t.config->n_tile);
    }
  }
  for (const auto& [type, algorithm, m_tile, n_tile] : configs) {
    known.configs.push_back({type, std::string(algorithm), m_tile, n_tile});
  }
  for (const timed_case& c : cases) {
    std::string residuals = residuals_in<choice::cpu_config>(
        c, known.configs, [&](const choice::cpu_config& config) { return timing_of(c, config); },
        [&](const choice::cpu_config&, const timing& t) { return known.us_of(c.type, *t.config, c.cols, t.terms); });
    known.cases.push_back({c.type, choice::features_of(c.shape), std::move(residuals)});
  }
  return known;
}

choice::kept_costs correct(const choice::cost_table& before, std::span<const timed_case> cases) {
  std::vector<believed_cost> costs = costs_in(before);
  std::map<config_key, std::size_t> places;
  for (std::size_t i = 0; i < costs.size(); ++i) places.emplace(costs[i].key, i);
  const auto cost_of = [&](const timed_case& c, const timing& t) {
    const auto place = places.find(cost_key(c.type, *t.config, c.cols));
    return place == places.end() ? nullptr : &costs[place->second];
  };

  choice::kept_costs kept;
  std::vector<double> ratios;
  for (const timed_case& c : cases) {
    for (const timing& t : c.timings) {
      if (const believed_cost* const cost = cost_of(c, t)) ratios.push_back(t.us / cost->us_for(t.terms));
    }
  }
  if (ratios.empty()) return kept;
  kept.scale = median(std::move(ratios));
  auto systems = systems_of(cases);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    believed_cost& cost = costs[i];
    cost.min_us *= kept.scale;
    for (double& us : cost.us) us *= kept.scale;
    if (const auto system = systems.find(cost.key); system != systems.end()) {
      believe(system->second, cost.us);
      cost.us = solve(system->second.terms, system->second.times);
    }
  }
  for (const timed_case& c : cases) {
    for (const timing& t : c.timings) {
      if (believed_cost* const cost = cost_of(c, t)) cost->min_us = std::min(cost->min_us, t.us);
    }
  }
  kept.configs.assign(before.configs.begin(), before.configs.end());
  kept.families.assign(before.families.begin(), before.families.end());
  kept.cpu_configs.assign(before.cpu_configs.begin(), before.cpu_configs.end());
  auto cost = costs.begin();  // in costs_in()'s order
  const auto take = [&](auto& one) {
    one.min_us = cost->min_us;
    one.us = cost->us;
    ++cost;
  };
  std::ranges::for_each(kept.configs, take);
  std::ranges::for_each(kept.families, take);
  const auto residuals = [&]<class Config>(const timed_case& c, std::span<const Config> configs) {
    const auto us_of = [&](const Config&, const timing& t) {
      const believed_cost* const cost = cost_of(c, t);
      return cost != nullptr ? cost->us_for(t.terms) : t.us;
    };
    return residuals_in<Config>(
        c, configs, [&](const Config& config) { return timing_of(c, config); }, us_of);
  };
  for (const timed_case& c : cases) {
    kept.cases.push_back(
        {c.type, choice::features_of(c.shape),
         before.cpu_configs.empty() ? residuals(c, before.configs) : residuals(c, before.cpu_configs)});
  }
  return kept;
}

}  // namespace bcsc::tuning
