#include "lib/tune/needed_configs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace bcsc::tuning {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// The fastest config of a case among some, and what the next one takes.
struct leaders {
  std::string first;
  double first_us = never, second_us = never;

  void add(const timing& t) {
    if (t.us < first_us) {
      second_us = first_us;
      first_us = t.us;
      first = t.config->name;
    } else {
      second_us = std::min(second_us, t.us);
    }
  }
};

/// What is missed of a config: logarithms.
struct loss {
  double mean = 0;  ///< against those that are left
  double most = 0;  ///< in one case, against all
};

/// If each of `names` were the next to go.
std::map<std::string, loss> losses(const std::vector<const timed_case*>& cases, const std::set<std::string>& names) {
  std::map<std::string, loss> of;
  for (const std::string& name : names) of[name] = {};
  for (const timed_case* c : cases) {
    for (const bool precise : {false, true}) {
      leaders left;
      double fastest = never;
      for (const timing& t : c->timings) {
        if (precise && t.config->rounds_values) continue;
        fastest = std::min(fastest, t.us);
        if (names.contains(t.config->name)) left.add(t);
      }
      if (left.first_us == never) continue;
      loss& missed = of[left.first];
      missed.mean += std::log(left.second_us / left.first_us) / static_cast<double>(cases.size());
      missed.most = std::max(missed.most, std::log(left.second_us / fastest));
    }
  }
  return of;
}

}  // namespace

std::vector<timed_case> with_needed_configs(std::vector<timed_case> cases, double most_loss) {
  std::map<value_type, std::vector<const timed_case*>> by_type;
  for (const timed_case& c : cases) by_type[c.type].push_back(&c);
  std::map<value_type, std::set<std::string>> needed;
  for (const auto& [type, some] : by_type) {
    std::set<std::string>& names = needed[type];
    for (const timed_case* c : some) {
      for (const timing& t : c->timings) names.insert(t.config->name);
    }
    while (true) {
      std::map<std::string, loss> of = losses(some, names);
      std::erase_if(of, [&](const auto& one) { return one.second.most > std::log1p(most_loss); });
      const auto least = std::ranges::min_element(of, {}, [](const auto& one) { return one.second.mean; });
      if (least == of.end()) break;
      names.erase(least->first);
    }
  }
  for (timed_case& c : cases) {
    std::erase_if(c.timings, [&](const timing& t) { return !needed[c.type].contains(t.config->name); });
  }
  return cases;
}

}  // namespace bcsc::tuning
