#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "kernels/forms/dense/dense_steps.hpp"
#include "kernels/forms/dense/operand.hpp"

/// What the device does to CSR to make it dense (dense_steps.cu starts it).
namespace bcsc::forms::steps {

/// Word `k` of the mask and its values, zeros and the padding at the row's end included: each is written once, by one
/// thread, so that neither has to be cleared first.
template <class Value>
struct dense_word_body {
  dense_job job;
  __device__ void operator()(std::int64_t k) const {
    using kernels::dense_mask_bits;
    const std::int64_t row = k / job.row_words, word = k % job.row_words;
    const std::int64_t first = word * dense_mask_bits, end = first + dense_mask_bits;
    const std::int64_t to_row = job.row_of != nullptr ? job.row_of[row] : row;
    const std::int32_t* const col = job.col_ind + job.row_ptr[row];
    const std::int64_t length = job.row_ptr[row + 1] - job.row_ptr[row];
    const Value* const from = static_cast<const Value*>(job.from) + job.row_ptr[row];
    Value* const to = static_cast<Value*>(job.values) + to_row * job.ld;

    std::int64_t next = converters::steps::count_while(length, [&](std::int64_t i) { return col[i] < first; });
    std::uint32_t stored = 0;
    for (std::int64_t c = first; c < end && c < job.ld; ++c) {
      const bool is_stored = next < length && col[next] == c;
      to[c] = is_stored ? from[next] : Value{0};
      stored |= static_cast<std::uint32_t>(is_stored) << (c - first);
      next += is_stored;
    }
    job.mask[to_row * job.row_words + word] = stored;
  }
};

}  // namespace bcsc::forms::steps
