#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "bcsc/types.hpp"
#include "kernels/spmm_args.hpp"

namespace bcsc::kernels::cuda {

/// The value type that a table's row names.
template <value_type Type>
using value_of = std::conditional_t<Type == value_type::fp32, float, double>;

/// The longest x dimension of a grid. Kernels stride over what does not fit.
inline constexpr std::int64_t max_grid = 2147483647;

/// Dynamic shared memory that a thread block gets without asking.
inline constexpr std::int64_t default_shared_bytes = 48 * 1024;

/// Starts `kernel(args...)` in `blocks` thread blocks (at most max_grid of them). Neither allocates nor synchronises,
/// and is legal while `stream` is captured. Returns the launch's own error: cudaLaunchKernelEx reports it directly, so
/// what others left behind for cudaGetLastError is neither taken for ours nor cleared; our own failure is cleared
/// there, for the caller has it in hand.
template <class... Params, class... Args>
int start(void (*kernel)(Params...), std::int64_t blocks, int threads, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  cudaError_t error = cudaSuccess;
  if (shared_bytes > default_shared_bytes) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  }
  if (error == cudaSuccess) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(std::min(blocks, max_grid)));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.stream = stream;
    error = cudaLaunchKernelEx(&config, kernel, args...);
  }
  if (error != cudaSuccess) (void)cudaGetLastError();
  return static_cast<int>(error);
}

}  // namespace bcsc::kernels::cuda
