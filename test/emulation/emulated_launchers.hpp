#pragma once

#include <array>
#include <utility>

#include "kernels/cuda/implementation.cuh"
#include "kernels/forms/product_args.hpp"

namespace bcsc::test {

namespace detail {

template <class Algorithm, int... Indices>
constexpr auto launchers(std::integer_sequence<int, Indices...>) {
  return std::array<kernels::launch_fn, sizeof...(Indices)>{
      &kernels::cuda::implementation<Algorithm>::template launch<Indices>...};
}

}  // namespace detail

/// A launcher on the emulated GPU for each row of an algorithm's table, whose .cuh is included before.
template <class Algorithm>
constexpr auto emulated_launchers() {
  return detail::launchers<Algorithm>(std::make_integer_sequence<int, static_cast<int>(Algorithm::configs.size())>{});
}

}  // namespace bcsc::test
