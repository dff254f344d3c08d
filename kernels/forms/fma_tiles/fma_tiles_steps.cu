#include "core/launch.cuh"
#include "kernels/forms/fma_tiles/fma_tiles_kernels.cuh"
#include "kernels/forms/fma_tiles/fma_tiles_steps.hpp"

namespace bcsc::forms::steps {

planned_groups plan_fma_tiles(int device, const column_groups_job& job) { return plan_groups(device, job); }

void fill_fma_tiles(const column_groups_job& job, const planned_groups& planned, const fma_tiles_arrays& to) {
  for_each(job.num_blocks + 1,
           fma_block_body{job, planned.before.data(), planned.groups.data(), planned.num_groups, planned.num_tiles,
                          to.blocks},
           "row blocks");
  const std::int64_t tile_bytes = std::int64_t{job.part_rows} * fma_step_columns * job.value_bytes;
  core::gpu::fill_zero(static_cast<char*>(to.tiles) + planned.num_tiles * tile_bytes,
                       static_cast<std::size_t>(spare_fma_tiles * tile_bytes));
  core::gpu::fill_zero(to.steps + planned.num_groups, spare_fma_steps * sizeof(fma_step));
  if (planned.num_groups == 0) return;
  const fma_filling at{
      job, planned.first_entry.data(), planned.order.data(), planned.columns.data(), planned.groups.data(), to};
  const auto start = [&](auto kernel) {
    core::gpu::check_launch(core::start(kernel, (planned.num_groups + fma_fill_warps - 1) / fma_fill_warps,
                                        32 * fma_fill_warps, 0, nullptr, at, planned.num_groups),
                            "filling of tiles");
  };
  if (job.value_bytes == 4) {
    start(&fill_fma_tiles_kernel<std::uint32_t>);
  } else {
    start(&fill_fma_tiles_kernel<std::uint64_t>);
  }
}

}  // namespace bcsc::forms::steps
