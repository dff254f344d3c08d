#pragma once

#include <string>

#include "core/buffer.hpp"

namespace bcsc::converters {

/// What every step on a device does in a build without CUDA: says why there is none.
[[noreturn]] inline void no_cuda() {
  std::string why;
  const errc code = core::gpu::assess_absence(core::gpu::this_platform(), why);
  throw error(code, why);
}

}  // namespace bcsc::converters
