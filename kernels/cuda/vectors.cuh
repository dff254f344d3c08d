#pragma once

#include "kernels/cuda/tile.cuh"

/// Neighbouring values that move as one: up to 16 bytes, at an address aligned to all of them.
namespace bcsc::kernels::cuda {

template <class T, int Values>
struct alignas(sizeof(T) * Values) aligned_values {
  T at[Values];
};

template <int Values, class T>
__device__ void read_vector(T* to, const T* from) {
  const auto some = *reinterpret_cast<const aligned_values<T, Values>*>(from);
#pragma unroll
  for (int i = 0; i < Values; ++i) to[i] = some.at[i];
}

template <int Values, class T>
__device__ void write_vector(T* to, const T* from) {
  aligned_values<T, Values> some;
#pragma unroll
  for (int i = 0; i < Values; ++i) some.at[i] = from[i];
  *reinterpret_cast<aligned_values<T, Values>*>(to) = some;
}

namespace detail {

template <class T, int Values>
struct builtin_vector;
template <>
struct builtin_vector<float, 2> {
  using type = float2;
};
template <>
struct builtin_vector<float, 4> {
  using type = float4;
};
template <>
struct builtin_vector<double, 2> {
  using type = double2;
};

}  // namespace detail

/// The same from global memory that no one writes while the kernel runs.
template <int Values, class T>
__device__ void load_vector(T* to, const T* from) {
  if constexpr (Values == 1) {
    to[0] = __ldg(from);
  } else {
    const auto some = __ldg(reinterpret_cast<const typename detail::builtin_vector<T, Values>::type*>(from));
    to[0] = some.x;
    to[1] = some.y;
    if constexpr (Values == 4) {
      to[2] = some.z;
      to[3] = some.w;
    }
  }
}

/// store() for neighbours in a row of C.
template <int Values, class T>
__device__ void store_vector(T* c, const scalars<T>& by, const T* sums) {
  T results[Values];
#pragma unroll
  for (int i = 0; i < Values; ++i) results[i] = by.alpha * sums[i];
  if (by.beta != T{0}) {
    T former[Values];
    read_vector<Values>(former, c);
#pragma unroll
    for (int i = 0; i < Values; ++i) results[i] += by.beta * former[i];
  }
  write_vector<Values>(c, results);
}

}  // namespace bcsc::kernels::cuda
