#pragma once

#include "bcsc/elements.hpp"

/// The element and index types that the library holds, for explicit instantiation at the end of a source:
///
///     #define BCSC_INSTANTIATE(T, I) template csr_matrix<T, I> transpose(const csr_view<T, I>&);
///     BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
///
/// Nothing else is done with macros: C++ has no other way to write a list of instantiations once.
#define BCSC_FOR_VALUES(instantiate)                                                                  \
  instantiate(float, std::int32_t) instantiate(float, std::int64_t) instantiate(double, std::int32_t) \
      instantiate(double, std::int64_t)

#define BCSC_FOR_NUMBERS(instantiate)                                                                 \
  BCSC_FOR_VALUES(instantiate)                                                                        \
  instantiate(half, std::int32_t) instantiate(half, std::int64_t) instantiate(bfloat16, std::int32_t) \
      instantiate(bfloat16, std::int64_t)

#define BCSC_FOR_ELEMENTS(instantiate) \
  BCSC_FOR_NUMBERS(instantiate)        \
  instantiate(pattern, std::int32_t) instantiate(pattern, std::int64_t)
