#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/narrow.cuh"
#include "kernels/forms/compact/operand.hpp"

/// What the SpMM kernels share: which tile of C a thread block owns, the two scalars, the way back to C.
///
/// A tile is a *slice* of one row block (at most m_tile of its rows) times n_tile columns. A row block has
/// ceil(m_block / m_tile) slices, so that m_block and m_tile need not agree; a plan makes them agree, and then a slice
/// is a row block. Tiles are numbered along the rows first: the thread blocks that run together then gather from one
/// slab of n_tile columns of B, which stays in L2 where all of B would not; the price, A once for each slab, is 8 bytes
/// a non-zero beside n_tile values for each non-empty column.
namespace bcsc::kernels::cuda {

/// Positions in A's arrays: unsigned, so that a step past the end of 2^31 - 1 entries does not overflow.
template <class I>
using position = std::make_unsigned_t<I>;

/// How C is cut into tiles: computed by the host, handed to the kernel.
struct tile_grid {
  std::int64_t slices_per_block;
  std::int64_t num_slices;
  std::int64_t num_tiles;
  double block_of_slice;   // 1 / slices_per_block
  double column_of_index;  // 1 / num_slices
};

__host__ __device__ constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <int MTile, int NTile, class T, class I>
tile_grid cut(const spmm_args<T, I>& args) {
  const std::int64_t height = args.a.m_block < args.a.rows ? args.a.m_block : args.a.rows;
  const std::int64_t slices_per_block = ceil_div(height, MTile);
  const std::int64_t num_slices = slices_per_block * args.a.num_row_blocks;
  return {slices_per_block, num_slices, num_slices * ceil_div(args.n, NTile),
          1.0 / static_cast<double>(slices_per_block), 1.0 / static_cast<double>(num_slices)};
}

/// a / b for 0 <= a < 2^50 and b > 0, given 1 / b. A division of 64 bits is a subroutine on the device, which costs
/// registers all through the kernel; this is exact, since the rounded quotient is off by one at most.
__device__ inline std::int64_t divide(std::int64_t a, std::int64_t b, double inverse) {
  const auto near = static_cast<std::int64_t>(static_cast<double>(a) * inverse);
  const std::int64_t rest = a - near * b;
  return rest < 0 ? near - 1 : rest >= b ? near + 1 : near;
}

/// What the sums are multiplied by, and what is added: beta times Z, `z_offset` elements behind C.
template <class T>
struct scalars {
  T alpha, beta;
  std::int64_t z_offset;
};

/// What beta multiplies for an element of C; computed where it is used, or a second address would be held all the
/// while.
template <class T>
__device__ const T* addend_of(const T* element, std::int64_t z_offset) {
  if constexpr (narrow_number<T>) return element;
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(z_offset));
#endif
  return element + z_offset;
}

/// From the device where the caller keeps them there, else from the arguments.
template <class T, class Operand>
__device__ scalars<scalar_of<T>> read_scalars(const product_args<T, Operand>& args) {
  return {args.alpha_at != nullptr ? *args.alpha_at : args.alpha, args.beta_at != nullptr ? *args.beta_at : args.beta,
          args.z_offset};
}

/// array[k]; the width is the same for a whole launch, so no warp diverges.
template <class P>
__device__ unsigned small_at(const small_array& array, P k) {
  if (array.bytes == 1) return __ldg(static_cast<const std::uint8_t*>(array.data) + k);
  if (array.bytes == 2) return __ldg(static_cast<const std::uint16_t*>(array.data) + k);
  return 0;
}

/// One tile: its corner in C, how much of it lies in C, and the non-empty columns of A that reach it.
template <class I>
struct tile {
  I first_row;
  unsigned row_in_block;  ///< of the tile's first row
  std::int64_t first_col;
  int num_rows;  ///< 0 where a lower row block has no such slice: nothing to do
  int num_cols;
  position<I> begin, end;  ///< in col_ind; empty if alpha = 0, for then A is not read
  position<I> entry;       ///< the first non-zero of the row block

  /// Where in the tile a row of the block lies, or >= m_tile if it is of another slice.
  __device__ unsigned local_row(unsigned row) const { return row - row_in_block; }
};

