#pragma once

#include <cstdint>
#include <limits>

#include "bcsc/analysis.hpp"
#include "bcsc/formats.hpp"

/// How near each other the columns are that neighbouring rows have: whether the lanes of a warp, a row each, find their
/// values of a column of B side by side, and whether later rows find them in a cache. And whether rows of like length,
/// which row-wise kernels take together, write side by side into a column of C.
namespace bcsc::converters {

/// Rows are of like length where their entries take as many multiples of this.
inline constexpr std::int64_t entries_alike = 8;

/// How rows that are multiplied side by side, or one after the other, share what they read of a column of B, and what
/// they write of one of C.
struct column_access {
  /// As pattern_statistics has them.
  sectors_by_lanes sectors_per_entry = {};
  /// 99 % of the entries are at most so many columns from the diagonal, which leads from A's first corner to its last.
  std::int64_t reach = std::numeric_limits<std::int64_t>::max();
  /// Sectors of eight rows that rows of like length are in, for each row: an eighth where all are alike, 1 where none
  /// is like its neighbours. 0: not known.
  double sectors_per_row = 0;
};

/// Judged by 64 rows at each of four places of A, on the host or on the device (where it waits for eight small copies).
/// Nothing is known where A has no entries there, or rows that are too long to be looked at.
template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a);

}  // namespace bcsc::converters
