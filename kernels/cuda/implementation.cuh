#pragma once

namespace bcsc::kernels::cuda {

/// Each algorithm's .cuh specialises this for its tag of kernels/tables with
///   template <int Index> static int launch(const void* args, const launch_env& env);   // launches configs[Index]
template <class Algorithm>
struct implementation;

}  // namespace bcsc::kernels::cuda
