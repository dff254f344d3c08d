#pragma once

#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/narrow.cuh"
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

namespace detail {

template <class T, int Values>
struct builtin_vector {
  using type = T;  // of one
};
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
template <>
struct builtin_vector<unsigned, 2> {
  using type = uint2;
};
template <>
struct builtin_vector<unsigned, 4> {
  using type = uint4;
};

}  // namespace detail

/// Neighbours by load_global().
template <int Values, class T>
__device__ void load_vector(T* to, const T* from) {
  const auto some = load_global(reinterpret_cast<const typename detail::builtin_vector<T, Values>::type*>(from));
  if constexpr (Values == 1) {
    to[0] = some;
  } else {
    to[0] = some.x;
    to[1] = some.y;
  }
  if constexpr (Values == 4) {
    to[2] = some.z;
    to[3] = some.w;
  }
}

template <int Values, class T>
__device__ typename detail::builtin_vector<T, Values>::type as_vector(const T* from) {
  typename detail::builtin_vector<T, Values>::type some;
  if constexpr (Values == 1) {
    some = from[0];
  } else {
    some.x = from[0];
    some.y = from[1];
  }
  if constexpr (Values == 4) {
    some.z = from[2];
    some.w = from[3];
  }
  return some;
}

/// To shared memory, where it costs little if the compiler makes several stores of it.
template <int Values, class T>
__device__ void write_shared_vector(T* to, const T* from) {
  *reinterpret_cast<typename detail::builtin_vector<T, Values>::type*>(to) = as_vector<Values>(from);
}

/// To global memory, in one store.
template <int Values, class T>
__device__ void write_vector(T* to, const T* from) {
  using vector = typename detail::builtin_vector<T, Values>::type;
  store_global(reinterpret_cast<vector*>(to), as_vector<Values>(from));
}

/// How neighbouring values lie in registers: each by itself, or two of 16 bits in a word.
template <class T>
struct register_word {
  using type = T;
  static constexpr int values = 1;
};
template <narrow_number T>
struct register_word<T> {
  using type = unsigned;
  static constexpr int values = 2;
};
template <class T>
using word_of = typename register_word<T>::type;
template <class T>
inline constexpr int values_of_word = register_word<T>::values;
template <class T, int Values>
inline constexpr int words_for = (Values + values_of_word<T> - 1) / values_of_word<T>;

/// One value of 16 bits into the words, whose others stay; an even one may come into a word that holds nothing yet.
template <class T>
__device__ void put_value(unsigned* words, int index, const T* from) {
  const unsigned bits = load_global(&from->bits);
  unsigned& word = words[index / 2];
  word = index % 2 == 0 ? (word & 0xffff0000u) | bits : (word & 0xffffu) | bits << 16;
}

/// load_vector() of value `index` and those behind it into words that hold more.
template <int Values, class T>
__device__ void load_values(word_of<T>* words, int index, const T* from) {
  if constexpr (!narrow_number<T>) {
    load_vector<Values>(words + index, from);
  } else if constexpr (Values == 1) {
    put_value(words, index, from);
  } else {
    load_vector<Values / 2>(words + index / 2, reinterpret_cast<const unsigned*>(from));
  }
}

/// Two neighbours of A.
template <class T>
__device__ void load_two(word_of<T>* words, const T* from, cache_policy in_l2) {
  if constexpr (narrow_number<T>) {
    words[0] = load_global(reinterpret_cast<const unsigned*>(from), in_l2);
  } else {
    const auto some = load_global(reinterpret_cast<const typename detail::builtin_vector<T, 2>::type*>(from), in_l2);
    words[0] = some.x;
    words[1] = some.y;
  }
}

/// read_vector() into words.
template <int Values, class T>
__device__ void read_values(word_of<T>* words, const T* from) {
  if constexpr (narrow_number<T>) {
    read_vector<Values / 2>(words, reinterpret_cast<const unsigned*>(from));
  } else {
    read_vector<Values>(words, from);
  }
}

/// The most values of T that one store takes.
template <class T>
inline constexpr int values_of_store = 16 / static_cast<int>(sizeof(T));

/// store() for neighbours in a row of C.
template <int Values, class T>
__device__ void store_vector(T* c, const scalars<scalar_of<T>>& by, const scalar_of<T>* sums) {
  if constexpr (Values > values_of_store<T>) {
    constexpr int some = values_of_store<T>;
    store_vector<some>(c, by, sums);
    store_vector<Values - some>(c + some, by, sums + some);
  } else if constexpr (Values == 1) {
    store(c, by, sums[0]);
  } else {
    scalar_of<T> results[Values];
#pragma unroll
    for (int i = 0; i < Values; ++i) results[i] = by.alpha * sums[i];
    if constexpr (narrow_number<T>) {
      unsigned words[Values / 2];
      if (by.beta != 0) {
        read_vector<Values / 2>(words, reinterpret_cast<const unsigned*>(addend_of(c, by.z_offset)));
#pragma unroll
        for (int i = 0; i < Values / 2; ++i) {
          const float2 former = narrow_pair<T>::widen(words[i]);
          results[2 * i] += by.beta * former.x;
          results[2 * i + 1] += by.beta * former.y;
        }
      }
#pragma unroll
      for (int i = 0; i < Values / 2; ++i) words[i] = narrow_pair<T>::narrow(results[2 * i], results[2 * i + 1]);
      write_vector<Values / 2>(reinterpret_cast<unsigned*>(c), words);
    } else {
      if (by.beta != T{0}) {
        T former[Values];
        read_vector<Values>(former, addend_of(c, by.z_offset));
#pragma unroll
        for (int i = 0; i < Values; ++i) results[i] += by.beta * former[i];
      }
      write_vector<Values>(c, results);
    }
  }
}

}  // namespace bcsc::kernels::cuda
