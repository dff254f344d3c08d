#pragma once

#include <cuda_runtime.h>

/// Stands in for kernels/cuda/dynamic_shared.cuh on the emulated GPU.
namespace bcsc::kernels::cuda {

template <class T>
T* dynamic_shared() {
  static_assert(alignof(T) <= 16);
  return reinterpret_cast<T*>(emulation::shared_memory());
}

}  // namespace bcsc::kernels::cuda
