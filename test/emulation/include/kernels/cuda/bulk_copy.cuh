#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/stage_barrier.cuh"

/// Stands in for kernels/cuda/bulk_copy.cuh on the emulated GPU: copies land when the phase ends that expects them;
/// until then their destination holds NaN. Whether show_to_bulk_copies() is missing cannot be seen here.
namespace bcsc::kernels::cuda {

inline void arrive_expecting(stage_barrier& barrier, unsigned bytes) {
  __syncwarp();
  if (threadIdx.x % 32 != 0) return;
  emulation::expect_bytes(&barrier, bytes);
  emulation::arrive_at_barrier(&barrier);
}

inline void copy_bulk(void* to_shared, const void* from_global, unsigned bytes, stage_barrier& barrier,
                      emulation::source_line where = emulation::source_line::current()) {
  emulation::start_bulk_copy(to_shared, from_global, bytes, &barrier, where);
}

inline void show_to_bulk_copies() {}

}  // namespace bcsc::kernels::cuda
