#pragma once

#include <cuda_runtime.h>

#include <concepts>

/// Loads of what the kernel before may still write. test/emulation/include holds a header of this name with the same
/// function for the emulated GPU.
namespace bcsc::kernels::cuda {

/// A plain load of 2, 4, 8 or 16 bytes (an unsigned integer or vector of them, double, double2) from global memory: for
/// B and everything else but A. It is volatile, as wait_for_previous() is, so the compiler keeps it behind the wait.
/// The non-coherent path (__ldg) is for A alone, which nothing in flight writes.
template <class Word>
__device__ Word load_global(const Word* from) {
  const auto address = __cvta_generic_to_global(from);
  Word some;
  if constexpr (std::same_as<Word, double>) {
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(some) : "l"(address));
  } else if constexpr (std::same_as<Word, double2>) {
    asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(some.x), "=d"(some.y) : "l"(address));
  } else if constexpr (sizeof(Word) == 2) {
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(some) : "l"(address));
  } else if constexpr (sizeof(Word) == 4) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(some) : "l"(address));
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(some.x), "=r"(some.y) : "l"(address));
  } else {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(some.x), "=r"(some.y), "=r"(some.z), "=r"(some.w)
                 : "l"(address));
  }
  return some;
}

}  // namespace bcsc::kernels::cuda
