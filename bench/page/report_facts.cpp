#include "bench/page/report_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "bench/harness/report.hpp"

namespace bcsc::bench {

namespace {

/// What an entry is called in a profile: configs of one kernel compete as one.
const std::string& contender_of(const entry_result& e) { return e.ours && e.group != "plan" ? e.group : e.name; }

/// The fastest time of each contender of a case.
std::map<std::string, double> times_of(const case_result& c) {
  std::map<std::string, double> best;
  for (const entry_result& e : c.entries) {
    if (!e.timed() || !e.bounded || e.order != c.order) continue;
    const auto [place, is_new] = best.try_emplace(contender_of(e), e.median());
    if (!is_new) place->second = std::min(place->second, e.median());
  }
  return best;
}

/// Times of an algorithm's configs for one N, a map for each matrix.
using sweeps = std::vector<std::map<std::string, double>>;

best_parameters choose(const sweeps& matrices) {
  struct tally {
    double sum_of_logs = 0;
    std::int64_t matrices = 0, fastest = 0;
  };
  std::map<std::string, tally> configs;
  for (const auto& times : matrices) {
    const auto best = std::ranges::min_element(times, {}, [](const auto& t) { return t.second; });
    ++configs[best->first].fastest;
    for (const auto& [config, seconds] : times) {
      configs[config].sum_of_logs += std::log(seconds / best->second);
      ++configs[config].matrices;
    }
  }
  best_parameters chosen;
  for (const auto& [config, t] : configs) chosen.num_matrices = std::max(chosen.num_matrices, t.matrices);
  double least = 0;
  for (const auto& [config, t] : configs) {
    if (t.fastest > chosen.times_fastest) {
      chosen.times_fastest = t.fastest;
      chosen.most_often = config;
    }
    // A config that was given up on a matrix, or does not run there, is no parameter for all of them.
    if (t.matrices < chosen.num_matrices) continue;
    ++chosen.num_configs;
    if (!chosen.config.empty() && t.sum_of_logs >= least) continue;
    least = t.sum_of_logs;
    chosen.config = config;
  }
  chosen.loss = std::exp(least / static_cast<double>(chosen.num_matrices));
  return chosen;
}

}  // namespace

std::vector<judged_case> judged_cases(const run_result& run) {
  std::vector<judged_case> judged;
  for (const case_result& c : run.cases) {
    const verdict found = judge(c, run.main_rival);
    if (found.plan == nullptr) continue;
    const matrix_facts& m = run.matrices[c.matrix];
    const std::string_view layout_told = c.order == layout::col_major ? " col-major" : "";
    judged.push_back({&c, &m, found, name_of(run, c).append(layout_told), kind_of(m)});
  }
  return judged;
}

std::string kind_of(const matrix_facts& m) {
  if (!m.kind.empty()) return m.kind;
  const std::size_t colon = m.source.find(':');
  return colon != std::string::npos && colon > 0 ? m.source.substr(0, colon) : m.pattern_class;
}

ratio_spread spread_of(std::span<const named_ratio> ratios) {
  ratio_spread spread{.summary = summarise_ratios(ratios)};
  if (ratios.empty()) return spread;
  std::vector<double> sorted;
  for (const named_ratio& r : ratios) sorted.push_back(r.ratio);
  std::ranges::sort(sorted);
  spread.lower_quartile = quantile(sorted, 0.25);
  spread.median = quantile(sorted, 0.5);
  spread.upper_quartile = quantile(sorted, 0.75);
  return spread;
}

std::vector<named_ratio> ratios_of(std::span<const judged_case> cases, setting in) {
  std::vector<named_ratio> ratios;
  for (const judged_case& c : cases) {
    if (c.found.ratios[in]) ratios.push_back({*c.found.ratios[in], c.name});
  }
  return ratios;
}

double performance_profile::at(double tau, std::int64_t num_cases) const {
  const auto within = std::ranges::upper_bound(ratios, tau) - ratios.begin();
  return num_cases > 0 ? static_cast<double>(within) / static_cast<double>(num_cases) : 0;
}

std::vector<performance_profile> performance_profiles(std::span<const judged_case> cases) {
  std::map<std::string, std::vector<double>> ratios;
  for (const judged_case& c : cases) {
    const auto times = times_of(*c.of);
    if (times.empty()) continue;
    const double best = std::ranges::min_element(times, {}, [](const auto& t) { return t.second; })->second;
    for (const auto& [name, seconds] : times) ratios[name].push_back(seconds / best);
  }
  std::vector<performance_profile> profiles;
  for (auto& [name, each] : ratios) {
    std::ranges::sort(each);
    profiles.push_back({name, std::move(each)});
  }
  const auto count = static_cast<std::int64_t>(cases.size());
  std::ranges::stable_sort(profiles, [&](const performance_profile& a, const performance_profile& b) {
    const auto rank = [&](const performance_profile& p) {
      return std::tuple(p.name == "plan", p.at(1, count), p.at(2, count));
    };
    return rank(a) > rank(b);
  });
  return profiles;
}

break_even break_even_of(std::span<const judged_case> cases) {
  break_even all;
  for (const judged_case& c : cases) {
    if (c.found.rival == nullptr) continue;
    ++all.num_cases;
    const double convert = c.found.plan->convert_seconds;
    all.convert_seconds.push_back(convert);
    all.convert_products.push_back(convert / c.found.plan->median());
    if (c.found.payback) all.products.push_back(*c.found.payback);
  }
  std::ranges::sort(all.products);
  std::ranges::sort(all.convert_seconds);
  std::ranges::sort(all.convert_products);
  return all;
}

std::vector<best_parameters> best_parameters_of(const run_result& run) {
  std::map<std::tuple<std::string, value_type, std::int64_t>, sweeps> all;
  for (const case_result& c : run.cases) {
    std::map<std::string, std::map<std::string, double>> of_case;
    for (const swept_config& swept : c.sweep) of_case[swept.algorithm][swept.config] = swept.seconds;
    for (auto& [algorithm, times] : of_case) all[{algorithm, c.type, c.cols}].push_back(std::move(times));
  }
  std::vector<best_parameters> found;
  for (const auto& [key, matrices] : all) {
    best_parameters best = choose(matrices);
    std::tie(best.algorithm, best.type, best.cols) = key;
    found.push_back(std::move(best));
  }
  return found;
}

}  // namespace bcsc::bench
