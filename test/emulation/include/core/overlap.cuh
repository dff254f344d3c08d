#pragma once

#include <cuda_runtime.h>

/// Stands in for core/overlap.cuh on the emulated GPU, which holds kernels to it (emulated_gpu.hpp,
/// wait_for_previous).
namespace bcsc::core {

inline constexpr int min_arch = 900;

inline void let_next_begin() {}
inline void wait_for_previous() { emulation::wait_for_previous(); }

}  // namespace bcsc::core
