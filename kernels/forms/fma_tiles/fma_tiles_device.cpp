#include "core/checked.hpp"
#include "kernels/forms/device_blocks_of.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "kernels/forms/fma_tiles/fma_tiles_steps.hpp"

namespace bcsc::forms {

template <value T>
device_fma_tiles<T> to_fma_tiles_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a) {
  check_fma_tiles(a.rows, a.cols, a.m_block);
  steps::column_groups_job job{steps::device_blocks_of(a)};
  job.part_rows = fma_part_rows(a.m_block);
  job.parts = fma_parts(a.m_block);
  job.group_size = fma_step_columns;
  const core::gpu::device_guard guard(device);
  const steps::planned_groups planned = steps::plan_fma_tiles(device, job);
  (void)core::narrow<std::int32_t>(planned.num_tiles, "tiles");

  device_fma_tiles<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = a.m_block;
  out.blocks = core::device_buffer<fma_block>(device, job.num_blocks + 1);
  out.steps = core::device_buffer<fma_step>(device, planned.num_groups + spare_fma_steps);
  out.tiles = core::device_buffer<T>(device, (planned.num_tiles + spare_fma_tiles) * fma_tile_values(a.m_block));
  out.masks = core::device_buffer<std::uint16_t>(device, planned.num_tiles);
  steps::fill_fma_tiles(job, planned, {out.blocks.data(), out.steps.data(), out.tiles.data(), out.masks.data()});
  core::gpu::synchronize();
  return out;
}

template device_fma_tiles<float> to_fma_tiles_on_device(int, const compact_bcsc_view<float, std::int32_t>&);
template device_fma_tiles<double> to_fma_tiles_on_device(int, const compact_bcsc_view<double, std::int32_t>&);

}  // namespace bcsc::forms
