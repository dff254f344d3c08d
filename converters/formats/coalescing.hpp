#pragma once

#include "bcsc/formats.hpp"

/// How near each other the columns are that neighbouring rows have: whether the lanes of a warp, a row each, find their
/// values of a column of B side by side.
namespace bcsc::converters {

/// What a column of B, and one of C, cost rows that are multiplied side by side.
struct column_access {
  /// Sectors of eight columns that 32 neighbouring rows reach at once with their first, second, ... entries, for each
  /// entry: an eighth where rows follow each other along diagonals, 1 where no two rows meet. 0: not known.
  double sectors_per_entry = 0;
  /// The share of the rows that are exactly as long as at least a quarter of them. Sorted by length these stay near
  /// each other; others come to lie beside rows from elsewhere.
  double alike = 0;
};

/// Judged by 64 rows at each of four places of A, on the host or on the device (where it waits for eight small copies).
/// Nothing is known where A has no entries there, or rows that are too long to be looked at.
template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a);

}  // namespace bcsc::converters
