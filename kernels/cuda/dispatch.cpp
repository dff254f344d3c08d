#include "kernels/cuda/dispatch.hpp"

#include <array>
#include <utility>

#include "kernels/cuda/bcsc_shards.h"
#include "kernels/tables/cached.hpp"
#include "kernels/tables/naive.hpp"
#include "kernels/tables/rowwise.hpp"
#include "kernels/tables/scatter.hpp"
#include "kernels/tables/tiled.hpp"
#include "kernels/tables/units.hpp"
#include "kernels/tables/warp.hpp"

namespace bcsc::kernels::cuda {

namespace {

template <class Algorithm, int... Shards>
auto gather(std::integer_sequence<int, Shards...>) {
  std::array<launch_fn, Algorithm::rows.size()> table{};
  (fill_launchers<Algorithm, Shards, static_cast<int>(sizeof...(Shards))>(table.data()), ...);
  return table;
}

/// How many shards each table is compiled in (kernels/meson.build).
template <class Algorithm>
constexpr int num_shards = 0;
template <>
constexpr int num_shards<tables::naive> = BCSC_NAIVE_SHARDS;
template <>
constexpr int num_shards<tables::warp> = BCSC_WARP_SHARDS;
template <>
constexpr int num_shards<tables::tiled> = BCSC_TILED_SHARDS;
template <>
constexpr int num_shards<tables::rowwise> = BCSC_ROWWISE_SHARDS;
template <>
constexpr int num_shards<tables::units> = BCSC_UNITS_SHARDS;
template <>
constexpr int num_shards<tables::cached> = BCSC_CACHED_SHARDS;
template <>
constexpr int num_shards<tables::scatter> = BCSC_SCATTER_SHARDS;

}  // namespace

template <class Algorithm>
launch_fn launcher(std::size_t row) {
  static const auto table = gather<Algorithm>(std::make_integer_sequence<int, num_shards<Algorithm>>{});
  return table.at(row);
}

template launch_fn launcher<tables::naive>(std::size_t);
template launch_fn launcher<tables::warp>(std::size_t);
template launch_fn launcher<tables::tiled>(std::size_t);
template launch_fn launcher<tables::rowwise>(std::size_t);
template launch_fn launcher<tables::units>(std::size_t);
template launch_fn launcher<tables::cached>(std::size_t);
template launch_fn launcher<tables::scatter>(std::size_t);

}  // namespace bcsc::kernels::cuda
