#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Stands in for kernels/cuda/stage_barrier.cuh on the emulated GPU, which keeps count of the barriers.
namespace bcsc::kernels::cuda {

class alignas(8) stage_barrier {
 public:
  void begin(unsigned warps) { emulation::begin_barrier(this, warps); }

  void arrive() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) emulation::arrive_at_barrier(this);
  }

  void wait(int phase, emulation::source_line where = emulation::source_line::current()) {
    emulation::give_way();
    while (!emulation::barrier_has_ended(this, static_cast<unsigned>(phase) & 1u)) emulation::wait_for_change(where);
  }

 private:
  std::uint64_t state_;
};

}  // namespace bcsc::kernels::cuda
