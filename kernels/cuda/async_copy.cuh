#pragma once

#include <cuda_runtime.h>

/// Copies from global to shared memory that need no register and no waiting thread (cp.async, sm_80 and later).
/// test/emulation/include holds a header of this name with the same functions for the emulated GPU.
namespace bcsc::kernels::cuda {

namespace detail {

/// `to`: in shared memory.
template <int Bytes>
__device__ void start_copy(unsigned to, const void* from_global, int present) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from_global), "r"(present) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from_global), "n"(Bytes), "r"(present)
                 : "memory");
  }
}

}  // namespace detail

/// Starts the copy of the first `present` of `Bytes` bytes and zeroes the rest. Bytes is 4, 8 or 16; both addresses are
/// aligned to it. Nothing is read where present = 0. 16-byte copies pass L1 by.
template <int Bytes>
__device__ void copy_async(void* to_shared, const void* from_global, int present) {
  detail::start_copy<Bytes>(static_cast<unsigned>(__cvta_generic_to_shared(to_shared)), from_global, present);
}

/// A place in shared memory as copies take it: kept in a register, where an address would be converted for each copy.
class shared_place {
 public:
  explicit __device__ shared_place(void* at) : bytes_(static_cast<unsigned>(__cvta_generic_to_shared(at))) {
    asm volatile("" : "+r"(bytes_));
  }
  friend __device__ shared_place operator+(shared_place at, int bytes) {
    at.bytes_ += static_cast<unsigned>(bytes);
    return at;
  }
  __device__ unsigned bytes() const { return bytes_; }

 private:
  unsigned bytes_;
};

/// copy_async() to such a place.
template <int Bytes>
__device__ void copy_async(shared_place to, const void* from_global, int present) {
  detail::start_copy<Bytes>(to.bytes(), from_global, present);
}

/// Starts the copy of 16 bytes, both addresses aligned to them.
__device__ inline void copy_async16(shared_place to, const void* from_global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to.bytes()), "l"(from_global) : "memory");
}

/// The same, or 16 bytes of zeros: then nothing is read.
__device__ inline void copy_async16(shared_place to, const void* from_global, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to.bytes()), "l"(from_global),
               "r"(present ? 16 : 0)
               : "memory");
}

/// Waits for this thread's copies; a barrier then shows them to the others.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// Makes a group of the copies this thread has started since its last group; there may be none in it.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits for all of this thread's groups but the `Newest` last ones. Copies that are in no group are not waited for.
template <int Newest>
__device__ void wait_for_all_but() {
  static_assert(Newest >= 0);
  asm volatile("cp.async.wait_group %0;" ::"n"(Newest) : "memory");
}

}  // namespace bcsc::kernels::cuda
