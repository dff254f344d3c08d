#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/all_tables.hpp"
#include "kernels/cpu/dispatch.hpp"
#include "test/support/cpu_isas.hpp"

namespace bcsc::test {

/// A config of the CPU's tables for one instruction set.
struct kernel_case {
  std::string name;
  kernels::launch_fn launch;
  value_type type;
  int index_bits, m_tile;
  kernels::operand_form form;
  bool transposed;  ///< multiplies by A'
};

template <class Algorithm>
void append_cpu_kernels(std::vector<kernel_case>& cases) {
  for (const core::cpu_isa isa : available_isas()) {
    for (std::size_t i = 0; i < Algorithm::configs.size(); ++i) {
      const auto& config = Algorithm::configs[i];
      std::string name = config.label() + "_" + std::string(to_string(config.type)) + "_" + std::string(to_string(isa));
      std::ranges::replace(name, '-', '_');
      cases.push_back({std::move(name), kernels::cpu::launcher<Algorithm>(i, isa), config.type, config.index_bits,
                       config.m_tile, Algorithm::form, std::is_same_v<Algorithm, kernels::tables::cpu_scatter>});
    }
  }
}

template <class... Algorithms>
std::vector<kernel_case> cpu_kernels_of(kernels::tables::table_list<Algorithms...>) {
  std::vector<kernel_case> cases;
  (append_cpu_kernels<Algorithms>(cases), ...);
  return cases;
}

/// Every config, on every instruction set this machine has.
inline std::vector<kernel_case> every_cpu_kernel() { return cpu_kernels_of(kernels::cpu::all_tables{}); }

/// Those that multiply by A itself.
inline std::vector<kernel_case> untransposed_cpu_kernels() {
  std::vector<kernel_case> cases = every_cpu_kernel();
  std::erase_if(cases, [](const kernel_case& k) { return k.transposed; });
  return cases;
}

}  // namespace bcsc::test
