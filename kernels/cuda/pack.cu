#include "kernels/cuda/pack.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tile.cuh"

/// Column-major B to row-major.
///
/// Who owns what: a thread block owns tiles of 2048 elements, as wide as the result where that is narrow (4 to 32
///   columns), numbered down the columns of B: so that few columns are read and written in as long stretches as many.
/// What is loaded when: a tile is read along B's columns into shared memory, eight elements a thread under way, and
///   after the barrier written along the rows of the result; both ways a warp touches neighbours. Columns of the tile
///   lie so far apart that a warp reads it the other way round from 32 different banks.
/// Bytes moved: rows * cols values read once, rows * ld_packed written once.
namespace bcsc::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int elements = 2048;  // of a tile

template <class T, int Width>
__global__ void __launch_bounds__(threads)
    pack_kernel(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed, std::int64_t ld_packed,
                std::int64_t b_stride, std::int64_t packed_stride) {
  constexpr int height = elements / Width, pitch = height + 32 / Width, each = elements / threads;
  b = of_member(b, b_stride);
  packed = of_member(packed, packed_stride);
  __shared__ T tile[Width * pitch];  // [column][row]
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row_tiles = ceil_div(rows, height);
  const std::int64_t num_tiles = row_tiles * ceil_div(ld_packed, Width);
  for (std::int64_t index = blockIdx.x; index < num_tiles; index += gridDim.x) {
    const std::int64_t col_tile = index / row_tiles;
    const std::int64_t first_row = (index - col_tile * row_tiles) * height;
    const std::int64_t first_col = col_tile * Width;
    T values[each];  // all asked for before the first is put down
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = (thread + i * threads) % height, col = (thread + i * threads) / height;
      const bool inside = first_row + row < rows && first_col + col < cols;
      values[i] = inside ? __ldg(b + (first_col + col) * ldb + first_row + row) : T{0};
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = (thread + i * threads) % height, col = (thread + i * threads) / height;
      tile[col * pitch + row] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = (thread + i * threads) / Width, col = (thread + i * threads) % Width;
      if (first_row + row < rows && first_col + col < ld_packed) {
        packed[(first_row + row) * ld_packed + first_col + col] = tile[col * pitch + row];
      }
    }
    __syncthreads();  // before the next tile is read
  }
}

template <int Width, class T>
int pack_tiles(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed, std::int64_t ld_packed,
               CUstream_st* stream, const pack_members& members) {
  const std::int64_t num_tiles = ceil_div(rows, elements / Width) * ceil_div(ld_packed, Width);
  return start(begins::after_previous, &pack_kernel<T, Width>, grid_of(num_tiles, {.count = members.count}),
               dim3(threads), 0, stream, b, ldb, rows, cols, packed, ld_packed, members.b_stride,
               members.packed_stride);
}

template <class T>
int pack(const T* b, std::int64_t ldb, std::int64_t rows, std::int64_t cols, T* packed, std::int64_t ld_packed,
         CUstream_st* stream, const pack_members& members) {
  if (rows <= 0 || cols <= 0) return cudaSuccess;
  if (ld_packed <= 4) return pack_tiles<4>(b, ldb, rows, cols, packed, ld_packed, stream, members);
  if (ld_packed <= 8) return pack_tiles<8>(b, ldb, rows, cols, packed, ld_packed, stream, members);
  if (ld_packed <= 16) return pack_tiles<16>(b, ldb, rows, cols, packed, ld_packed, stream, members);
  return pack_tiles<32>(b, ldb, rows, cols, packed, ld_packed, stream, members);
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
