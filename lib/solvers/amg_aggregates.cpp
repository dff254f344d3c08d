#include "lib/solvers/amg_aggregates.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::solvers::amg {

using core::at;

namespace {

/// A block's place in its row of blocks, and the sum of its squares.
struct block_square {
  std::int32_t node;
  double square;
};

/// The blocks of the matrix between nodes, a row of them at a time.
class block_rows {
 public:
  block_rows(const setup_matrix& a, const setup_array<std::int64_t>& node_ptr)
      : a_(a), node_ptr_(node_ptr), is_scalar_(converters::first_fault(std::ssize(node_ptr), [&](std::int64_t node) {
                                                 return node_ptr[at(node)] != node;
                                               }) < 0) {
    if (is_scalar_) return;
    node_of_ = unset<std::int32_t>(a.rows, "the nodes of the unknowns");
    for_each_of(num_nodes(), [&](std::int64_t node) {
      std::fill(node_of_.begin() + node_ptr[at(node)], node_of_.begin() + node_ptr[at(node) + 1],
                static_cast<std::int32_t>(node));
    });
  }

  std::int64_t num_nodes() const { return std::ssize(node_ptr_) - 1; }

  /// What a thread needs to read rows: where a node of the current row stands among those found.
  class reader {
   public:
    explicit reader(const block_rows& rows) : rows_(rows), place_(rows.is_scalar_ ? 0 : at(rows.num_nodes()), -1) {}

    /// In the order in which the rows meet them.
    std::span<const block_square> read(std::int64_t node) {
      const setup_matrix& a = rows_.a_;
      if (rows_.is_scalar_) return read_scalars(node);
      for (const block_square& block : found_) place_[at(block.node)] = -1;
      found_.clear();
      const std::int64_t first = a.row_ptr[at(rows_.node_ptr_[at(node)])];
      const std::int64_t last = a.row_ptr[at(rows_.node_ptr_[at(node) + 1])];
      for (std::int64_t p = first; p < last; ++p) {
        const std::int32_t other = rows_.node_of_[at(a.col_ind[at(p)])];
        if (place_[at(other)] < 0) {
          place_[at(other)] = static_cast<std::int32_t>(found_.size());
          found_.push_back({other, 0});
        }
        found_[at(place_[at(other)])].square += a.values[at(p)] * a.values[at(p)];
      }
      return found_;
    }

   private:
    std::span<const block_square> read_scalars(std::int64_t row) {
      const setup_matrix& a = rows_.a_;
      found_.clear();
      for (std::int64_t p = a.row_ptr[at(row)]; p < a.row_ptr[at(row) + 1]; ++p) {
        found_.push_back({a.col_ind[at(p)], a.values[at(p)] * a.values[at(p)]});
      }
      return found_;
    }

    const block_rows& rows_;
    std::vector<std::int32_t> place_;
    std::vector<block_square> found_;
  };

  /// body(piece, node, blocks) for every node, in parallel.
  template <class Body>
  void for_each(const std::vector<std::int64_t>& cuts, const Body& body) const {
    converters::for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
      reader row(*this);
      for (std::int64_t node = first; node < last; ++node) body(piece, node, row.read(node));
    });
  }

 private:
  const setup_matrix& a_;
  const setup_array<std::int64_t>& node_ptr_;
  bool is_scalar_;  ///< every node is one unknown
  setup_array<std::int32_t> node_of_;
};

}  // namespace

node_graph strong_connections(const setup_matrix& a, const setup_array<std::int64_t>& node_ptr, double strength) {
  const block_rows rows(a, node_ptr);
  const std::int64_t nodes = rows.num_nodes();
  const std::vector<std::int64_t> cuts =
      converters::even_cuts(nodes, std::min(2 * converters::num_threads(), converters::worthwhile_pieces(a.nnz())),
                            [&](std::int64_t i) { return a.row_ptr[at(node_ptr[at(i)])] + i; });

  auto own = converters::storage<double>(nodes, "the nodes' blocks");  // |A_ii|
  if (strength > 0) {
    rows.for_each(cuts, [&](std::int64_t, std::int64_t node, std::span<const block_square> blocks) {
      for (const block_square& block : blocks) {
        if (block.node == node) own[at(node)] = std::sqrt(block.square);
      }
    });
  }

  constexpr const char* what = "the graph of strong connections";
  node_graph graph{unset<std::int64_t>(nodes + 1, what), {}};
  std::vector<setup_array<std::int32_t>> parts(cuts.size());
  for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
    parts[piece].reserve(at(a.row_ptr[at(node_ptr[at(cuts[piece + 1])])] - a.row_ptr[at(node_ptr[at(cuts[piece])])]));
  }
  rows.for_each(cuts, [&](std::int64_t piece, std::int64_t node, std::span<const block_square> blocks) {
    setup_array<std::int32_t>& mine = parts[at(piece)];
    const std::size_t before = mine.size();
    for (const block_square& block : blocks) {
      const bool is_strong = block.square >= strength * strength * own[at(node)] * own[at(block.node)];
      if (block.node != node && block.square > 0 && is_strong) mine.push_back(block.node);
    }
    std::sort(mine.begin() + static_cast<std::ptrdiff_t>(before), mine.end());
    graph.ptr[at(node) + 1] = static_cast<std::int64_t>(mine.size() - before);
  });
  point_to_segments(graph.ptr);
  graph.neighbours = unset<std::int32_t>(graph.ptr.back(), what);
  converters::for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t) {
    std::ranges::copy(parts[at(piece)], graph.neighbours.begin() + graph.ptr[at(first)]);
    parts[at(piece)] = {};
  });
  return graph;
}

aggregates aggregate(const node_graph& graph) {
  constexpr std::int32_t none = -1;
  const std::int64_t nodes = graph.num_nodes();
  aggregates made{std::vector<std::int32_t>(at(nodes), none), 0};
  const auto neighbours = [&](std::int64_t node) {
    return std::span(graph.neighbours)
        .subspan(at(graph.ptr[at(node)]), at(graph.ptr[at(node) + 1] - graph.ptr[at(node)]));
  };
  const auto is_free = [&](std::int64_t node) { return made.of_node[at(node)] == none; };

  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto around = neighbours(node);
    if (around.empty() || !is_free(node) || !std::all_of(around.begin(), around.end(), is_free)) continue;
    const auto number = static_cast<std::int32_t>(made.count++);
    made.of_node[at(node)] = number;
    for (const std::int32_t other : around) made.of_node[at(other)] = number;
  }

  // Only neighbourhoods of the first pass are joined, so that none grows into a chain.
  std::vector<std::int32_t> joined(at(nodes), none);
  for (std::int64_t node = 0; node < nodes; ++node) {
    if (!is_free(node)) continue;
    const auto around = neighbours(node);
    const auto touched = std::find_if_not(around.begin(), around.end(), is_free);
    if (touched != around.end()) joined[at(node)] = made.of_node[at(*touched)];
  }
  for (std::int64_t node = 0; node < nodes; ++node) {
    if (joined[at(node)] != none) made.of_node[at(node)] = joined[at(node)];
  }

  for (std::int64_t node = 0; node < nodes; ++node) {
    const auto around = neighbours(node);
    if (around.empty() || !is_free(node)) continue;
    const auto number = static_cast<std::int32_t>(made.count++);
    made.of_node[at(node)] = number;
    for (const std::int32_t other : around) {
      if (is_free(other)) made.of_node[at(other)] = number;
    }
  }
  return made;
}

}  // namespace bcsc::solvers::amg
