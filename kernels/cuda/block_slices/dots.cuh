#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/block_slices/held_slice.cuh"
#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/tables/sliced.hpp"

/// B'C of the rows that a warp has computed (dots_with_b).
namespace bcsc::kernels::cuda {

/// Which configs have an instance that leaves B'C (dots_with_b), of one column, a sum for each warp of a chunk: those
/// of one column that stream A, since with a smaller A the vectors stay in L2.
template <class T>
constexpr bool leaves_dots(const tables::sliced_config& config) {
  return value<T> && config.cols == 1;
}

/// What a lane's rows are to B'C, of one column. `Wanted` false: nothing.
template <class T, int Rows, bool Wanted>
struct lane_dot {
  double sum = 0;

  /// Row block `block`, whose sums are complete.
  template <int Cols>
  __device__ void add(const block_slices_args<T>& args, std::int64_t block, const scalar_of<T> (&sums)[Rows][Cols]) {
    if constexpr (Wanted) {
      for_rows<Rows>(args, block, [&](int r, std::int64_t row) {
        sum += static_cast<double>(args.b[row * args.ldb]) * static_cast<double>(sums[r][0]);
      });
    }
  }
  /// The sum of the warp's lanes.
  __device__ void leave(double* to, int lane) const {
    if constexpr (Wanted) {
      double all = sum;
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) all += __shfl_xor_sync(0xffffffffu, all, distance);
      if (lane == 0) *to = all;
    }
  }
};

}  // namespace bcsc::kernels::cuda
