#pragma once

#include <cstdint>

#include "bcsc/types.hpp"

#pragma GCC visibility push(default)
/// Statistics of a matrix's values, and the effect of converting them to a narrower type.
namespace bcsc {

class any_view;

/// What happens to a finite value beyond the range of the type it is converted to.
enum class overflow_policy : std::uint8_t {
  refuse,    ///< error{value_out_of_range}, which names the entry
  infinity,  ///< the infinity of its sign, as IEEE 754 rounds
  clamp,     ///< the largest finite number of its sign
};

/// Stored values; the padding of BSR, Blocked-ELL and dense is among the zeros. A pattern has none.
struct value_statistics {
  std::int64_t count = 0;
  std::int64_t nan = 0, plus_infinity = 0, minus_infinity = 0;
  std::int64_t zero = 0;
  std::int64_t denormal = 0;       ///< of the type they are stored in
  double least = 0, greatest = 0;  ///< of the finite values; 0 where there is none
  double min_magnitude = 0;        ///< of the finite values that are not 0; 0 where there is none
  std::int64_t finite_values() const { return count - nan - plus_infinity - minus_infinity; }
  bool finite() const { return finite_values() == count; }
};
/// O(values), parallel. Throws error{wrong_memory_space}.
value_statistics analyse_values(const any_view& a);

/// How many values overflow or underflow in a narrower type.
struct narrowing_statistics {
  std::int64_t overflowed = 0;   ///< finite, and beyond the range of the type
  std::int64_t underflowed = 0;  ///< not 0, and 0 in the type
};
/// For converting the values of `a` to `element`. O(values), parallel. Throws error{wrong_memory_space}.
narrowing_statistics analyse_narrowing(const any_view& a, value_type element);

}  // namespace bcsc
#pragma GCC visibility pop
