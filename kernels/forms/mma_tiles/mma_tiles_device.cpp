#include "core/checked.hpp"
#include "kernels/forms/device_blocks_of.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

namespace bcsc::forms {

namespace {

namespace gpu = core::gpu;
using core::device_buffer;

template <class T>
steps::column_groups_job job_of(const compact_bcsc_view<T, std::int32_t>& a, const mma_tiles_options& options) {
  steps::column_groups_job job{steps::device_blocks_of(a)};
  job.part_rows = mma_tile_rows;
  job.parts = static_cast<int>(height_of_mma_tiles(a.m_block) / mma_tile_rows);
  job.group_size = mma_tile_columns;
  job.max_groups = options.max_groups;
  job.max_whole = options.max_whole;
  job.by_parts = options.by_parts;
  return job;
}

}  // namespace

template <number T>
device_mma_tiles<T> to_mma_tiles_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                           const mma_tiles_options& options) {
  check_mma_tiles(a.rows, a.cols, a.m_block, options);
  const steps::column_groups_job job = job_of(a, options);
  const gpu::device_guard guard(device);
  steps::planned_groups planned = steps::plan_mma_tiles(device, job);
  (void)core::narrow<std::int32_t>(planned.num_tiles, "tiles");

  device_mma_tiles<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = height_of_mma_tiles(a.m_block);
  out.num_slots = planned.num_slots;
  out.items = device_buffer<mma_tiles_item>(device, planned.num_slots + job.num_blocks - planned.num_sums);
  out.col_ind = device_buffer<std::int32_t>(device, planned.num_groups * mma_tile_columns);
  out.tiles = device_buffer<T>(device, (planned.num_tiles + spare_tiles) * mma_tile_values);
  out.masks = device_buffer<std::uint64_t>(device, planned.num_tiles);
  out.sums = device_buffer<mma_tiles_sum>(device, planned.num_sums);
  steps::fill_mma_tiles(job, planned,
                        {out.items.data(), out.col_ind.data(), out.tiles.data(), out.masks.data(), out.sums.data()});
  out.groups = std::move(planned.groups);
  gpu::synchronize();
  return out;
}

#define BCSC_INSTANTIATE(T)                                                                           \
  template device_mma_tiles<T> to_mma_tiles_on_device(int, const compact_bcsc_view<T, std::int32_t>&, \
                                                      const mma_tiles_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
