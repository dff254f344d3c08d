#pragma once

#include <cstddef>

#include "kernels/spmm_args.hpp"

namespace bcsc::kernels::cuda {

/// Writes the launchers of the rows r of Algorithm's table with r % NumShards == Shard to table[r]. Defined in
/// shard.cuh, instantiated once in each generated shard.
template <class Algorithm, int Shard, int NumShards>
void fill_launchers(launch_fn* table);

/// The launcher of one row of Algorithm's table (kernels/tables). What its args point to the table says: compact BCSC
/// (spmm_args), a stream of row pieces (rows_args) or fragments (fragments_args).
template <class Algorithm>
launch_fn launcher(std::size_t row);

}  // namespace bcsc::kernels::cuda
