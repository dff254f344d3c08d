#include "converters/formats/fragments.hpp"
#include "converters/formats/fragments_steps.hpp"
#include "lib/core/checked.hpp"

namespace bcsc::converters {

namespace {

namespace gpu = core::gpu;
using core::device_buffer;

template <class T>
steps::fragments_job job_of(const compact_bcsc_view<T, std::int32_t>& a, const fragments_options& options) {
  const auto present = [](const auto& array) { return array.empty() ? nullptr : array.data(); };
  return {.rows = a.rows,
          .cols = a.cols,
          .m_block = a.m_block,
          .num_blocks = a.num_row_blocks(),
          .nnzc = a.nnzc(),
          .nnz = a.nnz(),
          .height = height_of_fragments(a.m_block),
          .most_groups = options.most_groups,
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
device_fragments<T> to_fragments_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                           const fragments_options& options) {
  require_on_device(a.space);
  check_fragments(a.rows, a.cols, a.m_block, options);
  const gpu::device_guard guard(device);
  const steps::fragments_job job = job_of(a, options);
  steps::planned_fragments planned = steps::plan_fragments(device, job);
  (void)core::narrow<std::int32_t>(planned.num_tiles, "tiles");

  device_fragments<T> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.height = job.height;
  out.num_slots = planned.num_slots;
  out.items = device_buffer<core::fragments_item>(device, planned.num_slots + job.num_blocks - planned.num_sums);
  out.col_ind = device_buffer<std::int32_t>(device, planned.num_groups * core::fragment_columns);
  out.tiles = device_buffer<T>(device, (planned.num_tiles + core::spare_tiles) * core::fragment_values);
  out.masks = device_buffer<std::uint64_t>(device, planned.num_tiles);
  out.sums = device_buffer<core::fragments_sum>(device, planned.num_sums);
  steps::fill_fragments(job, planned,
                        {out.items.data(), out.col_ind.data(), out.tiles.data(), out.masks.data(), out.sums.data()});
  out.groups = std::move(planned.groups);
  gpu::synchronize();
  return out;
}

template <number T>
pattern_hash hash_pattern_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a) {
  require_on_device(a.space);
  const gpu::device_guard guard(device);
  const device_buffer<unsigned long long> sums(device, 2);
  gpu::fill_zero(sums.data(), sums.bytes());
  steps::add_pattern_hash(job_of(a, {}), sums.data());
  const auto both = sums.download();
  return {both[0], both[1]};
}

#define BCSC_INSTANTIATE(T)                                                                           \
  template device_fragments<T> to_fragments_on_device(int, const compact_bcsc_view<T, std::int32_t>&, \
                                                      const fragments_options&);                      \
  template pattern_hash hash_pattern_on_device(int, const compact_bcsc_view<T, std::int32_t>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
