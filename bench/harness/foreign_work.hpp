#pragma once

#include <cstdint>

#include "bcsc/types.hpp"

namespace bcsc::bench {

/// Starts a kernel of `blocks` thread blocks that adds 1 to each of `size` words on the device, again and again until
/// `nanoseconds` have passed. A launch that fails is CUDA's last error.
void start_adding_ones(unsigned* words, std::int64_t size, std::uint64_t nanoseconds, int blocks, cuda_stream stream);

}  // namespace bcsc::bench
