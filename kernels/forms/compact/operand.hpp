#pragma once

#include <cstdint>

#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// Indices inside a row block: 1 or 2 bytes each; 0 bytes: all are zero.
struct small_array {
  const void* data;
  int bytes;
};

/// Compact BCSC as a kernel reads it (include/bcsc/formats.hpp says what the arrays hold).
template <class T, class I>
struct bcsc_operand {
  std::int64_t rows, cols;
  std::int64_t m_block;  ///< height of the row blocks, or of the highest; need not be the kernel's m_tile
  std::int64_t num_row_blocks;
  const I* block_row;  ///< null: row block b begins at row b * m_block
  const I* brow_ptr;
  const I* entry_ptr;
  const I* col_ind;
  const std::uint16_t* col_ind16;  ///< CUDA: holds the columns unless it is null
  small_array col_count;           ///< less one
  small_array row_in_block;
  const T* values;
  const I* row_of;  ///< the row of C that row m of A is; null: m
  /// CPU: neighbouring non-zeros read rows of B irregularly, which no hardware prefetcher anticipates.
  bool scattered = false;
};

template <class T, class I>
using spmm_args = product_args<T, bcsc_operand<T, I>>;

}  // namespace bcsc::kernels
