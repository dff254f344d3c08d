#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"

/// Numbers of 16 bits on a GPU: they lie in registers two by two, the lower half first, and become floats (exactly) to
/// be computed with. test/emulation/include holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::kernels::cuda {

template <class T>
struct narrow_pair;

template <>
struct narrow_pair<half> {
  static __device__ float2 widen(unsigned pair) {
    float2 wide;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(wide.x), "=f"(wide.y)
        : "r"(pair));
    return wide;
  }
  /// To nearest, ties to even.
  static __device__ unsigned narrow(float low, float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

template <>
struct narrow_pair<bfloat16> {
  static __device__ float2 widen(unsigned pair) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  }
  static __device__ unsigned narrow(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

}  // namespace bcsc::kernels::cuda
