#include "lib/tune/relatives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace bcsc::tuning {

namespace {

struct known_config {
  const kernel_info* config = nullptr;
  std::size_t num_cases = 0;
};

/// How far a config's time is from its relative's, in the mean over the cases in which both were timed.
struct relation {
  double log_ratio = 0;
  std::size_t num_cases = 0;
};

bool has_the_same_tile(const kernel_info& a, const kernel_info& b) {
  return a.algorithm == b.algorithm && a.m_tile == b.m_tile && a.n_tile == b.n_tile &&
         a.rounds_values == b.rounds_values;
}

relation relation_of(const std::vector<timed_case>& cases, const config_key& key, const std::string& relative) {
  relation found;
  for (const timed_case& c : cases) {
    if (c.type != key.first) continue;
    const timing* const own = timing_of(c, key.second);
    const timing* const other = own != nullptr ? timing_of(c, relative) : nullptr;
    if (other == nullptr) continue;
    found.log_ratio += std::log(own->us / other->us);
    ++found.num_cases;
  }
  found.log_ratio /= static_cast<double>(std::max<std::size_t>(1, found.num_cases));
  return found;
}

}  // namespace

std::vector<timed_case> with_relatives(std::vector<timed_case> cases) {
  constexpr std::size_t fewest = 10;
  std::map<config_key, known_config> known;
  for (const timed_case& c : cases) {
    for (const timing& t : c.timings) {
      known_config& one = known[{c.type, t.config->name}];
      one.config = t.config;
      ++one.num_cases;
    }
  }
  const std::vector<timed_case> as_timed = cases;
  for (const auto& [key, one] : known) {
    const known_config* relative = nullptr;
    for (const auto& [other_key, other] : known) {
      if (other_key.first != key.first || !has_the_same_tile(*one.config, *other.config)) continue;
      if (other.num_cases > std::max(one.num_cases, relative != nullptr ? relative->num_cases : 0)) relative = &other;
    }
    if (relative == nullptr) continue;
    const relation by = relation_of(as_timed, key, relative->config->name);
    if (by.num_cases < fewest) continue;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (cases[i].type != key.first || timing_of(as_timed[i], key.second) != nullptr) continue;
      const timing* const other = timing_of(as_timed[i], relative->config->name);
      if (other == nullptr) continue;
      cases[i].timings.push_back({one.config, other->terms, other->us * std::exp(by.log_ratio)});
    }
  }
  return cases;
}

}  // namespace bcsc::tuning
