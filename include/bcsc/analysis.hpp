#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// Sectors of eight columns that a warp reaches at once, for each entry: with 1, 2, 4 and 8 lanes for a row, which take
/// entries beside each other. 1/8: side by side, along diagonals; 1: scattered; 0: not known.
using sectors_by_lanes = std::array<double, 4>;

/// Statistics of a matrix's sparsity pattern.
struct pattern_statistics {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t empty_rows = 0, empty_cols = 0;
  std::int64_t row_min = 0, row_max = 0;
  double row_mean = 0;
  double row_sd = 0;
  std::int64_t bandwidth = 0;  ///< max |i - j| over the entries
  bool pattern_symmetric = false;
  bool value_symmetric = false;
  bool positive_diagonal = false;  ///< square, and every diagonal entry is stored and > 0
  /// How near each other the columns of neighbouring rows are: of 32 rows with their first, second, ... entries, 16
  /// with their first two, next two, ..., 8 with four and 4 with eight. Judged by 256 rows, of long ones by some of
  /// their entries.
  sectors_by_lanes sectors_per_entry = {};
};

template <element T, index I>
BCSC_EXPORT pattern_statistics analyse_pattern(const csr_view<T, I>& a);

/// Statistics of a matrix in BCSC at one block height.
struct block_statistics {
  std::int64_t m_block = 0;
  std::int64_t num_row_blocks = 0;
  std::int64_t nnzc = 0;            ///< non-empty columns over all row blocks
  double reuse = 0;                 ///< nnz / nnzc: how many non-zeros share one row of B (0 for an empty matrix)
  std::int64_t max_block_nnz = 0;   ///< the heaviest row block
  double skew = 0;                  ///< max_block_nnz / mean (1 = even; 0 for an empty matrix)
  std::int64_t max_block_nnzc = 0;  ///< non-empty columns of the row block that has the most
};

/// One entry for each of `m_blocks` (>= 1), O(nnz) each, parallel, without building the format.
template <element T, index I>
BCSC_EXPORT std::vector<block_statistics> analyse_blocks(const csr_view<T, I>& a,
                                                         std::span<const std::int64_t> m_blocks);

/// Counts of non-zeros on a grid of `height` x `width` cells over the matrix, row-major: the picture of the pattern.
template <element T, index I>
BCSC_EXPORT std::vector<std::int64_t> pattern_grid(const csr_view<T, I>& a, std::int64_t height, std::int64_t width);

/// Time limits of C = A*B with every operand moved once: bytes, flops (2 * nnz * cols), intensity.
struct roofline_model {
  double bytes = 0;  ///< format bytes of A + B + C (C twice if beta != 0)
  double flops = 0;
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }
  /// A lower bound in seconds, on a machine with `bandwidth` bytes/s and `peak` flop/s.
  double seconds(double bandwidth, double peak) const;
};
roofline_model model_spmm(std::int64_t rows, std::int64_t inner, std::int64_t cols, std::int64_t nnz,
                          std::int64_t format_bytes, value_type type, bool reads_c = false);

}  // namespace bcsc
#pragma GCC visibility pop
