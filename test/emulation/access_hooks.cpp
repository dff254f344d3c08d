#include <cstddef>

#include "test/emulation/include/emulated_gpu.hpp"

// What a compiler calls where -fsanitize=thread tells it to make memory accesses known. Kernels are compiled so, but
// not linked with that sanitizer: the calls come here, and the emulated GPU looks for races among its own threads.

using bcsc::emulation::access;
using bcsc::emulation::note_access;

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define BCSC_HOOKS_OF_SIZE(bytes)                                                                 \
  void __tsan_read##bytes(void* address) { note_access(address, bytes, access::read); }           \
  void __tsan_write##bytes(void* address) { note_access(address, bytes, access::write); }         \
  void __tsan_unaligned_read##bytes(void* address) { note_access(address, bytes, access::read); } \
  void __tsan_unaligned_write##bytes(void* address) { note_access(address, bytes, access::write); }
BCSC_HOOKS_OF_SIZE(1)
BCSC_HOOKS_OF_SIZE(2)
BCSC_HOOKS_OF_SIZE(4)
BCSC_HOOKS_OF_SIZE(8)
BCSC_HOOKS_OF_SIZE(16)
#undef BCSC_HOOKS_OF_SIZE

void __tsan_read_range(void* address, std::size_t bytes) { note_access(address, bytes, access::read); }
void __tsan_write_range(void* address, std::size_t bytes) { note_access(address, bytes, access::write); }

}  // extern "C"
