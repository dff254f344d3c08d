#include "converters/formats/current_team.hpp"

namespace bcsc::converters {

namespace {
thread_local std::optional<core::team> given_team;
}

core::team current_team() { return given_team ? *given_team : core::default_team(); }

team_guard::team_guard(const core::team& who) : former_(given_team) { given_team = who; }
team_guard::~team_guard() { given_team = former_; }

}  // namespace bcsc::converters
