#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bcsc/formats.hpp"

/// What the formats with padding would take, counted without making them: they may not fit in memory.
namespace bcsc::test {

/// How many blocks of r x c are not empty: in all, and in the fullest row of blocks.
struct block_count {
  std::int64_t all = 0, most = 0;
};
template <class T, class I>
block_count count_blocks(const csr_view<T, I>& a, std::int64_t r, std::int64_t c) {
  std::vector<std::int64_t> last_met(static_cast<std::size_t>(a.cols / c + 1), -1);
  block_count count;
  std::int64_t here = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (i % r == 0) here = 0;
    for (auto k = static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i) + 1]); ++k) {
      std::int64_t& met = last_met[static_cast<std::size_t>(a.col_ind[k] / c)];
      if (met == i / r) continue;
      met = i / r;
      ++count.all;
      count.most = std::max(count.most, ++here);
    }
  }
  return count;
}

}  // namespace bcsc::test
