#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/launch.cuh"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/elementwise.cuh"
#include "kernels/vector/passes.cuh"
#include "kernels/vector/recombine.cuh"

// gram: a thread block has a tile of G and a chunk of rows. It stages rows of X and Y in shared memory as double; four
// teams of 8 x 8 threads take every fourth staged row, each thread 4 x 4 entries of the tile; the teams' sums are added
// in their order. A second kernel adds the chunks, eight slices of them to an entry at a time.
// combine: the usual tiled product, 64 rows by 8 * Part columns to a thread block.
// Up to 16 columns: recombine.cuh.
// Element by element: elementwise.cuh. No atomics: the order of all sums is fixed by the shapes.

namespace bcsc::kernels::vector {

namespace {

constexpr int team_side = 8;
constexpr int num_teams = 4;
constexpr int block_size = team_side * team_side * num_teams;
/// Rows that gram_kernel() stages at once, for tiles of 8 * gram_part columns.
constexpr int gram_rows = 16, gram_part = 4;
/// Columns of X that combine() stages at once.
constexpr int staged_cols = 16;

// --- Small matrices from blocks, and back ---------------------------------------------------------------------------

/// Copies rows first .. of an n x k block, columns first_col .., to shared memory as double, each row times its weight
/// (d null: 1); 0 beyond the block.
template <int Rows, int Cols, class T, int Ld>
__device__ void stage(const T* x, std::int64_t ld, std::int64_t first, std::int64_t end, std::int64_t first_col,
                      std::int64_t k, double (*to)[Ld], const T* d = nullptr) {
  constexpr int own = (Rows * Cols + block_size - 1) / block_size;
  double values[own];  // all asked for before the first is stored
#pragma unroll
  for (int u = 0; u < own; ++u) {
    const int at = u * block_size + static_cast<int>(threadIdx.x);
    const std::int64_t i = first + at / Cols, j = first_col + at % Cols;
    const bool exists = at < Rows * Cols && i < end && j < k;
    values[u] = exists ? static_cast<double>(x[i * ld + j]) : 0.0;
    if (d != nullptr && exists) values[u] *= static_cast<double>(d[i]);
  }
#pragma unroll
  for (int u = 0; u < own; ++u) {
    const int at = u * block_size + static_cast<int>(threadIdx.x);
    if (at < Rows * Cols) to[at / Cols][at % Cols] = values[u];
  }
}

template <class T>
__global__ void gram_kernel(std::int64_t n, std::int64_t chunks, const T* x, std::int64_t ldx, std::int64_t k,
                            const T* d, const T* y, std::int64_t ldy, std::int64_t l, double* partials) {
  constexpr int side = team_side * gram_part;
  __shared__ double x_rows[gram_rows][side], y_rows[gram_rows][side], team_sums[side][side];
  const int thread = static_cast<int>(threadIdx.x);
  overlap_neighbours();
  const int team = thread / (team_side * team_side), here = thread % (team_side * team_side);
  const int down = here / team_side, across = here % team_side;  // entries down + 8 p, across + 8 q of the tile
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.y) * side;
  const std::int64_t col0 = static_cast<std::int64_t>(blockIdx.z) * side;
  const std::int64_t height = (n + chunks - 1) / chunks;
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    double sums[gram_part][gram_part] = {};
    const std::int64_t end = min((chunk + 1) * height, n);
    for (std::int64_t first = chunk * height; first < end; first += gram_rows) {
      stage<gram_rows, side>(x, ldx, first, end, row0, k, x_rows);
      stage<gram_rows, side>(y, ldy, first, end, col0, l, y_rows, d);
      __syncthreads();
#pragma unroll
      for (int r = team; r < gram_rows; r += num_teams) {
#pragma unroll
        for (int p = 0; p < gram_part; ++p) {
#pragma unroll
          for (int q = 0; q < gram_part; ++q) {
            sums[p][q] += x_rows[r][down + team_side * p] * y_rows[r][across + team_side * q];
          }
        }
      }
      __syncthreads();
    }
    for (int giver = 1; giver < num_teams; ++giver) {
      for (int p = 0; p < gram_part; ++p) {
        for (int q = 0; q < gram_part; ++q) {
          double& place = team_sums[down + team_side * p][across + team_side * q];
          if (team == giver) place = sums[p][q];
        }
      }
      __syncthreads();
      for (int p = 0; p < gram_part; ++p) {
        for (int q = 0; q < gram_part; ++q) {
          if (team == 0) sums[p][q] += team_sums[down + team_side * p][across + team_side * q];
        }
      }
      __syncthreads();
    }
    if (team != 0) continue;
    for (int p = 0; p < gram_part; ++p) {
      for (int q = 0; q < gram_part; ++q) {
        const std::int64_t i = row0 + down + team_side * p, j = col0 + across + team_side * q;
        if (i < k && j < l) partials[chunk * k * l + i * l + j] = sums[p][q];
      }
    }
  }
}

