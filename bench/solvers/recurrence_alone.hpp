#pragma once

#include "bcsc/dense.hpp"
#include "bench/harness/json.hpp"

namespace bcsc::bench {

/// (X X' + I) a = y by CG that stops where its recurrence says so and corrects itself, if at all, with the rounded
/// operator and along its old direction: what becomes of its true residual. On the host, TF32 emulated by rounding X
/// and v; printed, and as an array with an object for each recipe.
json recurrence_alone(const dense_matrix<double>& points, const dense_matrix<double>& y);

}  // namespace bcsc::bench
