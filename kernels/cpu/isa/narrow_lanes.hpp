#pragma once

#include "bcsc/elements.hpp"
#include "kernels/cpu/isa/lanes.hpp"

/// Numbers of 16 bits in memory, fp32 in vector registers. As in lanes.hpp everything lies in the instruction set's own
/// namespace; of half and bfloat16 only the bits are used, for their functions could be linked from the wrong copy.
namespace bcsc::kernels::cpu::BCSC_ISA {

/// As many numbers of 16 bits as a vector of `Bytes` has floats.
template <int Bytes>
using bits16 = vec<std::uint16_t, Bytes / 2>;
template <int Bytes>
using bits32 = vec<std::uint32_t, Bytes>;

template <class To, class From>
[[gnu::always_inline]] inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// Lanes of `yes` where `mask` is all ones, of `no` where it is 0.
template <class Mask, class Vector>
[[gnu::always_inline]] inline Vector choose(Mask mask, Vector yes, Vector no) {
  const Vector all = same_bits<Vector>(mask);
  return (all & yes) | (~all & no);
}

/// How a type's numbers become floats (exactly) and floats such numbers (to nearest, ties to even).
template <class T>
struct narrow_format;

template <>
struct narrow_format<bfloat16> {
  template <int Bytes>
  [[gnu::always_inline]] static vec<float, Bytes> widen(bits16<Bytes> narrow) {
    return same_bits<vec<float, Bytes>>(__builtin_convertvector(narrow, bits32<Bytes>) << 16);
  }
  template <int Bytes>
  [[gnu::always_inline]] static bits16<Bytes> narrow(vec<float, Bytes> wide) {
    const auto bits = same_bits<bits32<Bytes>>(wide);
    const auto rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;  // a carry runs into the exponent, as it should
    const auto quiet = bits >> 16 | 0x40u;
    return __builtin_convertvector(choose(wide != wide, quiet, rounded), bits16<Bytes>);
  }
};

#if defined(__F16C__)

template <>
struct narrow_format<half> {
  template <int Bytes>
  [[gnu::always_inline]] static vec<float, Bytes> widen(bits16<Bytes> narrow) {
    if constexpr (Bytes == 16) {
      return _mm_cvtph_ps(_mm_cvtsi64_si128(same_bits<long long>(narrow)));
    } else if constexpr (Bytes == 32) {
      return _mm256_cvtph_ps(same_bits<__m128i>(narrow));
    } else {
#if defined(__AVX512F__)
      // All lanes by a mask: GCC 12 takes what the plain form leaves undefined for a mistake of ours.
      return _mm512_maskz_cvtph_ps(static_cast<__mmask16>(-1), same_bits<__m256i>(narrow));
#endif
    }
  }
  template <int Bytes>
  [[gnu::always_inline]] static bits16<Bytes> narrow(vec<float, Bytes> wide) {
    constexpr int to_nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    if constexpr (Bytes == 16) {
      return same_bits<bits16<Bytes>>(_mm_cvtsi128_si64(_mm_cvtps_ph(wide, to_nearest)));
    } else if constexpr (Bytes == 32) {
      return same_bits<bits16<Bytes>>(_mm256_cvtps_ph(wide, to_nearest));
    } else {
#if defined(__AVX512F__)
      return same_bits<bits16<Bytes>>(_mm512_maskz_cvtps_ph(static_cast<__mmask16>(-1), wide, to_nearest));
#endif
    }
  }
};

#else

template <>
struct narrow_format<half> {
  /// The digits at their place in a float, whose exponent then lacks the difference of the two biases.
  template <int Bytes>
  [[gnu::always_inline]] static vec<float, Bytes> widen(bits16<Bytes> narrow) {
    const auto bits = __builtin_convertvector(narrow, bits32<Bytes>);
    const auto magnitude = (bits & 0x7fffu) << 13;
    const auto finite = same_bits<bits32<Bytes>>(same_bits<vec<float, Bytes>>(magnitude) * 0x1p112f);
    const auto wide = choose((bits & 0x7c00u) == 0x7c00u, magnitude | 0x7f800000u, finite);
    return same_bits<vec<float, Bytes>>(wide | (bits & 0x8000u) << 16);
  }
  template <int Bytes>
  [[gnu::always_inline]] static bits16<Bytes> narrow(vec<float, Bytes> wide) {
    const auto bits = same_bits<bits32<Bytes>>(wide);
    const auto magnitude = bits & 0x7fffffffu;
    // What is subnormal as a half is rounded by the addition of 0.5, whose last digit is the half's.
    const auto beside = same_bits<bits32<Bytes>>(same_bits<vec<float, Bytes>>(magnitude) + 0.5f) - 0x3f000000u;
    const auto rounded = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const auto finite = choose(magnitude < (113u << 23), beside, rounded);
    // 65520 is the least that rounds to infinity; a NaN is quiet and keeps its upper digits.
    const auto large = choose(magnitude > 0x7f800000u, 0x7e00u | (magnitude >> 13 & 0x3ffu), bits32<Bytes>{} + 0x7c00u);
    const auto narrow = choose(magnitude >= 0x477ff000u, large, finite);
    return __builtin_convertvector(narrow | (bits >> 16 & 0x8000u), bits16<Bytes>);
  }
};

#endif

template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline vec<float, Bytes> load_wide(const T* from) {
  bits16<Bytes> bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  return narrow_format<T>::template widen<Bytes>(bits);
}

/// The first `count` lanes; nothing beyond them is read.
template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline vec<float, Bytes> load_wide(const T* from, std::int64_t count) {
  if (count >= width<float, Bytes>) return load_wide<Bytes>(from);
  bits16<Bytes> bits{};
  for (int i = 0; i < width<float, Bytes>; ++i) {
    if (i < count) bits[i] = from[i].bits;
  }
  return narrow_format<T>::template widen<Bytes>(bits);
}

template <class T>
[[gnu::always_inline]] inline float widen_one(const T* from) {
  return narrow_format<T>::template widen<16>(bits16<16>{from->bits, 0, 0, 0})[0];
}

template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline void store_narrow(T* to, vec<float, Bytes> wide) {
  const bits16<Bytes> bits = narrow_format<T>::template narrow<Bytes>(wide);
  __builtin_memcpy(static_cast<void*>(to), &bits, sizeof bits);
}

/// The first `count` lanes, `stride` apart.
template <int Bytes = vector_bytes, class T>
[[gnu::always_inline]] inline void store_narrow(T* to, std::int64_t stride, vec<float, Bytes> wide,
                                                std::int64_t count) {
  const bits16<Bytes> bits = narrow_format<T>::template narrow<Bytes>(wide);
  for (int i = 0; i < width<float, Bytes>; ++i) {
    if (i < count) to[i * stride].bits = bits[i];
  }
}

}  // namespace bcsc::kernels::cpu::BCSC_ISA
