#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/launch.cuh"
#include "kernels/cuda/mma_instructions.cuh"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/passes.cuh"

// Small products with blocks of at most 16 columns, by the tensor cores in double: plain multiply-adds would wait for
// shared memory. recombine_kernel(): Y = diag(d) X S + Z R + beta Y and, on request, the Gram matrices of Y in the same
// pass over memory. narrow_gram_kernel(): X'Y.
//
// - A thread block has a chunk of rows, a warp 16 of them at a time, which lie in the lanes as they are multiplied: a
//   lane has four neighbouring columns of two rows (X'Y: two of four rows), in loads of 16 bytes where sizes and
//   addresses allow. In which order a product takes the columns of X is free as long as the rows of S come in the same.
// - Y, rounded to T, passes through the warp's own part of shared memory, to come back as Y' and as Y.
// - Sums of Gram matrices: each warp its rows, then the warps in their order; a second kernel adds the chunks.
namespace bcsc::kernels::vector {

constexpr int narrow_cols = 16;
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

/// A block whose columns 2 c and 2 c + 1 are read and written together, where both exist at addresses aligned to them.
template <class T>
struct pairs_of {
  using number = std::remove_const_t<T>;
  struct alignas(2 * sizeof(T)) pair {
    number at[2];
  };

  T* data;
  std::int64_t ld;
  int cols;
  bool together;

  explicit pairs_of(const dense_view<T>& y)
      : data(y.data),
        ld(y.ld),
        cols(static_cast<int>(y.cols)),
        together(y.cols % 2 == 0 && y.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(y.data) % sizeof(pair) == 0) {}

  /// Columns first and first + 1 of a row; 0 for those that do not exist.
  __device__ void read(std::int64_t row, int first, double (&to)[2]) const {
    const T* const from = data + row * ld + first;
    pair some{};
    if (together) {
      if (first < cols) some = *reinterpret_cast<const pair*>(from);
    } else {
      if (first < cols) some.at[0] = from[0];
      if (first + 1 < cols) some.at[1] = from[1];
    }
    to[0] = static_cast<double>(some.at[0]);
    to[1] = static_cast<double>(some.at[1]);
  }
  /// The same as far as they exist.
  __device__ void write(std::int64_t row, int first, const number (&from)[2]) const {
    T* const to = data + row * ld + first;
    if (together) {
      if (first < cols) *reinterpret_cast<pair*>(to) = {from[0], from[1]};
      return;
    }
    if (first < cols) to[0] = from[0];
    if (first + 1 < cols) to[1] = from[1];
  }
};

/// A small matrix in shared memory, filled up with zeros; a lane's reads in different banks.
struct small_operand {
  double at[narrow_cols][narrow_cols + 1];

