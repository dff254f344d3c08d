#pragma once

#include <cstdint>
#include <optional>

#include "bcsc/types.hpp"

/// The values that a pattern file is read with.
namespace bcsc::files {

/// Value k of a pattern file: ±[0.5, 1.5) from SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", OOPSLA 2014). Bits 41..63 are the magnitude, bit 0 is the sign: few enough bits for fp32 and fp64 to
/// hold the very same value.
template <value T>
T pattern_value(std::uint64_t seed, std::int64_t k) {
  std::uint64_t bits = seed + (static_cast<std::uint64_t>(k) + 1) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  const T magnitude = T{0.5} + static_cast<T>(bits >> 41) / static_cast<T>(1 << 23);
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

/// One after the other; ones without a seed.
class pattern_values {
 public:
  explicit pattern_values(std::optional<std::uint64_t> seed) : seed_(seed) {}

  template <value T>
  T next() {
    return seed_ ? pattern_value<T>(*seed_, k_++) : T{1};
  }

 private:
  std::optional<std::uint64_t> seed_;
  std::int64_t k_ = 0;
};

}  // namespace bcsc::files
