#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "converters/formats/device_grid.cuh"
#include "lib/core/launch.cuh"
#include "test/emulation/include/emulated_gpu.hpp"

/// What tests of the conversions' kernels on the emulated GPU share.
namespace bcsc::test {

/// The arrays that kernels may touch, to the last byte, while it lives.
class known_memory {
 public:
  known_memory() = default;
  ~known_memory() { emulation::current_settings().global_memory = {}; }
  known_memory(const known_memory&) = delete;
  known_memory& operator=(const known_memory&) = delete;
  template <class Array>
  void may_read(const Array& array) {
    add(array.data(), array.size() * sizeof(array[0]), false);
  }
  template <class Array>
  void may_write(Array& array) {
    add(array.data(), array.size() * sizeof(array[0]), true);
  }
  void add(const void* begin, std::size_t bytes, bool writable) {
    emulation::current_settings().global_memory.push_back({begin, bytes, writable});
  }
};

/// As converters/formats/device_loops.cuh has it.
template <class Body>
void for_each_emulated(std::int64_t n, const Body& body) {
  namespace steps = converters::steps;
  if (n == 0) return;
  ASSERT_EQ(core::start(&steps::for_each_kernel<Body>, steps::grid_for(n), steps::block_threads, 0, nullptr, n, body),
            cudaSuccess)
      << emulation::report();
}

template <class X>
void expect_same_bytes(const std::vector<X>& actual, const std::vector<X>& wanted, const char* array) {
  ASSERT_EQ(actual.size(), wanted.size()) << array;
  if (wanted.empty()) return;
  EXPECT_EQ(std::memcmp(static_cast<const void*>(actual.data()), static_cast<const void*>(wanted.data()),
                        wanted.size() * sizeof(X)),
            0)
      << array;
}

}  // namespace bcsc::test
