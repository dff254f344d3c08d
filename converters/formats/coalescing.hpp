#pragma once

#include <cstdint>
#include <limits>

#include "bcsc/analysis.hpp"
#include "bcsc/formats.hpp"

/// How near each other the columns are that neighbouring rows have: whether the lanes of a warp, a row each, find their
/// values of a column of B side by side, and whether later rows find them in a cache. And whether equally long
/// rows, which row-wise kernels take together, are neighbours in a column of C.
namespace bcsc::converters {

/// Rows count as equally long if their numbers of entries, rounded up to a multiple of this, are equal.
inline constexpr std::int64_t entries_alike = 8;

/// How rows that are multiplied side by side, or one after the other, share what they read of a column of B, and what
/// they write of one of C.
struct column_access {
  /// As pattern_statistics has them.
  sectors_by_lanes sectors_per_entry = {};
  /// 99 % of the entries are at most so many columns from the diagonal, which leads from A's first corner to its last.
  std::int64_t reach = std::numeric_limits<std::int64_t>::max();
  /// The farthest of the first and the last entry of each row that is looked at: of all entries, where rows have their
  /// columns in order. Not known where one of the places has rows that are too long.
  std::int64_t farthest = std::numeric_limits<std::int64_t>::max();
  /// Sectors of eight rows of C that equally long rows touch, per row: 1/8 if all are equally long, 1 if no row is as
  /// long as another of its sector. 0: not known.
  double sectors_per_row = 0;
};

/// Judged by 64 rows at each of four places of A, of long rows by some of their entries, on the host or on the device
/// (where it waits for eight small copies). Nothing is known where A has no entries there, or rows that are too long to
/// be looked at.
template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a);

}  // namespace bcsc::converters
