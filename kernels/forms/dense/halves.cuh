#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "bcsc/elements.hpp"
#include "kernels/forms/dense/operand.hpp"

/// fp32 values as fp16 numbers, of which the tensor cores multiply twice as many as of TF32: a high part of 11 bits and
/// a low part, which is what that leaves, times 2^11. So 22 bits are kept, as of two TF32 numbers; but of fp16's five
/// bits of exponent, so the values of a line (a row of A, a column of B) are brought into its range first, by a power
/// of two. What is then still too small keeps fewer bits, 2^-36 being lost of it at most: lines count such values, and
/// sums that these might spoil are multiplied once more. The high part alone has as many bits as TF32, and loses 2^-25
/// of what is too small.
namespace bcsc::kernels {

inline constexpr float low_half_scale = 0x1p11f;

/// Of 2^top <= |x| < 2^(top + 1) for the largest value of a line. A row of A in three parts gets less, since its high
/// part, times 2^11, meets the high part of B.
inline constexpr int top_of_halves_in_b = 14;
__host__ __device__ constexpr int top_of_halves_in_a(int count) { return count == 1 ? 14 : 3; }
/// Of sums, over those of the scaled values.
__host__ __device__ constexpr float sums_of_halves(int count) { return count == 1 ? 1 : low_half_scale; }

/// A power of two and its inverse, both of them normal numbers.
struct half_scale {
  float to, back;
};

/// `largest`: the bits of the largest magnitude.
__device__ inline half_scale half_scale_of(std::uint32_t largest, int top) {
  constexpr int bias = 127, lowest = 1, highest = 2 * bias - 1;
  const int wanted = 2 * bias + top - static_cast<int>(largest >> 23);
  const int biased = wanted < lowest ? lowest : wanted > highest ? highest : wanted;
  return {__uint_as_float(static_cast<unsigned>(biased) << 23),
          __uint_as_float(static_cast<unsigned>(2 * bias - biased) << 23)};
}

__device__ inline std::uint32_t magnitude_bits(float x) { return __float_as_uint(x) & 0x7fffffffu; }

/// A value in the range, as its bits: both parts, and whether more is lost of it than terms_of_halves, or than rounding
/// where the high part stands alone.
struct split_half {
  std::uint16_t high, low;
  bool loses;
};

/// fp16 by integer arithmetic, which any compiler has.
struct half_by_arithmetic {
  static __device__ unsigned narrow(float x, float) { return half(x).bits; }
  static __device__ float2 widen(unsigned bits) {
    return {static_cast<float>(half::from_bits(static_cast<std::uint16_t>(bits))), 0};
  }
};

/// Half: how fp16 is computed, as narrow_pair<half> does.
template <class Half>
__device__ split_half split_into_halves(float x) {
  const unsigned high = Half::narrow(x, 0);
  const float left = x - Half::widen(high).x;
  const unsigned low = Half::narrow(left * low_half_scale, 0);
  const float lost = left - Half::widen(low).x * (1 / low_half_scale);
  return {static_cast<std::uint16_t>(high), static_cast<std::uint16_t>(low),
          fabsf(lost) > terms_of_halves * 0x1p-24f * fabsf(x)};
}

/// The same for the high part alone, which has 0 beside it.
template <class Half>
__device__ split_half round_to_half(float x) {
  const unsigned high = Half::narrow(x, 0);
  return {static_cast<std::uint16_t>(high), 0, fabsf(x - Half::widen(high).x) > 0x1p-11f * fabsf(x)};
}

/// A value of a line and its power of two. What that power makes 0 is lost as well.
template <class Half>
__device__ split_half split_scaled(float x, float to, int count) {
  const float scaled = x * to;
  split_half part = count == 1 ? round_to_half<Half>(scaled) : split_into_halves<Half>(scaled);
  part.loses = part.loses || (scaled == 0 && x != 0);
  return part;
}

}  // namespace bcsc::kernels
