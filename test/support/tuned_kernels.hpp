#pragma once

#include <cstdint>

#include "bcsc/registry.hpp"

namespace bcsc::test {

/// Whether a tuner that is asked for no kernel times `k` for A with 32-bit indices and far from dense (as `gemm` wants
/// it), and N = cols: slices are for one column.
inline bool is_tuned(const kernel_info& k, std::int64_t cols) {
  const bool is_slices = k.algorithm == "sliced" || k.algorithm == "slices";
  return k.built && k.index_bits == 32 && !k.rounds_values && k.algorithm != "gemm" && (cols == 1 || !is_slices);
}

}  // namespace bcsc::test
