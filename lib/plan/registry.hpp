#pragma once

#include <vector>

#include "bcsc/registry.hpp"
#include "kernels/forms/product_args.hpp"
#include "lib/plan/neighbours.hpp"

namespace bcsc::plan {

/// The measured costs of a config (neighbours.hpp), if there are any.
struct measurement {
  const measured_config* costs = nullptr;
  std::size_t index = 0;  ///< its position among the measured configs of its type

  explicit operator bool() const { return costs != nullptr; }
};

/// A config with the way to start it.
struct registered_kernel {
  kernel_info info;
  kernels::launch_fn launch = nullptr;  ///< null: not in this build
  kernels::operand_form form = kernels::operand_form::compact;
  measurement measured, measured_in_place;  ///< with a row-major B; with a column-major B that it reads where it lies
  const cpu_family* cpu_costs = nullptr;    ///< on a CPU
  const cpu_family* cpu_costs_of_vector = nullptr;  ///< at N = 1
};

/// Those for the instructions of this CPU; for AVX2's where there are narrower ones, which have not been measured.
const cpu_measurements& measured_on_this_cpu();

/// All tables of kernels that compute C = alpha * A * B + beta * C, concatenated.
const std::vector<registered_kernel>& registry();

/// Those that compute C = alpha * A' * B + beta * C from A as one of registry()'s kernels has it stored.
const std::vector<registered_kernel>& transposing_registry();

/// Whether `kernel` reads A in the form in which a plan stores it for `other`: the forms that may be cut in several
/// ways (row blocks of any height, pieces of rows) included.
bool reads_what_is_stored_for(const registered_kernel& other, const registered_kernel& kernel);

}  // namespace bcsc::plan
