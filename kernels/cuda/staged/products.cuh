#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/mma/products.cuh"
#include "kernels/cuda/mma_instructions.cuh"

/// A step of the staged kernel: a piece of the rows of B of one or more groups, times a tile of A of each.
namespace bcsc::kernels::cuda {

/// One group: as mma multiplies it.
template <class T, int Products, int Steps>
struct staged_product {
  using one = mma_product<T, Products, Steps>;
  using word = T;
  static constexpr int groups = 1;
  using left = typename one::left;
  using right = typename one::right;
  template <int Words>
  static __device__ left of_b(const word (&rows)[1][2][Words]) {
    return one::of_b(rows[0]);
  }
  static __device__ right of_a(const word (&tiles)[1][2]) { return one::of_a(tiles[0]); }
  template <class Sums>
  static __device__ void add(Sums& sums, const left& b, const right& a) {
    one::add(sums, b, a);
  }
};

__device__ inline void multiply_narrow(half, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  mma_m16n8k16_f16(c, a, b);
}
__device__ inline void multiply_narrow(bfloat16, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  mma_m16n8k16_bf16(c, a, b);
}

/// Four groups: two products of 16 columns, summed from zero and then added.
template <narrow_number T, int Steps>
struct staged_product<T, 1, Steps> {
  using word = unsigned;
  static constexpr int groups = 4;
  struct left {
    unsigned value[2][Steps][4];
  };
  struct right {
    unsigned value[2][2];
  };
  static __device__ left of_b(const word (&rows)[4][2][Steps]) {
    left to;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
#pragma unroll
      for (int step = 0; step < Steps; ++step) {
        const unsigned first = rows[group][0][step], second = rows[group][1][step];
        to.value[group / 2][step][group % 2 * 2] = __byte_perm(first, second, 0x5410);
        to.value[group / 2][step][group % 2 * 2 + 1] = __byte_perm(first, second, 0x7632);
      }
    }
    return to;
  }
  static __device__ right of_a(const word (&tiles)[4][1]) {
    return {{{tiles[0][0], tiles[1][0]}, {tiles[2][0], tiles[3][0]}}};
  }
  static __device__ void add(float (&sums)[Steps][4], const left& b, const right& a) {
    float some[Steps][4] = {};
#pragma unroll
    for (int half_of_groups = 0; half_of_groups < 2; ++half_of_groups) {
#pragma unroll
      for (int step = 0; step < Steps; ++step) {
        multiply_narrow(T{}, some[step], b.value[half_of_groups][step], a.value[half_of_groups]);
      }
    }
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][i] += some[step][i];
    }
  }
};

}  // namespace bcsc::kernels::cuda
