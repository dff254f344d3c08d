#include "kernels/cuda/pack.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"

/// Column-major B to row-major.
///
/// Who owns what: a thread block of 32 x 8 threads owns tiles of 32 x 32 elements, numbered down the columns of B.
/// What is loaded when: a tile is read along B's columns into shared memory, and after the barrier written along the
///   rows of the result; both ways a warp touches 32 neighbours. The tile's rows are one element longer than the tile,
///   so that reading it the other way round meets 32 different banks.
/// Bytes moved: rows * cols values read once, rows * ld_packed written once.
namespace bcsc::kernels::cuda {

namespace {

constexpr int edge = 32;  // of a tile
constexpr int lines = 8;  // of a tile, handled at a time

template <class T>
__global__ void __launch_bounds__(edge* lines)
    pack_kernel(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed, std::int64_t ld_packed,
                std::int64_t b_stride, std::int64_t packed_stride) {
  b = of_member(b, b_stride);
  packed = of_member(packed, packed_stride);
  __shared__ T tile[edge][edge + 1];  // [column][row]
  const int x = static_cast<int>(threadIdx.x) % edge;
  const int y = static_cast<int>(threadIdx.x) / edge;
  const std::int64_t row_tiles = ceil_div(rows, edge);
  const std::int64_t num_tiles = row_tiles * ceil_div(ld_packed, edge);
  for (std::int64_t index = blockIdx.x; index < num_tiles; index += gridDim.x) {
    const std::int64_t col_tile = index / row_tiles;
    const std::int64_t first_row = (index - col_tile * row_tiles) * edge;
    const std::int64_t first_col = col_tile * edge;
#pragma unroll
    for (int line = y; line < edge; line += lines) {
      const bool inside = first_row + x < rows && first_col + line < cols;
      tile[line][x] = inside ? __ldg(b + (first_col + line) * ldb + first_row + x) : T{0};
    }
    __syncthreads();
#pragma unroll
    for (int line = y; line < edge; line += lines) {
      if (first_row + line < rows && first_col + x < ld_packed) {
        packed[(first_row + line) * ld_packed + first_col + x] = tile[x][line];
      }
    }
    __syncthreads();  // before the next tile is read
  }
}

template <class T>
int pack(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed, std::int64_t ld_packed,
         CUstream_st* stream, const pack_members& members) {
  if (rows <= 0 || cols <= 0) return cudaSuccess;
  const std::int64_t num_tiles = ceil_div(rows, edge) * ceil_div(ld_packed, edge);
  return start(begins::after_previous, &pack_kernel<T>, grid_of(num_tiles, {.count = members.count}),
               dim3(edge * lines), 0, stream, b, ldb, rows, cols, packed, ld_packed, members.b_stride,
               members.packed_stride);
}

}  // namespace

int pack_row_major(const float* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, float* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members) {
  return pack(b, ldb, rows, cols, packed, ld_packed, stream, members);
}

int pack_row_major(const double* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, double* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members) {
  return pack(b, ldb, rows, cols, packed, ld_packed, stream, members);
}

// Nothing is computed with: 16 bits are 16 bits.
int pack_row_major(const half* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, half* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members) {
  return pack(&b->bits, ldb, rows, cols, &packed->bits, ld_packed, stream, members);
}

int pack_row_major(const bfloat16* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, bfloat16* packed,
                   std::int64_t ld_packed, CUstream_st* stream, const pack_members& members) {
  return pack(&b->bits, ldb, rows, cols, &packed->bits, ld_packed, stream, members);
}

}  // namespace bcsc::kernels::cuda
