#pragma once

#include <cuda_runtime.h>

/// Stands in for kernels/cuda/async_copy.cuh on the emulated GPU: until a copy is waited for, its destination holds
/// NaN, and its source is read only then.
namespace bcsc::kernels::cuda {

template <int Bytes>
void copy_async(void* to_shared, const void* from_global, int present,
                emulation::source_line where = emulation::source_line::current()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  emulation::start_copy(to_shared, from_global, Bytes, present, where);
}

class shared_place {
 public:
  explicit shared_place(void* at) : at_(static_cast<unsigned char*>(at)) {}
  friend shared_place operator+(shared_place at, int bytes) { return shared_place(at.at_ + bytes); }
  void* at() const { return at_; }

 private:
  unsigned char* at_;
};

template <int Bytes>
void copy_async(shared_place to, const void* from_global, int present,
                emulation::source_line where = emulation::source_line::current()) {
  copy_async<Bytes>(to.at(), from_global, present, where);
}

inline void copy_async16(shared_place to, const void* from_global,
                         emulation::source_line where = emulation::source_line::current()) {
  emulation::start_copy(to.at(), from_global, 16, 16, where);
}

inline void copy_async16(shared_place to, const void* from_global, bool present,
                         emulation::source_line where = emulation::source_line::current()) {
  emulation::start_copy(to.at(), from_global, 16, present ? 16 : 0, where);
}

inline void wait_for_copies() { emulation::finish_copies(); }

inline void commit_copies() { emulation::commit_copies(); }

template <int Newest>
void wait_for_all_but() {
  static_assert(Newest >= 0);
  emulation::finish_copies_but(Newest);
}

}  // namespace bcsc::kernels::cuda
