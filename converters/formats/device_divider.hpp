#pragma once

#include <bit>
#include <cstdint>

namespace bcsc::converters {

/// Divides by a number known only at run time, without the hundred or so instructions that a 64-bit division takes on a
/// GPU: one high product, one sum, one shift. Exact for dividends in [0, 2^63).
///
/// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.
class divider {
 public:
  constexpr divider() = default;
  /// 1 <= divisor < 2^63.
  constexpr explicit divider(std::int64_t divisor)
      : divisor_(divisor), shift_(std::bit_width(static_cast<std::uint64_t>(divisor) - 1)) {
    const auto d = static_cast<std::uint64_t>(divisor);
    const uint128 excess = (uint128{1} << shift_) - d;
    factor_ = static_cast<std::uint64_t>((excess << 64) / d + 1);
  }
  constexpr std::int64_t divisor() const { return divisor_; }
  friend constexpr std::int64_t operator/(std::int64_t dividend, const divider& by) {
    const auto n = static_cast<std::uint64_t>(dividend);
    const auto high = static_cast<std::uint64_t>(uint128{by.factor_} * n >> 64);
    return static_cast<std::int64_t>((high + n) >> by.shift_);
  }
  friend constexpr std::int64_t operator%(std::int64_t dividend, const divider& by) {
    return dividend - dividend / by * by.divisor_;
  }

 private:
  __extension__ typedef unsigned __int128 uint128;
  std::int64_t divisor_ = 1;
  std::uint64_t factor_ = 1;
  int shift_ = 0;
};

}  // namespace bcsc::converters
