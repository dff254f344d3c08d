#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/overlap.cuh"

/// How every kernel of the library is started.
namespace bcsc::core {

/// The largest x dimension of a grid. Kernels stride over what does not fit.
inline constexpr std::int64_t max_grid = 2147483647;

/// Dynamic shared memory that a thread block gets without asking.
inline constexpr std::int64_t default_shared_bytes = 48 * 1024;

/// When a kernel's thread blocks may be scheduled.
enum class begins {
  after_previous,       ///< when all earlier work on the stream is done
  while_previous_ends,  ///< from where the kernel before says let_next_begin(); this one says wait_for_previous(). Only
                        ///< where all code is for sm_90 or later, else as above
};

namespace detail {

template <class... Params, class... Args>
int start(begins when, bool together, unsigned cluster, void (*kernel)(Params...), dim3 grid, dim3 block,
          std::int64_t shared_bytes, CUstream_st* stream, const Args&... args) {
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
    cudaLaunchAttribute attributes[3]{};
    config.attrs = attributes;
    if (when == begins::while_previous_ends && min_arch >= 900) {
      attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (together) {
      attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
      attributes[config.numAttrs++].val.cooperative = 1;
    }
    if (cluster > 1) {
      config.gridDim.x -= config.gridDim.x % cluster;
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
      attributes[config.numAttrs++].val.clusterDim = {cluster, 1, 1};
    }
    error = cudaLaunchKernelEx(&config, kernel, args...);
  }
  if (error != cudaSuccess) (void)cudaGetLastError();
  return static_cast<int>(error);
}

}  // namespace detail

/// Starts `kernel(args...)` on `grid` thread blocks of `block` threads. Neither allocates nor synchronises, and is
/// legal while `stream` is captured. Returns the launch's own error: cudaLaunchKernelEx reports it directly, so an
/// error that others left for cudaGetLastError is neither taken for ours nor cleared; our own is cleared there, since
/// the caller has it.
template <class... Params, class... Args>
int start(begins when, void (*kernel)(Params...), dim3 grid, dim3 block, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  return detail::start(when, false, 1, kernel, grid, block, shared_bytes, stream, args...);
}

/// The same, all thread blocks at once, so that they may wait for each other: an error if they do not fit.
template <class... Params, class... Args>
int start_together(begins when, void (*kernel)(Params...), dim3 grid, dim3 block, std::int64_t shared_bytes,
                   CUstream_st* stream, const Args&... args) {
  return detail::start(when, true, 1, kernel, grid, block, shared_bytes, stream, args...);
}

/// The same in clusters of `cluster` thread blocks along x (sm_90), which run at the same time; what is left of `grid`
/// beyond whole clusters is not started. 1: without clusters.
template <class... Params, class... Args>
int start_in_clusters(begins when, int cluster, void (*kernel)(Params...), dim3 grid, dim3 block,
                      std::int64_t shared_bytes, CUstream_st* stream, const Args&... args) {
  return detail::start(when, false, static_cast<unsigned>(cluster), kernel, grid, block, shared_bytes, stream, args...);
}

/// Whether the current device can do that.
inline bool can_start_together() {
  int device = 0, can = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device) == cudaSuccess && can != 0;
}

template <class... Params, class... Args>
int start(void (*kernel)(Params...), dim3 grid, dim3 block, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  return start(begins::after_previous, kernel, grid, block, shared_bytes, stream, args...);
}

/// The same for a one-dimensional grid of `blocks` thread blocks, at most max_grid of them.
template <class... Params, class... Args>
int start(begins when, void (*kernel)(Params...), std::int64_t blocks, int threads, std::int64_t shared_bytes,
          CUstream_st* stream, const Args&... args) {
  return start(when, kernel, dim3(static_cast<unsigned>(std::min(blocks, max_grid))),
               dim3(static_cast<unsigned>(threads)), shared_bytes, stream, args...);
}

template <class... Params, class... Args>
int start(void (*kernel)(Params...), std::int64_t blocks, int threads, std::int64_t shared_bytes, CUstream_st* stream,
          const Args&... args) {
  return start(begins::after_previous, kernel, blocks, threads, shared_bytes, stream, args...);
}

}  // namespace bcsc::core
