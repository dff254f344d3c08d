#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/elements.hpp"

/// The values of A in less precision.
namespace bcsc::solvers {

enum class rounded_to { fp32, bf16 };

/// What `x` is in it.
float rounded_value(double x, rounded_to precision);

/// The unknowns that A has for each node of a mesh, 1 to 6: so many rows at a time have the same columns, as far as a
/// sample of them tells.
template <index I>
std::int64_t unknowns_per_node(std::span<const I> row_ptr, std::span<const I> col_ind);

/// The values of A, rounded, so that A times a smooth vector keeps more digits than each value has. Stiff modes forgive
/// an error of A, soft ones do not: they are smooth, so errors of a row add up where they could cancel. Each value
/// takes over what those before it in its row and of its unknown were off by, as far as that is at most one unit in its
/// last place, and then what those behind it were. So each is within three units of the given one, a row's errors of an
/// unknown add up to a few of its smallest, and A is symmetric up to these. What is not finite, is too large or is
/// zero is rounded alone.
template <value T, index I>
std::vector<float> values_with_row_sums(std::span<const I> row_ptr, std::span<const I> col_ind,
                                        std::span<const T> values, rounded_to precision);

}  // namespace bcsc::solvers
