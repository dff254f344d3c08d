#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels {

/// Entries per word of the mask.
inline constexpr std::int64_t dense_mask_bits = 32;

/// A with its zeros, and which of its entries are stored: non-finite values of B are multiplied by those alone.
template <class T>
struct dense_operand {
  std::int64_t rows, cols;
  std::int64_t nnz;        ///< stored entries, zeros among them or not
  std::int64_t ld;         ///< values from a row to the next: a multiple of 16 bytes
  const T* values;         ///< [rows][ld], row-major, in the order of C's rows; aligned to 16 bytes
  std::int64_t row_words;  ///< of the mask
  /// [rows][row_words] bit c % 32 of word c / 32: the entry in column c is stored. Only read where a product is not
  /// finite.
  const std::uint32_t* mask;
  scalar_of<T>* sums;  ///< [rows][n] or [n][rows], as C lies: workspace, written and read by each run
  void* spare;         ///< more workspace, aligned to 256 bytes, which the product may do without
  std::int64_t spare_bytes;
};

template <class T>
using dense_args = product_args<T, dense_operand<T>>;

}  // namespace bcsc::kernels
