#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/mma_instructions.cuh"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/passes.cuh"

// recombine() for blocks of at most 16 columns: Y = diag(d) X S + Z R and, on request, the Gram matrices of Y in the
// same pass over memory. By the tensor cores in double: plain multiply-adds would wait for shared memory.
//
// - A thread block has a chunk of rows, a warp 16 of them at a time, which lie in the lanes as they are multiplied: a
//   lane has four neighbouring columns of two rows, in loads of 16 bytes where sizes and addresses allow. In which
//   order a product takes the columns of X is free as long as the rows of S come in the same one.
// - Y, rounded to T, passes through the warp's own part of shared memory, to come back as Y' and as Y.
// - Sums of Gram matrices: each warp its rows, then the warps in their order; a second kernel adds the chunks.
namespace bcsc::kernels::vector {

constexpr int recombined_cols = 16;
constexpr int recombine_warps = 4;
constexpr int strip_rows = 16;  ///< of a warp at once

/// A block as recombine_kernel() reads it.
template <class T>
struct strip_reader {
  const T* data;
  std::int64_t ld;
  int cols;
  bool by_vector;  ///< columns 4 c .. 4 c + 3 exist together, in 16-byte pieces at aligned addresses

  explicit strip_reader(const dense_view<const T>& x)
      : data(x.data),
        ld(x.ld),
        cols(static_cast<int>(x.cols)),
        by_vector(x.cols % 4 == 0 && x.ld * sizeof(T) % 16 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0) {
  }

  /// Columns first .. first + 3 of a row; 0 for those that do not exist, or where the row does not.
  __device__ void read(std::int64_t row, bool exists, int first, double (&to)[4]) const {
    const T* const from = data + row * ld + first;
    if (by_vector) {
      constexpr int wide = 16 / sizeof(T);
      struct alignas(16) piece {
        T at[wide];
      };
      const bool reads = exists && first < cols;
#pragma unroll
      for (int c = 0; c < 4; c += wide) {
        piece some{};
        if (reads) some = *reinterpret_cast<const piece*>(from + c);
#pragma unroll
        for (int e = 0; e < wide; ++e) to[c + e] = static_cast<double>(some.at[e]);
      }
      return;
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) to[c] = exists && first + c < cols ? static_cast<double>(from[c]) : 0.0;
  }
};

/// A block as recombine_kernel() writes it.
template <class T>
struct strip_writer {
  T* data;
  std::int64_t ld;
  int cols;
  bool by_pairs;  ///< columns 2 c and 2 c + 1 exist together, at addresses aligned to both

  explicit strip_writer(const dense_view<T>& y)
      : data(y.data),
        ld(y.ld),
        cols(static_cast<int>(y.cols)),
        by_pairs(y.cols % 2 == 0 && y.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(y.data) % (2 * sizeof(T)) == 0) {}

  /// Columns first and first + 1 of a row, as far as they exist.
  __device__ void write(std::int64_t row, int first, const T (&from)[2]) const {
    T* const to = data + row * ld + first;
    if (by_pairs) {
      struct alignas(2 * sizeof(T)) pair {
        T at[2];
      };
      if (first < cols) *reinterpret_cast<pair*>(to) = {from[0], from[1]};
      return;
    }
    if (first < cols) to[0] = from[0];
    if (first + 1 < cols) to[1] = from[1];
  }
};

/// A small matrix in shared memory, filled up with zeros; a lane's reads in different banks.
struct small_operand {
  double at[recombined_cols][recombined_cols + 1];

  /// By all threads, from rows x cols packed.
  __device__ void fill(const double* from, int rows, int cols) {
    for (int i = static_cast<int>(threadIdx.x); i < recombined_cols * recombined_cols; i += recombine_warps * 32) {
      const int row = i / recombined_cols, col = i % recombined_cols;
      at[row][col] = row < rows && col < cols ? from[row * cols + col] : 0.0;
    }
  }
};

/// The two tiles of 8 columns of 16 rows, as mma_m16n8k8_f64() gives them to the lanes.
using strip_tiles = double[2][4];

/// Adds 16 rows of a block, `upper` of this lane's first and `lower` of its second row, times a small matrix.
__device__ inline void add_products(strip_tiles& sums, const double (&upper)[4], const double (&lower)[4],
                                    const small_operand& by, int group, int t) {
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    const double a[4] = {upper[2 * step], lower[2 * step], upper[2 * step + 1], lower[2 * step + 1]};
    const int k = 4 * t + 2 * step;  // the lane's columns are the rows of `by`
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const int n = 8 * tile + group;
      const double b[2] = {by.at[k][n], by.at[k + 1][n]};
      cuda::mma_m16n8k8_f64(sums[tile], a, b);
    }
  }
}

/// A warp's 16 x 16 values; rows so far apart that its transposed reads hit different banks.
using strip_memory = double[strip_rows][recombined_cols + 4];

