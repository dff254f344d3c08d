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

}  // namespace

tentative cut_vectors(const aggregates& groups, const std::vector<std::int64_t>& node_ptr,
                      const near_nullspace& vectors) {
  const std::int64_t m = vectors.num_vectors, unknowns = node_ptr.back();
  const members nodes = members_of(groups);
  const auto num_unknowns = [&](std::int32_t node) { return node_ptr[at(node) + 1] - node_ptr[at(node)]; };

  std::vector<double> q = vectors.values;  // becomes Q, an aggregate's rows at a time
  auto r = converters::storage<double>(core::checked_product(groups.count, m * m, "vectors"), "the coarse vectors");
  auto rank = converters::storage<std::int64_t>(groups.count + 1, "the coarse nodes");
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
  for (std::int64_t group = 0; group < groups.count; ++group) rank[at(group) + 1] += rank[at(group)];

  tentative made{{unknowns, rank.back(), converters::storage<std::int64_t>(unknowns + 1, "a prolongator"), {}, {}},
                 std::move(rank),
                 {m, {}}};
  setup_matrix& p = made.prolongator;
  for (std::int64_t node = 0; node < std::ssize(groups.of_node); ++node) {
    const std::int32_t group = groups.of_node[at(node)];
    for (std::int64_t i = node_ptr[at(node)]; i < node_ptr[at(node) + 1]; ++i) {
      const std::int64_t first = group < 0 ? 0 : made.node_ptr[at(group)];
      const std::int64_t columns = group < 0 ? 0 : made.node_ptr[at(group) + 1] - first;
      for (std::int64_t j = 0; j < columns; ++j) {
        const double entry = q[at(i * m + j)];
        if (entry == 0) continue;
        p.col_ind.push_back(static_cast<std::int32_t>(first + j));
        p.values.push_back(entry);
      }
      p.row_ptr[at(i) + 1] = p.nnz();
    }
  }
  for (std::int64_t group = 0; group < groups.count; ++group) {
    const auto begin = r.begin() + group * m * m;
    made.vectors.values.insert(made.vectors.values.end(), begin,
                               begin + (made.node_ptr[at(group) + 1] - made.node_ptr[at(group)]) * m);
  }
  return made;
}

setup_matrix smooth(const setup_matrix& a, std::span<const double> inverse_diagonal, double omega,
                    const setup_matrix& p) {
  setup_matrix product = multiply(a, p, "the smoothed prolongator");
  // P's pattern lies inside that of A P wherever the diagonal is stored; elsewhere its row of A is empty, and P's row
  // reaches the next level through other rows or not at all.
  const auto cuts = converters::even_segment_cuts(product.row_ptr, product.rows);
  for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t tentative_at = p.row_ptr[at(i)];
      const double factor = -omega * inverse_diagonal[at(i)];
      for (std::int64_t k = product.row_ptr[at(i)]; k < product.row_ptr[at(i) + 1]; ++k) {
        double& entry = product.values[at(k)];
        entry *= factor;
        if (tentative_at < p.row_ptr[at(i) + 1] && p.col_ind[at(tentative_at)] == product.col_ind[at(k)]) {
          entry += p.values[at(tentative_at++)];
        }
      }
    }
  });
  return product;
}

}  // namespace bcsc::solvers::amg
