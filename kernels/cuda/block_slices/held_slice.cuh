#pragma once

#include <cstdint>

#include "kernels/forms/block_slices/layout.hpp"
#include "kernels/forms/block_slices/operand.hpp"

/// A slice in the hands of a warp: where its row blocks lie, and how lanes that share one add up.
namespace bcsc::kernels::cuda {

/// A slice as lanes hand it to each other.
struct held_slice {
  int first_step, num_steps, first_block;
  unsigned rows;  // forms::slice_rows in the lower byte, the number of diagonals in the upper half
  int first_diagonal;

  /// Slice `index`, unless it does not exist: then it has no steps.
  template <class T>
  __device__ held_slice(const block_slices_operand<T>& a, std::int64_t index, bool exists) {
    const int4 some = exists ? __ldg(reinterpret_cast<const int4*>(a.slices + index)) : make_int4(0, 0, 0, 0);
    first_step = some.x, num_steps = some.y, first_block = some.z, rows = static_cast<unsigned>(some.w);
    first_diagonal = exists && a.first_diagonal != nullptr ? __ldg(a.first_diagonal + index) : 0;
  }
  __device__ held_slice of_lane(int lane) const {
    held_slice other = *this;
    other.first_step = __shfl_sync(0xffffffffu, first_step, lane);
    other.num_steps = __shfl_sync(0xffffffffu, num_steps, lane);
    other.first_block = __shfl_sync(0xffffffffu, first_block, lane);
    other.rows = __shfl_sync(0xffffffffu, rows, lane);
    other.first_diagonal = __shfl_sync(0xffffffffu, first_diagonal, lane);
    return other;
  }
  __device__ int num_diagonals() const { return static_cast<int>(rows >> 16); }
  __device__ bool is(forms::slice_rows kind) const { return (rows & 0xffu) == static_cast<unsigned>(kind); }
};
static_assert(sizeof(forms::block_slice) == sizeof(int4));

/// The row block whose sums this lane writes; -1: none. Asked for when a slice begins, since a list takes a load.
template <int Blocks, class T>
__device__ int block_of_lane(const block_slices_operand<T>& a, const held_slice& slice, int lane) {
  const bool alone = slice.is(forms::slice_rows::one), writes = lane < (alone ? 1 : Blocks);
  const std::int64_t place = std::int64_t{slice.first_block} + lane;
  int block = writes && place < a.num_blocks ? static_cast<int>(place) : -1;
  if (writes && slice.is(forms::slice_rows::listed)) block = __ldg(a.listed + place);
  return block;
}

/// Adds up the lanes of a row block, which are `Blocks` apart; each of them gets the sum.
template <int Blocks, class S, int Rows, int Cols>
__device__ void add_lanes(S (&sums)[Rows][Cols]) {
#pragma unroll
  for (int distance = forms::block_slice_lanes / 2; distance >= Blocks; distance /= 2) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int j = 0; j < Cols; ++j) sums[r][j] += __shfl_xor_sync(0xffffffffu, sums[r][j], distance);
    }
  }
}

/// Calls visit(r, row) for the rows of row block `block`.
template <int Rows, class T, class Visit>
__device__ void for_rows(const block_slices_args<T>& args, std::int64_t block, const Visit& visit) {
  const std::int64_t first_row = args.a.block_row != nullptr ? args.a.block_row[block] : block * Rows;
  const std::int64_t end_row = args.a.block_row != nullptr ? args.a.block_row[block + 1] : args.a.rows;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (first_row + r >= end_row) break;
    visit(r, args.a.row_of != nullptr ? args.a.row_of[first_row + r] : first_row + r);
  }
}

}  // namespace bcsc::kernels::cuda
