#pragma once

#include <span>
#include <string>

#include "lib/choice/dense_costs.hpp"
#include "lib/choice/neighbours.hpp"

/// What the choice knows of a machine; built in, scaled to another GPU, or calibrated.
namespace bcsc::choice {

struct cost_table {
  std::string origin;  ///< whose costs they are, for explain()
  /// A GPU's. All tables of a GPU, or of CPUs with the same instructions, hold the same entries in the same order.
  std::span<const measured_config> configs, configs_in_place;
  /// A CPU's.
  std::span<const cpu_family> families;
  std::span<const cpu_config> cpu_configs;
  std::span<const measured_case> cases, cases_in_place;
  gpu_scales scales = {};
};

}  // namespace bcsc::choice
