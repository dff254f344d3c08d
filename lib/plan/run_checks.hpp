#pragma once

#include "bcsc/dense.hpp"
#include "bcsc/plan.hpp"

/// What run() asks of its operands before anything is launched. Every failure is a typed error naming the parameter.
namespace bcsc::plan {

/// One operand by itself: shape, leading dimension, sizes whose product fits.
template <class T>
void check_view(const dense_view<T>& x, const char* name);

/// Shapes, leading dimensions, null pointers, overlap of C = alpha * A * B + beta * C with A of rows x inner.
template <number T>
void check_operands(std::int64_t rows, std::int64_t inner, const dense_view<const T>& b, const dense_view<T>& c,
                    layout planned_b_layout, bool reads_b);

/// What run_options::batch asks, beyond check_operands for member 0: numbers that are not negative and fit, no C that
/// shares an element with another or with a B. Those of members side by side cost a comparison; members within each
/// other's range are compared one by one.
template <number T>
void check_batch(const dense_view<const T>& b, const dense_view<const T>& c, const strided_batch& batch);

/// Whether two dense matrices share an element. Interleaved column ranges of one array (equal layout and leading
/// dimension) do not.
template <number T>
bool overlap(const dense_view<const T>& b, const dense_view<const T>& c);

}  // namespace bcsc::plan
