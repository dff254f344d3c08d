#pragma once

#include <array>
#include <utility>

#include "kernels/cuda/implementation.cuh"
#include "kernels/spmm_args.hpp"

namespace bcsc::test {

namespace detail {

template <class Algorithm, int... Rows>
constexpr auto launchers(std::integer_sequence<int, Rows...>) {
  return std::array<kernels::launch_fn, sizeof...(Rows)>{
      &kernels::cuda::implementation<Algorithm>::template launch<Rows>...};
}

}  // namespace detail

/// A launcher on the emulated GPU for each row of an algorithm's table, whose .cuh is included before.
template <class Algorithm>
constexpr auto emulated_launchers() {
  return detail::launchers<Algorithm>(std::make_integer_sequence<int, static_cast<int>(Algorithm::rows.size())>{});
}

}  // namespace bcsc::test
