#pragma once

#include <cstddef>

/// The memory of the emulated GPU behind lib/core/gpu.hpp, so that whole conversions run there: emulated_device.cpp has
/// what they call of it, and is linked into the test. What is allocated there holds 0xab before it is written and is
/// all that kernels may touch.
namespace bcsc::test {

/// What is allocated now.
std::size_t num_emulated_allocations();

}  // namespace bcsc::test
