#include <cuda_runtime.h>

#include <algorithm>

#include "core/launch.cuh"
#include "kernels/vector/advance.cuh"
#include "kernels/vector/column_steps.hpp"
#include "kernels/vector/passes.cuh"
#include "kernels/vector/vector_ops.hpp"

// A thread block is a tile of `lanes` columns (all k, up to 256) by 256 / lanes rows, so that its threads lie on
// neighbouring elements whatever k is. A thread keeps its column, whose scalars stay in registers, and walks down the
// rows of its block's chunk, several at a time: what they read is under way before the first of them is written.
// Sums: each thread its rows, then a tree over the block's rows in shared memory, one partial per chunk and column; a
// second kernel gives each column a thread block that adds the partials and does the column's scalar step. No atomics,
// so the order is fixed. Every pass reads and writes each operand once.

namespace bcsc::kernels::vector {

namespace {

constexpr int block_threads = 256;
constexpr std::int64_t max_grid_y = 65535;

/// Chunks of rows, each a thread block's: as many as reductions have room for, but none that is less than its rows.
std::int64_t num_blocks(shape s) {
  const std::int64_t lanes = std::min<std::int64_t>(std::max<std::int64_t>(s.k, 1), block_threads);
  const std::int64_t rows = block_threads / lanes;
  return std::clamp<std::int64_t>((s.n + rows - 1) / rows, 1, num_chunks(s.n));
}

/// The grid and block of a pass over a multivector.
struct tiling {
  dim3 grid, block;
};

tiling tile(shape s) {
  const std::int64_t tiles = (s.k + block_threads - 1) / block_threads;
  const std::int64_t lanes = (s.k + tiles - 1) / tiles;
  return {dim3(static_cast<unsigned>(num_blocks(s)), static_cast<unsigned>(std::min(tiles, max_grid_y))),
          dim3(static_cast<unsigned>(lanes), static_cast<unsigned>(block_threads / lanes))};
}

/// Runs visit(i, j) on this thread's elements of column j of this block's chunk.
template <class Visit>
__device__ void walk_column(shape s, std::int64_t j, const Visit& visit) {
  const std::int64_t chunks = gridDim.x;
  const std::int64_t height = (s.n + chunks - 1) / chunks;
  const std::int64_t first = blockIdx.x * height;
  const std::int64_t last = min(first + height, s.n);
#pragma unroll 4
  for (std::int64_t i = first + threadIdx.y; i < last; i += blockDim.y) visit(i, j);
}

/// The same where something is written: write(i, read(i)). Several rows are read before the first is written; the
/// compiler cannot hoist these loads itself, since the pointers may alias.
template <class Read, class Write>
__device__ void walk_column(shape s, const Read& read, const Write& write) {
  constexpr int at_once = 4;
  const std::int64_t chunks = gridDim.x, step = blockDim.y;
  const std::int64_t height = (s.n + chunks - 1) / chunks;
  const std::int64_t first = blockIdx.x * height;
  const std::int64_t last = min(first + height, s.n);
  std::int64_t i = first + threadIdx.y;
  for (; i + (at_once - 1) * step < last; i += at_once * step) {
    decltype(read(i)) row[at_once];
#pragma unroll
    for (int u = 0; u < at_once; ++u) row[u] = read(i + u * step);
#pragma unroll
    for (int u = 0; u < at_once; ++u) write(i + u * step, row[u]);
  }
  for (; i < last; i += step) write(i, read(i));
}

/// Runs visit_tile(j) for the columns this thread has, j >= k included: the threads of a block stay together.
template <class Visit>
__device__ void for_each_tile(shape s, const Visit& visit_tile) {
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * blockDim.x; first < s.k;
       first += static_cast<std::int64_t>(gridDim.y) * blockDim.x) {
    visit_tile(first + threadIdx.x);
  }
}

/// Adds `first` and `second` over the rows of the block's tile and stores them as this chunk's partials of column j,
/// partials[j * chunks + chunk] and, for `second`, k * chunks behind.
__device__ void store_partials(shape s, std::int64_t j, double first, double second, double* partials) {
  __shared__ double sums[2][block_threads];
  const unsigned here = threadIdx.y * blockDim.x + threadIdx.x;
  sums[0][here] = first;
  sums[1][here] = second;
  __syncthreads();
  for (unsigned rows = blockDim.y; rows > 1;) {
    const unsigned half = (rows + 1) / 2;
    if (threadIdx.y < rows - half) {
      sums[0][here] += sums[0][here + half * blockDim.x];
      sums[1][here] += sums[1][here + half * blockDim.x];
    }
    rows = half;
    __syncthreads();
  }
  if (threadIdx.y == 0 && j < s.k) {
    const std::int64_t chunks = gridDim.x;
    partials[j * chunks + blockIdx.x] = sums[0][here];
    partials[(s.k + j) * chunks + blockIdx.x] = sums[1][here];
  }
  __syncthreads();  // before the next tile writes `sums`
}

/// The column's two sums from their partials, a thread block a column; only thread 0 gets them.
__device__ void sum_partials(shape s, std::int64_t chunks, std::int64_t j, const double* partials, double& first,
                             double& second) {
  __shared__ double sums[2][block_threads];
  const unsigned here = threadIdx.x;
  first = second = 0;
#pragma unroll 4
  for (std::int64_t c = here; c < chunks; c += block_threads) {
    first += partials[j * chunks + c];
    second += partials[(s.k + j) * chunks + c];
  }
  sums[0][here] = first;
  sums[1][here] = second;
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (here >= half) continue;
    sums[0][here] = first += sums[0][here + half];
    sums[1][here] = second += sums[1][here + half];
  }
}

