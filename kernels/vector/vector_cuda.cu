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
// Sums: each thread its rows, then a tree over the block's rows in shared memory, one partial per chunk and column, a
// row of k for each chunk; a second kernel gives four columns a thread block, which reads 32 neighbouring bytes of each
// row, adds the partials and does the columns' scalar steps. No atomics, so the order is fixed. Every pass reads and
// writes each operand once.

namespace bcsc::kernels::vector {

namespace {

constexpr int block_threads = pass_threads;
constexpr std::int64_t max_grid_y = 65535;

/// The grid and block of a pass over a multivector.
struct tiling {
  dim3 grid, block;
};

tiling tile(shape s) {
  const std::int64_t tiles = (s.k + block_threads - 1) / block_threads;
  const std::int64_t lanes = (s.k + tiles - 1) / tiles;
  return {dim3(static_cast<unsigned>(num_gpu_chunks(s)), static_cast<unsigned>(std::min(tiles, max_grid_y))),
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

/// Where the row of chunk `chunk` begins among the partials of the i-th sum.
__device__ std::int64_t row_of_partials(shape s, std::int64_t chunks, int i, std::int64_t chunk) {
  return (i * chunks + chunk) * s.k;
}

/// Stores what the block's tile adds up to as this chunk's partials of column j.
template <int Count>
__device__ void store_partials(shape s, std::int64_t j, double (&sum)[Count], double* partials) {
  add_rows<block_threads>(sum);
  if (threadIdx.y != 0 || j >= s.k) return;
#pragma unroll
  for (int i = 0; i < Count; ++i) partials[row_of_partials(s, gridDim.x, i, blockIdx.x) + j] = sum[i];
}

/// A thread block that adds up partials: four columns, whose partials in a row are one sector of 32 bytes, by 128
/// chunks.
constexpr int summed_columns = 4, summing_threads = 512;

__device__ std::int64_t summed_column() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// The sums of summed_column() from their partials; true for the one thread that has them.
template <int Count>
__device__ bool sum_partials(shape s, std::int64_t chunks, const double* partials, double (&sum)[Count]) {
  const std::int64_t j = summed_column();
#pragma unroll
  for (int i = 0; i < Count; ++i) sum[i] = 0;
  if (j < s.k) {
#pragma unroll 8
    for (std::int64_t chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y) {
#pragma unroll
      for (int i = 0; i < Count; ++i) sum[i] += partials[row_of_partials(s, chunks, i, chunk) + j];
    }
  }
  add_rows<summing_threads>(sum);
  return threadIdx.y == 0 && j < s.k;
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
    double sum[1] = {};
    if (column < s.k) {
      walk_column(s, column, [&](std::int64_t i, std::int64_t j) {
        sum[0] += static_cast<double>(u[i * s.k + j]) * static_cast<double>(v[i * s.k + j]);
      });
    }
    store_partials(s, column, sum, partials);
  });
}

/// Of what a product or a preconditioner has left: s.n rows.
__global__ void sum_kernel(shape s, const double* sums, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum[1] = {};
    if (column < s.k) walk_column(s, column, [&](std::int64_t i, std::int64_t j) { sum[0] += sums[i * s.k + j]; });
    store_partials(s, column, sum, partials);
  });
}

template <class T>
__global__ void abs_sum_kernel(shape s, const T* u, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum[1] = {};
    if (column < s.k) {
      walk_column(s, column,
                  [&](std::int64_t i, std::int64_t j) { sum[0] += fabs(static_cast<double>(u[i * s.k + j])); });
    }
    store_partials(s, column, sum, partials);
  });
}

template <class T>
__global__ void residual_kernel(shape s, const T* b, const T* q, const T* inverse_diagonal, T* r, double* partials) {
  overlap_neighbours();
  struct row {
    T b, q, weight;
  };
  for_each_tile(s, [&](std::int64_t j) {
    double sum[2] = {};  // r.r and r.z
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
            sum[0] += square;
            sum[1] += square * static_cast<double>(x.weight);
          });
    }
    store_partials(s, j, sum, partials);
  });
}

/// `Twice`: x takes the step along way.before, too.
template <class T, bool Twice>
__global__ void direction_kernel(shape s, const T* r, const T* inverse_diagonal, T* x, directions<T> way,
                                 column_scalars scalars) {
  overlap_neighbours();
  struct row {
    T r, p, before, x, weight;
  };
  for_each_tile(s, [&](std::int64_t j) {
    if (j >= s.k) return;
    const bool turns = scalars.state[j] == column_state::active;
    const double alpha = x != nullptr ? scalars.alpha[j] : 0, beta = turns ? scalars.beta[j] : 0;
    const double alpha_before = Twice ? scalars.alpha_before[j] : 0;
    const bool moves = alpha != 0 || alpha_before != 0, writes = turns || way.next != way.p;
    if (!writes && !moves) return;
    walk_column(
        s,
        [&](std::int64_t i) {
          const std::int64_t at = i * s.k + j;
          return row{turns ? r[at] : T{0}, alpha != 0 || beta != 0 || !turns ? way.p[at] : T{0},
                     alpha_before != 0 ? way.before[at] : T{0}, moves ? x[at] : T{0}, weight_of(inverse_diagonal, i)};
        },
        [&](std::int64_t i, const row& old) {
          const std::int64_t at = i * s.k + j;
          // x is read again an iteration later: L2 keeps p and r instead.
          if (moves) __stcs(&x[at], step_along(step_along(old.x, alpha_before, old.before), alpha, old.p));
          if (!writes) return;
          const double z = static_cast<double>(old.weight) * static_cast<double>(old.r);
          const auto turned = static_cast<T>(beta != 0 ? z + beta * static_cast<double>(old.p) : z);
          way.next[at] = turns ? turned : old.p;
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
    double sum[2] = {};  // r.r and r.z
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
            if (x != nullptr) x[at] = step_along(old.x, alpha, old.p);
            const T left = static_cast<T>(static_cast<double>(old.r) - alpha * static_cast<double>(old.q));
            r[at] = left;
            const double square = static_cast<double>(left) * static_cast<double>(left);
            sum[0] += square;
            sum[1] += square * static_cast<double>(old.weight);
          });
    }
    store_partials(s, j, sum, partials);
  });
}

