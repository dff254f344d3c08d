#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

#include "kernels/forms/product_args.hpp"

/// Loads of what the kernel before may still write, and of what passes L1 by; stores of vectors. test/emulation/include
/// holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::kernels::cuda {

/// A plain load from global memory of a number or a vector of them: for B and everything else but A. It is volatile, as
/// wait_for_previous() is, so the compiler keeps it behind the wait. The non-coherent path (__ldg) is for A alone,
/// which nothing in flight writes. Loaded as what they are, values need fewer registers than as bits.
template <class Word>
__device__ Word load_global(const Word* from) {
  const auto address = __cvta_generic_to_global(from);
  Word some;
  if constexpr (std::same_as<Word, float>) {
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(some) : "l"(address));
  } else if constexpr (std::same_as<Word, float2>) {
    asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(some.x), "=f"(some.y) : "l"(address));
  } else if constexpr (std::same_as<Word, float4>) {
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(some.x), "=f"(some.y), "=f"(some.z), "=f"(some.w)
                 : "l"(address));
  } else if constexpr (std::same_as<Word, double>) {
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(some) : "l"(address));
  } else if constexpr (std::same_as<Word, double2>) {
    asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(some.x), "=d"(some.y) : "l"(address));
  } else if constexpr (std::same_as<Word, std::uint16_t>) {
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(some) : "l"(address));
  } else if constexpr (std::same_as<Word, unsigned>) {
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(some) : "l"(address));
  } else if constexpr (std::same_as<Word, uint2>) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(some.x), "=r"(some.y) : "l"(address));
  } else {
    static_assert(std::same_as<Word, uint4>);
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(some.x), "=r"(some.y), "=r"(some.z), "=r"(some.w)
                 : "l"(address));
  }
  return some;
}

/// A number or a vector of them to global memory, in one instruction: a vector stored as one of its type the compiler
/// may take apart, into as many stores as values, each of which fills a part of a sector (docs/history, 128).
template <class Word>
__device__ void store_global(Word* to, const Word& some) {
  const auto address = __cvta_generic_to_global(to);
  if constexpr (std::same_as<Word, float2>) {
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(some.x), "f"(some.y) : "memory");
  } else if constexpr (std::same_as<Word, float4>) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(some.x), "f"(some.y), "f"(some.z),
                 "f"(some.w)
                 : "memory");
  } else if constexpr (std::same_as<Word, double2>) {
    asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(address), "d"(some.x), "d"(some.y) : "memory");
  } else if constexpr (std::same_as<Word, uint2>) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(some.x), "r"(some.y) : "memory");
  } else if constexpr (std::same_as<Word, uint4>) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(some.x), "r"(some.y), "r"(some.z),
                 "r"(some.w)
                 : "memory");
  } else {
    *to = some;
  }
}

/// load_global() of one or two values of A.
template <class Word>
__device__ Word load_global(const Word* from, cache_policy in_l2) {
  const auto address = __cvta_generic_to_global(from);
  const auto policy = static_cast<std::uint64_t>(in_l2);
  Word some;
  if constexpr (std::same_as<Word, float2>) {
    asm volatile("ld.global.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;"
                 : "=f"(some.x), "=f"(some.y)
                 : "l"(address), "l"(policy));
  } else if constexpr (std::same_as<Word, double2>) {
    asm volatile("ld.global.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
                 : "=d"(some.x), "=d"(some.y)
                 : "l"(address), "l"(policy));
  } else {
    static_assert(std::same_as<Word, unsigned>);
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(some) : "l"(address), "l"(policy));
  }
  return some;
}

/// __ldg() of A by a policy. The policy has to be a kernel's argument: computed, ptxas does not take it for uniform and
/// moves it from two registers before each load.
__device__ inline int4 load_streamed(const int4* from, cache_policy in_l2) {
  int4 some;
  asm("ld.global.nc.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], %5;"
      : "=r"(some.x), "=r"(some.y), "=r"(some.z), "=r"(some.w)
      : "l"(__cvta_generic_to_global(from)), "l"(static_cast<std::uint64_t>(in_l2)));
  return some;
}

