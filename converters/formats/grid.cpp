#include "converters/formats/grid.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "converters/formats/row_sample.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::at;

constexpr std::int64_t num_samples = 4;
constexpr std::int64_t sampled_rows = 128;
constexpr std::int64_t max_entries = 64 * sampled_rows;  // of a sample: rows of a grid are short
constexpr std::int64_t min_line = 8, min_lines = 4;      // nodes: below, bricks would hardly differ from lines

/// Diagonals side by side, by their offsets from the main one, first .. last.
struct band {
  std::int64_t first, last;
  std::int64_t centre() const { return first + (last - first) / 2; }
};

/// The diagonals, the main one and above, that at least a quarter of the rows have, in bands; none unless nine in ten
/// entries lie on such diagonals, on either side.
std::vector<band> usual_diagonals(std::vector<std::int64_t> offsets, std::int64_t rows) {
  std::ranges::sort(offsets);
  std::vector<band> bands;
  std::int64_t usual = 0;
  for (auto equal = offsets.begin(); equal != offsets.end();) {
    const std::int64_t offset = *equal;
    const auto end = std::upper_bound(equal, offsets.end(), offset);
    const std::int64_t count = end - equal;
    equal = end;
    if (4 * count < rows) continue;
    usual += count;
    if (offset < 0) continue;
    if (!bands.empty() && bands.back().last + 1 == offset) {
      bands.back().last = offset;
    } else {
      bands.push_back({offset, offset});
    }
  }
  if (10 * usual < 9 * static_cast<std::int64_t>(offsets.size())) bands.clear();
  return bands;
}

/// The grid that has these diagonals: a node's neighbours on its own line, then on lines at multiples of x, then on
/// planes.
grid grid_with(const std::vector<band>& diagonals, std::int64_t rows) {
  if (diagonals.size() < 2 || diagonals[0].first != 0 || diagonals[0].last != 1) return {};
  const std::int64_t x = diagonals[1].centre();
  if (x < min_line) return {};
  std::size_t next = 1;
  while (next < diagonals.size() && diagonals[next].centre() == static_cast<std::int64_t>(next) * x) ++next;
  if (next == diagonals.size()) {
    const grid flat{x, rows / x, 1};
    return flat.y >= min_lines ? flat : grid{};
  }
  std::size_t last = next;
  while (last + 1 < diagonals.size() && diagonals[last + 1].centre() == diagonals[last].centre() + x) ++last;
  const std::int64_t plane = std::midpoint(diagonals[next].centre(), diagonals[last].centre());
  const grid deep{x, plane / x, rows / plane};
  return plane % x == 0 && deep.y >= min_lines && deep.z >= min_lines ? deep : grid{};
}

}  // namespace

void check_brick_shape(const brick_shape& shape) {
  const auto is_count = [](std::int64_t n) { return n >= 1 && n <= std::numeric_limits<std::int32_t>::max(); };
  if (shape == brick_shape{} || (is_count(shape.x) && is_count(shape.y) && is_count(shape.z))) return;
  core::fail(errc::invalid_argument, "shape = {} x {} x {}: must have at least one node along each axis, below 2^31",
             shape.x, shape.y, shape.z);
}

template <index I>
grid find_grid(const csr_view<pattern, I>& a) {
  if (a.rows != a.cols || a.rows < num_samples * sampled_rows) return {};
  std::vector<std::int64_t> offsets;  // from the diagonal
  for (std::int64_t k = 0; k < num_samples; ++k) {
    const std::int64_t first = first_of_sample(a.rows, k, num_samples, sampled_rows);
    const auto sample = sample_rows(a, first, sampled_rows, max_entries);
    if (!sample) return {};
    for (std::int64_t i = 0; i < sampled_rows; ++i) {
      for (I e = sample->ptr[at(i)]; e < sample->ptr[at(i + 1)]; ++e) {
        offsets.push_back(sample->cols[at(e)] - (first + i));
      }
    }
  }
  return grid_with(usual_diagonals(std::move(offsets), num_samples * sampled_rows), a.rows);
}

template grid find_grid(const csr_view<pattern, std::int32_t>&);
template grid find_grid(const csr_view<pattern, std::int64_t>&);

}  // namespace bcsc::converters
