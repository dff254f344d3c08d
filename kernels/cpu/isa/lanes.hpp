#pragma once

#include <cstdint>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_FMA)
#include <arm_neon.h>
#endif

/// A vector register of the instruction set this file is compiled for, as values of T. Everything lies in the
/// instruction set's own namespace: a function shared between the copies could be linked from the wrong one.
namespace bcsc::kernels::cpu::BCSC_ISA {

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
inline constexpr int num_registers = 32;
inline constexpr bool masked_loads = true;  ///< which cost what others do
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
inline constexpr int num_registers = 16;
inline constexpr bool masked_loads = false;
#else
inline constexpr int vector_bytes = 16;
inline constexpr int num_registers = 16;
inline constexpr bool masked_loads = false;
#endif

/// A vector of T that takes `Bytes`: the whole register, or for a few columns of C a half or a quarter of it, which
/// costs less to load.
inline constexpr int min_bytes = 16;
template <class T, int Bytes>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes = vector_bytes>
using vec = typename vector_of<T, Bytes>::type;

template <class T, int Bytes = vector_bytes>
inline constexpr int width = Bytes / static_cast<int>(sizeof(T));

template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline vec<T, Bytes> load(const T* from) {
  vec<T, Bytes> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class T, class Vector>
[[gnu::always_inline]] inline void store(T* to, Vector v) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// The first `count` lanes of a vector, 0 <= count <= width: nothing beyond them is read or written.
template <class T, int Bytes = vector_bytes>
struct part;

#if defined(__AVX512F__)

template <class T, int Bytes>
struct part {
  std::uint32_t mask;
  explicit part(std::int64_t count) : mask((1U << count) - 1) {}
};
[[gnu::always_inline]] inline vec<float, 64> load(const float* from, part<float, 64> lanes) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes.mask), from);
}
[[gnu::always_inline]] inline vec<double, 64> load(const double* from, part<double, 64> lanes) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline vec<float, 32> load(const float* from, part<float, 32> lanes) {
  return _mm256_maskz_loadu_ps(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline vec<double, 32> load(const double* from, part<double, 32> lanes) {
  return _mm256_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline vec<float, 16> load(const float* from, part<float, 16> lanes) {
  return _mm_maskz_loadu_ps(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline vec<double, 16> load(const double* from, part<double, 16> lanes) {
  return _mm_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), from);
}
[[gnu::always_inline]] inline void store(float* to, vec<float, 64> v, part<float, 64> lanes) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(double* to, vec<double, 64> v, part<double, 64> lanes) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(float* to, vec<float, 32> v, part<float, 32> lanes) {
  _mm256_mask_storeu_ps(to, static_cast<__mmask8>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(double* to, vec<double, 32> v, part<double, 32> lanes) {
  _mm256_mask_storeu_pd(to, static_cast<__mmask8>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(float* to, vec<float, 16> v, part<float, 16> lanes) {
  _mm_mask_storeu_ps(to, static_cast<__mmask8>(lanes.mask), v);
}
[[gnu::always_inline]] inline void store(double* to, vec<double, 16> v, part<double, 16> lanes) {
  _mm_mask_storeu_pd(to, static_cast<__mmask8>(lanes.mask), v);
}

#elif defined(__AVX2__)

template <>
struct part<float, 32> {
  __m256i mask;
  explicit part(std::int64_t count)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
};
template <>
struct part<double, 32> {
  __m256i mask;
  explicit part(std::int64_t count)
      : mask(_mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3))) {}
};
template <>
struct part<float, 16> {
  __m128i mask;
  explicit part(std::int64_t count)
      : mask(_mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), _mm_setr_epi32(0, 1, 2, 3))) {}
};
template <>
struct part<double, 16> {
  __m128i mask;
  explicit part(std::int64_t count) : mask(_mm_cmpgt_epi64(_mm_set1_epi64x(count), _mm_set_epi64x(1, 0))) {}
};
[[gnu::always_inline]] inline vec<float, 32> load(const float* from, part<float, 32> lanes) {
  return _mm256_maskload_ps(from, lanes.mask);
}
[[gnu::always_inline]] inline vec<double, 32> load(const double* from, part<double, 32> lanes) {
  return _mm256_maskload_pd(from, lanes.mask);
}
[[gnu::always_inline]] inline vec<float, 16> load(const float* from, part<float, 16> lanes) {
  return _mm_maskload_ps(from, lanes.mask);
}
[[gnu::always_inline]] inline vec<double, 16> load(const double* from, part<double, 16> lanes) {
  return _mm_maskload_pd(from, lanes.mask);
}
[[gnu::always_inline]] inline void store(float* to, vec<float, 32> v, part<float, 32> lanes) {
  _mm256_maskstore_ps(to, lanes.mask, v);
}
[[gnu::always_inline]] inline void store(double* to, vec<double, 32> v, part<double, 32> lanes) {
  _mm256_maskstore_pd(to, lanes.mask, v);
}
[[gnu::always_inline]] inline void store(float* to, vec<float, 16> v, part<float, 16> lanes) {
  _mm_maskstore_ps(to, lanes.mask, v);
}
[[gnu::always_inline]] inline void store(double* to, vec<double, 16> v, part<double, 16> lanes) {
  _mm_maskstore_pd(to, lanes.mask, v);
}

#else

template <class T, int Bytes>
struct part {
  std::int64_t count;
  explicit part(std::int64_t lanes) : count(lanes) {}
};
template <class T, int Bytes>
[[gnu::always_inline]] inline vec<T, Bytes> load(const T* from, part<T, Bytes> lanes) {
  vec<T, Bytes> v{};
  for (int i = 0; i < width<T, Bytes>; ++i) {
    if (i < lanes.count) v[i] = from[i];
  }
  return v;
}
template <class T, int Bytes>
[[gnu::always_inline]] inline void store(T* to, vec<T, Bytes> v, part<T, Bytes> lanes) {
  for (int i = 0; i < width<T, Bytes>; ++i) {
    if (i < lanes.count) to[i] = v[i];
  }
}

#endif

template <class Vector, class T, int... Lanes>
[[gnu::always_inline]] inline Vector all_lanes(T value, std::integer_sequence<int, Lanes...>) {
  return Vector{((void)Lanes, value)...};
}

/// a * b + c, rounded once where the instruction set has it and twice where not. Never left to the compiler, which may
/// fuse vectors of one width and not of another: an entry of C would depend on the width of the pass it falls into.
#if (defined(__FMA__) && defined(__AVX2__)) || defined(__ARM_FEATURE_FMA)
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[gnu::always_inline]] inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__ARM_FEATURE_FMA)
[[gnu::always_inline]] inline vec<float, 16> multiply_add(vec<float, 16> a, vec<float, 16> b, vec<float, 16> c) {
  return vfmaq_f32(c, a, b);
}
[[gnu::always_inline]] inline vec<double, 16> multiply_add(vec<double, 16> a, vec<double, 16> b, vec<double, 16> c) {
  return vfmaq_f64(c, a, b);
}
#else
[[gnu::always_inline]] inline vec<float, 16> multiply_add(vec<float, 16> a, vec<float, 16> b, vec<float, 16> c) {
  return _mm_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline vec<double, 16> multiply_add(vec<double, 16> a, vec<double, 16> b, vec<double, 16> c) {
  return _mm_fmadd_pd(a, b, c);
}
[[gnu::always_inline]] inline vec<float, 32> multiply_add(vec<float, 32> a, vec<float, 32> b, vec<float, 32> c) {
  return _mm256_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline vec<double, 32> multiply_add(vec<double, 32> a, vec<double, 32> b, vec<double, 32> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#endif
#if defined(__AVX512F__)
[[gnu::always_inline]] inline vec<float, 64> multiply_add(vec<float, 64> a, vec<float, 64> b, vec<float, 64> c) {
  return _mm512_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline vec<double, 64> multiply_add(vec<double, 64> a, vec<double, 64> b, vec<double, 64> c) {
  return _mm512_fmadd_pd(a, b, c);
}
#endif
template <class T, class Vector>
[[gnu::always_inline]] inline Vector multiply_add(T a, Vector b, Vector c) {
  constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(T));
  return multiply_add(all_lanes<Vector>(a, std::make_integer_sequence<int, lanes>{}), b, c);
}
#else
template <class A, class Number>
[[gnu::always_inline]] inline Number multiply_add(A a, Number b, Number c) {
  return a * b + c;
}
#endif

/// Whether a lane is infinite or NaN.
template <class T, int Bytes>
[[gnu::always_inline]] inline bool any_not_finite(vec<T, Bytes> v) {
#if defined(__AVX512F__)
  constexpr int nan_or_infinity = 0x99;
  if constexpr (sizeof(T) == 4) {
    if constexpr (Bytes == 64) return _mm512_fpclass_ps_mask(v, nan_or_infinity) != 0;
    if constexpr (Bytes == 32) return _mm256_fpclass_ps_mask(v, nan_or_infinity) != 0;
    if constexpr (Bytes == 16) return _mm_fpclass_ps_mask(v, nan_or_infinity) != 0;
  } else {
    if constexpr (Bytes == 64) return _mm512_fpclass_pd_mask(v, nan_or_infinity) != 0;
    if constexpr (Bytes == 32) return _mm256_fpclass_pd_mask(v, nan_or_infinity) != 0;
    if constexpr (Bytes == 16) return _mm_fpclass_pd_mask(v, nan_or_infinity) != 0;
  }
#else
  const auto is_nan = v - v != v - v;  // its lanes are 0 or all ones
  std::uint64_t parts[Bytes / 8], any = 0;
  __builtin_memcpy(parts, &is_nan, sizeof parts);
  for (const std::uint64_t part : parts) any |= part;
  return any != 0;
#endif
}

/// A store past the caches, where there is one: `to` is aligned to the vector. fence_streams() orders such stores.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline void stream(float* to, vec<float, 64> v) { _mm512_stream_ps(to, v); }
[[gnu::always_inline]] inline void stream(double* to, vec<double, 64> v) { _mm512_stream_pd(to, v); }
#endif
#if defined(__AVX2__)
[[gnu::always_inline]] inline void stream(float* to, vec<float, 32> v) { _mm256_stream_ps(to, v); }
[[gnu::always_inline]] inline void stream(double* to, vec<double, 32> v) { _mm256_stream_pd(to, v); }
[[gnu::always_inline]] inline void stream(float* to, vec<float, 16> v) { _mm_stream_ps(to, v); }
[[gnu::always_inline]] inline void stream(double* to, vec<double, 16> v) { _mm_stream_pd(to, v); }
[[gnu::always_inline]] inline void fence_streams() { _mm_sfence(); }
#else
template <class T>
[[gnu::always_inline]] inline void stream(T* to, vec<T> v) {
  store(to, v);
}
[[gnu::always_inline]] inline void fence_streams() {}
#endif

/// The lanes of a, then those of b. (Through memory the load would wait for both stores.)
template <class T, int Bytes, int... Lanes>
[[gnu::always_inline]] inline vec<T, 2 * Bytes> join(vec<T, Bytes> a, vec<T, Bytes> b,
                                                     std::integer_sequence<int, Lanes...>) {
  return __builtin_shufflevector(a, b, Lanes...);
}

/// How lanes are loaded from different places: by the gather instruction, or one by one, which is faster on AMD's cores
/// and slower on Intel's (core::has_fast_gather()).
enum class gathering { one_by_one, at_once };

/// from[index[i]] in lane i, by the gather instruction where there is one.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline vec<float> gather_at_once(const float* from, const std::int32_t* index) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(index), from, sizeof(float));
}
[[gnu::always_inline]] inline vec<double> gather_at_once(const double* from, const std::int32_t* index) {
  const __m256i columns = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, columns, from, sizeof(double));
}
#else
template <class T>
[[gnu::always_inline]] inline vec<T> gather_at_once(const T* from, const std::int32_t* index) {
  vec<T> v{};
  for (int i = 0; i < width<T>; ++i) v[i] = from[index[i]];
  return v;
}
#endif

/// from[index[i] * stride] in lane i, one by one.
template <int Bytes = vector_bytes, class T, class I>
[[gnu::always_inline]] inline vec<T, Bytes> gather(const T* from, const I* index, std::int64_t stride) {
  if constexpr (Bytes > min_bytes) {
    constexpr int half = Bytes / 2;
    return join<T, half>(gather<half>(from, index, stride), gather<half>(from, index + width<T, half>, stride),
                         std::make_integer_sequence<int, width<T, Bytes>>{});
  } else if constexpr (sizeof(T) == 4) {
    return vec<T, Bytes>{from[index[0] * stride], from[index[1] * stride], from[index[2] * stride],
                         from[index[3] * stride]};
  } else {
    return vec<T, Bytes>{from[index[0] * stride], from[index[1] * stride]};
  }
}

/// lane i of the result = lane (i & Bit ? i - Bit : i) of a or b (Upper: one Bit further on), b where i & Bit.
template <int Bit, bool Upper, class Vector, int... Lanes>
[[gnu::always_inline]] inline Vector interleave(Vector a, Vector b, std::integer_sequence<int, Lanes...>) {
  constexpr int count = sizeof...(Lanes);
  return __builtin_shufflevector(a, b, ((Lanes & Bit) != 0 ? count + Lanes - Bit : Lanes) + (Upper ? Bit : 0)...);
}

/// Lane i of the result is the sum of the lanes of rows[i]. Changes `rows`.
template <class T, int Bit = 1>
[[gnu::always_inline]] inline vec<T> sums_of_lanes(vec<T>* rows) {
  constexpr std::make_integer_sequence<int, width<T>> lanes{};
#pragma GCC unroll 8
  for (int i = 0; i < width<T> / (2 * Bit); ++i) {
    rows[i] = interleave<Bit, false>(rows[2 * i], rows[2 * i + 1], lanes) +
              interleave<Bit, true>(rows[2 * i], rows[2 * i + 1], lanes);
  }
  if constexpr (2 * Bit < width<T>) return sums_of_lanes<T, 2 * Bit>(rows);
  return rows[0];
}

}  // namespace bcsc::kernels::cpu::BCSC_ISA
