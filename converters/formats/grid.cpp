#include "converters/formats/grid.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::at;
using core::ceil_div;

constexpr std::int64_t num_samples = 4;
constexpr std::int64_t max_unknowns = 6;
constexpr std::int64_t whole_nodes = 60;  // rows: 1 to max_unknowns divide it
constexpr std::int64_t sampled_rows = 2 * whole_nodes;
constexpr std::int64_t max_entries = 128 * sampled_rows;  // of a sample: rows of a grid are short
constexpr std::int64_t min_line = 8, min_lines = 4;       // nodes: below, bricks would hardly differ from lines

/// Neighbouring rows of A.
struct sample {
  std::int64_t first;  // a multiple of whole_nodes
  std::vector<std::int64_t> ptr;
  std::vector<std::int64_t> cols;

  std::int64_t rows() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
  std::span<const std::int64_t> row(std::int64_t i) const {
    return std::span(cols).subspan(at(ptr[at(i)]), at(ptr[at(i + 1)] - ptr[at(i)]));
  }
};

/// None if its rows are longer than a grid's.
template <class T, class I>
std::optional<sample> take_sample(const csr_view<T, I>& a, std::int64_t first) {
  const auto ptr = core::copy_to_host(a.row_ptr.subspan(at(first), at(sampled_rows + 1)), a.space);
  const std::int64_t begin = ptr.front(), count = ptr.back() - begin;
  if (count <= 0 || count > max_entries) return std::nullopt;
  const auto cols = core::copy_to_host(a.col_ind.subspan(at(begin), at(count)), a.space);
  sample s{first, {}, {cols.begin(), cols.end()}};
  for (const I p : ptr) s.ptr.push_back(std::int64_t{p} - begin);
  return s;
}

/// Whether rows come in groups of u with the same columns.
bool come_in_nodes(std::span<const sample> samples, std::int64_t u) {
  return std::ranges::all_of(samples, [&](const sample& s) {
    for (std::int64_t i = 0; i < s.rows(); ++i) {
      if (!std::ranges::equal(s.row(i), s.row(i - i % u))) return false;
    }
    return true;
  });
}

std::int64_t unknowns_of(std::span<const sample> samples, std::int64_t rows) {
  std::int64_t u = max_unknowns;
  while (u > 1 && (rows % u != 0 || !come_in_nodes(samples, u))) --u;
  return u;
}

/// Neighbouring distances from node to node, first .. last.
struct run {
  std::int64_t first, last;
  std::int64_t centre() const { return first + (last - first) / 2; }
};

/// The distances to higher nodes that at least a quarter of the nodes have, in runs; empty unless nine in ten entries
/// lie at such a distance, to either side.
std::vector<run> usual_distances(std::span<const sample> samples, std::int64_t u) {
  std::vector<std::int64_t> distances;
  std::int64_t nodes = 0;
  for (const sample& s : samples) {
    for (std::int64_t i = 0; i < s.rows(); i += u, ++nodes) {
      std::int64_t former = -1;
      for (const std::int64_t col : s.row(i)) {
        if (col / u != former) distances.push_back(col / u - (s.first + i) / u);
        former = col / u;
      }
    }
  }
  std::ranges::sort(distances);
  std::vector<run> runs;
  std::int64_t usual = 0;
  for (auto equal = distances.begin(); equal != distances.end();) {
    const std::int64_t distance = *equal;
    const auto end = std::upper_bound(equal, distances.end(), distance);
    const std::int64_t count = end - equal;
    equal = end;
    if (4 * count < nodes) continue;
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

/// The grid whose nodes have neighbours at these distances: those of the node's own line, then of lines at multiples of
/// x, then of planes.
grid grid_with(std::span<const run> distances, std::int64_t u, std::int64_t rows) {
  if (distances.size() < 2 || distances[0].first != 0 || distances[0].last < 1) return {};
  const std::int64_t nodes = rows / u, x = distances[1].centre();
  if (x < min_line || x <= 2 * distances[0].last) return {};
  std::size_t next = 1;
  while (next < distances.size() && distances[next].centre() == static_cast<std::int64_t>(next) * x) ++next;
  if (next == distances.size()) {
    const grid flat{u, x, nodes / x, 1};
    return flat.y >= min_lines ? flat : grid{};
  }
  std::size_t last = next;
  while (last + 1 < distances.size() && distances[last + 1].centre() == distances[last].centre() + x) ++last;
  const std::int64_t plane = std::midpoint(distances[next].centre(), distances[last].centre());
  const grid deep{u, x, plane / x, nodes / plane};
  return plane % x == 0 && deep.y >= min_lines && deep.z >= min_lines ? deep : grid{};
}

}  // namespace

template <element T, index I>
grid find_grid(const csr_view<T, I>& a) {
  if (a.rows != a.cols || a.rows < num_samples * sampled_rows) return {};
  std::vector<sample> samples;
  for (std::int64_t k = 0; k < num_samples; ++k) {
    const std::int64_t middle = a.rows / num_samples * k + a.rows / (2 * num_samples);
    const std::int64_t first = std::clamp<std::int64_t>(middle - sampled_rows / 2, 0, a.rows - sampled_rows);
    const auto s = take_sample(a, first / whole_nodes * whole_nodes);
    if (!s) return {};
    samples.push_back(*s);
  }
  const std::int64_t u = unknowns_of(samples, a.rows);
  return grid_with(usual_distances(samples, u), u, a.rows);
}

std::vector<std::int64_t> order_in_bricks(const grid& g, std::int64_t rows) {
  const brick_shape b = brick_of(g);
  auto order = storage<std::int64_t>(rows, "an order of rows");
  const std::int64_t bricks_y = ceil_div(g.y, b.y), bricks_z = ceil_div(g.z, b.z);
  parallel_for(bricks_y * bricks_z, [&](std::int64_t n) {
    const std::int64_t j0 = n % bricks_y * b.y, j1 = std::min(j0 + b.y, g.y);
    const std::int64_t k0 = n / bricks_y * b.z, k1 = std::min(k0 + b.z, g.z);
    std::int64_t place = g.unknowns * g.x * (g.y * k0 + j0 * (k1 - k0));
    for (std::int64_t i0 = 0; i0 < g.x; i0 += b.x) {
      for (std::int64_t k = k0; k < k1; ++k) {
        for (std::int64_t j = j0; j < j1; ++j) {
          const std::int64_t line = g.x * (j + g.y * k);
          const std::int64_t first = g.unknowns * (line + i0), end = g.unknowns * (line + std::min(i0 + b.x, g.x));
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
