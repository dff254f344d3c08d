#include "kernels/cuda/dispatch.hpp"

#include <array>
#include <utility>

#include "core/fail.hpp"
#include "kernels/cuda_tables.h"

namespace bcsc::kernels::cuda {

namespace {

template <class Table, int... Shards>
auto gather(std::integer_sequence<int, Shards...>) {
  std::array<launch_fn, Table::configs.size()> launchers{};
  (fill_launchers<Table, Shards, static_cast<int>(sizeof...(Shards))>(launchers.data()), ...);
  return launchers;
}

template <class Table>
std::span<const launch_fn> launchers_of() {
  static const auto launchers = gather<Table>(std::make_integer_sequence<int, num_shards<Table>>{});
  return launchers;
}

template <class... Tables>
std::span<const launch_fn> find(std::string_view kernel, tables::table_list<Tables...>) {
  std::span<const launch_fn> found;
  ((kernel == Tables::name ? static_cast<void>(found = launchers_of<Tables>()) : static_cast<void>(0)), ...);
  return found;
}

}  // namespace

launch_fn launcher(std::string_view kernel, std::size_t config) {
  const std::span<const launch_fn> launchers = find(kernel, all_tables{});
  if (config >= launchers.size()) {
    core::fail(errc::internal, "config = {}: the table of {} has {}", config, kernel, launchers.size());
  }
  return launchers[config];
}

}  // namespace bcsc::kernels::cuda
