#include "core/checked.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

namespace bcsc::forms {

namespace {

namespace gpu = core::gpu;
using core::device_buffer;

template <class T>
steps::mma_tiles_job job_of(const compact_bcsc_view<T, std::int32_t>& a, const mma_tiles_options& options) {
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  return {.rows = a.rows,
          .cols = a.cols,
          .m_block = a.m_block,
          .num_blocks = a.num_row_blocks(),
          .nnzc = a.nnzc(),
          .nnz = a.nnz(),
          .height = height_of_mma_tiles(a.m_block),
          .max_groups = options.max_groups,
          .by_parts = options.by_parts,
          .block_row = present(a.block_row),
          .brow_ptr = a.brow_ptr.data(),
          .col_ind = present(a.col_ind),
          .col_ind16 = present(a.col_ind16),
          .col_count = a.col_count.data(),
          .row_in_block = a.row_in_block.data(),
          .index_bytes = a.row_in_block.bytes(),
          .values = a.values.data(),
          .value_bytes = static_cast<int>(sizeof(T))};
}

void require_on_device(memory_space space) {
  if (space == memory_space::device) return;
  core::fail(errc::wrong_memory_space, "compact bcsc lies in {} memory: must lie on the device", to_string(space));
}

}  // namespace

template <number T>
device_mma_tiles<T> to_mma_tiles_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                           const mma_tiles_options& options) {
  require_on_device(a.space);
  check_mma_tiles(a.rows, a.cols, a.m_block, options);
  const gpu::device_guard guard(device);
  const steps::mma_tiles_job job = job_of(a, options);
  steps::planned_mma_tiles planned = steps::plan_mma_tiles(device, job);
  (void)core::narrow<std::int32_t>(planned.num_tiles, "tiles");

  device_mma_tiles<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = job.height;
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
