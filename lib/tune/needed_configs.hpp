#pragma once

#include <vector>

#include "lib/tune/fit_costs.hpp"

/// Which configs a choice needs. The fewer it has to tell apart, the less it errs, and the less there is to know.
namespace bcsc::tuning {

/// `cases` without the times of configs that may go: one after the other those that are missed least in the mean over
/// the cases of their type, as long as in none the fastest config left takes more than 1 + `most_loss` times what the
/// fastest of all takes. TF32 configs are missed where they are allowed, all others where they are not, too.
std::vector<timed_case> with_needed_configs(std::vector<timed_case> cases, double most_loss);

}  // namespace bcsc::tuning
