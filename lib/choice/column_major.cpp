#include "lib/choice/column_major.hpp"

#include <algorithm>

#include "converters/formats/coalescing.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"

namespace bcsc::choice {

namespace {

/// What turning `rows` rows of a column-major operand costs on a GPU, in seconds, fitted to an H200 (docs/history, 36
/// and 125).
double turning_seconds(const problem& p, std::int64_t rows) {
  const gpu_scales& scales = costs_of(p).scales;
  return 1e-6 * (1.5 * scales.launch + 0.6 * scales.memory * megabytes(p, rows));
}

/// 0 while `mb` fit in a third of an H200's L2, 1 from twice that on: partly written sectors of C are then evicted
/// before they are complete.
double beyond_l2(double mb) {
  constexpr double held_mb = 20;
  return std::clamp(mb / held_mb - 1, 0.0, 1.0);
}

static_assert(converters::entries_alike == forms::row_stream_options{}.grain, "by which a row stream is sorted");

/// The extra cost of a column-major C to a row-wise kernel that writes it directly, in us per million values. Rows that
/// a warp takes side by side share a sector of each column, unless rows of other lengths lie between them.
double us_per_million_row_wise(const problem& p, const kernel_info& kernel, double beyond) {
  constexpr double sector_bytes = 32, rows_judged = 8, presumed = 0.25, warp = 32;
  const double rows_of_sector = sector_bytes / static_cast<double>(size_of(p.type));
  const double lanes = kernel.teams > 0 ? static_cast<double>(kernel.threads) / kernel.teams : warp;
  const double in_step = 1 / std::clamp(warp / lanes, 1.0, rows_of_sector);
  const double sectors = p.sectors_per_row > 0 ? p.sectors_per_row : presumed;
  const double scattered = (sectors * rows_judged - 1) / (rows_judged - 1);
  const double per_value = in_step + (1 - in_step) * scattered;
  return 0.3 + 3 * per_value + 4.2 * scattered + beyond * (2.6 * per_value + 14 * scattered);
}

/// The extra cost of a column-major C that is written directly, in seconds, over a row-major one. Fitted to an H200
/// (docs/history, 89, 125 and 131).
double direct_seconds(const problem& p, const kernel_info& kernel) {
  if (kernel.algorithm == "gemm" || kernel.algorithm == "sliced") return 0;  // which write whole sectors
  const double mb = megabytes(p, p.rows), beyond = beyond_l2(mb);
  const double millions = mb / static_cast<double>(size_of(p.type));
  // Tiles on tensor cores store two rows at a time, eight of them a whole sector, where columns begin at even places,
  // as those of an even number of rows mostly do.
  double us_per_million = p.rows % 2 == 0 ? 0.1 + beyond : 2.4 + 2 * beyond;
  if (kernel.algorithm == "fma") us_per_million = 14;  // a warp stores single values of many columns at a time
  if (kernel.algorithm == "rowwise") us_per_million = us_per_million_row_wise(p, kernel, beyond);
  return 1e-6 * us_per_million * costs_of(p).scales.memory * millions;
}

/// The extra cost of one that is computed row-major and then turned. Less of C than of a B to be packed is in L2.
double turned_seconds(const problem& p) {
  constexpr double evicted_us_per_mb = 0.1;
  return turning_seconds(p, p.rows) + 1e-6 * evicted_us_per_mb * costs_of(p).scales.memory * megabytes(p, p.rows);
}

}  // namespace

double megabytes(const problem& p, std::int64_t rows) {
  return 1e-6 * static_cast<double>(rows) * static_cast<double>(p.cols) * static_cast<double>(size_of(p.type));
}

bool turns_c(const problem& p, const kernel_info& kernel) {
  return p.where == backend::cuda && p.b_is_col_major && p.cols > 1 && turned_seconds(p) < direct_seconds(p, kernel);
}

double packing_seconds(const problem& p, const kernel_info& kernel) {
  // A single column is row-major as it lies.
  if (!p.b_is_col_major || p.where == backend::cpu || p.cols <= 1) return 0;
  const double c_seconds = turns_c(p, kernel) ? turned_seconds(p) : direct_seconds(p, kernel);
  return turning_seconds(p, p.inner) + c_seconds;
}

}  // namespace bcsc::choice
