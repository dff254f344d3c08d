#pragma once

#include <cuda_runtime.h>

namespace bcsc::core {

/// The thread block's dynamic shared memory, aligned to 16 bytes; as much as the launch asked for.
/// test/emulation/include holds a header of this name for the emulated GPU, where no such array exists.
template <class T>
__device__ T* dynamic_shared() {
  static_assert(alignof(T) <= 16);
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

}  // namespace bcsc::core
