#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <initializer_list>

/// How a kernel begins while the previous one on the stream is still ending (programmatic dependent launch, sm_90).
/// test/emulation/include holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::core {

/// The lowest architecture that this is compiled for; no older device runs it.
#ifdef __CUDA_ARCH_LIST__
inline constexpr int min_arch = std::min({__CUDA_ARCH_LIST__});
#else
inline constexpr int min_arch = 0;
#endif

/// Called by every thread block: once all have, those of a kernel that begins while this one ends may be scheduled.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (min_arch >= 900) cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Waits until everything that earlier kernels wrote is visible. A kernel that begins while another ends calls it
/// before it writes, or reads what others may write. A, which nothing in flight changes, may be read before it, by
/// __ldg. All else is read after it, by plain loads: __ldg assumes data that no kernel writes, so it may be moved
/// before the wait.
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (min_arch >= 900) cudaGridDependencySynchronize();
#endif
}

}  // namespace bcsc::core
