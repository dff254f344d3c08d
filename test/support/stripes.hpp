#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/support/battery.hpp"

namespace bcsc::test {

/// Diagonals of row blocks of up to four rows, whole ones and others with gaps, at both ends of the columns.
inline std::vector<sparse_case> stripes() {
  std::vector<sparse_case> all;
  for (const std::int64_t height : {1, 2, 3, 4}) {
    sparse_case c{"stripes_of_" + std::to_string(height), 203, 230, {}};
    test_random random(37);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      const std::int64_t first = i / height * height;
      for (const std::int64_t offset : {-40, -3, -1, 0, 1, 2, 9, 40}) {
        for (std::int64_t j = first + offset; j < first + offset + (offset == 9 ? 1 : height); ++j) {
          const bool again = !c.entries.empty() && c.entries.back().row == i && c.entries.back().col >= j;
          if (j < 0 || j >= c.cols || again || random.below(offset == 40 ? 8 : 60) == 0) continue;
          c.entries.push_back({i, j, random.small_integer()});
        }
      }
    }
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace bcsc::test
