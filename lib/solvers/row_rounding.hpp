#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/elements.hpp"

/// The values of A in less precision.
namespace bcsc::solvers {

enum class rounded_to { fp32, bf16 };

/// The number of that precision nearest to `x`.
float rounded_value(double x, rounded_to precision);

/// How many unknowns A has at each node of a mesh, 1 to 6: as many consecutive rows have the same columns, judged by a
/// sample.
template <index I>
std::int64_t unknowns_per_node(std::span<const I> row_ptr, std::span<const I> col_ind);

/// The values of A rounded such that the errors of a row nearly cancel, separately for each unknown. Rounding harms the
/// soft modes of A most. They are smooth, so the errors of a row act on them by their sum, as a stiffness that A does
/// not have. In two passes, forwards and backwards, each value absorbs the error of those before it, at most one unit
/// in its last place at a time: each ends within three units of the given one, their errors add up to a few units of
/// the smallest, and A stays symmetric up to these units. Values that are zero, not finite or too large are rounded by
/// themselves.
template <value T, index I>
std::vector<float> values_with_row_sums(std::span<const I> row_ptr, std::span<const I> col_ind,
                                        std::span<const T> values, rounded_to precision);

}  // namespace bcsc::solvers
