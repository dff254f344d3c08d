#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
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

/// How GoogleTest names the configs of a table that it is given the numbers of.
template <class Algorithm>
std::string config_name(std::size_t index) {
  const auto& config = Algorithm::configs[index];
  std::string name = config.label() + "_" + std::string(to_string(config.type));
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace bcsc::test
