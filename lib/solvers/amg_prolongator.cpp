#include "lib/solvers/amg_prolongator.hpp"

#include <algorithm>
#include <cmath>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::solvers::amg {

using converters::for_pieces;
using core::at;

namespace {

/// A vector adds to those before it if more than this share of it is left when they are taken out.
constexpr double independent = 1e-8;

/// Which nodes an aggregate has, ascending.
struct members {
  std::vector<std::int64_t> ptr;
  std::vector<std::int32_t> nodes;
  std::span<const std::int32_t> of(std::int64_t group) const {
    return std::span(nodes).subspan(at(ptr[at(group)]), at(ptr[at(group) + 1] - ptr[at(group)]));
  }
};

members members_of(const aggregates& groups) {
  members made{std::vector<std::int64_t>(at(groups.count) + 1, 0), {}};
  for (const std::int32_t group : groups.of_node) {
    if (group >= 0) ++made.ptr[at(group) + 1];
  }
  for (std::int64_t group = 0; group < groups.count; ++group) made.ptr[at(group) + 1] += made.ptr[at(group)];
  made.nodes.resize(at(made.ptr.back()));
  std::vector<std::int64_t> next = made.ptr;
  for (std::int64_t node = 0; node < std::ssize(groups.of_node); ++node) {
    const std::int32_t group = groups.of_node[at(node)];
    if (group >= 0) made.nodes[at(next[at(group)]++)] = static_cast<std::int32_t>(node);
  }
  return made;
}

/// Orthonormalises the columns of a row-major table in place, twice over, and moves those that are independent to the
/// front: V = Q R. Returns how many there are. r: [columns][columns], its first rows are R.
std::int64_t orthonormalise(std::span<double> v, std::int64_t rows, std::int64_t columns, std::span<double> r) {
  std::fill(r.begin(), r.end(), 0.0);
  const auto entry = [&](std::int64_t i, std::int64_t j) -> double& { return v[at(i * columns + j)]; };
  const auto product = [&](std::int64_t j, std::int64_t k) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += entry(i, j) * entry(i, k);
    return sum;
  };
  std::int64_t rank = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    const double size = std::sqrt(product(j, j));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t k = 0; k < rank; ++k) {
        const double share = product(k, j);
        r[at(k * columns + j)] += share;
        for (std::int64_t i = 0; i < rows; ++i) entry(i, j) -= share * entry(i, k);
      }
    }
    const double left = std::sqrt(product(j, j));
    if (rank == rows || !(left > independent * size)) continue;
    r[at(rank * columns + j)] = left;
    for (std::int64_t i = 0; i < rows; ++i) entry(i, rank) = entry(i, j) / left;
    ++rank;
  }
  return rank;
}

/// Q [unknowns][m] as a matrix: a node's rows have the columns of its aggregate, from `first_column` on.
setup_matrix prolongator_of(const aggregates& groups, const setup_array<std::int64_t>& node_ptr,
                            const setup_array<std::int64_t>& first_column, const setup_array<double>& q,
                            std::int64_t m) {
  constexpr const char* what = "a prolongator";
  const std::int64_t unknowns = node_ptr.back();
  setup_matrix p{unknowns, first_column.back(), unset<std::int64_t>(unknowns + 1, what), {}, {}};
  // use(unknown, column, entry) for each of a node that is not 0.
  const auto read = [&](std::int64_t node, const auto& use) {
    const std::int32_t group = groups.of_node[at(node)];
    if (group < 0) return;
    const std::int64_t first = first_column[at(group)], columns = first_column[at(group) + 1] - first;
    for (std::int64_t i = node_ptr[at(node)]; i < node_ptr[at(node) + 1]; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (q[at(i * m + j)] != 0) use(i, first + j, q[at(i * m + j)]);
      }
    }
  };
  for_each_of(std::ssize(groups.of_node), [&](std::int64_t node) {
    for (std::int64_t i = node_ptr[at(node)]; i < node_ptr[at(node) + 1]; ++i) p.row_ptr[at(i) + 1] = 0;
    read(node, [&](std::int64_t i, std::int64_t, double) { ++p.row_ptr[at(i) + 1]; });
  });
  point_to_segments(p.row_ptr);
  p.col_ind = unset<std::int32_t>(p.row_ptr.back(), what);
  p.values = unset<double>(p.row_ptr.back(), what);
  for_each_of(std::ssize(groups.of_node), [&](std::int64_t node) {
    std::int64_t to = p.row_ptr[at(node_ptr[at(node)])];
    read(node, [&](std::int64_t, std::int64_t column, double entry) {
      p.col_ind[at(to)] = static_cast<std::int32_t>(column);
      p.values[at(to++)] = entry;
    });
  });
  return p;
}

}  // namespace

