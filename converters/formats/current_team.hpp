#pragma once

#include <optional>

#include "core/team.hpp"

namespace bcsc::converters {

/// Who does the conversions that this thread starts: OpenMP's threads, or others while a team_guard lives.
core::team current_team();

class team_guard {
 public:
  explicit team_guard(const core::team& who);
  ~team_guard();
  team_guard(const team_guard&) = delete;
  team_guard& operator=(const team_guard&) = delete;

 private:
  std::optional<core::team> former_;
};

}  // namespace bcsc::converters