// --- The passes over the elements -----------------------------------------------------------------------------------

template <class T>
__global__ void pack_kernel(shape s, const T* from, std::int64_t row_stride, std::int64_t col_stride, T* to) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    if (column >= s.k) return;
    walk_column(s, column,
                [&](std::int64_t i, std::int64_t j) { to[i * s.k + j] = from[i * row_stride + j * col_stride]; });
  });
}

template <class T>
__global__ void unpack_kernel(shape s, const T* from, T* to, std::int64_t row_stride, std::int64_t col_stride) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    if (column >= s.k) return;
    walk_column(s, column,
                [&](std::int64_t i, std::int64_t j) { to[i * row_stride + j * col_stride] = from[i * s.k + j]; });
  });
}

template <class T>
__global__ void dot_kernel(shape s, const T* u, const T* v, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum = 0;
    if (column < s.k) {
      walk_column(s, column, [&](std::int64_t i, std::int64_t j) {
        sum += static_cast<double>(u[i * s.k + j]) * static_cast<double>(v[i * s.k + j]);
      });
    }
    store_partials(s, column, sum, 0, partials);
  });
}

/// Of what a product has left: s.n rows.
__global__ void sum_kernel(shape s, const double* sums, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum = 0;
    if (column < s.k) walk_column(s, column, [&](std::int64_t i, std::int64_t j) { sum += sums[i * s.k + j]; });
    store_partials(s, column, sum, 0, partials);
  });
}

template <class T>
__global__ void abs_sum_kernel(shape s, const T* u, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum = 0;
    if (column < s.k) {
      walk_column(s, column, [&](std::int64_t i, std::int64_t j) { sum += fabs(static_cast<double>(u[i * s.k + j])); });
    }
    store_partials(s, column, sum, 0, partials);
  });
}

template <class T>
__global__ void residual_kernel(shape s, const T* b, const T* q, const T* inverse_diagonal, T* r, double* partials) {
  overlap_neighbours();
  struct row {
    T b, q, weight;
  };
  for_each_tile(s, [&](std::int64_t j) {
    double rr = 0, rz = 0;
    if (j < s.k) {
      walk_column(
          s,
          [&](std::int64_t i) {
            const std::int64_t at = i * s.k + j;
            return row{b[at], q != nullptr ? q[at] : T{0}, weight_of(inverse_diagonal, i)};
          },
          [&](std::int64_t i, const row& x) {
            const T left = q != nullptr ? static_cast<T>(static_cast<double>(x.b) - static_cast<double>(x.q)) : x.b;
            r[i * s.k + j] = left;
            const double square = static_cast<double>(left) * static_cast<double>(left);
            rr += square;
            rz += square * static_cast<double>(x.weight);
          });
    }
    store_partials(s, j, rr, rz, partials);
  });
}

template <class T>
__global__ void direction_kernel(shape s, const T* r, const T* inverse_diagonal, T* x, T* p, column_scalars scalars) {
  overlap_neighbours();
  struct row {
    T r, p, x, weight;
  };
  for_each_tile(s, [&](std::int64_t j) {
    if (j >= s.k) return;
    const bool turns = scalars.state[j] == column_state::active;
    const double alpha = x != nullptr ? scalars.alpha[j] : 0, beta = turns ? scalars.beta[j] : 0;
    if (!turns && alpha == 0) return;
    walk_column(
        s,
        [&](std::int64_t i) {
          const std::int64_t at = i * s.k + j;
          return row{turns ? r[at] : T{0}, alpha != 0 || beta != 0 ? p[at] : T{0}, alpha != 0 ? x[at] : T{0},
                     weight_of(inverse_diagonal, i)};
        },
        [&](std::int64_t i, const row& old) {
          const std::int64_t at = i * s.k + j;
          const T moved = static_cast<T>(static_cast<double>(old.x) + alpha * static_cast<double>(old.p));
          if (alpha != 0) __stcs(&x[at], moved);  // read again an iteration later: L2 keeps p and r instead
          if (!turns) return;
          const double z = static_cast<double>(old.weight) * static_cast<double>(old.r);
          p[at] = static_cast<T>(beta != 0 ? z + beta * static_cast<double>(old.p) : z);
        });
  });
}