template <class T>
__global__ void turn_kernel(shape s, const T* r, const T* q, const T* z, const T* inverse_diagonal, double* partials) {
  overlap_neighbours();
  for_each_tile(s, [&](std::int64_t column) {
    double sum[2] = {};  // r.z and q.z
    if (column < s.k) {
      walk_column(s, column, [&](std::int64_t i, std::int64_t j) {
        const std::int64_t at = i * s.k + j;
        const double weight = inverse_diagonal != nullptr ? static_cast<double>(inverse_diagonal[i]) : 1.0;
        const double left = static_cast<double>(r[at]);
        const double turned = z != nullptr ? static_cast<double>(z[at]) : weight * left;
        sum[0] += left * turned;
        if (q != nullptr) sum[1] += static_cast<double>(q[at]) * turned;
      });
    }
    store_partials(s, column, sum, partials);
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
  double sum[1];
  if (sum_partials(s, chunks, partials, sum)) result[summed_column()] = sum[0];
}

__global__ void finish_residual(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  double sum[2];
  if (sum_partials(s, chunks, partials, sum)) restart_column(scalars, summed_column(), sum[0], sum[1]);
}

__global__ void finish_step_length(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  double sum[1];
  if (sum_partials(s, chunks, partials, sum)) choose_step(scalars, summed_column(), sum[0]);
}

__global__ void finish_step(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  double sum[2];
  if (sum_partials(s, chunks, partials, sum)) judge_step(scalars, summed_column(), sum[0], sum[1]);
}

__global__ void finish_turn(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  double sum[2];
  if (sum_partials(s, chunks, partials, sum)) turn_column(scalars, summed_column(), sum[0], sum[1]);
}

__global__ void finish_turn_of_sums(shape s, std::int64_t chunks, const double* partials, column_scalars scalars) {
  overlap_neighbours();
  double sum[1];
  if (sum_partials(s, chunks, partials, sum)) turn_column(scalars, summed_column(), sum[0], 0);
}

// --- The operations -------------------------------------------------------------------------------------------------

/// Starts a pass over the elements.
template <class... Params, class... Args>
int over_elements(const launch_env& env, void (*pass)(shape, Params...), shape s, const Args&... args) {
  const tiling t = tile(s);
  return core::start(core::begins::while_previous_ends, pass, t.grid, t.block, 0, env.stream, s, args...);
}

/// Starts a pass over the elements and, behind it, the columns' steps, of a few in each thread block.
template <class... Params, class Result, class... Args>
int over_elements_then_columns(const launch_env& env, void (*pass)(shape, Params...),
                               void (*finish)(shape, std::int64_t, const double*, Result), shape s,
                               const double* partials, const Result& result, const Args&... args) {
  const int status = over_elements(env, pass, s, args...);
  if (status != cudaSuccess) return status;
  const std::int64_t columns = std::min<std::int64_t>(s.k, summed_columns);
  return core::start(core::begins::while_previous_ends, finish,
                     dim3(static_cast<unsigned>((s.k + columns - 1) / columns)),
                     dim3(static_cast<unsigned>(columns), static_cast<unsigned>(summing_threads / columns)), 0,
                     env.stream, s, num_gpu_chunks(s), partials, result);
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
int direction(const launch_env& env, shape s, const T* r, const T* inverse_diagonal, T* x, directions<T> way,
              column_scalars scalars) {
  if (empty(s)) return cudaSuccess;
  const bool twice = x != nullptr && way.before != nullptr;
  return over_elements(env, twice ? direction_kernel<T, true> : direction_kernel<T, false>, s, r, inverse_diagonal, x,
                       way, scalars);
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
         double* partials, partial_dots rz, column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  if (rz.rows > 0) {
    return over_elements_then_columns(env, sum_kernel, finish_turn_of_sums, {rz.rows, s.k}, partials, scalars, rz.sums,
                                      partials);
  }
  return over_elements_then_columns(env, turn_kernel<T>, finish_turn, s, partials, scalars, r,
                                    scalars.polak_ribiere ? q : nullptr, z, inverse_diagonal, partials);
}

template <class T>
int advance(const launch_env& env, shape s, const T* q, const T* inverse_diagonal, T* x, T* r, directions<T> way,
            double* partials, partial_dots pq, column_scalars scalars) {
  if (s.k == 0) return cudaSuccess;
  if (s.k <= max_advance_cols && core::can_start_together()) {
    return advance_together(env, s, q, inverse_diagonal, x, r, way, partials, pq, scalars);
  }
  int status = step_length(env, s, way.p, q, partials, pq, scalars);
  if (status == cudaSuccess) status = step<T>(env, s, way.p, q, inverse_diagonal, nullptr, r, partials, scalars);
  return status == cudaSuccess ? direction(env, s, r, inverse_diagonal, x, way, scalars) : status;
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
