#include "test/emulation/emulated_rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/implementation.cuh"
#include BCSC_ALGORITHM_HEADER

namespace bcsc::test {

namespace {

using algorithm = kernels::tables::BCSC_ALGORITHM;

template <int... Rows>
constexpr std::array<kernels::launch_fn, sizeof...(Rows)> launchers(std::integer_sequence<int, Rows...>) {
  return {&kernels::cuda::implementation<algorithm>::template launch<Rows>...};
}

}  // namespace

std::vector<emulated_row> emulated_rows() {
  constexpr auto launch = launchers(std::make_integer_sequence<int, static_cast<int>(algorithm::rows.size())>{});
  std::vector<emulated_row> all;
  for (std::size_t i = 0; i < launch.size(); ++i) {
    const auto& row = algorithm::rows[i];
    all.push_back({row.label() + "-" + std::string(to_string(row.type)), row.type, row.index_width(), launch[i]});
  }
  return all;
}

}  // namespace bcsc::test
