#include "kernels/cuda/pack.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"

/// Column-major to row-major, and back.
///
/// Ownership: a warp owns tiles of 32 rows and as many columns as 32 to 64 bytes of a row hold (4 where it has no
///   more). The warps of a thread block stand side by side along a row, as far as it goes, and the thread blocks follow
///   each other along rows, too: what a row has of a line of 128 bytes is touched at about the same time.
/// What is loaded when: a whole tile is asked for, a value of each of its columns a thread, before the first goes to
///   shared memory that is the warp's own, so that no warp waits for another; then written the other way round.
///   Along the columns a warp touches 32 neighbours; along the rows whole sectors of 32 bytes. Wider tiles, and those
///   that a thread block shares, were slower (docs/history, 35).
/// Bytes moved: rows * cols values read once, and written once; row-major also the zeros behind them.
namespace bcsc::kernels::cuda {

namespace {

constexpr int warps = 4;

/// Sizes and distances, in elements.
struct turning {
  std::int64_t rows, cols;
  std::int64_t filled_cols;  ///< of the row-major side, at least cols: with zeros behind what there is
  std::int64_t ld_cols, ld_rows;
  pack_members members;
  int warps_across = 0;            ///< of a thread block's, side by side along a row
  std::int64_t blocks_across = 0;  ///< so many thread blocks hold a row
  double row_of_block = 0;         ///< 1 / blocks_across
};

template <bool ToRows, int Width, class T>
__global__ void __launch_bounds__(32 * warps) turn_kernel(const T* from, T* to, const __grid_constant__ turning sizes) {
  constexpr int rows_at_once = 32 / Width;
  __shared__ T tiles[warps][32][Width + 1];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  T(&tile)[32][Width + 1] = tiles[warp];
  const std::int64_t cols_stride = sizes.members.col_major_stride, rows_stride = sizes.members.row_major_stride;
  from = of_member(from, ToRows ? cols_stride : rows_stride);
  to = of_member(to, ToRows ? rows_stride : cols_stride);
  const std::int64_t warps_down = warps / sizes.warps_across;
  const std::int64_t num_blocks = ceil_div(sizes.rows, 32 * warps_down) * sizes.blocks_across;
  wait_for_previous();
  let_next_begin();
  for (std::int64_t index = blockIdx.x; index < num_blocks; index += gridDim.x) {
    const std::int64_t down = divide(index, sizes.blocks_across, sizes.row_of_block);
    const std::int64_t across = index - down * sizes.blocks_across;
    const std::int64_t first_row = (down * warps_down + warp / sizes.warps_across) * 32;
    const std::int64_t first_col = (across * sizes.warps_across + warp % sizes.warps_across) * Width;

    // Step i along columns is column i, and this thread's row; along rows it is some rows, and this thread's column.
    const auto along_cols = [&](int i) { return (first_col + i) * sizes.ld_cols + first_row + lane; };
    const auto is_in_cols = [&](int i) { return first_row + lane < sizes.rows && first_col + i < sizes.cols; };
    const auto row_at = [&](int i) { return i * rows_at_once + lane / Width; };
    const auto along_rows = [&](int i) { return (first_row + row_at(i)) * sizes.ld_rows + first_col + lane % Width; };
    const auto is_in_rows = [&](int i) {
      return first_row + row_at(i) < sizes.rows && first_col + lane % Width < sizes.filled_cols;
    };
    T values[Width];
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      if constexpr (ToRows) {
        values[i] = is_in_cols(i) ? from[along_cols(i)] : T{0};
      } else {
        values[i] = is_in_rows(i) ? from[along_rows(i)] : T{0};
      }
    }
#pragma unroll
    for (int i = 0; i < Width; ++i) (ToRows ? tile[lane][i] : tile[row_at(i)][lane % Width]) = values[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      if constexpr (ToRows) {
        if (is_in_rows(i)) to[along_rows(i)] = tile[row_at(i)][lane % Width];
      } else {
        if (is_in_cols(i)) to[along_cols(i)] = tile[lane][i];
      }
    }
    __syncwarp();  // before the next tile is put down
  }
}

template <bool ToRows, int Width, class T>
int turn_tiles(const T* from, T* to, turning sizes, CUstream_st* stream) {
  const std::int64_t tiles_across = ceil_div(sizes.filled_cols, Width);
  sizes.warps_across = tiles_across > 2 ? 4 : static_cast<int>(tiles_across);
  sizes.blocks_across = ceil_div(tiles_across, sizes.warps_across);
  sizes.row_of_block = 1.0 / static_cast<double>(sizes.blocks_across);
  const std::int64_t blocks_down = ceil_div(sizes.rows, 32 * (warps / sizes.warps_across));
  return start(begins::while_previous_ends, &turn_kernel<ToRows, Width, T>,
               grid_of(blocks_down * sizes.blocks_across, {.count = sizes.members.count}), dim3(32 * warps), 0, stream,
               from, to, sizes);
}

template <bool ToRows, class T>
int turn(const T* from, T* to, const turning& sizes, CUstream_st* stream) {
  if (sizes.rows <= 0 || sizes.cols <= 0) return cudaSuccess;
  if constexpr (narrow_number<T>) {  // nothing is computed with: 16 bits are 16 bits
    return turn<ToRows>(&from->bits, &to->bits, sizes, stream);
  } else {
    if (sizes.filled_cols <= 4) return turn_tiles<ToRows, 4>(from, to, sizes, stream);
    constexpr int width = sizeof(T) == 2 ? 16 : 8;
    return turn_tiles<ToRows, width>(from, to, sizes, stream);
  }
}

}  // namespace

template <class T>
int pack_row_major(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members) {
  return turn<true>(b, packed, {rows, cols, /*filled_cols=*/ld_packed, ldb, ld_packed, members}, stream);
}

template <class T>
int unpack_row_major(const T* packed, std::int64_t ld_packed, std::int64_t rows, std::int64_t cols, T* c,
                     std::int64_t ldc, CUstream_st* stream, const pack_members& members) {
  return turn<false>(packed, c, {rows, cols, /*filled_cols=*/cols, ldc, ld_packed, members}, stream);
}

#define BCSC_INSTANTIATE(T)                                                                                         \
  template int pack_row_major(const T*, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, CUstream_st*,   \
                              const pack_members&);                                                                 \
  template int unpack_row_major(const T*, std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, CUstream_st*, \
                                const pack_members&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::kernels::cuda
