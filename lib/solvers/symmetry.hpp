#pragma once

#include "lib/solvers/cg_parts.hpp"

namespace bcsc::solvers {

/// Whether a column has ended as one may where A is not symmetric; at the limit of iterations, farther from b than 0
/// is.
bool may_be_asymmetric(const cg_result& result);
/// Gives that as the reason of all columns that have ended so.
void blame_asymmetry(cg_result& result);

/// False if random x and y tell that A is not symmetric: x'Ay and y'Ax differ by far more than A's rounding explains.
/// Two products. For T = float and double.
template <value T>
bool looks_symmetric(const cg_parts<T>& parts, kernels::vector::shape shape);

}  // namespace bcsc::solvers
