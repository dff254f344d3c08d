#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/plan.hpp"
#include "lib/plan/recipe.hpp"

namespace bcsc::tuning {

/// The configs that a plan may take, those first that are predicted to be fastest.
struct ranking {
  std::vector<std::string> names;
  std::map<std::string, double> predicted;  ///< seconds of one product; 0: no costs

  double seconds_of(const std::string& name) const {
    const auto found = predicted.find(name);
    return found != predicted.end() ? found->second : 0;
  }
};

/// "mma" of "mma-f64-m8-n16-w4x1x1-r2".
inline std::string_view algorithm_of(std::string_view kernel) { return kernel.substr(0, kernel.find('-')); }

/// Of the product that `how` was made for. `all`: those without costs as well, at the end.
ranking ranked(const plan::recipe& how, bool all);

/// How a choice is explained: `facts.trials` begins with the winner.
std::string reason_of(const plan_facts& facts, const std::string& predicted, std::int64_t num_forms_made);

}  // namespace bcsc::tuning
