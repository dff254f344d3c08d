#pragma once

#include <span>
#include <vector>

#include "bcsc/plan.hpp"
#include "lib/solvers/setup_matrix.hpp"

namespace bcsc::solvers {

/// Rows and columns of a symmetric matrix are scaled by D^-1/2, D its diagonal, so that its diagonal becomes 1. An
/// entry of D of at most `rounding` counts as 0, and its row is scaled by 0. Throws error{invalid_argument} for one
/// below -rounding, or not finite, or (rounding = 0) equal to 0; `what` is the matrix in its message.
std::vector<double> inverse_root_diagonal(const setup_matrix& a, double rounding, const char* what);

/// A plan of diag(left) A diag(right), computed in double and rounded to S once, for row-major blocks of about `cols`
/// vectors, deterministic.
template <value S>
spmm_plan<S> plan_scaled(const context& ctx, const setup_matrix& a, std::span<const double> left,
                         std::span<const double> right, std::int64_t cols);

}  // namespace bcsc::solvers
