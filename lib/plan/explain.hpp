#pragma once

#include <string>

#include "lib/plan/recipe.hpp"

namespace bcsc::plan {

/// What a plan does, in words; several lines. `turns_c`: a column-major C is turned at the end.
std::string explain(const recipe& how, bool turns_c);

}  // namespace bcsc::plan
