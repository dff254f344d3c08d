#pragma once

#include <cstdint>

#include "bcsc/registry.hpp"
#include "bcsc_config.h"

namespace bcsc::test {

/// Whether the tables were built with kernel_space=small: hardly a config of theirs has costs.
inline constexpr bool has_few_configs = BCSC_KERNEL_SPACE == 0;

/// Whether a tuner that is asked for no kernel times `k` for A with 32-bit indices and far from dense (as `gemm` wants
/// it), and N = cols, B row-major: slices are for one column then.
inline bool is_tuned(const kernel_info& k, std::int64_t cols) {
  const bool is_slices = k.algorithm == "sliced" || k.algorithm == "slices";
  const bool for_one = k.where == backend::cpu || k.n_tile == 1;
  return k.built && k.index_bits == 32 && !k.rounds_values && k.algorithm != "gemm" &&
         (!is_slices || (cols == 1 && for_one));
}

}  // namespace bcsc::test
