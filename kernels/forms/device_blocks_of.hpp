#pragma once

#include <cstdint>

#include "bcsc/formats.hpp"
#include "core/fail.hpp"
#include "kernels/forms/device_blocks.hpp"

namespace bcsc::forms::steps {

/// Throws error{wrong_memory_space}.
template <class T>
device_blocks device_blocks_of(const compact_bcsc_view<T, std::int32_t>& a) {
  if (a.space != memory_space::device) {
    core::fail(errc::wrong_memory_space, "compact bcsc lies in {} memory: must lie on the device", to_string(a.space));
  }
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  return {.rows = a.rows,
          .m_block = a.m_block,
          .num_blocks = a.num_row_blocks(),
          .nnzc = a.nnzc(),
          .block_row = present(a.block_row),
          .brow_ptr = a.brow_ptr.data(),
          .col_ind = present(a.col_ind),
          .col_ind16 = present(a.col_ind16),
          .col_count = a.col_count.data(),
          .row_in_block = a.row_in_block.data(),
          .index_bytes = a.row_in_block.bytes(),
          .values = a.values.data(),
          .value_bytes = static_cast<int>(sizeof(T))};
}

}  // namespace bcsc::forms::steps
