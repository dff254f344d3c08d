#pragma once

#include <cstdint>
#include <vector>

#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers::amg {

/// Which nodes are strongly connected, and which node an unknown belongs to. A node is one unknown of a scalar problem,
/// the displacements of a point, or what an aggregate of the level above has become.
struct node_graph {
  setup_array<std::int64_t> ptr = {0};   ///< [nodes + 1]
  setup_array<std::int32_t> neighbours;  ///< ascending, without the node itself
  std::int64_t num_nodes() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
};

/// Nodes i and j are strongly connected if |A_ij| >= strength sqrt(|A_ii| |A_jj|) and A_ij is not 0, in the Frobenius
/// norms of the blocks. node_ptr: [nodes + 1] where each node's unknowns begin.
node_graph strong_connections(const setup_matrix& a, const setup_array<std::int64_t>& node_ptr, double strength);

/// [nodes] the aggregate of each node, or -1 for one that has no strong connection: smoothing alone serves it.
struct aggregates {
  std::vector<std::int32_t> of_node;
  std::int64_t count = 0;
};

/// Disjoint neighbourhoods, then what touches one joins it, then what is left. Sequential: the order of the nodes
/// decides, so that a grid is cut regularly, whatever the threads. Source: Vanek, Mandel and Brezina 1996, algorithm 2.
aggregates aggregate(const node_graph& graph);

}  // namespace bcsc::solvers::amg
