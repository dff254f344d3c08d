#pragma once

#include <span>
#include <string>

#include "bcsc/types.hpp"
#include "lib/plan/dense_costs.hpp"
#include "lib/plan/neighbours.hpp"

/// What the choice knows of a machine; built in, scaled to another GPU, or calibrated.
namespace bcsc::plan {

struct cost_table {
  std::string origin;  ///< whose costs they are, for explain()
  /// A GPU's, as they stand in measured_costs and measured_in_place.
  std::span<const measured_config> configs, configs_in_place;
  /// A CPU's, as they stand in measured_on_this_cpu().
  std::span<const cpu_family> families;
  std::span<const cpu_config> cpu_configs;
  std::span<const measured_case> cases, cases_in_place;
  gpu_scales scales = {};
};

/// An H200's, or those of CPUs like this one by about so many threads.
const cost_table& built_in_costs(backend where, int threads = 1);

}  // namespace bcsc::plan
