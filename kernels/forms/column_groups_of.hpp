#pragma once

#include <cstdint>

#include "bcsc/formats.hpp"
#include "core/fail.hpp"
#include "kernels/forms/column_groups.hpp"

namespace bcsc::forms::steps {

/// Fills what the job takes from the matrix. Throws error{wrong_memory_space}.
template <class T>
void take_matrix(column_groups_job& job, const compact_bcsc_view<T, std::int32_t>& a) {
  if (a.space != memory_space::device) {
    core::fail(errc::wrong_memory_space, "compact bcsc lies in {} memory: must lie on the device", to_string(a.space));
  }
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  job.rows = a.rows;
  job.cols = a.cols;
  job.m_block = a.m_block;
  job.num_blocks = a.num_row_blocks();
  job.nnzc = a.nnzc();
  job.nnz = a.nnz();
  job.block_row = present(a.block_row);
  job.brow_ptr = a.brow_ptr.data();
  job.col_ind = present(a.col_ind);
  job.col_ind16 = present(a.col_ind16);
  job.col_count = a.col_count.data();
  job.row_in_block = a.row_in_block.data();
  job.index_bytes = a.row_in_block.bytes();
  job.values = a.values.data();
  job.value_bytes = static_cast<int>(sizeof(T));
}

}  // namespace bcsc::forms::steps
