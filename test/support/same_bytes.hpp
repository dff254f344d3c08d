#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"

/// Arrays that must be equal bit for bit, NaN as well.
namespace bcsc::test {

template <class Array>
void expect_same_bytes(const Array& actual, const Array& wanted, const char* array) {
  ASSERT_EQ(actual.size(), wanted.size()) << array;
  if (wanted.size_bytes() == 0) return;
  EXPECT_EQ(std::memcmp(static_cast<const void*>(actual.data()), static_cast<const void*>(wanted.data()),
                        wanted.size_bytes()),
            0)
      << array;
}

/// An array on a device against the host's.
template <class X>
void expect_same_bytes(const core::device_buffer<X>& actual, std::type_identity_t<std::span<const X>> wanted,
                       const char* array) {
  const std::vector<X> there = actual.download();
  expect_same_bytes(std::span<const X>(there), wanted, array);
}

}  // namespace bcsc::test
