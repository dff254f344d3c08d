#pragma once

#include <type_traits>

#include "bcsc/elements.hpp"
#include "kernels/spmm_args.hpp"
#include "lib/core/launch.cuh"

namespace bcsc::kernels::cuda {

using core::begins;
using core::let_next_begin;
using core::start;
using core::wait_for_previous;

/// The value type that a table's row names.
template <value_type Type>
using value_of = std::conditional_t<
    Type == value_type::fp32, float,
    std::conditional_t<Type == value_type::fp64, double, std::conditional_t<Type == value_type::fp16, half, bfloat16>>>;

}  // namespace bcsc::kernels::cuda