/// The non-zeros of non-empty column `col`.
template <class T, class I>
__device__ unsigned count_at(const spmm_args<T, I>& args, position<I> col) {
  return small_at(args.a.col_count, col) + 1;
}

template <int MTile, int NTile, class T, class I>
__device__ tile<I> tile_at(const spmm_args<T, I>& args, const tile_grid& grid, std::int64_t index, T alpha) {
  const std::int64_t col_tile = divide(index, grid.num_slices, grid.column_of_index);
  const std::int64_t slice = index - col_tile * grid.num_slices;
  const std::int64_t block = divide(slice, grid.slices_per_block, grid.block_of_slice);
  const std::int64_t row_in_block = (slice - block * grid.slices_per_block) * MTile;
  const bool uniform = args.a.block_row == nullptr;
  const std::int64_t block_row = uniform ? block * args.a.m_block : args.a.block_row[block];
  const std::int64_t next_row = uniform ? block_row + args.a.m_block : args.a.block_row[block + 1];
  const std::int64_t first_row = block_row + row_in_block;
  const std::int64_t first_col = col_tile * NTile;

  std::int64_t num_rows = (next_row < args.a.rows ? next_row : args.a.rows) - first_row;
  num_rows = num_rows < MTile ? num_rows : MTile;
  const std::int64_t num_cols = args.n - first_col < NTile ? args.n - first_col : NTile;

  tile<I> at{};
  if (num_rows <= 0) return at;
  at.first_row = static_cast<I>(first_row);
  at.row_in_block = static_cast<unsigned>(row_in_block);
  at.first_col = first_col;
  at.num_rows = static_cast<int>(num_rows);
  at.num_cols = static_cast<int>(num_cols);
  if (alpha != T{0}) {
    at.begin = static_cast<position<I>>(args.a.brow_ptr[block]);
    at.end = static_cast<position<I>>(args.a.brow_ptr[block + 1]);
    at.entry = static_cast<position<I>>(args.a.entry_ptr[block]);
  }
  return at;
}

/// The column of A that non-empty column `i` is.
template <class T, class I>
__device__ I col_at(const spmm_args<T, I>& args, position<I> i) {
  return args.a.col_ind16 != nullptr ? static_cast<I>(__ldg(args.a.col_ind16 + i)) : __ldg(args.a.col_ind + i);
}

/// Row `col` of B from column `first_col` on, col being a column of A.
template <class T, class I>
__device__ const T* b_row(const spmm_args<T, I>& args, I col, std::int64_t first_col) {
  return args.b + static_cast<std::int64_t>(col) * args.ldb + first_col;
}

/// Where element (m, n) of the tile lies in C.
template <class T, class I>
__device__ T* c_at(const spmm_args<T, I>& args, const tile<I>& at, int m, int n) {
  std::int64_t row = static_cast<std::int64_t>(at.first_row) + m;
  if (args.a.row_of != nullptr) row = args.a.row_of[row];
  return args.c + row * args.c_row_stride + (at.first_col + n) * args.c_col_stride;
}

/// The sum of `count` over this lane and the lanes below it; the whole warp takes part.
__device__ inline unsigned sum_up_to_lane(unsigned count) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffu, count, distance);
    if (lane >= distance) count += below;
  }
  return count;
}

/// The epilogue: c = alpha * sum + beta * z. Z is not read if beta = 0.
template <class T>
__device__ void store(T* c, const scalars<scalar_of<T>>& by, scalar_of<T> sum) {
  if constexpr (narrow_number<T>) {
    const float former = by.beta == 0 ? 0 : narrow_pair<T>::widen(addend_of(c, by.z_offset)->bits).x;
    const float result = by.beta == 0 ? by.alpha * sum : by.alpha * sum + by.beta * former;
    c->bits = static_cast<std::uint16_t>(narrow_pair<T>::narrow(result, 0));
  } else {
    *c = by.beta == T{0} ? by.alpha * sum : by.alpha * sum + by.beta * *addend_of(c, by.z_offset);
  }
}

}  // namespace bcsc::kernels::cuda
