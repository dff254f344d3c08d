#pragma once

#include <utility>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/implementation.cuh"

namespace bcsc::kernels::cuda {

namespace detail {

template <class Algorithm, int Row, int Shard, int NumShards>
void fill_one(launch_fn* table) {
  if constexpr (Row % NumShards == Shard) {
    static_assert(Algorithm::rows[Row].valid(), "a row of the table asks for what no kernel can give");
    table[Row] = &implementation<Algorithm>::template launch<Row>;
  }
}

template <class Algorithm, int Shard, int NumShards, int... Rows>
void fill_all(launch_fn* table, std::integer_sequence<int, Rows...>) {
  (fill_one<Algorithm, Rows, Shard, NumShards>(table), ...);
}

}  // namespace detail

template <class Algorithm, int Shard, int NumShards>
void fill_launchers(launch_fn* table) {
  detail::fill_all<Algorithm, Shard, NumShards>(
      table, std::make_integer_sequence<int, static_cast<int>(Algorithm::rows.size())>{});
}

}  // namespace bcsc::kernels::cuda
