#pragma once

#include <vector>

#include "lib/tune/fit_costs.hpp"

/// What a config takes where it has not been timed.
namespace bcsc::tuning {

/// `cases` with a time for configs that were timed in some of them only, such as new ones, where they seemed worth it:
/// costs fitted to those alone say nothing of where such a config is slow. Its relative, the config of the same
/// algorithm and tile that was timed in the most cases, tells the time, by the mean ratio of the two where both were
/// timed. Not where those are fewer than ten.
std::vector<timed_case> with_relatives(std::vector<timed_case> cases);

}  // namespace bcsc::tuning