/// Slices of the chunks that are added side by side.
constexpr int most_slices = 32;

/// g[entry] = the sum of its partials: slices of the chunks first, then the slices in their order.
__global__ void add_chunks_kernel(std::int64_t entries, std::int64_t chunks, const double* partials, double* g) {
  __shared__ double slices[most_slices][32];
  overlap_neighbours();
  const unsigned num_slices = blockDim.y;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * 32; first < entries;
       first += static_cast<std::int64_t>(gridDim.x) * 32) {
    const std::int64_t entry = first + threadIdx.x;
    double sum = 0;
    if (entry < entries) {
#pragma unroll 8
      for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += num_slices) {
        sum += partials[chunk * entries + entry];
      }
    }
    slices[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && entry < entries) {
#pragma unroll 8
      for (unsigned slice = 1; slice < num_slices; ++slice) sum += slices[slice][threadIdx.x];
      g[entry] = sum;
    }
    __syncthreads();
  }
}

constexpr int combined_rows = 64;

template <class T, int Part>
__global__ void combine_kernel(std::int64_t n, const T* x, std::int64_t ldx, std::int64_t k, const T* d,
                               const double* s, std::int64_t l, factor<T> beta, T* y, std::int64_t ldy) {
  constexpr int side = team_side * Part, own_rows = combined_rows / (block_size / team_side);
  __shared__ double x_part[combined_rows][staged_cols + 1], s_part[staged_cols][side];  // rows in different banks
  const int across = static_cast<int>(threadIdx.x) % team_side, down = static_cast<int>(threadIdx.x) / team_side;
  const std::int64_t col0 = static_cast<std::int64_t>(blockIdx.y) * side;
  overlap_neighbours();
  const double share = beta.get();
  for (std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * combined_rows; row0 < n;
       row0 += static_cast<std::int64_t>(gridDim.x) * combined_rows) {
    const auto for_own = [&](const auto& visit) {
#pragma unroll
      for (int p = 0; p < own_rows; ++p) {
#pragma unroll
        for (int q = 0; q < Part; ++q) {
          const std::int64_t i = row0 + down * own_rows + p, j = col0 + across + team_side * q;
          if (i < n && j < l) visit(p, q, i, j);
        }
      }
    };
    T addend[own_rows][Part] = {};  // arrives while X does
    if (share != 0) {
      for_own([&](int p, int q, std::int64_t i, std::int64_t j) { addend[p][q] = y[i * ldy + j]; });
    }
    double sums[own_rows][Part] = {};
    for (std::int64_t inner = 0; inner < k; inner += staged_cols) {
      stage<combined_rows, staged_cols>(x, ldx, row0, n, inner, k, x_part, d);
      stage<staged_cols, side>(s, l, inner, k, col0, l, s_part);
      __syncthreads();
#pragma unroll
      for (int a = 0; a < staged_cols; ++a) {
#pragma unroll
        for (int p = 0; p < own_rows; ++p) {
#pragma unroll
          for (int q = 0; q < Part; ++q) {
            sums[p][q] += x_part[down * own_rows + p][a] * s_part[a][across + team_side * q];
          }
        }
      }
      __syncthreads();
    }
    for_own([&](int p, int q, std::int64_t i, std::int64_t j) {
      const double more = share != 0 ? share * static_cast<double>(addend[p][q]) : 0;
      y[i * ldy + j] = static_cast<T>(sums[p][q] + more);
    });
  }
}

// --- The operations -------------------------------------------------------------------------------------------------

template <class... Params, class... Args>
int start(void (*kernel)(Params...), dim3 grid, dim3 block, CUstream_st* stream, const Args&... args) {
  return core::start(core::begins::while_previous_ends, kernel, grid, block, 0, stream, args...);
}

constexpr std::int64_t tiles_of(std::int64_t entries, int part) {
  const std::int64_t side = team_side * part;
  return (entries + side - 1) / side;
}

template <class T>
int start_gram(const launch_env& env, std::int64_t chunks, dense_view<const T> x, const T* d, dense_view<const T> y,
               double* partials) {
  const dim3 grid(static_cast<unsigned>(chunks), static_cast<unsigned>(tiles_of(x.cols, gram_part)),
                  static_cast<unsigned>(tiles_of(y.cols, gram_part)));
  return start(gram_kernel<T>, grid, dim3(block_size), env.stream, x.rows, chunks, x.data, x.ld, x.cols, d, y.data,
               y.ld, y.cols, partials);
}

