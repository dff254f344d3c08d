#pragma once

#include <vector>

#include "bcsc/registry.hpp"
#include "kernels/spmm_args.hpp"
#include "lib/plan/cost_terms.hpp"

namespace bcsc::plan {

/// A row of a table with the way to start it.
struct registered_kernel {
  kernel_info info;
  kernels::launch_fn launch = nullptr;  ///< null: not in this build
  kernels::operand_form form = kernels::operand_form::compact;
  /// What each of the terms of its time costs (cost_terms.hpp); null: not measured. Those of another row for rows of
  /// fp16 and bf16 as long as none of them has been measured.
  const cost_terms* costs = nullptr;
};

/// All tables, concatenated.
const std::vector<registered_kernel>& registry();

}  // namespace bcsc::plan
