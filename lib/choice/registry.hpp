#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bcsc/registry.hpp"
#include "kernels/forms/product_args.hpp"

namespace bcsc::choice {

/// Where the measured costs of a config stand in a cost_table.
struct measurement {
  std::size_t place = 0;  ///< among all measured configs
  std::size_t index = 0;  ///< among those of its type
};

/// A config with the way to start it.
struct registered_kernel {
  kernel_info info;
  kernels::launch_fn launch = nullptr;  ///< null: not in this build
  kernels::operand_form form = kernels::operand_form::compact;
  /// If there are any: with a row-major B; with a column-major B that it reads where it lies.
  std::optional<measurement> measured, measured_in_place;
  std::optional<std::size_t> family, family_of_vector;  ///< where its costs on a CPU stand; those at N = 1
};

/// All tables of kernels that compute C = alpha * A * B + beta * C, concatenated.
const std::vector<registered_kernel>& registry();

/// Those that compute C = alpha * A' * B + beta * C from A as one of registry()'s kernels has it stored.
const std::vector<registered_kernel>& transposing_registry();

/// Whether `kernel` is made for GPUs of this compute capability (10 * major + minor).
constexpr bool suits(const kernel_info& kernel, int compute_capability) {
  return kernel.compute_capability == 0 || kernel.compute_capability == compute_capability;
}

/// Whether `kernel` reads A in the form in which a plan stores it for `other`: the forms that may be cut in several
/// ways (row blocks of any height, pieces of rows) included.
bool reads_what_is_stored_for(const registered_kernel& other, const registered_kernel& kernel);

}  // namespace bcsc::choice
