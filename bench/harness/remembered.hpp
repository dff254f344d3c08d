#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace bcsc::bench {

/// `what`, a number above 0, as `file` (a JSON object) has it, or as `measure` says, which is then written there. A
/// file that is missing or broken is written again; one that cannot be written costs the measurement, and is no error.
double remembered(const std::filesystem::path& file, const std::string& what, const std::function<double()>& measure);

}  // namespace bcsc::bench
