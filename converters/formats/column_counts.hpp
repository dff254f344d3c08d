#pragma once

#include <algorithm>
#include <cstdint>

namespace bcsc::converters {

/// Non-empty columns of row blocks: of all together, and of the one that has the most.
struct column_counts {
  std::int64_t all = 0, most = 0;

  friend constexpr column_counts operator+(const column_counts& x, const column_counts& y) {
    return {x.all + y.all, std::max(x.most, y.most)};
  }
};

}  // namespace bcsc::converters