template <class T>
__global__ void step_kernel(shape s, const T* p, const T* q, const T* inverse_diagonal, T* x, T* r, double* partials,
                            column_scalars scalars) {
  overlap_neighbours();
  struct row {
    T x, p, r, q, weight;
  };
  for_each_tile(s, [&](std::int64_t j) {
    double rr = 0, rz = 0;
    const double alpha = j < s.k ? scalars.alpha[j] : 0.0;
    if (alpha != 0) {  // a resting column's sums are not looked at
      walk_column(
          s,
          [&](std::int64_t i) {
            const std::int64_t at = i * s.k + j;
            const bool moves = x != nullptr;
            return row{moves ? x[at] : T{0}, moves ? p[at] : T{0}, r[at], q[at], weight_of(inverse_diagonal, i)};
          },
          [&](std::int64_t i, const row& old) {
            const std::int64_t at = i * s.k + j;
            if (x != nullptr) x[at] = static_cast<T>(static_cast<double>(old.x) + alpha * static_cast<double>(old.p));
            const T left = static_cast<T>(static_cast<double>(old.r) - alpha * static_cast<double>(old.q));
            r[at] = left;
            const double square = static_cast<double>(left) * static_cast<double>(left);
            rr += square;
            rz += square * static_cast<double>(old.weight);
          });
    }
    store_partials(s, j, rr, rz, partials);
  });
}

template <class T>
__global__ void turn_kernel(shape s, const T* r, const T* q, const T* z, const T* inverse_diagonal, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double rz = 0, qz = 0;
    if (column < s.k) {
      walk_column(s, column, [&](std::int64_t i, std::int64_t j) {
        const std::int64_t at = i * s.k + j;
        const double weight = inverse_diagonal != nullptr ? static_cast<double>(inverse_diagonal[i]) : 1.0;
        const double left = static_cast<double>(r[at]);
        const double turned = z != nullptr ? static_cast<double>(z[at]) : weight * left;
        rz += left * turned;
        if (q != nullptr) qz += static_cast<double>(q[at]) * turned;
      });
    }
    store_partials(s, column, rz, qz, partials);
  });
}

template <class T>
__global__ void clear_inactive_kernel(shape s, T* x, column_scalars scalars) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    if (column >= s.k || scalars.state[column] == column_state::active) return;
    walk_column(s, column, [&](std::int64_t i, std::int64_t j) { x[i * s.k + j] = T{0}; });
  });
}

// --- The columns' scalar steps --------------------------------------------------------------------------------------

__global__ void finish_sum(shape s, std::int64_t chunks, const double* partials, double* result) {
  overlap_neighbours();
  const std::int64_t j = blockIdx.x;
  double sum, other;
  sum_partials(s, chunks, j, partials, sum, other);
  if (threadIdx.x == 0) result[j] = sum;
}

__global__ void finish_residual(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  const std::int64_t j = blockIdx.x;
  double rr, rz;
  sum_partials(s, chunks, j, partials, rr, rz);
  if (threadIdx.x == 0) restart_column(scalars, j, rr, rz);
}

__global__ void finish_step_length(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  const std::int64_t j = blockIdx.x;
  double pq, other;
  sum_partials(s, chunks, j, partials, pq, other);
  if (threadIdx.x == 0) choose_step(scalars, j, pq);
}

__global__ void finish_step(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  const std::int64_t j = blockIdx.x;
  double rr, rz;
  sum_partials(s, chunks, j, partials, rr, rz);
  if (threadIdx.x == 0) judge_step(scalars, j, rr, rz);
}

__global__ void finish_turn(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  const std::int64_t j = blockIdx.x;
  double rz, qz;
  sum_partials(s, chunks, j, partials, rz, qz);
  if (threadIdx.x == 0) turn_column(scalars, j, rz, qz);
}

// --- The operations -------------------------------------------------------------------------------------------------

/// Starts a pass over the elements.
template <class... Params, class... Args>
int over_elements(const launch_env& env, void (*pass)(shape, Params...), shape s, const Args&... args) {
  const tiling t = tile(s);
  return core::start(core::begins::while_previous_ends, pass, t.grid, t.block, 0, env.stream, s, args...);
}

/// Starts a pass over the elements and, behind it, the columns' step: a thread block for each column adds its partials.
template <class... Params, class Result, class... Args>
int over_elements_then_columns(const launch_env& env, void (*pass)(shape, Params...),
                               void (*finish)(shape, std::int64_t, const double*, Result), shape s,
                               const double* partials, const Result& result, const Args&... args) {
  const int status = over_elements(env, pass, s, args...);
  if (status != cudaSuccess) return status;
  return core::start(core::begins::while_previous_ends, finish, dim3(static_cast<unsigned>(s.k)), dim3(block_threads),
                     0, env.stream, s, num_blocks(s), partials, result);
}

