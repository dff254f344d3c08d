#pragma once

#include <cuda_runtime.h>

/// Stands in for core/dynamic_shared.cuh on the emulated GPU.
namespace bcsc::core {

template <class T>
T* dynamic_shared() {
  static_assert(alignof(T) <= 16);
  return reinterpret_cast<T*>(emulation::shared_memory());
}

}  // namespace bcsc::core
