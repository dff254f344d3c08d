#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/launch.cuh"
#include "kernels/cuda/mma_instructions.cuh"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/passes.cuh"

// Small products with blocks of at most 16 columns, by the tensor cores in double: plain multiply-adds would wait for
// shared memory. recombine_kernel(): Y = diag(d) X S + Z R + beta Y and, on request, the Gram matrices of Y in the same
// pass over memory. narrow_gram_kernel(): X'Y.
//
// - A thread block has a chunk of rows, a warp 8 of them at a time, by itself; the next 8 are on their way while these
//   are multiplied.
// - Blocks go from memory to the registers that they are multiplied from. In which order a product takes columns (of X)
//   or rows (of Y'Y) is free, as long as both of its operands come in the same: so a lane has four neighbouring columns
//   of a row of X, in loads of 16 bytes where sizes and addresses allow; and since Y' = S'(diag(d) X)' + R'Z' is
//   computed, it gets of Y' what it brings as either operand of Y'Y.
// - S and R lie in shared memory: in registers every warp would have the same copies of them.
// - Sums of Gram matrices: each warp its rows, then the warps in their order; a second kernel adds the chunks.
namespace bcsc::kernels::vector {

constexpr int narrow_cols = 16;
constexpr int recombine_warps = 4;
constexpr int recombine_threads = 32 * recombine_warps;
constexpr int strip_rows = 8;  ///< of a warp at once

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

/// A block whose columns 2 c and 2 c + 1 are read together, where both exist at addresses aligned to them.
template <class T>
struct pair_reader {
  struct alignas(2 * sizeof(T)) pair {
    T at[2];
  };

  const T* data;
  std::int64_t ld;
  int cols;
  bool together;

  explicit pair_reader(const dense_view<const T>& x)
      : data(x.data),
        ld(x.ld),
        cols(static_cast<int>(x.cols)),
        together(x.cols % 2 == 0 && x.ld % 2 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % sizeof(pair) == 0) {}

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
};

/// A small matrix in shared memory, filled up with zeros; a lane's reads in different banks.
struct small_operand {
  double at[narrow_cols][narrow_cols + 1];

  /// By all threads, from rows x cols packed.
  __device__ void fill(const double* from, int rows, int cols) {
    for (int i = static_cast<int>(threadIdx.x); i < narrow_cols * narrow_cols; i += recombine_threads) {
      const int row = i / narrow_cols, col = i % narrow_cols;
      at[row][col] = row < rows && col < cols ? from[row * cols + col] : 0.0;
    }
  }
};

/// Adds S'X' of 8 rows of X to Y', S in `by`; `row`: the lane's four columns of row `group` of X. The lane's sums
/// belong to rows 2 t and 2 t + 1 of Y in column `group`, then in column group + 8.
__device__ inline void add_products(double (&sums)[4], const double (&row)[4], const small_operand& by, int group,
                                    int t) {
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    const int k = 4 * t + 2 * step;
    const double a[4] = {by.at[k][group], by.at[k][group + 8], by.at[k + 1][group], by.at[k + 1][group + 8]};
    const double b[2] = {row[2 * step], row[2 * step + 1]};
    cuda::mma_m16n8k8_f64(sums, a, b);
  }
}

/// 16 x 16 sums in two tiles of 8 columns, as mma_m16n8k8_f64() leaves them to the lanes.
using gram_tiles = double[2][4];

/// Adds Y' diag(e) Y of 8 rows, as add_products() has left them; e of rows 2 t and 2 t + 1.
__device__ inline void add_gram(gram_tiles& sums, const double (&y)[4], double even, double odd) {
  const double a[4] = {y[0], y[2], y[1], y[3]};
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const double b[2] = {even * y[2 * tile], odd * y[2 * tile + 1]};
    cuda::mma_m16n8k8_f64(sums[tile], a, b);
  }
}

using sums_of_warps = double[recombine_warps][narrow_cols][narrow_cols + 1];

/// Leaves a warp's sums in its part of shared memory.
__device__ inline void leave(const gram_tiles& sums, double (&to)[narrow_cols][narrow_cols + 1], int group, int t) {
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int e = 0; e < 4; ++e) to[group + e / 2 * 8][8 * tile + 2 * t + e % 2] = sums[tile][e];
  }
}

/// What the warps have left, added in their order, to k x l packed values.
__device__ inline void add_warps(const sums_of_warps& left, int k, int l, double* to) {
  __syncthreads();
  for (int entry = static_cast<int>(threadIdx.x); entry < k * l; entry += recombine_threads) {
    double sum = 0;
    for (int w = 0; w < recombine_warps; ++w) sum += left[w][entry / l][entry % l];
    to[entry] = sum;
  }
  __syncthreads();
}

