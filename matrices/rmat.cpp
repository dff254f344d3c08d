#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {
namespace {

struct edge {
  std::int32_t row, col;
};

/// Descends `scale` times into one of the four quadrants. Source: Chakrabarti, Zhan and Faloutsos 2004.
edge draw_edge(int scale, random_stream random, double a, double b, double c) {
  std::uint32_t row = 0, col = 0;
  for (int level = 0; level < scale; ++level) {
    const double u = unit<double>(random.next());
    const bool lower = u >= a + b;
    const bool right = lower ? u >= a + b + c : u >= a;
    row = 2 * row + (lower ? 1 : 0);
    col = 2 * col + (right ? 1 : 0);
  }
  return {static_cast<std::int32_t>(row), static_cast<std::int32_t>(col)};
}

/// The columns of all edges, grouped by row and sorted within it, duplicates included.
struct adjacency {
  std::vector<std::int64_t> begin;  ///< [rows + 1]
  std::vector<std::int32_t> cols;   ///< [edges]

  std::span<const std::int32_t> of(std::int64_t row) const {
    const auto first = static_cast<std::size_t>(begin[static_cast<std::size_t>(row)]);
    return std::span(cols).subspan(first, static_cast<std::size_t>(begin[static_cast<std::size_t>(row) + 1]) - first);
  }
};

adjacency group_by_row(std::int64_t rows, const std::vector<edge>& edges) {
  adjacency graph{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, 0),
                  std::vector<std::int32_t>(edges.size())};
  for (const edge& e : edges) ++graph.begin[static_cast<std::size_t>(e.row) + 1];
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) graph.begin[row + 1] += graph.begin[row];
  std::vector<std::int64_t> next(graph.begin.begin(), graph.begin.end() - 1);
  for (const edge& e : edges) {
    graph.cols[static_cast<std::size_t>(next[static_cast<std::size_t>(e.row)]++)] = e.col;
  }
#pragma omp parallel for schedule(dynamic, 256)
  for (std::int64_t row = 0; row < rows; ++row) {
    std::sort(graph.cols.begin() + graph.begin[static_cast<std::size_t>(row)],
              graph.cols.begin() + graph.begin[static_cast<std::size_t>(row) + 1]);
  }
  return graph;
}

void require_probabilities(double a, double b, double c) {
  for (const auto& [name, probability] : {std::pair{"a", a}, {"b", b}, {"c", c}}) {
    if (!(probability >= 0 && probability <= 1)) {
      core::fail(errc::invalid_argument, "{} = {}: must lie in [0, 1]", name, probability);
    }
  }
  if (a + b + c > 1 + 1e-12) core::fail(errc::invalid_argument, "a + b + c = {}: must be at most 1", a + b + c);
}

}  // namespace

template <value T>
csr_matrix<T> rmat(int scale, int degree, std::uint64_t seed, double a, double b, double c) {
  require_at_least(scale, 0, "scale");
  require_at_least(degree, 0, "degree");
  require_probabilities(a, b, c);
  if (scale > 30) core::fail(errc::size_overflow, "scale = {}: 2^{} rows do not fit a 32-bit index", scale, scale);
  const std::int64_t rows = std::int64_t{1} << scale;
  const std::int64_t num_edges = degree * rows;
  require_index_range(num_edges, "edges");

  adjacency graph;
  try {
    std::vector<edge> edges(static_cast<std::size_t>(num_edges));
#pragma omp parallel for schedule(static)
    for (std::int64_t e = 0; e < num_edges; ++e) {
      edges[static_cast<std::size_t>(e)] =
          draw_edge(scale, random_stream(seed, static_cast<std::uint64_t>(e)), a, b, c);
    }
    graph = group_by_row(rows, edges);
  } catch (const std::bad_alloc&) {
    constexpr auto edge_bytes = static_cast<std::int64_t>(sizeof(edge) + sizeof(std::int32_t));  // drawn, and grouped
    constexpr auto row_bytes = static_cast<std::int64_t>(2 * sizeof(std::int64_t));
    fail_for_memory(core::format("the {} edges of a generated graph", core::count_text(num_edges)),
                    edge_bytes * num_edges + row_bytes * rows);
  }

  const auto count = [&](std::int64_t row) {
    const auto neighbours = graph.of(row);
    std::int64_t distinct = 0;
    for (std::size_t k = 0; k < neighbours.size(); ++k) distinct += k == 0 || neighbours[k] != neighbours[k - 1];
    return distinct;
  };
  // All edges between two vertices have the same weight, so their sum does not depend on the order.
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    const auto neighbours = graph.of(row);
    std::size_t at = 0;
    for (std::size_t entry = 0; entry < columns.size(); ++entry) {
      const std::int32_t column = neighbours[at];
      std::int64_t multiplicity = 0;
      for (; at < neighbours.size() && neighbours[at] == column; ++at) ++multiplicity;
      const T weight =
          away_from_zero<T>(mix(~seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column)));
      columns[entry] = column;
      values[entry] = static_cast<T>(multiplicity) * weight;
    }
  };
  return build_rows<T>(rows, rows, count, fill);
}

template csr_matrix<float> rmat<float>(int, int, std::uint64_t, double, double, double);
template csr_matrix<double> rmat<double>(int, int, std::uint64_t, double, double, double);

}  // namespace bcsc::generate
