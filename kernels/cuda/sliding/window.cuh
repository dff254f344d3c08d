#pragma once

#include <cuda_runtime.h>

/// Which rows of B shared memory holds: neighbouring ones, row r in slot r % kept. The window slides on as stages ask
/// for later rows, and begins anew where one asks for a row that it does not hold. All warps that copy rows keep the
/// same books.
namespace bcsc::kernels::cuda {

template <class Shape>
class row_window {
 public:
  /// What has to be done before a stage can be multiplied.
  struct order {
    int first = 0, end = 0;  ///< the rows to be copied; if it is scattered, each of its own rows
    int after = -1;          ///< once this stage has been left; -1: at once
    bool scattered = false;  ///< they lie too far apart for the window: each has the slot of its number in the stage
  };

  /// Of stage number `stage`, which reads rows from `first` to `last`. All lanes of the warp call it with the same
  /// arguments.
  __device__ order take(int stage, int first, int last) {
    order of;
    if (last - first >= Shape::kept) {
      of.scattered = true;
      of.after = stage - 1;
      begin_ = end_ = 0;  // so that the next stage waits for this one
    } else if (first < begin_ || first > end_ || begin_ == end_) {
      of.first = begin_ = first;
      of.end = end_ = last + 1;
      of.after = stage - 1;
    } else if (last >= end_) {
      of.first = end_;
      of.end = end_ = last + 1;
      if (begin_ < end_ - Shape::kept) begin_ = end_ - Shape::kept;
      of.after = last_user_below(stage, end_ - Shape::kept);
    }
    if (lane() == stage % 32) lowest_ = first;
    return of;
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// The latest stage that may not have been left yet and reads a row below `row`.
  __device__ int last_user_below(int stage, int row) const {
    const unsigned users = __ballot_sync(0xffffffffu, lowest_ < row);
#pragma unroll
    for (int before = 1; before < Shape::stages; ++before) {
      if (stage - before >= 0 && (users >> (stage - before) % 32 & 1) != 0) return stage - before;
    }
    return -1;
  }

  int begin_ = 0, end_ = 0;  ///< the rows that are there or on their way
  int lowest_ = 0;           ///< row of a stage: lane i knows it of the latest whose number is i modulo 32
};

}  // namespace bcsc::kernels::cuda
