#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// What a machine and a product look like to advise().
struct advise_options {
  std::int64_t cols = 32;  ///< N, the columns of B and C; >= 1
  /// Size of the cache that all cores share, e.g. an H200's L2: rows of B that fit are read from memory once.
  std::int64_t cache_bytes = std::int64_t{50} << 20;
  /// The cost of re-reading a byte of B from the cache, relative to a byte from memory: caches are faster, not free. 0
  /// .. 1.
  double cache_cost = 0.25;
  bool narrow_columns = true;  ///< two bytes per column where there are at most 65536, as in plans on a GPU
  std::span<const std::int64_t> m_blocks = {};  ///< 1 .. 65536 each; empty: 1, 4, 8, 16, 32, 64, 128, 256
  bool try_orders = true;  ///< also try order_rows_by_similarity and boundaries on the matrix; else only count
};

/// The bytes that one product moves in this model: A once, C once, a row of B for each non-empty column.
struct traffic_model {
  double a = 0, b = 0, c = 0;
  double total() const { return a + b + c; }
};

/// BCSC at one height.
struct height_advice {
  std::int64_t m_block = 0;
  std::int64_t num_row_blocks = 0, nnzc = 0;
  double reuse = 0, skew = 0;  ///< as in block_statistics
  std::int64_t bytes = 0;      ///< of the compact form
  traffic_model traffic;
};

/// The format that suits a matrix.
enum class format_verdict {
  bcsc,        ///< rows share columns: BCSC at the advised height
  csr,         ///< they share next to none at any height: m_block = 1, which is CSR
  dense,       ///< more than half is stored: a dense product
  negligible,  ///< so little work that starting it costs more than any format saves
};
std::string_view to_string(format_verdict verdict);

struct advice {
  format_verdict verdict = format_verdict::bcsc;
  double density = 0;  ///< nnz / (rows * cols)
  std::int64_t csr_bytes = 0, dense_bytes = 0;
  std::vector<height_advice> heights;  ///< one for each of m_blocks
  std::int64_t m_block = 0;  ///< advised: the lowest within 1.1 times the least traffic; 1 if the verdict is csr
  std::int64_t min_bytes = 0, min_traffic = 0;  ///< the m_block with the fewest bytes, and with the least traffic

  // Further measures that may pay off at the advised height, and their gain. Fewer nnzc and more reuse are the same
  // thing.
  bool balance = false;              ///< boundaries by work: the heaviest row block would keep the others waiting
  bool follow_structure = false;     ///< boundaries by structure
  bool dense_first = false;          ///< dense columns first: both they and sparse ones hold many non-zeros
  bool reorder = false;              ///< order the rows by similarity
  double structural_reuse = 0;       ///< with structural_boundaries; 0 where not tried
  double reordered_reuse = 0;        ///< with order_rows_by_similarity; 0 where not tried
  double dense_column_share = 0;     ///< of the non-zeros, in columns that fill at least half of their row block
  std::vector<std::string> reasons;  ///< a sentence for the verdict, then one for each thing advised
};

/// What to store a matrix as, from its statistics and a simple model of one product's traffic. Nothing is timed; tune()
/// does that. A pure function of its arguments, O(nnz) for each height.
/// Throws error{invalid_argument | wrong_memory_space | size_overflow | out_of_memory}.
template <element T, index I>
BCSC_EXPORT advice advise(const csr_view<T, I>& a, const advise_options& options = {});

template <element T, index I>
advice advise(const csr_matrix<T, I>& a, const advise_options& options = {}) {
  return advise(a.view(), options);
}

}  // namespace bcsc
#pragma GCC visibility pop
