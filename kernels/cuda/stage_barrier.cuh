#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// A wait that the hardware suspends is younger than barriers themselves.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define BCSC_HAS_ENDED "mbarrier.test_wait.parity.shared::cta.b64"
#else
#define BCSC_HAS_ENDED "mbarrier.try_wait.parity.shared::cta.b64"
#endif

/// A barrier in shared memory at which some warps arrive and others wait (mbarrier, sm_80 and later): what was written
/// before the arrivals can be read after the wait. test/emulation/include holds a header of this name with the same
/// functions for the emulated GPU.
namespace bcsc::kernels::cuda {

/// Lanes of a warp that arrive at a barrier. One is enough, and 32 would be serialized; but racecheck orders only the
/// threads that arrive themselves, not those that the preceding __syncwarp() has ordered before them.
#ifdef BCSC_EVERY_LANE_ARRIVES
inline constexpr unsigned arriving_lanes = 32;
#else
inline constexpr unsigned arriving_lanes = 1;
#endif

class alignas(8) stage_barrier {
 public:
  /// By one thread; a __syncthreads() shows it to the others. A phase ends when so many warps have arrived.
  __device__ void begin(unsigned warps) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place()), "r"(warps * arriving_lanes) : "memory");
  }

  /// Called by all lanes of a warp.
  __device__ void arrive() {
    __syncwarp();
    if (threadIdx.x % 32 < arriving_lanes) arrive_alone();
  }
  __device__ void arrive_alone() {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(place()) : "memory");
  }

  /// Until phase number `phase` has ended; none is waited for that is older than the last. Before the first, phase -1
  /// counts as ended.
  __device__ void wait(int phase) {
    asm volatile("{\n.reg .pred ended;\nAGAIN:\n" BCSC_HAS_ENDED
                 " ended, [%0], %1;\n"
                 "@!ended bra AGAIN;\n}" ::"r"(place()),
                 "r"(static_cast<unsigned>(phase) & 1u)
                 : "memory");
  }

 private:
  __device__ unsigned place() const { return static_cast<unsigned>(__cvta_generic_to_shared(this)); }

  std::uint64_t state_;
};

}  // namespace bcsc::kernels::cuda

#undef BCSC_HAS_ENDED
