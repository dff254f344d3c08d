#pragma once

#include <cstddef>

#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "kernels/cpu/all_tables.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::kernels::cpu {

/// One config of one of all_tables, for one instruction set. Both are numbers in range.
launch_fn launcher(std::size_t table, std::size_t config, core::cpu_isa isa);

/// The launcher of one config of Algorithm's table for one instruction set. One that this build does not hold (AVX on
/// another architecture) gives the baseline's. The machine must have the instructions: see core::best_cpu_isa().
template <class Algorithm>
launch_fn launcher(std::size_t config, core::cpu_isa isa) {
  if (config >= Algorithm::configs.size()) {
    core::fail(errc::internal, "config = {}: {} has {} configs", config, Algorithm::name, Algorithm::configs.size());
  }
  return launcher(position_in<Algorithm>(all_tables{}), config, isa);
}

/// The same for the best instruction set of this machine.
template <class Algorithm>
launch_fn launcher(std::size_t config) {
  return launcher<Algorithm>(config, core::best_cpu_isa());
}

}  // namespace bcsc::kernels::cpu
