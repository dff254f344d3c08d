#pragma once

#include <cstddef>
#include <cstdint>

#include "test/emulation/include/emulated_gpu.hpp"

/// The memory of the emulated GPU behind core/gpu.hpp, so that whole conversions run there: emulated_device.cpp
/// implements what they call of it, and is linked into the test. Memory allocated there holds 0xab until it is written,
/// and is all that kernels may touch.
namespace bcsc::test {

/// What is allocated now.
std::size_t num_emulated_allocations();

/// How the next kernels run. Keeps the memory that is there.
void set_order(emulation::run_order order, std::uint64_t seed, unsigned largest_grid);

}  // namespace bcsc::test
