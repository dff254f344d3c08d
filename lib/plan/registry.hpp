#pragma once

#include <vector>

#include "bcsc/registry.hpp"
#include "kernels/spmm_args.hpp"

namespace bcsc::plan {

/// A row of a table with the way to start it.
struct registered_kernel {
  kernel_info info;
  kernels::launch_fn launch = nullptr;  ///< null: not in this build
  kernels::operand_form form = kernels::operand_form::compact;
  bool by_name_only = false;  ///< the plan does not choose it by itself
};

/// All tables, concatenated.
const std::vector<registered_kernel>& registry();

}  // namespace bcsc::plan
