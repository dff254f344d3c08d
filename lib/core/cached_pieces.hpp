#pragma once

#include <cstdint>

#include "lib/core/row_pieces.hpp"

/// How a stream of row pieces lies in memory whose entries are parted by whether their row of B lies in shared memory:
/// what converters/formats/cached_stream.hpp writes and the cached kernels read (kernels/cached_operand.hpp). Entries
/// come in pairs, as those of lib/core/row_pieces.hpp.
namespace bcsc::core {

/// A run of entries of one row in one panel: first those whose row of B lies in shared memory, then, from a pair of
/// their own on, those whose row does not.
struct alignas(16) cached_piece {
  std::uint32_t first_pair;  ///< in the array of pairs
  std::uint32_t row;         ///< of C
  std::uint32_t hot, cold;   ///< entries; an odd number's last pair is filled up
  constexpr std::int64_t row_of_c() const { return row; }
  friend bool operator==(const cached_piece&, const cached_piece&) = default;
};

/// Pairs behind the last piece's end that kernels may read, and do not use: a step of a warp.
inline constexpr std::int64_t spare_pairs = 256;

/// Shared memory is read in wavefronts of so many bytes: rows of B that are shorter lie side by side in one.
inline constexpr std::int64_t wavefront_bytes = 128;

}  // namespace bcsc::core
