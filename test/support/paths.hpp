#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace bcsc::test {

/// The folder of real matrices (not part of the repository), or nothing: then a test that needs it skips.
inline std::optional<std::filesystem::path> matrices_folder() {
  const char* named = std::getenv("BCSC_MATRICES");
  const std::filesystem::path folder = named != nullptr ? named : BCSC_TEST_MATRICES;
  if (std::filesystem::exists(folder / "index.csv")) return std::filesystem::weakly_canonical(folder);
  return std::nullopt;
}

}  // namespace bcsc::test
