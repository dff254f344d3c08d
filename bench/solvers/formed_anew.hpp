#pragma once

#include "bcsc/cg.hpp"
#include "bcsc/dense.hpp"
#include "bcsc/linear_operator.hpp"
#include "bench/harness/stage.hpp"

namespace bcsc::bench {

/// Q = X X' + I as it is applied where nothing is known of Q but its entries, as with kernel functions that are not
/// linear: each product forms them anew, a block of rows after the other, and keeps none. By cuBLAS. X (X' v) takes
/// points / (2 rhs) times fewer operations.
/// X: points x features, copied to `where`, which outlives the operator. `precision` is as_given where T is double,
/// else fp32, tf32 or bf16: X is rounded to it and its products are summed in fp32; the Q so formed multiplies v in
/// fp32.
template <value T>
linear_operator<T> formed_anew(const context& ctx, stage& where, const dense_matrix<double>& points,
                               cg_inner precision);

}  // namespace bcsc::bench
