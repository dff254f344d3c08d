#pragma once

#include <utility>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/implementation.cuh"

namespace bcsc::kernels::cuda {

namespace detail {

template <class Algorithm, int Index, int Shard, int NumShards>
void fill_one(launch_fn* table) {
  if constexpr (Index % NumShards == Shard) {
    static_assert(Algorithm::configs[Index].valid(), "a config asks for what no kernel can give");
    table[Index] = &implementation<Algorithm>::template launch<Index>;
  }
}

template <class Algorithm, int Shard, int NumShards, int... Indices>
void fill_all(launch_fn* table, std::integer_sequence<int, Indices...>) {
  (fill_one<Algorithm, Indices, Shard, NumShards>(table), ...);
}

}  // namespace detail

template <class Algorithm, int Shard, int NumShards>
void fill_launchers(launch_fn* table) {
  detail::fill_all<Algorithm, Shard, NumShards>(
      table, std::make_integer_sequence<int, static_cast<int>(Algorithm::configs.size())>{});
}

}  // namespace bcsc::kernels::cuda