/// g[entry] = the sum of the chunks' partials.
int add_chunks(const launch_env& env, std::int64_t chunks, std::int64_t entries, const double* partials, double* g) {
  const unsigned slices = chunks >= 8 * most_slices ? most_slices : 8;
  return start(add_chunks_kernel, dim3(static_cast<unsigned>((entries + 31) / 32)), dim3(32, slices), env.stream,
               entries, chunks, partials, g);
}

template <class T>
int gram(const launch_env& env, dense_view<const T> x, const T* d, dense_view<const T> y, double* partials, double* g) {
  const std::int64_t entries = x.cols * y.cols;
  if (entries == 0) return cudaSuccess;
  const std::int64_t chunks = num_gram_chunks(x.rows, x.cols, y.cols);
  const bool narrow = d == nullptr && std::max(x.cols, y.cols) <= narrow_cols;
  const int status =
      narrow ? start_narrow_gram<T>(env, chunks, x, y, partials) : start_gram<T>(env, chunks, x, d, y, partials);
  return status == cudaSuccess ? add_chunks(env, chunks, entries, partials, g) : status;
}

template <class T, int Part>
int start_combine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, factor<T> beta,
                  dense_view<T> y) {
  const std::int64_t high = std::min((y.rows + combined_rows - 1) / combined_rows, core::max_grid);
  const dim3 grid(static_cast<unsigned>(high), static_cast<unsigned>(tiles_of(y.cols, Part)));
  return start(combine_kernel<T, Part>, grid, dim3(block_size), env.stream, y.rows, x.data, x.ld, x.cols, d, s, y.cols,
               beta, y.data, y.ld);
}

template <class T>
int combine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, factor<T> beta,
            dense_view<T> y) {
  if (y.rows == 0 || y.cols == 0) return cudaSuccess;
  if (std::max(x.cols, y.cols) <= narrow_cols) {
    const dense_view<const T> nothing(nullptr, y.rows, 0);
    return start_recombine<T>(env, x, d, s, nothing, nullptr, beta, y);
  }
  if (y.cols <= 8) return start_combine<T, 1>(env, x, d, s, beta, y);
  if (y.cols <= 16) return start_combine<T, 2>(env, x, d, s, beta, y);
  return start_combine<T, 4>(env, x, d, s, beta, y);
}

/// For blocks that are too wide for recombine_kernel().
template <class T>
int recombine_apart(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
                    const double* r, dense_view<T> y, const grams_of_result<T>& grams) {
  int status = combine<T>(env, z, nullptr, r, 0, y);
  if (status == cudaSuccess) status = combine<T>(env, x, d, s, 1, y);
  if (status != cudaSuccess || grams.g == nullptr) return status;
  status = gram<T>(env, y, grams.e, y, grams.partials, grams.g);
  if (status != cudaSuccess || grams.e == nullptr) return status;
  return gram<T>(env, y, nullptr, y, grams.partials, grams.g + y.cols * y.cols);
}

template <class T>
int recombine(const launch_env& env, dense_view<const T> x, const T* d, const double* s, dense_view<const T> z,
              const double* r, dense_view<T> y, const grams_of_result<T>& grams) {
  if (y.cols == 0) return cudaSuccess;
  if (std::max({x.cols, z.cols, y.cols}) > narrow_cols) return recombine_apart(env, x, d, s, z, r, y, grams);
  if (grams.g == nullptr) return y.rows > 0 ? start_recombine<T>(env, x, d, s, z, r, 0, y) : cudaSuccess;
  const std::int64_t chunks = num_gram_chunks(y.rows, y.cols, y.cols);
  const int status = start_measured_recombine<T>(env, chunks, x, d, s, z, r, y, grams);
  const std::int64_t num_entries = y.cols * y.cols * (grams.e != nullptr ? 2 : 1);
  return status == cudaSuccess ? add_chunks(env, chunks, num_entries, grams.partials, grams.g) : status;
}

}  // namespace

template <class T>
const block_operations<T>& block_on_cuda() {
  static constexpr block_operations<T> table{
      .gram = &gram<T>,
      .combine = &combine<T>,
      .recombine = &recombine<T>,
      .axpby = &axpby<T>,
      .scale_rows = &scale_rows<T>,
      .scale_rows_and_dot = &add_weighted_and_dot<T, T, T>,
      .convert_and_dot = &add_weighted_and_dot<T, float, typename block_operations<T>::other>,
      .scale_columns = &scale_columns<T>,
      .convert = &convert<T>,
      .fill_random = &fill_random<T>,
  };
  return table;
}

template const block_operations<float>& block_on_cuda<float>();
template const block_operations<double>& block_on_cuda<double>();

}  // namespace bcsc::kernels::vector
