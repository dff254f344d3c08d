#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <initializer_list>

/// How a kernel begins while the one before it on the stream still ends (programmatic dependent launch, sm_90).
/// test/emulation/include holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::core {

/// The least architecture that this is compiled for; whatever runs it is no older.
#ifdef __CUDA_ARCH_LIST__
inline constexpr int min_arch = std::min({__CUDA_ARCH_LIST__});
#else
inline constexpr int min_arch = 0;
#endif

/// Said by a thread block: those of a kernel that begins while this one ends may be placed once all have said it.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (min_arch >= 900) cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Until all that the kernels before have written is there. Every kernel that begins while another ends says it, before
/// it reads what they may write, or writes: A, which nothing in flight changes, may be read before, by __ldg. All else
/// is read after it and by plain loads, for __ldg takes what the whole kernel long nobody writes, and so may be moved
/// before the wait.
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (min_arch >= 900) cudaGridDependencySynchronize();
#endif
}

}  // namespace bcsc::core