/// load_global() where `exists`, else 0: one predicated instruction, where a branch would cost as much as the load's
/// address.
template <class Word>
__device__ Word load_global_if(bool exists, const Word* from) {
  const auto address = __cvta_generic_to_global(from);
  const unsigned asked = exists ? 1 : 0;
  Word some{};
  if constexpr (std::same_as<Word, float>) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.f32 %0, [%1];}"
                 : "+f"(some)
                 : "l"(address), "r"(asked));
  } else if constexpr (std::same_as<Word, double>) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.f64 %0, [%1];}"
                 : "+d"(some)
                 : "l"(address), "r"(asked));
  } else {
    static_assert(std::same_as<Word, std::uint16_t>);
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u16 %0, [%1];}"
                 : "+h"(some)
                 : "l"(address), "r"(asked));
  }
  return some;
}

/// The same of A, by the non-coherent path. `Streams`: loads bypass L1, which is left to B. What they bring is also the
/// first to be evicted from L2: 4 % faster where A does not stay there anyway, up to a quarter slower where it would
/// (docs/history, 132). CUDA 12.4 cannot build the text of an asm from constants, hence the pairs.
template <bool Streams, class Word>
__device__ Word load_of_a_if(bool exists, const Word* from) {
  const auto address = __cvta_generic_to_global(from);
  const unsigned asked = exists ? 1 : 0;
  Word some{};
  if constexpr (std::same_as<Word, float>) {
    if constexpr (Streams) {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.f32 %0, [%1];}"
                   : "+f"(some)
                   : "l"(address), "r"(asked));
    } else {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.f32 %0, [%1];}"
                   : "+f"(some)
                   : "l"(address), "r"(asked));
    }
  } else if constexpr (std::same_as<Word, double>) {
    if constexpr (Streams) {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.f64 %0, [%1];}"
                   : "+d"(some)
                   : "l"(address), "r"(asked));
    } else {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.f64 %0, [%1];}"
                   : "+d"(some)
                   : "l"(address), "r"(asked));
    }
  } else if constexpr (std::same_as<Word, std::uint16_t>) {
    if constexpr (Streams) {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u16 %0, [%1];}"
                   : "+h"(some)
                   : "l"(address), "r"(asked));
    } else {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.u16 %0, [%1];}"
                   : "+h"(some)
                   : "l"(address), "r"(asked));
    }
  } else if constexpr (std::same_as<Word, uint2>) {
    if constexpr (Streams) {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];}"
                   : "+r"(some.x), "+r"(some.y)
                   : "l"(address), "r"(asked));
    } else {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.nc.v2.u32 {%0, %1}, [%2];}"
                   : "+r"(some.x), "+r"(some.y)
                   : "l"(address), "r"(asked));
    }
  } else {
    static_assert(std::same_as<Word, std::uint32_t>);
    if constexpr (Streams) {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.L1::no_allocate.u32 %0, [%1];}"
                   : "+r"(some)
                   : "l"(address), "r"(asked));
    } else {
      asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.u32 %0, [%1];}"
                   : "+r"(some)
                   : "l"(address), "r"(asked));
    }
  }
  return some;
}

/// Brings `bytes` from `from` on into L2, both multiples of 16, and waits for nothing. Not on GPUs before sm_90.
__device__ inline void prefetch_l2(const void* from, std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(from)), "r"(bytes));
#endif
}

/// The same by a policy.
__device__ inline void prefetch_l2(const void* from, std::uint32_t bytes, cache_policy in_l2) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(__cvta_generic_to_global(from)),
               "r"(bytes), "l"(static_cast<std::uint64_t>(in_l2)));
#endif
}

}  // namespace bcsc::kernels::cuda
