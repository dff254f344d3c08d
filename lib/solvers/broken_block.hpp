#pragma once

#include "bcsc/cg.hpp"

/// A column along which A, or the preconditioner, is not positive definite breaks the block of all, and by then has a
/// part in the others' x. So all begin once more side by side, and each comes to its own end.
namespace bcsc::solvers {

/// Whether more than one column ended as a broken block does, and nobody has cancelled the solve.
bool is_broken(const cg_result& of_block);
/// What they begin with.
cg_options side_by_side(const cg_options& options, const cg_result& so_far);
/// Both as one solve.
cg_result joined(const cg_result& first, cg_result second);

}  // namespace bcsc::solvers
