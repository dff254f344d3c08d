#pragma once

#include <cstdint>

#include "bcsc/types.hpp"
#include "converters/formats/grid.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// The device's steps from CSR to the stream of row pieces, named without any CUDA header.
namespace bcsc::forms::steps {

/// What is cut, and how; device pointers.
struct row_stream_job {
  std::int64_t rows = 0, nnz = 0;
  std::int64_t longest_light = 0;  ///< no light row has more entries: rows of more than `split` are long
  row_cut cut = {};
  std::int64_t grain = 1;
  const std::int32_t* row_ptr = nullptr;
  const std::int32_t* col_ind = nullptr;
  const void* values = nullptr;
  value_type type = value_type::fp32;  ///< not pattern; fp16 and bf16 become fp32
  converters::grid bricks = {};
  converters::brick_shape shape = {};  ///< if there is a grid: not {}
};

/// The rows in the order of their pieces, and what that takes.
struct ordered_rows {
  std::int64_t num_heavy = 0, num_long = 0;  ///< rows
  std::int64_t num_shared = 0;               ///< the pieces of the long rows
  std::int64_t num_partials = 0;             ///< the parts of the heavy rows
  std::int64_t num_pairs = 0;
  core::device_buffer<std::int32_t> rows;    ///< one half holds [rows], the other served the sort
  const std::int32_t* order = nullptr;       ///< in `rows`: heavy rows first, other long ones, the rest, longest first
  core::device_buffer<std::uint64_t> begin;  ///< [rows + 3] of row order[s]: its first pair, its first piece << 32
};

/// Waits, for the sizes.
ordered_rows order_rows(int device, const row_stream_job& job);

/// Where the stream goes; device pointers.
struct stream_arrays {
  row_piece* pieces = nullptr;        ///< [num_shared + rows - num_long + 1]
  void* pairs = nullptr;              ///< [num_pairs + 1] of entry_pair, of float or double
  std::int32_t* heavy_ptr = nullptr;  ///< [num_heavy + 1]
};
/// Fills it all. Does not wait.
void fill_stream(int device, const row_stream_job& job, const ordered_rows& ordered, const stream_arrays& to);

/// row = row_of[row] in each piece.
void rename_rows(row_piece* pieces, std::int64_t num_pieces, const std::int32_t* row_of);

}  // namespace bcsc::forms::steps
