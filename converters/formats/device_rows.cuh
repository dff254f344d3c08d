#pragma once

#include <cstdint>

#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/device_grid.cuh"

/// What a thread does to put rows into another order (device_row_steps.cu starts them).
namespace bcsc::converters::steps {

/// For i of [0, rows]: the length of the row that is to be row i, whose sums are the pointers; after the last row 0.
struct moved_length {
  row_moves moves;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    if (i >= moves.rows) return 0;
    const std::int32_t row = moves.row_of[i];
    return moves.from[row + 1] - moves.from[row];
  }
};

/// Entry k of the result, by a search for its row: long rows hold nothing up.
template <class X>
struct move_body {
  row_moves moves;
  const std::int32_t* cols;
  const X* values;
  std::int32_t* cols_out;
  X* values_out;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t row = segment_of(moves.to, moves.rows, k);
    const std::int64_t was_at = std::int64_t{moves.from[moves.row_of[row]]} + (k - moves.to[row]);
    cols_out[k] = cols[was_at];
    values_out[k] = values[was_at];
  }
};

}  // namespace bcsc::converters::steps
