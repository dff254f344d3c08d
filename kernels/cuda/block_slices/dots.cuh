#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/block_slices/held_slice.cuh"
#include "kernels/forms/block_slices/operand.hpp"
#include "kernels/tables/sliced.hpp"

/// B'C of the rows that a warp has computed (dots_with_b).
namespace bcsc::kernels::cuda {

/// Which configs have an instance for it: those of one column. They leave a sum for each warp of a chunk, and only
/// where A streams: if A fits in L2, so do the vectors.
template <class T>
constexpr bool leaves_dots(const tables::sliced_config& config) {
  return value<T> && config.cols == 1;
}

/// A lane's contribution to B'C, of one column. `Wanted` false: none.
template <class T, int Rows, bool Wanted>
struct lane_dot {
  double* sums;
  std::int64_t own;  ///< the warp's place there
  double sum = 0;

  /// Row block `block`, whose sums are complete.
  template <int Cols>
  __device__ void add(const block_slices_args<T>& args, std::int64_t block, const scalar_of<T> (&of_c)[Rows][Cols]) {
    if constexpr (Wanted) {
      for_rows<Rows>(args, block, [&](int r, std::int64_t row) {
        sum += static_cast<double>(args.b[row * args.ldb]) * static_cast<double>(of_c[r][0]);
      });
    }
  }
  /// The sum of the warp's lanes.
  __device__ void leave(int lane) const {
    if constexpr (Wanted) {
      double all[1][1] = {{sum}};
      add_lanes<1>(all);
      if (lane == 0) sums[own] = all[0][0];
    }
  }
};

}  // namespace bcsc::kernels::cuda
