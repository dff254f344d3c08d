#pragma once

#include <cuda_runtime.h>

/// Sums that multiplied zeros between the stored entries may have spoilt.
namespace bcsc::kernels::cuda {

/// Whether all of a lane's sums are finite. Two by two, since a product with a non-finite factor is not finite either;
/// one by one only if that overflows.
template <int Count, class S>
__device__ bool all_finite(const S* sums) {
  const auto is_finite = [](S x) { return x - x == S{0}; };
  S products[4] = {};  // independent chains, since each addition waits for the one before
#pragma unroll
  for (int i = 0; i + 1 < Count; i += 2) products[i / 2 % 4] += sums[i] * sums[i + 1];
  if (Count % 2 != 0) products[3] += S{0} * sums[Count - 1];
  if (is_finite((products[0] + products[1]) + (products[2] + products[3]))) return true;
  bool all = true;
#pragma unroll
  for (int i = 0; i < Count; ++i) all &= is_finite(sums[i]);
  return all;
}

}  // namespace bcsc::kernels::cuda
