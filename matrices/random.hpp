#pragma once

#include <cstdint>
#include <type_traits>

#include "bcsc/types.hpp"

/// Random numbers that are the same on every platform: 64-bit integers, mapped to floating point without rounding (the
/// standard library's distributions may differ from one implementation to the next).
namespace bcsc::generate {

/// The output function of splitmix64. Source: Steele, Lea and Flood 2014.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A number that belongs to a pair, so that it can be drawn anywhere, in any order, by any thread.
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t i, std::uint64_t j) {
  return mix(mix(mix(seed) ^ i) ^ j);
}

/// splitmix64 as a sequence; each `stream` of a seed (a row's, an edge's) is one of its own, whatever the threads.
class random_stream {
 public:
  constexpr random_stream(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed) ^ stream)) {}
  constexpr std::uint64_t next() {
    const std::uint64_t word = mix(state_);
    state_ += 0x9e3779b97f4a7c15u;
    return word;
  }

 private:
  std::uint64_t state_;
};

/// 0 .. bound - 1, for 1 <= bound <= 2^32; a number's share is off by less than 2^-32.
constexpr std::int64_t below(std::uint64_t word, std::int64_t bound) {
  return static_cast<std::int64_t>((word >> 32) * static_cast<std::uint64_t>(bound) >> 32);
}

/// [0, 1) in steps of 2^-52 (double) or 2^-23 (float): room for the sums below to be exact.
template <value T>
constexpr T unit(std::uint64_t word) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(word >> 41) * 0x1p-23f;
  } else {
    return static_cast<double>(word >> 12) * 0x1p-52;
  }
}

/// [-1, 1).
template <value T>
constexpr T symmetric_unit(std::uint64_t word) {
  return 2 * unit<T>(word) - 1;
}

/// ±[0.5, 1.5): away from zero, so that no entry goes unnoticed. The sign is the lowest bit, which unit() does not use.
template <value T>
constexpr T away_from_zero(std::uint64_t word) {
  const T magnitude = unit<T>(word) + T{0.5};
  return (word & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace bcsc::generate
