#pragma once

#include "bcsc/tune.hpp"
#include "lib/plan/builder.hpp"
#include "lib/tune/stopwatch.hpp"

namespace bcsc::tuning {

/// tuned_plan() by the stopwatches given.
template <number T>
spmm_plan<T> make_tuned_plan(const context& ctx, const plan::source<T>& a, const tuning_options& options,
                             const make_stopwatch_fn& make_stopwatch);

}  // namespace bcsc::tuning