tentative cut_vectors(const aggregates& groups, const setup_array<std::int64_t>& node_ptr, near_nullspace vectors) {
  const std::int64_t m = vectors.num_vectors, unknowns = node_ptr.back();
  const members nodes = members_of(groups);
  const auto num_unknowns = [&](std::int32_t node) { return node_ptr[at(node) + 1] - node_ptr[at(node)]; };

  setup_array<double>& q = vectors.values;  // becomes Q, an aggregate's rows at a time
  auto r = unset<double>(core::checked_product(groups.count, m * m, "vectors"), "the coarse vectors");
  auto rank = unset<std::int64_t>(groups.count + 1, "the coarse nodes");
  const std::vector<std::int64_t> cuts = converters::even_cuts(
      groups.count, converters::worthwhile_pieces(unknowns * m), [&](std::int64_t i) { return nodes.ptr[at(i)]; });
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    std::vector<double> part;
    for (std::int64_t group = first; group < last; ++group) {
      part.clear();
      for (const std::int32_t node : nodes.of(group)) {
        const auto begin = q.begin() + node_ptr[at(node)] * m;
        part.insert(part.end(), begin, begin + num_unknowns(node) * m);
      }
      const auto size = std::ssize(part) / std::max<std::int64_t>(m, 1);
      rank[at(group) + 1] = orthonormalise(part, size, m, std::span(r).subspan(at(group * m * m), at(m * m)));
      auto from = part.begin();
      for (const std::int32_t node : nodes.of(group)) {
        std::copy_n(from, num_unknowns(node) * m, q.begin() + node_ptr[at(node)] * m);
        from += num_unknowns(node) * m;
      }
    }
  });
  point_to_segments(rank);

  tentative made{prolongator_of(groups, node_ptr, rank, q, m), std::move(rank), {m, {}}};
  made.vectors.values = unset<double>(made.node_ptr.back() * m, "the coarse vectors");
  for_each_of(groups.count, [&](std::int64_t group) {
    const std::int64_t first = made.node_ptr[at(group)];
    std::copy_n(r.begin() + group * m * m, (made.node_ptr[at(group) + 1] - first) * m,
                made.vectors.values.begin() + first * m);
  });
  return made;
}

setup_matrix smooth(const setup_matrix& a, std::span<const double> scale, double omega, const setup_matrix& p) {
  // P's pattern lies inside that of A P wherever the diagonal is stored; elsewhere its row of A is empty, and P's row
  // reaches the next level through other rows or not at all.
  const auto change = [&](std::int64_t i, std::span<const std::int32_t> columns, std::span<double> values) {
    std::int64_t tentative_at = p.row_ptr[at(i)];
    const double factor = -omega * (scale[at(i)] * scale[at(i)]);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      values[k] *= factor;
      if (tentative_at < p.row_ptr[at(i) + 1] && p.col_ind[at(tentative_at)] == columns[k]) {
        values[k] += p.values[at(tentative_at++)];
      }
    }
  };
  return multiply(a, p, "the smoothed prolongator", change);
}

}  // namespace bcsc::solvers::amg
