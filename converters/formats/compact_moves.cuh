#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "converters/formats/compact_steps.hpp"

/// Moves the entries of a row block to their places, once these are known.
namespace bcsc::converters::steps {

/// Where in the row block an entry goes, where it comes from, and its row.
struct entry_move {
  int place, from;
  unsigned row;
};

/// Loads that a thread issues before it uses the first.
constexpr int at_once = 4;

/// Moves entries of the row block that begins at `begin` to their places, along with their values of type Bits: those
/// of move(k) for k = thread, thread + team and so on.
template <class Bits, class I, class Move>
__device__ void move_entries_of(const compaction<I>& job, std::int64_t begin, int entries, int thread, int team,
                                Move move) {
  auto* const rows = reinterpret_cast<std::uint8_t*>(job.row_in_block) + begin;
  for (int first = thread; first < entries; first += at_once * team) {
    [[maybe_unused]] std::conditional_t<std::is_void_v<Bits>, char, Bits> value[at_once];
    int place[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int k = first + i * team;
      if (k >= entries) continue;
      const entry_move one = move(k);
      rows[one.place] = static_cast<std::uint8_t>(one.row);
      place[i] = one.place;
      if constexpr (!std::is_void_v<Bits>) {
        value[i] = __ldg(static_cast<const Bits*>(job.from_values) + begin + one.from);
      }
    }
    if constexpr (!std::is_void_v<Bits>) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (first + i * team < entries) static_cast<Bits*>(job.values)[begin + place[i]] = value[i];
      }
    }
  }
}
template <class I, class Move>
__device__ void move_entries(const compaction<I>& job, std::int64_t begin, int entries, int thread, int team,
                             Move move) {
  switch (job.value_bytes) {
    case 2:
      return move_entries_of<std::uint16_t>(job, begin, entries, thread, team, move);
    case 4:
      return move_entries_of<std::uint32_t>(job, begin, entries, thread, team, move);
    case 8:
      return move_entries_of<std::uint64_t>(job, begin, entries, thread, team, move);
    default:
      return move_entries_of<void>(job, begin, entries, thread, team, move);
  }
}

}  // namespace bcsc::converters::steps
