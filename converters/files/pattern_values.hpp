#pragma once

#include <cstdint>
#include <optional>

#include "bcsc/types.hpp"

/// The values that a pattern file is read with.
namespace bcsc::files {

/// Ones, or ±[0.5, 1.5) from SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA
/// 2014). Bits 41..63 are the magnitude, bit 0 is the sign: few enough bits for fp32 and fp64 to hold the very same
/// value.
class pattern_values {
 public:
  explicit pattern_values(std::optional<std::uint64_t> seed) : seeded_(seed.has_value()), state_(seed.value_or(0)) {}

  template <value T>
  T next() {
    if (!seeded_) return T{1};
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    const T magnitude = T{0.5} + static_cast<T>(bits >> 41) / static_cast<T>(1 << 23);
    return (bits & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  bool seeded_;
  std::uint64_t state_;
};

}  // namespace bcsc::files
