#include "kernels/cpu/pack.hpp"

#include <algorithm>

#include "bcsc/elements.hpp"
#include "core/by_all.hpp"

namespace bcsc::kernels::cpu {

namespace {

/// A block is as many columns as fill a cache line of the packed row, and some lines of each column.
constexpr std::int64_t block_rows = 64, block_cols = 16;
constexpr double seconds_of_a_value = 0.2e-9;

}  // namespace

template <class T>
void pack_row_major(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed,
                    std::int64_t ld_packed, const core::team& all) {
  const double seconds = seconds_of_a_value * static_cast<double>(rows) * static_cast<double>(cols);
  const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
  core::for_each(core::team_for(seconds, all), blocks, [&](std::int64_t block) {
    const std::int64_t first = block * block_rows, last = std::min(first + block_rows, rows);
    for (std::int64_t left = 0; left < cols; left += block_cols) {
      const std::int64_t right = std::min(left + block_cols, cols);
      for (std::int64_t k = first; k < last; ++k) {
        for (std::int64_t j = left; j < right; ++j) packed[k * ld_packed + j] = b[k + j * ldb];
      }
    }
  });
}

#define BCSC_INSTANTIATE(T) \
  template void pack_row_major(const T*, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, const core::team&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::kernels::cpu