/// The 16 x 16 sums of each warp, added in the warps' order, to l x l packed values.
__device__ inline void add_warps(strip_memory* of_warps, const strip_tiles& mine, int l, double* to) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int e = 0; e < 4; ++e) of_warps[warp][group + e / 2 * 8][8 * tile + 2 * t + e % 2] = mine[tile][e];
  }
  __syncthreads();
  for (int entry = static_cast<int>(threadIdx.x); entry < l * l; entry += recombine_warps * 32) {
    double sum = 0;
    for (int w = 0; w < recombine_warps; ++w) sum += of_warps[w][entry / l][entry % l];
    to[entry] = sum;
  }
  __syncthreads();
}

/// Multiplies the warp's rows of Y, of which `left` exist, as they lie in its memory; `e`: their weights, or null.
template <class T>
__device__ void add_grams(strip_tiles& weighted, strip_tiles& plain, const strip_memory& rows, const T* e, int left,
                          int group, int t) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = 8 * half + t;
    const double a[4] = {rows[i][group], rows[i][group + 8], rows[i + 4][group], rows[i + 4][group + 8]};
    double weight[2] = {1, 1};
    if (e != nullptr) {
      weight[0] = i < left ? static_cast<double>(e[i]) : 0.0;
      weight[1] = i + 4 < left ? static_cast<double>(e[i + 4]) : 0.0;
    }
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const double b[2] = {a[tile], a[tile + 2]};
      const double weighted_b[2] = {weight[0] * b[0], weight[1] * b[1]};
      cuda::mma_m16n8k8_f64(weighted[tile], a, weighted_b);
      if (e != nullptr) cuda::mma_m16n8k8_f64(plain[tile], a, b);
    }
  }
}

/// Blocks of n rows, in `chunks` chunks. Measures, for Y of l columns: partials[chunk][1 or 2][l x l] of Y' diag(e) Y
/// and, if e is not null, of Y'Y.
template <class T, bool Measures>
__global__ void __launch_bounds__(recombine_warps * 32, 4)
    recombine_kernel(std::int64_t n, std::int64_t chunks, strip_reader<T> x, const T* d, const double* s,
                     strip_reader<T> z, const double* r, strip_writer<T> y, const T* e, double* partials) {
  __shared__ small_operand s_part, r_part;
  __shared__ strip_memory of_warps[recombine_warps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
  overlap_neighbours();
  const int l = y.cols;
  s_part.fill(s, x.cols, l);
  r_part.fill(r, z.cols, l);
  __syncthreads();

  const std::int64_t height = ((n + chunks - 1) / chunks + strip_rows - 1) / strip_rows * strip_rows;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t end = min((chunk + 1) * height, n);
    strip_tiles weighted_sums{}, plain_sums{};
    for (std::int64_t row0 = chunk * height + warp * strip_rows; row0 < end; row0 += recombine_warps * strip_rows) {
      const int left = end - row0 < strip_rows ? static_cast<int>(end - row0) : strip_rows;
      double of_x[2][4], of_z[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) x.read(row0 + group + 8 * half, group + 8 * half < left, 4 * t, of_x[half]);
#pragma unroll
      for (int half = 0; half < 2; ++half) z.read(row0 + group + 8 * half, group + 8 * half < left, 4 * t, of_z[half]);
      if (d != nullptr) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = group + 8 * half;
          const double weight = i < left ? static_cast<double>(d[row0 + i]) : 0.0;
#pragma unroll
          for (double& value : of_x[half]) value *= weight;
        }
      }
      strip_tiles sums{};
      add_products(sums, of_x[0], of_x[1], s_part, group, t);
      add_products(sums, of_z[0], of_z[1], r_part, group, t);
#pragma unroll
      for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const T pair[2] = {static_cast<T>(sums[tile][2 * half]), static_cast<T>(sums[tile][2 * half + 1])};
          const int i = group + 8 * half, j = 8 * tile + 2 * t;
          if (i < left) y.write(row0 + i, j, pair);
          if constexpr (Measures) {
            of_warps[warp][i][j] = static_cast<double>(pair[0]);
            of_warps[warp][i][j + 1] = static_cast<double>(pair[1]);
          }
        }
      }
      if constexpr (Measures) {
        __syncwarp();
        add_grams(weighted_sums, plain_sums, of_warps[warp], e != nullptr ? e + row0 : nullptr, left, group, t);
        __syncwarp();
      }
    }
    if constexpr (Measures) {
      __syncthreads();
      double* const to = partials + chunk * l * l * (e != nullptr ? 2 : 1);
      add_warps(of_warps, weighted_sums, l, to);
      if (e != nullptr) add_warps(of_warps, plain_sums, l, to + l * l);
    }
  }
}

}  // namespace bcsc::kernels::vector
