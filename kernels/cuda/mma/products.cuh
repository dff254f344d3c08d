#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cuda/mma_instructions.cuh"

/// A piece of two rows of B times a tile of A, for each value type and accuracy: what the tensor cores are given of
/// both, and what is summed outside of them.
namespace bcsc::kernels::cuda {

/// The fragments of a piece of two rows of B (left, one for each step) and of a tile of A (right), and their product.
/// splits: left has registers of its own; otherwise it uses those of the piece, which may only be reloaded after it.
template <class T, int Products, int Steps>
struct mma_product;

/// Element i of the left fragment of a step.
template <class T, int Vector>
__device__ T left_element(const T (&b)[2][Vector], int step, int i) {
  return b[i / 2][2 * step + i % 2];
}

__device__ inline unsigned high_bits(float x) { return (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }
__device__ inline unsigned low_bits(float x, unsigned high) { return __float_as_uint(x - __uint_as_float(high)); }

template <int Steps>
struct mma_product<float, 3, Steps> {
  static constexpr bool splits = true;
  struct left {
    unsigned high[Steps][4], low[Steps][4];
  };
  struct right {
    unsigned high[2], low[2];
  };
  static __device__ left of_b(const float (&b)[2][2 * Steps]) {
    left to;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float x = left_element(b, step, i);
        to.high[step][i] = high_bits(x);
        to.low[step][i] = low_bits(x, to.high[step][i]);
      }
    }
    return to;
  }
  static __device__ right of_a(const float (&a)[2]) {
    right to;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      to.high[i] = high_bits(a[i]);
      to.low[i] = low_bits(a[i], to.high[i]);
    }
    return to;
  }
  static __device__ void add(float (&sums)[Steps][4], const left& b, const right& a) {
    float group[Steps][4] = {};
#pragma unroll
    for (int step = 0; step < Steps; ++step) mma_m16n8k8_tf32(group[step], b.low[step], a.high);
#pragma unroll
    for (int step = 0; step < Steps; ++step) mma_m16n8k8_tf32(group[step], b.high[step], a.low);
#pragma unroll
    for (int step = 0; step < Steps; ++step) mma_m16n8k8_tf32(group[step], b.high[step], a.high);
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][i] += group[step][i];
    }
  }
};

/// So that the tensor core's truncation rounds to nearest. A NaN with all bits set would become zero by the addition.
__device__ inline unsigned rounded_bits(float x) { return __float_as_uint(x) + (x == x ? 0x1000u : 0u); }

template <int Steps>
struct mma_product<float, 1, Steps> {
  static constexpr bool splits = true;
  struct left {
    unsigned value[Steps][4];
  };
  struct right {
    unsigned value[2];
  };
  static __device__ left of_b(const float (&b)[2][2 * Steps]) {
    left to;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to.value[step][i] = rounded_bits(left_element(b, step, i));
    }
    return to;
  }
  static __device__ right of_a(const float (&a)[2]) { return {{rounded_bits(a[0]), rounded_bits(a[1])}}; }
  static __device__ void add(float (&sums)[Steps][4], const left& b, const right& a) {
#pragma unroll
    for (int step = 0; step < Steps; ++step) mma_m16n8k8_tf32(sums[step], b.value[step], a.value);
  }
};

template <>
struct mma_product<double, 1, 1> {
  static constexpr bool splits = false;
  struct left {
    double value[4];
  };
  struct right {
    double value[2];
  };
  static __device__ left of_b(const double (&b)[2][2]) { return {{b[0][0], b[0][1], b[1][0], b[1][1]}}; }
  static __device__ right of_a(const double (&a)[2]) { return {{a[0], a[1]}}; }
  static __device__ void add(double (&sums)[1][4], const left& b, const right& a) {
    mma_m16n8k8_f64(sums[0], b.value, a.value);
  }
};

__device__ inline void multiply_narrow(half, float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  mma_m16n8k8_f16(c, a, b);
}
__device__ inline void multiply_narrow(bfloat16, float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  mma_m16n8k8_bf16(c, a, b);
}

template <narrow_number T, int Steps>
struct mma_product<T, 1, Steps> {
  static constexpr bool splits = true;
  struct left {
    unsigned value[Steps][2];
  };
  struct right {
    unsigned value[1];
  };
  static __device__ left of_b(const unsigned (&b)[2][Steps]) {
    left to;
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
      to.value[step][0] = __byte_perm(b[0][step], b[1][step], 0x5410);
      to.value[step][1] = __byte_perm(b[0][step], b[1][step], 0x7632);
    }
    return to;
  }
  static __device__ right of_a(const unsigned (&a)[1]) { return {{a[0]}}; }
  static __device__ void add(float (&sums)[Steps][4], const left& b, const right& a) {
    float group[Steps][4] = {};
#pragma unroll
    for (int step = 0; step < Steps; ++step) multiply_narrow(T{}, group[step], b.value[step], a.value);
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[step][i] += group[step][i];
    }
  }
};

/// The one that an instance needs.
template <class T, class Shape>
using product_of = mma_product<T, Shape::products, Shape::steps>;

}  // namespace bcsc::kernels::cuda
