#pragma once

#include <cstdint>
#include <vector>

#include "bcsc/formats.hpp"

namespace bcsc::forms {

/// Whether a product accesses the rows of B irregularly: for more than a third of A's entries, neither their column nor
/// one beside it was used by any of the 2048 entries before. Such rows of B are in no near cache, and no hardware
/// prefetcher anticipates them. Judged by at most 64 pieces of A; needs 8 * cols bytes temporarily.
template <element T, index I>
bool is_scattered(const csr_view<T, I>& a);

/// Whether a loop over each row pays for its length, with a mispredicted branch a row, as much as ten entries of few
/// columns: not where rows are long, where most are as long as the one before, or where there are few entries.
template <element T, index I>
bool differ_in_length(const csr_view<T, I>& a);

/// order[new row] = old row, such that neighbours have equally many entries: within windows of 256 rows, so that the
/// rows of B and C they use stay near. Empty where rows do not differ_in_length().
template <element T, index I>
std::vector<std::int64_t> order_rows_by_length(const csr_view<T, I>& a);

}  // namespace bcsc::forms