  /// By all threads, from rows x cols packed.
  __device__ void fill(const double* from, int rows, int cols) {
    for (int i = static_cast<int>(threadIdx.x); i < narrow_cols * narrow_cols; i += recombine_warps * 32) {
      const int row = i / narrow_cols, col = i % narrow_cols;
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
using strip_memory = double[strip_rows][narrow_cols + 4];

/// Leaves 16 x 16 sums in the warp's memory.
__device__ inline void leave(const strip_tiles& sums, strip_memory& to, int group, int t) {
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int e = 0; e < 4; ++e) to[group + e / 2 * 8][8 * tile + 2 * t + e % 2] = sums[tile][e];
  }
}

/// What each warp has left in its memory, added in the warps' order, to k x l packed values.
__device__ inline void add_warps(const strip_memory* of_warps, int k, int l, double* to) {
  __syncthreads();
  for (int entry = static_cast<int>(threadIdx.x); entry < k * l; entry += recombine_warps * 32) {
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

/// Blocks of n rows, in `chunks` chunks. Measures, for beta = 0 and Y of l columns: partials[chunk][1 or 2][l x l] of
/// Y' diag(e) Y and, if e is not null, of Y'Y.
template <class T, bool Measures>
__global__ void __launch_bounds__(recombine_warps * 32, 4)
    recombine_kernel(std::int64_t n, std::int64_t chunks, strip_reader<T> x, const T* d, const double* s,
                     strip_reader<T> z, const double* r, factor<T> beta, pairs_of<T> y, const T* e, double* partials) {
  __shared__ small_operand s_part, r_part;
  __shared__ strip_memory of_warps[recombine_warps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
  overlap_neighbours();
  const int l = y.cols;
  const double share = Measures ? 0 : beta.get();
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
      if (!Measures && share != 0) {
#pragma unroll
        for (int place = 0; place < 4; ++place) {
          const int tile = place / 2, half = place % 2, i = group + 8 * half;
          double former[2] = {};
          if (i < left) y.read(row0 + i, 8 * tile + 2 * t, former);
          sums[tile][2 * half] = share * former[0];
          sums[tile][2 * half + 1] = share * former[1];
        }
      }
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
      double* const to = partials + chunk * l * l * (e != nullptr ? 2 : 1);
      leave(weighted_sums, of_warps[warp], group, t);
      add_warps(of_warps, l, l, to);
      if (e != nullptr) {
        leave(plain_sums, of_warps[warp], group, t);
        add_warps(of_warps, l, l, to + l * l);
      }
    }
  }
}

/// partials[chunk][k x l] of X'Y, blocks of n rows. A lane's pair of columns, 2 group and 2 group + 1, stands for rows
/// group and group + 8 of a product's X', and for column `group` of each of its two tiles of Y.
template <class T>
__global__ void __launch_bounds__(recombine_warps * 32, 4)
    narrow_gram_kernel(std::int64_t n, std::int64_t chunks, pairs_of<const T> x, pairs_of<const T> y,
                       double* partials) {
  constexpr int steps = 2;  // of 8 rows, whose loads are under way together
  __shared__ strip_memory of_warps[recombine_warps];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
  overlap_neighbours();
  const std::int64_t height = (n + chunks - 1) / chunks;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t end = min((chunk + 1) * height, n);
    strip_tiles sums{};
    for (std::int64_t row0 = chunk * height + warp * 8 * steps; row0 < end; row0 += recombine_warps * 8 * steps) {
      double of_x[2 * steps][2] = {}, of_y[2 * steps][2] = {};
#pragma unroll
      for (int u = 0; u < 2 * steps; ++u) {
        const std::int64_t row = row0 + 4 * u + t;
        if (row < end) x.read(row, 2 * group, of_x[u]);
        if (row < end) y.read(row, 2 * group, of_y[u]);
      }
#pragma unroll
      for (int u = 0; u < 2 * steps; u += 2) {
        const double a[4] = {of_x[u][0], of_x[u][1], of_x[u + 1][0], of_x[u + 1][1]};
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          const double b[2] = {of_y[u][tile], of_y[u + 1][tile]};
          cuda::mma_m16n8k8_f64(sums[tile], a, b);
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int e = 0; e < 4; ++e) of_warps[warp][2 * group + e / 2][2 * (2 * t + e % 2) + tile] = sums[tile][e];
    }
    add_warps(of_warps, x.cols, y.cols, partials + chunk * x.cols * y.cols);
  }
}

// --- Starting them --------------------------------------------------------------------------------------------------

template <class... Params, class... Args>
int start_strips(const launch_env& env, std::int64_t chunks, void (*kernel)(Params...), const Args&... args) {
  return core::start(core::begins::while_previous_ends, kernel, dim3(static_cast<unsigned>(chunks)),
                     dim3(recombine_warps * 32), 0, env.stream, args...);
}

/// Y = diag(d) X S + Z R + beta Y.
template <class T>
int start_recombine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
                    const double* r, factor<T> beta, dense_view<T> y) {
  constexpr std::int64_t rows_of_a_block = 2 * recombine_warps * strip_rows;  // two strips a warp
  const std::int64_t chunks = std::min((y.rows + rows_of_a_block - 1) / rows_of_a_block, core::max_grid);
  const grams_of_result<T> none;
  return start_strips(env, chunks, recombine_kernel<T, false>, y.rows, chunks, strip_reader<T>(x), d, s,
                      strip_reader<T>(z), r, beta, pairs_of<T>(y), none.e, none.partials);
}

/// Y = diag(d) X S + Z R, and each chunk's Gram matrices.
template <class T>
int start_measured_recombine(const launch_env& env, std::int64_t chunks, dense_view<const T> x, const T* d,
                             const double* s, dense_view<const T> z, const double* r, dense_view<T> y,
                             const grams_of_result<T>& grams) {
  return start_strips(env, chunks, recombine_kernel<T, true>, y.rows, chunks, strip_reader<T>(x), d, s,
                      strip_reader<T>(z), r, factor<T>(0), pairs_of<T>(y), grams.e, grams.partials);
}

/// Each chunk's X'Y.
template <class T>
int start_narrow_gram(const launch_env& env, std::int64_t chunks, dense_view<const T> x, dense_view<const T> y,
                      double* partials) {
  return start_strips(env, chunks, narrow_gram_kernel<T>, x.rows, chunks, pairs_of<const T>(x), pairs_of<const T>(y),
                      partials);
}

}  // namespace bcsc::kernels::vector
