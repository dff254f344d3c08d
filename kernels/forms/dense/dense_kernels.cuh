#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "kernels/forms/dense/dense_steps.hpp"
#include "kernels/forms/dense/halves.cuh"
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

inline constexpr int threads_to_split = 256;

/// A warp for each row: what its largest magnitude is, then the parts of its values, padding included. Bytes: each
/// value twice, 2 written for each part.
inline __global__ void __launch_bounds__(threads_to_split) split_rows_kernel(const __grid_constant__ halves_job job) {
  using namespace kernels;
  using Half = half_by_arithmetic;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  constexpr std::int64_t warps = threads_to_split / 32;
  for (std::int64_t row = blockIdx.x * warps + threadIdx.x / 32; row < job.rows; row += gridDim.x * warps) {
    const float* const values = job.values + row * job.ld;
    std::uint32_t largest = 0;
    for (std::int64_t c = lane; c < job.cols; c += 32) largest = max(largest, magnitude_bits(values[c]));
    for (int distance = 16; distance > 0; distance /= 2) {
      largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
    }
    const half_scale scale = half_scale_of(largest, top_of_halves_in_a(job.count));
    half* const parts = job.parts + row * job.count * job.halves_ld;
    half* const high = parts + (job.count > 1 ? job.halves_ld : 0);
    std::int32_t num_lossy = 0;
    for (std::int64_t c = lane; c < job.halves_ld; c += 32) {
      const split_half part = split_scaled<Half>(c < job.cols ? values[c] : 0.0f, scale.to, job.count);
      high[c].bits = part.high;
      num_lossy += part.loses;
      if (job.count == 1) continue;
      parts[c].bits = part.low;
      high[job.halves_ld + c].bits =
          static_cast<std::uint16_t>(Half::narrow(Half::widen(part.high).x * low_half_scale, 0));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      num_lossy += __shfl_xor_sync(0xffffffffu, num_lossy, distance);
    }
    if (lane != 0) continue;
    job.back[row] = scale.back * (1 / sums_of_halves(job.count));
    job.num_lossy[row] = num_lossy;
  }
}

}  // namespace bcsc::forms::steps
