#pragma once

#include <cuda_runtime.h>

#include "bcsc/elements.hpp"

/// Stands in for kernels/cuda/narrow.cuh on the emulated GPU.
namespace bcsc::kernels::cuda {

template <class T>
struct narrow_pair {
  static float2 widen(unsigned pair) {
    return {static_cast<float>(T::from_bits(static_cast<std::uint16_t>(pair & 0xffffu))),
            static_cast<float>(T::from_bits(static_cast<std::uint16_t>(pair >> 16)))};
  }
  static unsigned narrow(float low, float high) { return T(low).bits | static_cast<unsigned>(T(high).bits) << 16; }
};

}  // namespace bcsc::kernels::cuda
