#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/overlap.cuh"

/// What passes over blocks of vectors share.
namespace bcsc::kernels::vector {

/// The kernel behind this one may be scheduled, and this one goes on when all before it is done: what a launch takes
/// lies under the end of its predecessor.
__device__ inline void overlap_neighbours() {
  core::let_next_begin();
  core::wait_for_previous();
}

/// Of row i in D^-1; 1 without a preconditioner.
template <class T>
__device__ T weight_of(const T* inverse_diagonal, std::int64_t i) {
  return inverse_diagonal != nullptr ? inverse_diagonal[i] : T{1};
}

/// x + alpha p, rounded to T; x itself, whatever it and p are, where alpha is 0.
template <class T>
__device__ T step_along(T x, double alpha, T p) {
  return alpha != 0 ? static_cast<T>(static_cast<double>(x) + alpha * static_cast<double>(p)) : x;
}

/// Adds up over the rows of a thread block of up to `Threads`; the threads of row 0 get the sums. All threads take
/// part.
template <int Threads, int Count>
__device__ void add_rows(double (&sum)[Count]) {
  __shared__ double of_threads[Count][Threads];
  const unsigned here = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < Count; ++i) of_threads[i][here] = sum[i];
  __syncthreads();
  for (unsigned rows = blockDim.y; rows > 1;) {
    const unsigned half = (rows + 1) / 2;
    if (threadIdx.y < rows - half) {
#pragma unroll
      for (int i = 0; i < Count; ++i) of_threads[i][here] += of_threads[i][here + half * blockDim.x];
    }
    rows = half;
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < Count; ++i) sum[i] = of_threads[i][here];
  __syncthreads();  // before the next tile writes them
}

}  // namespace bcsc::kernels::vector
