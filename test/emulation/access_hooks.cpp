#include <cstddef>

#include "test/emulation/include/emulated_gpu.hpp"

// What a compiler calls where -fsanitize=thread instruments memory accesses. Kernels are compiled with it, but not
// linked with that sanitizer: the calls come here, and the emulated GPU looks for races among its own threads.

using bcsc::emulation::access;
using bcsc::emulation::note_access;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define BCSC_HOOKS_OF_SIZE(bytes)                                                                                      \
  void __tsan_read##bytes(void* address) { note_access(address, bytes, access::read, __builtin_return_address(0)); }   \
  void __tsan_write##bytes(void* address) { note_access(address, bytes, access::write, __builtin_return_address(0)); } \
  void __tsan_unaligned_read##bytes(void* address) {                                                                   \
    note_access(address, bytes, access::read, __builtin_return_address(0));                                            \
  }                                                                                                                    \
  void __tsan_unaligned_write##bytes(void* address) {                                                                  \
    note_access(address, bytes, access::write, __builtin_return_address(0));                                           \
  }
BCSC_HOOKS_OF_SIZE(1)
BCSC_HOOKS_OF_SIZE(2)
BCSC_HOOKS_OF_SIZE(4)
BCSC_HOOKS_OF_SIZE(8)
BCSC_HOOKS_OF_SIZE(16)
#undef BCSC_HOOKS_OF_SIZE

// Atomic operations are the host's (reference counts): kernels have those of cuda_runtime.h.
#define BCSC_ATOMIC_HOOKS(bits, T)                                                                                  \
  T __tsan_atomic##bits##_load(const volatile T* at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }         \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); } \
  T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                                                  \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                        \
  }                                                                                                                 \
  T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, int) {                                                 \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                                 \
  T __tsan_atomic##bits##_fetch_sub(volatile T* at, T value, int) {                                                 \
    return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                                 \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, int, int) {               \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;     \
  }
BCSC_ATOMIC_HOOKS(8, char)
BCSC_ATOMIC_HOOKS(32, int)
BCSC_ATOMIC_HOOKS(64, long)
#undef BCSC_ATOMIC_HOOKS

void __tsan_read_range(void* address, std::size_t bytes) {
  note_access(address, bytes, access::read, __builtin_return_address(0));
}
void __tsan_write_range(void* address, std::size_t bytes) {
  note_access(address, bytes, access::write, __builtin_return_address(0));
}

}  // extern "C"
