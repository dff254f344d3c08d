#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Words that threads of one grid leave for each other while it runs. A word of 8 bytes is seen whole or not at all,
/// and nothing is said about what else its writer has written: what belongs together is told by the words themselves.
/// The grid is launched by start_together(), or its blocks might wait for one that never begins. test/emulation/include
/// holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::core {

/// Two neighbouring words, aligned to 16 bytes; each is whole, both together need not be.
struct alignas(16) two_words {
  std::uint64_t first, second;
};

__device__ inline void post(two_words* to, two_words words) {
#ifdef __CUDA_ARCH__
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "l"(words.first),
               "l"(words.second)
               : "memory");
#else
  (void)to, (void)words;
#endif
}

__device__ inline two_words look_at(const two_words* from) {
  two_words words{};
#ifdef __CUDA_ARCH__
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
#else
  (void)from;
#endif
  return words;
}

/// Between two looks at words that are not there yet.
__device__ inline void look_again() {}

}  // namespace bcsc::core
