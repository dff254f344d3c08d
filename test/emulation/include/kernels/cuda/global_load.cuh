#pragma once

#include <cuda_runtime.h>

#include "kernels/forms/product_args.hpp"

/// Stands in for kernels/cuda/global_load.cuh on the emulated GPU: loads and stores that look at their address.
namespace bcsc::kernels::cuda {

template <class Word>
Word load_global(const Word* from, emulation::source_line where = emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(Word) != 0) {
    bcsc::emulation::break_rule("a load from an address that is not aligned to it", where);
  }
  return *from;
}

template <class Word>
void store_global(Word* to, const Word& some, emulation::source_line where = emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(to) % alignof(Word) != 0) {
    bcsc::emulation::break_rule("a store to an address that is not aligned to it", where);
  }
  *to = some;
}

template <class Word>
Word load_global(const Word* from, cache_policy, emulation::source_line where = emulation::source_line::current()) {
  return load_global(from, where);
}

inline int4 load_streamed(const int4* from, cache_policy,
                          emulation::source_line where = emulation::source_line::current()) {
  return __ldg(from, where);
}

template <class Word>
Word load_global_if(bool exists, const Word* from, emulation::source_line where = emulation::source_line::current()) {
  return exists ? load_global(from, where) : Word{};
}

template <bool Streams, class Word>
Word load_of_a_if(bool exists, const Word* from, emulation::source_line where = emulation::source_line::current()) {
  return exists ? __ldg(from, where) : Word{};
}

/// All of it has to be there, and is read here.
inline void prefetch_l2(const void* from, std::uint32_t bytes,
                        emulation::source_line where = emulation::source_line::current()) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0 || bytes % 16 != 0) {
    bcsc::emulation::break_rule("a prefetch that is not of whole 16 bytes", where);
  }
  for (const auto* at = static_cast<const int4*>(from); at < static_cast<const int4*>(from) + bytes / 16; ++at) {
    (void)__ldg(at, where);
  }
}

inline void prefetch_l2(const void* from, std::uint32_t bytes, cache_policy,
                        emulation::source_line where = emulation::source_line::current()) {
  prefetch_l2(from, bytes, where);
}

}  // namespace bcsc::kernels::cuda
