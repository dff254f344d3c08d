#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {
namespace {

/// Nodes with varying numbers of unknowns, and which of them are coupled.
struct node_graph {
  std::vector<std::int32_t> first_row;                         ///< [nodes + 1]
  std::vector<std::pair<std::int32_t, std::int32_t>> coupled;  ///< both ways and with itself, ascending
  std::vector<std::size_t> begin;                              ///< [nodes + 1], into `coupled`

  std::int64_t num_nodes() const { return std::ssize(first_row) - 1; }
  std::size_t node_of(std::int64_t row) const {
    return static_cast<std::size_t>(std::upper_bound(first_row.begin(), first_row.end(), row) - first_row.begin() - 1);
  }
  std::span<const std::pair<std::int32_t, std::int32_t>> neighbours(std::size_t node) const {
    return std::span(coupled).subspan(begin[node], begin[node + 1] - begin[node]);
  }
  std::int64_t height(std::int32_t node) const {
    return first_row[static_cast<std::size_t>(node) + 1] - first_row[static_cast<std::size_t>(node)];
  }
};

constexpr auto coupling_bytes = static_cast<std::int64_t>(sizeof(std::pair<std::int32_t, std::int32_t>));

std::vector<std::int32_t> cut_rows(std::int64_t rows, std::int64_t least, std::int64_t most, std::uint64_t seed) {
  random_stream random(seed, 0);
  std::vector<std::int32_t> first_row{0};
  for (std::int64_t row = 0; row < rows;) {
    row = std::min(rows, row + least + below(random.next(), most - least + 1));
    first_row.push_back(static_cast<std::int32_t>(row));
  }
  return first_row;
}

node_graph couple(std::vector<std::int32_t> first_row, std::int64_t degree, std::uint64_t seed) {
  node_graph graph{.first_row = std::move(first_row), .coupled = {}, .begin = {}};
  const std::int64_t nodes = graph.num_nodes();
  require_index_range(core::checked_product(nodes, 2 * degree + 1, "couplings"), "couplings");
  graph.coupled.reserve(static_cast<std::size_t>(nodes * (2 * degree + 1)));
  random_stream random(seed, 1);
  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto own = static_cast<std::int32_t>(node);
    graph.coupled.emplace_back(own, own);
    for (std::int64_t k = 0; k < degree; ++k) {
      const auto other = static_cast<std::int32_t>(below(random.next(), nodes));
      graph.coupled.emplace_back(own, other);
      graph.coupled.emplace_back(other, own);
    }
  }
  std::sort(graph.coupled.begin(), graph.coupled.end());
  graph.coupled.erase(std::unique(graph.coupled.begin(), graph.coupled.end()), graph.coupled.end());
  graph.begin.assign(static_cast<std::size_t>(nodes) + 1, 0);
  for (const auto& [node, other] : graph.coupled) ++graph.begin[static_cast<std::size_t>(node) + 1];
  for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node) graph.begin[node + 1] += graph.begin[node];
  return graph;
}

}  // namespace

template <value T>
csr_matrix<T> blocks(std::int64_t rows, std::int64_t least, std::int64_t most, std::int64_t degree,
                     std::uint64_t seed) {
  require_at_least(rows, 0, "rows");
  require_at_least(least, 1, "least");
  require_at_least(most, least, "most");
  require_at_least(degree, 0, "degree");
  require_index_range(rows, "rows");
  require_index_range(most, "most");
  require_index_range(degree, "degree");
  node_graph graph;
  std::int64_t nodes = core::ceil_div(rows, least);
  try {
    std::vector<std::int32_t> first_row = cut_rows(rows, least, most, seed);
    nodes = std::ssize(first_row) - 1;
    graph = couple(std::move(first_row), degree, seed);
  } catch (const std::bad_alloc&) {
    const std::int64_t bytes =
        core::saturating_product(nodes, core::saturating_product(2 * degree + 1, coupling_bytes));
    fail_for_memory(core::format("the couplings of a generated matrix of {} rows", core::count_text(rows)), bytes);
  }

  const auto count = [&](std::int64_t row) {
    std::int64_t entries = 0;
    for (const auto& [node, other] : graph.neighbours(graph.node_of(row))) entries += graph.height(other);
    return entries;
  };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    std::size_t entry = 0, diagonal = 0;
    T sum{1};
    for (const auto& [node, other] : graph.neighbours(graph.node_of(row))) {
      const std::int64_t begin = graph.first_row[static_cast<std::size_t>(other)];
      for (std::int64_t column = begin; column < begin + graph.height(other); ++column, ++entry) {
        columns[entry] = static_cast<std::int32_t>(column);
        if (column == row) {
          diagonal = entry;
          continue;
        }
        // A number of the pair, whichever of the two is the row: the values are symmetric.
        values[entry] = symmetric_unit<T>(mix(seed, static_cast<std::uint64_t>(std::min(row, column)),
                                              static_cast<std::uint64_t>(std::max(row, column))));
        sum += std::abs(values[entry]);
      }
    }
    values[diagonal] = sum;
  };
  return build_rows<T>(rows, rows, count, fill);
}

template csr_matrix<float> blocks<float>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t);
template csr_matrix<double> blocks<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t);

}  // namespace bcsc::generate
