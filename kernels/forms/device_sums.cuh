#pragma once

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdint>
#include <cub/device/device_scan.cuh>

#include "converters/formats/device_grid.cuh"
#include "converters/formats/device_loops.cuh"

/// Prefix sums on the device of what is computed where it is needed.
namespace bcsc::forms::steps {

template <class Each>
auto each_of(Each each) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), each);
}

/// to[i] = the sum of each(k) for k < i, for i of [0, n].
template <class Each, class X>
void sum_before(int device, Each each, std::int64_t n, X* to, const char* what) {
  converters::steps::with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, each_of(each), to, n + 1);
      },
      what);
}

/// How many entries column j of compact BCSC has, for the prefix sums that give where they begin.
struct column_entries {
  const void* col_count;
  int index_bytes;
  std::int64_t nnzc;
  __host__ __device__ std::int32_t operator()(std::int64_t j) const {
    return j < nnzc ? static_cast<std::int32_t>(converters::steps::small_at(col_count, index_bytes, j)) + 1 : 0;
  }
};

}  // namespace bcsc::forms::steps
