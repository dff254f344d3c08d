#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

/// How every kernel of the library is started.
namespace bcsc::core {

/// The longest x dimension of a grid. Kernels stride over what does not fit.
inline constexpr std::int64_t max_grid = 2147483647;

/// Dynamic shared memory that a thread block gets without asking.
inline constexpr std::int64_t default_shared_bytes = 48 * 1024;

/// Starts `kernel(args...)` on `grid` thread blocks of `block` threads. Neither allocates nor synchronises, and is
/// legal while `stream` is captured. Returns the launch's own error: cudaLaunchKernelEx reports it directly, so what
/// others left behind for cudaGetLastError is neither taken for ours nor cleared; our own failure is cleared there, for
/// the caller has it in hand.
template <class... Params, class... Args>
int start(void (*kernel)(Params...), dim3 grid, dim3 block, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  cudaError_t error = cudaSuccess;
  if (shared_bytes > default_shared_bytes) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  }
  if (error == cudaSuccess) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.stream = stream;
    error = cudaLaunchKernelEx(&config, kernel, args...);
  }
  if (error != cudaSuccess) (void)cudaGetLastError();
  return static_cast<int>(error);
}

/// The same along one dimension, in `blocks` thread blocks, at most max_grid of them.
template <class... Params, class... Args>
int start(void (*kernel)(Params...), std::int64_t blocks, int threads, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  return start(kernel, dim3(static_cast<unsigned>(std::min(blocks, max_grid))), dim3(static_cast<unsigned>(threads)),
               shared_bytes, stream, args...);
}

}  // namespace bcsc::core
