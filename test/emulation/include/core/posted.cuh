#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Stands in for core/posted.cuh on the emulated GPU: others run between any two words, and before a second look.
namespace bcsc::core {

struct alignas(16) two_words {
  std::uint64_t first, second;
};

BCSC_NOT_WATCHED inline void post(two_words* to, two_words words) {
  atomicExch(reinterpret_cast<unsigned long long*>(&to->first), words.first);
  atomicExch(reinterpret_cast<unsigned long long*>(&to->second), words.second);
}

BCSC_NOT_WATCHED inline two_words look_at(const two_words* from) {
  emulation::give_way();
  emulation::note_access(from, sizeof(*from), emulation::access::read);
  const std::uint64_t first = from->first;
  emulation::give_way();
  return {first, from->second};
}

inline void look_again(emulation::source_line where = emulation::source_line::current()) {
  emulation::wait_for_change(where);
}

}  // namespace bcsc::core
