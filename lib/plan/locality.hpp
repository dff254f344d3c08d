#pragma once

#include "bcsc/formats.hpp"

namespace bcsc::plan {

/// Whether a product meets the rows of B in no order: whether, for more than a third of A's entries, neither their
/// column nor one beside it was used by any of the 2048 entries before. Such rows of B lie in no near cache, and no
/// hardware foresees them. Judged by at most 64 pieces of A; needs 8 * cols bytes for the moment.
template <element T, index I>
bool is_scattered(const csr_view<T, I>& a);

}  // namespace bcsc::plan