bool empty(shape s) { return s.n == 0 || s.k == 0; }

template <class T>
int pack(const launch_env& env, shape s, const T* from, std::int64_t row_stride, std::int64_t col_stride, T* to) {
  if (empty(s)) return cudaSuccess;
  return over_elements(env, pack_kernel<T>, s, from, row_stride, col_stride, to);
}

template <class T>
int unpack(const launch_env& env, shape s, const T* from, T* to, std::int64_t row_stride, std::int64_t col_stride) {
  if (empty(s)) return cudaSuccess;
  return over_elements(env, unpack_kernel<T>, s, from, to, row_stride, col_stride);
}

template <class T>
int dot(const launch_env& env, shape s, const T* u, const T* v, double* partials, double* result) {
  if (s.k == 0) return cudaSuccess;
  return over_elements_then_columns(env, dot_kernel<T>, finish_sum, s, partials, result, u, v, partials);
}

template <class T>
int abs_sum(const launch_env& env, shape s, const T* u, double* partials, double* result) {
  if (s.k == 0) return cudaSuccess;
  return over_elements_then_columns(env, abs_sum_kernel<T>, finish_sum, s, partials, result, u, partials);
}

template <class T>
int residual(const launch_env& env, shape s, const T* b, const T* q, const T* inverse_diagonal, T* r, double* partials,
             column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  return over_elements_then_columns(env, residual_kernel<T>, finish_residual, s, partials, scalars, b, q,
                                    inverse_diagonal, r, partials);
}

template <class T>
int direction(const launch_env& env, shape s, const T* r, const T* inverse_diagonal, T* x, T* p,
              column_scalars scalars) {
  if (empty(s)) return cudaSuccess;
  return over_elements(env, direction_kernel<T>, s, r, inverse_diagonal, x, p, scalars);
}

template <class T>
int step_length(const launch_env& env, shape s, const T* p, const T* q, double* partials, partial_dots pq,
                column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  if (pq.rows > 0) {
    return over_elements_then_columns(env, sum_kernel, finish_step_length, {pq.rows, s.k}, partials, scalars, pq.sums,
                                      partials);
  }
  return over_elements_then_columns(env, dot_kernel<T>, finish_step_length, s, partials, scalars, p, q, partials);
}

template <class T>
int step(const launch_env& env, shape s, const T* p, const T* q, const T* inverse_diagonal, T* x, T* r,
         double* partials, column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  return over_elements_then_columns(env, step_kernel<T>, finish_step, s, partials, scalars, p, q, inverse_diagonal, x,
                                    r, partials, scalars);
}

template <class T>
int turn(const launch_env& env, shape s, const T* r, const T* q, const T* z, const T* inverse_diagonal,
         double* partials, column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  return over_elements_then_columns(env, turn_kernel<T>, finish_turn, s, partials, scalars, r,
                                    scalars.polak_ribiere ? q : nullptr, z, inverse_diagonal, partials);
}

template <class T>
int advance(const launch_env& env, shape s, const T* q, const T* inverse_diagonal, T* x, T* r, T* p, double* partials,
            partial_dots pq, column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  if (s.k <= max_advance_cols && core::can_start_together()) {
    return advance_together(env, s, q, inverse_diagonal, x, r, p, partials, pq, scalars);
  }
  int status = step_length(env, s, p, q, partials, pq, scalars);
  if (status == cudaSuccess) status = step<T>(env, s, p, q, inverse_diagonal, nullptr, r, partials, scalars);
  return status == cudaSuccess ? direction(env, s, r, inverse_diagonal, x, p, scalars) : status;
}

template <class T>
int clear_inactive(const launch_env& env, shape s, T* x, column_scalars scalars) {
  if (empty(s)) return cudaSuccess;
  return over_elements(env, clear_inactive_kernel<T>, s, x, scalars);
}

}  // namespace

template <class T>
const operations<T>& on_cuda() {
  static constexpr operations<T> table{
      .pack = &pack<T>,
      .unpack = &unpack<T>,
      .dot = &dot<T>,
      .abs_sum = &abs_sum<T>,
      .residual = &residual<T>,
      .direction = &direction<T>,
      .step_length = &step_length<T>,
      .step = &step<T>,
      .turn = &turn<T>,
      .advance = &advance<T>,
      .clear_inactive = &clear_inactive<T>,
  };
  return table;
}

template const operations<float>& on_cuda<float>();
template const operations<double>& on_cuda<double>();

}  // namespace bcsc::kernels::vector
