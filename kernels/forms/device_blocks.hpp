#pragma once

#include <cstdint>

namespace bcsc::forms::steps {

/// A compact BCSC matrix on the device, for the steps that make tiles and slices from it: device pointers, values known
/// by their size alone. Named without any CUDA header.
struct device_blocks {
  std::int64_t rows = 0, m_block = 1, num_blocks = 0, nnzc = 0;
  const std::int32_t* block_row = nullptr;  ///< null: row block b begins at row b * m_block
  const std::int32_t* brow_ptr = nullptr;
  const std::int32_t* col_ind = nullptr;  ///< or
  const std::uint16_t* col_ind16 = nullptr;
  const void* col_count = nullptr;
  const void* row_in_block = nullptr;
  int index_bytes = 1;  ///< 0, 1 or 2, of the two arrays of small indices
  const void* values = nullptr;
  int value_bytes = 4;  ///< 2, 4 or 8
};

}  // namespace bcsc::forms::steps
