#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/analysis.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Orders of the rows, and heights of the row blocks, that let BCSC share more rows of B or balance its work. Neither
/// is a gain by itself: compare_orders() and analyse_blocks() tell what an order gains. Everything here reads only the
/// pattern of a host CSR that holds its invariants, and does not depend on the number of threads.
/// Throws error{invalid_argument} for an option out of range, error{wrong_memory_space} for a device view,
/// error{out_of_memory}.
namespace bcsc {

struct order_options {
  int num_hashes = 12;          ///< of a row's signature, 2 .. 64: more: finds less similar rows, takes longer
  std::int64_t col_bucket = 1;  ///< this many neighbouring columns count as one, >= 1
  std::uint64_t seed = 1;
};

/// A permutation, order[new] = old, that brings rows with similar column sets together, so that a row block has fewer
/// non-empty columns. Rows without entries come last.
///
/// MinHash signatures (Broder 1997) put rows that share much into one bucket; the pairs found are weighed by their
/// exact Jaccard similarity and joined greedily into chains, the most similar first; chains are joined into longer ones
/// by their own signatures. The clustering of rows by locality-sensitive hashing follows Jiang, Hong, Agrawal: "A novel
/// data transformation and execution strategy for accelerating sparse matrix multiplication on GPUs", PPoPP 2020; the
/// greedy chains are those of the travelling salesman's greedy-edge heuristic.
/// About num_hashes * (nnz + rows log rows) steps.
template <element T, index I>
BCSC_EXPORT std::vector<std::int64_t> order_rows_by_similarity(const csr_view<T, I>& a,
                                                               const order_options& options = {});

/// Row i of the result is row order[i] of `a`. Throws error{invalid_argument} where `order` is not a permutation.
template <element T, index I>
BCSC_EXPORT csr_matrix<T, I> permute_rows(const csr_view<T, I>& a, std::span<const std::int64_t> order);

/// BCSC's statistics at one height in the given order and in another.
struct order_comparison {
  block_statistics before, after;
  /// After over before; 1 for an empty matrix.
  double gain() const { return before.reuse > 0 ? after.reuse / before.reuse : 1.0; }
};
template <element T, index I>
BCSC_EXPORT order_comparison compare_orders(const csr_view<T, I>& a, std::span<const std::int64_t> order,
                                            std::int64_t m_block);

struct balance_options {
  double factor = 2;  ///< a row block may hold this many times the mean number of non-zeros; >= 1
};

/// Where row blocks begin, [num_row_blocks + 1] from 0 to rows, as compact_options::boundaries takes it: every m_block
/// rows, and a row block with more than factor * (mean non-zeros) is cut until none holds more or it is a single row.
template <element T, index I>
BCSC_EXPORT std::vector<std::int64_t> balanced_boundaries(const csr_view<T, I>& a, std::int64_t m_block,
                                                          const balance_options& options = {});

/// The same, cut where neighbouring rows share the fewest columns (between nodes of a mesh, supernodes, diagonal
/// blocks): of all ways to cut into row blocks of at most m_block rows, the one whose cuts part the fewest shared
/// columns, where each row block also costs as much as a few columns. Exact for that measure, O(nnz + rows), by dynamic
/// programming with a sliding minimum.
template <element T, index I>
BCSC_EXPORT std::vector<std::int64_t> structural_boundaries(const csr_view<T, I>& a, std::int64_t m_block);

template <element T, index I>
std::vector<std::int64_t> order_rows_by_similarity(const csr_matrix<T, I>& a, const order_options& options = {}) {
  return order_rows_by_similarity(a.view(), options);
}
template <element T, index I>
csr_matrix<T, I> permute_rows(const csr_matrix<T, I>& a, std::span<const std::int64_t> order) {
  return permute_rows(a.view(), order);
}

}  // namespace bcsc
#pragma GCC visibility pop
