#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/overlap.cuh"

/// What passes over blocks of vectors share.
namespace bcsc::kernels::vector {

/// The kernel behind this one may be scheduled, and this one goes on when all before it is done: what a launch takes
/// lies under the end of its predecessor.
__device__ inline void overlap_neighbours() {
  core::let_next_begin();
  core::wait_for_previous();
}

/// Of row i in D^-1; 1 without a preconditioner.
template <class T>
__device__ T weight_of(const T* inverse_diagonal, std::int64_t i) {
  return inverse_diagonal != nullptr ? inverse_diagonal[i] : T{1};
}

}  // namespace bcsc::kernels::vector
