#pragma once

#include <cuda_runtime.h>

#include "core/overlap.cuh"

/// Thread blocks of a cluster (sm_90), which run at the same time and write into each other's shared memory. Before
/// sm_90, and in a launch without clusters, each is one by itself. test/emulation/include holds a header of this name
/// with the same functions for the emulated GPU.
namespace bcsc::kernels::cuda {

/// The largest cluster that every GPU with clusters can place.
inline constexpr int most_cluster_blocks = core::min_arch >= 900 ? 8 : 1;

__device__ inline int cluster_rank() {
  unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return static_cast<int>(rank);
}

/// What `shared` is in the thread block of that rank.
template <class T>
__device__ T* of_cluster_rank(T* shared, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
#else
  return shared;
#endif
}

/// A barrier of all threads of the cluster, in two parts: what was written before the first can be read after the
/// second. While another thread block may write to its shared memory, one must have begun and must not have ended.
__device__ inline void arrive_at_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

}  // namespace bcsc::kernels::cuda
