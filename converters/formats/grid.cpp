#include "converters/formats/grid.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::at;
using core::ceil_div;

constexpr std::int64_t num_samples = 4;
constexpr std::int64_t sampled_rows = 128;
constexpr std::int64_t max_entries = 64 * sampled_rows;  // of a sample: rows of a grid are short
constexpr std::int64_t min_line = 8, min_lines = 4;      // nodes: below, bricks would hardly differ from lines

/// Neighbouring distances from a node to higher ones, first .. last.
struct run {
  std::int64_t first, last;
  std::int64_t centre() const { return first + (last - first) / 2; }
};

/// Appends how far the entries of some rows, from `first` on, lie from the diagonal; false if they are more than a
/// grid's.
template <class T, class I>
bool sample(const csr_view<T, I>& a, std::int64_t first, std::vector<std::int64_t>& distances) {
  const auto ptr = core::copy_to_host(a.row_ptr.subspan(at(first), at(sampled_rows + 1)), a.space);
  const std::int64_t begin = ptr.front(), count = ptr.back() - begin;
  if (count > max_entries) return false;
  const auto cols = core::copy_to_host(a.col_ind.subspan(at(begin), at(count)), a.space);
  for (std::int64_t i = 0; i < sampled_rows; ++i) {
    for (std::int64_t k = ptr[at(i)]; k < ptr[at(i + 1)]; ++k) distances.push_back(cols[at(k - begin)] - (first + i));
  }
  return true;
}

/// The distances to higher nodes that at least a quarter of the rows have, in runs; empty unless nine in ten entries
/// lie at such a distance, to either side.
std::vector<run> usual_distances(std::vector<std::int64_t> distances, std::int64_t rows) {
  std::ranges::sort(distances);
  std::vector<run> runs;
  std::int64_t usual = 0;
  for (auto equal = distances.begin(); equal != distances.end();) {
    const std::int64_t distance = *equal;
    const auto end = std::upper_bound(equal, distances.end(), distance);
    const std::int64_t count = end - equal;
    equal = end;
    if (4 * count < rows) continue;
    usual += count;
    if (distance < 0) continue;
    if (!runs.empty() && runs.back().last + 1 == distance) {
      runs.back().last = distance;
    } else {
      runs.push_back({distance, distance});
    }
  }
  if (10 * usual < 9 * static_cast<std::int64_t>(distances.size())) runs.clear();
  return runs;
}

/// The grid whose nodes have neighbours at these distances: those beside them on their own line, then on lines at
/// multiples of x, then on planes.
grid grid_with(const std::vector<run>& distances, std::int64_t rows) {
  if (distances.size() < 2 || distances[0].first != 0 || distances[0].last != 1) return {};
  const std::int64_t x = distances[1].centre();
  if (x < min_line) return {};
  std::size_t next = 1;
  while (next < distances.size() && distances[next].centre() == static_cast<std::int64_t>(next) * x) ++next;
  if (next == distances.size()) {
    const grid flat{x, rows / x, 1};
    return flat.y >= min_lines ? flat : grid{};
  }
  std::size_t last = next;
  while (last + 1 < distances.size() && distances[last + 1].centre() == distances[last].centre() + x) ++last;
  const std::int64_t plane = std::midpoint(distances[next].centre(), distances[last].centre());
  const grid deep{x, plane / x, rows / plane};
  return plane % x == 0 && deep.y >= min_lines && deep.z >= min_lines ? deep : grid{};
}

}  // namespace

template <element T, index I>
grid find_grid(const csr_view<T, I>& a) {
  if (a.rows != a.cols || a.rows < num_samples * sampled_rows) return {};
  std::vector<std::int64_t> distances;
  for (std::int64_t k = 0; k < num_samples; ++k) {
    const std::int64_t middle = a.rows / num_samples * k + a.rows / (2 * num_samples);
    if (!sample(a, middle - sampled_rows / 2, distances)) return {};
  }
  return grid_with(usual_distances(std::move(distances), num_samples * sampled_rows), a.rows);
}

std::vector<std::int64_t> order_in_bricks(const grid& g, std::int64_t rows) {
  const brick_shape b = brick_of(g);
  auto order = storage<std::int64_t>(rows, "an order of rows");
  const std::int64_t bricks_y = ceil_div(g.y, b.y), bricks_z = ceil_div(g.z, b.z);
  parallel_for(bricks_y * bricks_z, [&](std::int64_t n) {
    const std::int64_t j0 = n % bricks_y * b.y, j1 = std::min(j0 + b.y, g.y);
    const std::int64_t k0 = n / bricks_y * b.z, k1 = std::min(k0 + b.z, g.z);
    std::int64_t place = g.x * (g.y * k0 + j0 * (k1 - k0));
    for (std::int64_t i0 = 0; i0 < g.x; i0 += b.x) {
      for (std::int64_t k = k0; k < k1; ++k) {
        for (std::int64_t j = j0; j < j1; ++j) {
          const std::int64_t line = g.x * (j + g.y * k);
          const std::int64_t first = line + i0, end = line + std::min(i0 + b.x, g.x);
          for (std::int64_t row = first; row < end; ++row) order[at(place++)] = row;
        }
      }
    }
  });
  std::iota(order.begin() + g.rows(), order.end(), g.rows());
  return order;
}

#define BCSC_INSTANTIATE(T, I) template grid find_grid(const csr_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
