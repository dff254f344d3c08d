#include <type_traits>

#include "kernels/forms/column_groups.cuh"
#include "kernels/forms/mma_tiles/mma_tiles_kernels.cuh"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

namespace bcsc::forms::steps {

planned_groups plan_mma_tiles(int device, const column_groups_job& job) { return plan_groups(device, job); }

void fill_mma_tiles(const column_groups_job& job, const planned_groups& planned, const mma_tiles_arrays& to) {
  for_each(planned.num_slots + job.num_blocks - planned.num_sums,
           item_body{job, planned.before.data(), to.items, to.sums}, "items");
  const std::int64_t tile_bytes = std::int64_t{mma_tile_values} * job.value_bytes;
  core::gpu::fill_zero(static_cast<char*>(to.tiles) + planned.num_tiles * tile_bytes,
                       static_cast<std::size_t>(spare_tiles * tile_bytes));
  if (planned.num_groups == 0) return;
  const tile_filling at{job,
                        planned.first_entry.data(),
                        planned.order.data(),
                        planned.columns.data(),
                        planned.groups.data(),
                        to.col_ind,
                        to.tiles,
                        to.masks};
  const auto start = [&]<class Value, int Parts>(Value, std::integral_constant<int, Parts>) {
    constexpr int warps = warps_to_fill(Parts, sizeof(Value));
    core::gpu::check_launch(core::start(&fill_tiles_kernel<Value, Parts>, (planned.num_groups + warps - 1) / warps,
                                        32 * warps, 0, nullptr, at, planned.num_groups),
                            "filling of tiles");
  };
  const auto start_of = [&]<class Value>(Value value) {
    if (job.parts <= 8) {
      start(value, std::integral_constant<int, 8>{});
    } else {
      start(value, std::integral_constant<int, max_mma_tile_parts>{});
    }
  };
  if (job.value_bytes == 2) {
    start_of(std::uint16_t{});
  } else if (job.value_bytes == 4) {
    start_of(std::uint32_t{});
  } else {
    start_of(std::uint64_t{});
  }
}

}  // namespace bcsc::forms::steps
