#pragma once

#include <cstdint>
#include <string>

#include "kernels/forms/mma_tiles/mma_tiles.hpp"

namespace bcsc::test {

/// How the tests of MMA tiles cut row blocks into pieces: not at all, wherever one is longer, and only where one is a
/// good deal longer.
struct mma_cut {
  std::int64_t max_groups, max_whole;
};
inline constexpr mma_cut mma_cuts[] = {{0, 0}, {1, 0}, {3, 0}, {1, 2}, {2, 5}};

inline std::string words(const forms::mma_tiles_options& options) {
  return "max_groups " + std::to_string(options.max_groups) + ", max_whole " + std::to_string(options.max_whole);
}

}  // namespace bcsc::test
