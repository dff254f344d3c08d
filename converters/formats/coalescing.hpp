#pragma once

#include "bcsc/formats.hpp"

/// How near each other the columns are that neighbouring rows have: whether the lanes of a warp, a row each, find their
/// values of a column of B side by side.
namespace bcsc::converters {

/// Sectors of eight columns that 32 neighbouring rows reach at once with their first, second, ... entries, for each
/// entry: an eighth where rows follow each other along diagonals, 1 where no two rows meet. Judged by 64 rows at each
/// of four places of A, on the host or on the device (where it waits for eight small copies). 0: not known, since A has
/// no entries there, or rows that are too long to be looked at.
template <index I>
double sectors_per_entry(const csr_view<pattern, I>& a);

}  // namespace bcsc::converters
