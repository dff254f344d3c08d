#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kernels/forms/compact/operand.hpp"

namespace bcsc::kernels::cuda {

/// Writes the launcher of each config i of Algorithm's table with i % NumShards == Shard to table[i]. Defined in
/// shard.cuh, instantiated once in each generated shard.
template <class Algorithm, int Shard, int NumShards>
void fill_launchers(launch_fn* table);

/// The launcher of one config of a kernel's table (kernels/tables). The table's form says what its args point to.
launch_fn launcher(std::string_view kernel, std::size_t config);

}  // namespace bcsc::kernels::cuda
