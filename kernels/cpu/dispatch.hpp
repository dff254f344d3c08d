#pragma once

#include <cstddef>

#include "core/context_state.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels::cpu {

/// The launcher of one config of Algorithm's table (of kernels/tables/cpu.hpp, or cpu_scatter of scatter.hpp) for one
/// instruction set. One that this build does not hold (AVX on another architecture) gives the baseline's. The machine
/// must have the instructions: see core::best_cpu_isa().
template <class Algorithm>
launch_fn launcher(std::size_t config, core::cpu_isa isa);

/// The same for the best instruction set of this machine.
template <class Algorithm>
launch_fn launcher(std::size_t config) {
  return launcher<Algorithm>(config, core::best_cpu_isa());
}

}  // namespace bcsc::kernels::cpu
