#pragma once

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/cuda/row_stream/pieces.cuh"
#include "kernels/cuda/vectors.cuh"
#include "kernels/tables/rowwise.hpp"

/// B'C of the rows that a warp has computed (dots_with_b).
namespace bcsc::kernels::cuda {

/// Which configs have an instance for it: those for few columns, where vectors cost as much as products; fewer than 8
/// are left out, since such vectors mostly stay in L2.
template <class T>
constexpr bool leaves_dots(const tables::rowwise_config& config) {
  return value<T> && config.tile_cols() >= 8 && config.tile_cols() <= 32;
}

/// A thread adds up its columns over the pieces that its team takes, in places of its own in shared memory: that costs
/// neither registers nor a barrier. Then a warp adds up its teams and leaves a row of sums. The dot product is linear
/// in C, so each piece of a heavy row adds its own part. `Shape`, Lanes and Width as for sums_to_c.
template <class T, class Shape, int Lanes, int Width>
struct warp_dots {
  static constexpr std::int64_t shared_bytes = std::int64_t{Shape::kept} * Shape::threads * 8;

  double* of_threads;  // [kept][threads] in shared memory

  __device__ double& own(int i) const { return of_threads[i * Shape::threads + static_cast<int>(threadIdx.x)]; }

  /// The rows that a lane was left with by reduce(), as for sums_to_c::write(). `begins`: with the team's first piece.
  template <class Cursor>
  __device__ void add(const row_stream_args<T>& args, const Cursor& a, const stream_block& at, int lane, int first,
                      const scalar_of<T> (&sums)[Shape::items], bool begins) const {
    const T* const b = args.b + a.piece.row() * args.ldb + at.first_col * args.b_col_stride;
#pragma unroll
    for (int i = 0; i < Shape::kept; ++i) {
      const int col = column_of<Lanes, Width>(lane, first + i);
      double sum = begins ? 0 : own(i);
      if (a.exists() && col < at.num_cols) {
        sum += static_cast<double>(b[col * args.b_col_stride]) * static_cast<double>(sums[i]);
      }
      own(i) = sum;
    }
  }

  /// The warp leaves its sums at to[0 .. num_cols). All of its threads take part.
  __device__ void leave(double* to, int num_cols, int lane, int group, int first) const {
#pragma unroll
    for (int i = 0; i < Shape::kept; ++i) {
      double sum = own(i);
#pragma unroll
      for (int distance = Shape::team; distance < 32; distance *= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      }
      const int col = column_of<Lanes, Width>(lane, first + i);
      const bool writes = static_cast<int>(threadIdx.x) % 32 < Shape::team && group % Shape::copies == 0;
      if (writes && col < num_cols) to[col] = sum;
    }
  }
};

}  // namespace bcsc::kernels::cuda