/// Blocks of n rows, in `chunks` chunks. Measures, for beta = 0 and Y of l columns: partials[chunk][1 or 2][l x l] of
/// Y' diag(e) Y and, if e is not null, of Y'Y.
template <class T, bool Measures>
__global__ void __launch_bounds__(recombine_threads, 4)
    recombine_kernel(std::int64_t n, std::int64_t chunks, strip_reader<T> x, const T* d, const double* s,
                     strip_reader<T> z, const double* r, factor<T> beta, T* y, std::int64_t ldy, int l, const T* e,
                     double* partials) {
  __shared__ small_operand s_part, r_part;
  __shared__ sums_of_warps left;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
  overlap_neighbours();
  const double share = Measures ? 0 : beta.get();
  s_part.fill(s, x.cols, l);
  r_part.fill(r, z.cols, l);
  __syncthreads();

  const std::int64_t height = (n + chunks - 1) / chunks;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t first = chunk * height + warp * strip_rows;  // from here on rows are counted
    const int end = static_cast<int>(min((chunk + 1) * height, n) - first);
    struct strip {
      double x[4], z[4], weight;  ///< of row `group`
    } next;
    const auto read = [&](int i) {
      const int row = i + group;
      x.read(first + row, row < end, 4 * t, next.x);
      z.read(first + row, row < end, 4 * t, next.z);
      next.weight = d != nullptr && row < end ? static_cast<double>(d[first + row]) : 1.0;
    };
    gram_tiles weighted{}, plain{};
    read(0);
    for (int i = 0; i < end; i += recombine_warps * strip_rows) {
      strip now = next;
      read(i + recombine_warps * strip_rows);
      T* const to = y + (first + i + 2 * t) * ldy + group;
      const auto for_own = [&](const auto& visit) {
#pragma unroll
        for (int place = 0; place < 4; ++place) {
          const int row = place % 2, col = place / 2 * 8;
          if (i + 2 * t + row < end && col + group < l) visit(place, to + row * ldy + col);
        }
      };
      double sums[4] = {};
      if (share != 0) for_own([&](int place, const T* former) { sums[place] = share * static_cast<double>(*former); });
#pragma unroll
      for (double& value : now.x) value *= now.weight;
      add_products(sums, now.x, s_part, group, t);
      add_products(sums, now.z, r_part, group, t);
      for_own([&](int place, T* at) { *at = static_cast<T>(sums[place]); });
      if constexpr (Measures) {
        const double own[4] = {
            static_cast<double>(static_cast<T>(sums[0])), static_cast<double>(static_cast<T>(sums[1])),
            static_cast<double>(static_cast<T>(sums[2])), static_cast<double>(static_cast<T>(sums[3]))};
        double even = 1, odd = 1;
        if (e != nullptr) {
          const T* const weights = e + first + i + 2 * t;
          even = i + 2 * t < end ? static_cast<double>(weights[0]) : 0.0;
          odd = i + 2 * t + 1 < end ? static_cast<double>(weights[1]) : 0.0;
          add_gram(plain, own, 1, 1);
        }
        add_gram(weighted, own, even, odd);
      }
    }
    if constexpr (Measures) {
      double* const to = partials + chunk * l * l * (e != nullptr ? 2 : 1);
      leave(weighted, left[warp], group, t);
      add_warps(left, l, l, to);
      if (e != nullptr) {
        leave(plain, left[warp], group, t);
        add_warps(left, l, l, to + l * l);
      }
    }
  }
}

/// partials[chunk][k x l] of X'Y, blocks of n rows. A lane's pair of columns, 2 group and 2 group + 1, stands for rows
/// group and group + 8 of a product's X', and for column `group` of each of its two tiles of Y.
template <class T>
__global__ void __launch_bounds__(recombine_threads, 4)
    narrow_gram_kernel(std::int64_t n, std::int64_t chunks, pair_reader<T> x, pair_reader<T> y, double* partials) {
  constexpr int steps = 2, rows = steps * strip_rows;  // whose loads are under way together
  __shared__ sums_of_warps left;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, t = lane % 4;
  overlap_neighbours();
  const std::int64_t height = (n + chunks - 1) / chunks;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t end = min((chunk + 1) * height, n);
    gram_tiles sums{};
    for (std::int64_t row0 = chunk * height + warp * rows; row0 < end; row0 += recombine_warps * rows) {
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
      for (int e = 0; e < 4; ++e) left[warp][2 * group + e / 2][2 * (2 * t + e % 2) + tile] = sums[tile][e];
    }
    add_warps(left, x.cols, y.cols, partials + chunk * x.cols * y.cols);
  }
}

// --- Starting them --------------------------------------------------------------------------------------------------

template <class... Params, class... Args>
int start_strips(const launch_env& env, std::int64_t chunks, void (*kernel)(Params...), const Args&... args) {
  return core::start(core::begins::while_previous_ends, kernel, dim3(static_cast<unsigned>(chunks)),
                     dim3(recombine_threads), 0, env.stream, args...);
}

/// Y = diag(d) X S + Z R + beta Y.
template <class T>
int start_recombine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
                    const double* r, factor<T> beta, dense_view<T> y) {
  constexpr std::int64_t rows_of_a_block = 4 * recombine_warps * strip_rows;  // four strips a warp
  const std::int64_t chunks = std::min((y.rows + rows_of_a_block - 1) / rows_of_a_block, core::max_grid);
  const grams_of_result<T> none;
  return start_strips(env, chunks, recombine_kernel<T, false>, y.rows, chunks, strip_reader<T>(x), d, s,
                      strip_reader<T>(z), r, beta, y.data, y.ld, static_cast<int>(y.cols), none.e, none.partials);
}

/// Y = diag(d) X S + Z R, and each chunk's Gram matrices.
template <class T>
int start_measured_recombine(const launch_env& env, std::int64_t chunks, dense_view<const T> x, const T* d,
                             const double* s, dense_view<const T> z, const double* r, dense_view<T> y,
                             const grams_of_result<T>& grams) {
  return start_strips(env, chunks, recombine_kernel<T, true>, y.rows, chunks, strip_reader<T>(x), d, s,
                      strip_reader<T>(z), r, factor<T>(0), y.data, y.ld, static_cast<int>(y.cols), grams.e,
                      grams.partials);
}

/// Each chunk's X'Y.
template <class T>
int start_narrow_gram(const launch_env& env, std::int64_t chunks, dense_view<const T> x, dense_view<const T> y,
                      double* partials) {
  return start_strips(env, chunks, narrow_gram_kernel<T>, x.rows, chunks, pair_reader<T>(x), pair_reader<T>(y),
                      partials);
}

}  // namespace bcsc::kernels::vector
