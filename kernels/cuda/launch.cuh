#pragma once

#include <type_traits>

#include "bcsc/elements.hpp"
#include "core/dynamic_shared.cuh"
#include "core/launch.cuh"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels::cuda {

using core::begins;
using core::dynamic_shared;
using core::let_next_begin;
using core::start;
using core::start_in_clusters;
using core::wait_for_previous;

/// `blocks` thread blocks along x, which stride over what does not fit, for each of the batch's members along z.
inline dim3 grid_of(std::int64_t blocks, const batch_strides& batch) {
  return dim3(static_cast<unsigned>(blocks < core::max_grid ? blocks : core::max_grid), 1,
              static_cast<unsigned>(batch.count));
}

/// `first` is of member 0: the same of the batch member that this thread block computes.
template <class P>
__device__ P* of_member(P* first, std::int64_t stride) {
  return first + blockIdx.z * stride;
}

/// The same of a pointer or a position, for loops without a register to spare: computed where it is used; otherwise the
/// compiler hoists it and keeps every result, even without a batch.
template <class P>
__device__ P of_member_here(P first, std::int64_t stride) {
  if (gridDim.z == 1) return first;
  unsigned member = blockIdx.z;
#ifdef __CUDA_ARCH__
  asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(member));
#endif
  return first + member * stride;
}

/// The value type that a config names.
template <value_type Type>
using value_of = std::conditional_t<
    Type == value_type::fp32, float,
    std::conditional_t<Type == value_type::fp64, double, std::conditional_t<Type == value_type::fp16, half, bfloat16>>>;

}  // namespace bcsc::kernels::cuda
