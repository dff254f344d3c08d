#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// A vector register of the instruction set this file is compiled for, as values of T. Everything lies in the
/// instruction set's own namespace: a function shared between the copies could be linked from the wrong one.
namespace bcsc::kernels::cpu::BCSC_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
inline constexpr int num_registers = 32;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
inline constexpr int num_registers = 16;
#else
inline constexpr int vector_bytes = 16;
inline constexpr int num_registers = 16;
#endif

typedef float float_vector __attribute__((vector_size(vector_bytes)));
typedef double double_vector __attribute__((vector_size(vector_bytes)));

template <class T>
struct vector_of;
template <>
struct vector_of<float> {
  using type = float_vector;
};
template <>
struct vector_of<double> {
  using type = double_vector;
};
template <class T>
using vec = typename vector_of<T>::type;

template <class T>
inline constexpr int width = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline vec<T> load(const T* from) {
  vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T>
[[gnu::always_inline]] inline void store(T* to, vec<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// The first `count` lanes of a vector, 1 <= count <= width: nothing beyond them is read or written.
#if defined(__AVX512F__)

template <class T>
struct part {
  std::uint32_t mask;
  explicit part(std::int64_t count) : mask((1U << count) - 1) {}
};
[[gnu::always_inline]] inline float_vector load(const float* from, part<float> lanes) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes.mask), from);
}
[[gnu::always_inline]] inline double_vector load(const double* from, part<double> lanes) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline void store(float* to, float_vector v, part<float> lanes) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(double* to, double_vector v, part<double> lanes) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(lanes.mask), v);
}

#elif defined(__AVX2__)

template <class T>
struct part;
template <>
struct part<float> {
  __m256i mask;
  explicit part(std::int64_t count)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
};
template <>
struct part<double> {
  __m256i mask;
  explicit part(std::int64_t count)
      : mask(_mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3))) {}
};
[[gnu::always_inline]] inline float_vector load(const float* from, part<float> lanes) {
  return _mm256_maskload_ps(from, lanes.mask);
}
[[gnu::always_inline]] inline double_vector load(const double* from, part<double> lanes) {
  return _mm256_maskload_pd(from, lanes.mask);
}
[[gnu::always_inline]] inline void store(float* to, float_vector v, part<float> lanes) {
  _mm256_maskstore_ps(to, lanes.mask, v);
}
[[gnu::always_inline]] inline void store(double* to, double_vector v, part<double> lanes) {
  _mm256_maskstore_pd(to, lanes.mask, v);
}

#else

template <class T>
struct part {
  std::int64_t count;
  explicit part(std::int64_t lanes) : count(lanes) {}
};
template <class T>
[[gnu::always_inline]] inline vec<T> load(const T* from, part<T> lanes) {
  vec<T> v{};
  for (int i = 0; i < width<T>; ++i) {
    if (i < lanes.count) v[i] = from[i];
  }
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, vec<T> v, part<T> lanes) {
  for (int i = 0; i < width<T>; ++i) {
    if (i < lanes.count) to[i] = v[i];
  }
}

#endif

/// A store past the caches, where there is one: `to` is aligned to vector_bytes. fence_streams() orders such stores.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline void stream(float* to, float_vector v) { _mm512_stream_ps(to, v); }
[[gnu::always_inline]] inline void stream(double* to, double_vector v) { _mm512_stream_pd(to, v); }
[[gnu::always_inline]] inline void fence_streams() { _mm_sfence(); }
#elif defined(__AVX2__)
[[gnu::always_inline]] inline void stream(float* to, float_vector v) { _mm256_stream_ps(to, v); }
[[gnu::always_inline]] inline void stream(double* to, double_vector v) { _mm256_stream_pd(to, v); }
[[gnu::always_inline]] inline void fence_streams() { _mm_sfence(); }
#else
template <class T>
[[gnu::always_inline]] inline void stream(T* to, vec<T> v) {
  store(to, v);
}
[[gnu::always_inline]] inline void fence_streams() {}
#endif

}  // namespace bcsc::kernels::cpu::BCSC_ISA
