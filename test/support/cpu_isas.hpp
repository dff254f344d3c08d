#pragma once

#include <vector>

#include "core/context_state.hpp"

namespace bcsc::test {

/// The instruction sets of the CPU's kernels that this machine has.
inline std::vector<core::cpu_isa> available_isas() {
  std::vector<core::cpu_isa> isas;
  for (core::cpu_isa isa : {core::cpu_isa::baseline, core::cpu_isa::avx2, core::cpu_isa::avx512}) {
    if (isa <= core::best_cpu_isa()) isas.push_back(isa);
  }
  return isas;
}

}  // namespace bcsc::test
