#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/stage_barrier.cuh"

/// Copies of many bytes from global to shared memory that one thread starts and a barrier waits for (cp.async.bulk,
/// sm_90 and later). test/emulation/include holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::kernels::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BCSC_BULK(...) __trap()  // never started there: kernel_info::compute_capability
#else
#define BCSC_BULK(...) asm volatile(__VA_ARGS__)
#endif

/// Called by all lanes of a warp with the same `bytes`: arrives for a phase that ends when they have been copied as
/// well.
__device__ inline void arrive_expecting(stage_barrier& barrier, unsigned bytes) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    BCSC_BULK("{\n.reg .b64 state;\nmbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n}" ::"r"(
                  static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
              "r"(bytes)
              : "memory");
  } else if (arriving_lanes > 1) {
    barrier.arrive_alone();
  }
}

/// Starts the copy of `bytes`, a multiple of 16 as both addresses are, for a phase that expects them.
__device__ inline void copy_bulk(void* to_shared, const void* from_global, unsigned bytes, stage_barrier& barrier) {
  BCSC_BULK("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
            "l"(from_global), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier)))
            : "memory");
}

/// What this thread wrote to shared memory comes before what bulk copies write there.
__device__ inline void show_to_bulk_copies() { BCSC_BULK("fence.proxy.async.shared::cta;" ::: "memory"); }

#undef BCSC_BULK

}  // namespace bcsc::kernels::cuda
