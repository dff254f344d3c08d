#include <cub/device/device_scan.cuh>
#include <type_traits>
#include <utility>

#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"
#include "kernels/forms/device_sums.cuh"
#include "kernels/forms/mma_tiles/mma_tiles_kernels.cuh"
#include "kernels/forms/mma_tiles/mma_tiles_steps.hpp"

namespace bcsc::forms::steps {

using converters::steps::for_each;
using converters::steps::sort_pairs;
using converters::steps::with_cub;

namespace {

/// Each column's parts; and the order of the columns, if it is not that of `job`.
core::device_buffer<std::uint16_t> order_columns(int device, const mma_tiles_job& job, planned_mma_tiles& out) {
  core::device_buffer<std::uint16_t> parts(device, job.nnzc);
  const int parts_bits = static_cast<int>(job.height / mma_tile_rows);
  if (!job.by_parts || parts_bits == 1 || job.nnzc == 0) {
    for_each(job.nnzc, column_parts_body{job, out.first_entry.data(), parts_bits, parts.data(), nullptr, nullptr},
             "parts of columns");
    return parts;
  }
  core::device_buffer<std::uint64_t> keys(device, job.nnzc);
  core::device_buffer<std::int32_t> numbers(device, job.nnzc);
  for_each(job.nnzc,
           column_parts_body{job, out.first_entry.data(), parts_bits, parts.data(), keys.data(), numbers.data()},
           "parts of columns");
  out.order = sort_pairs(device, std::move(keys), std::move(numbers), job.num_blocks << parts_bits).payload;
  return parts;
}

}  // namespace

planned_mma_tiles plan_mma_tiles(int device, const mma_tiles_job& job) {
  planned_mma_tiles out;
  out.first_entry = core::device_buffer<std::int32_t>(device, job.nnzc + 1);
  sum_before(device, column_entries{job.col_count, job.index_bytes, job.nnzc}, job.nnzc, out.first_entry.data(),
             "beginnings of columns");
  const core::device_buffer<std::uint16_t> parts = order_columns(device, job, out);

  out.before = core::device_buffer<mma_tiles_place>(device, job.num_blocks + 1);
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(
            temporary, bytes, each_of(block_needs{job.brow_ptr, job.num_blocks, job.max_groups}), out.before.data(),
            add_places{}, mma_tiles_place{0, 0, 0}, job.num_blocks + 1);
      },
      "sums of groups");
  mma_tiles_place all{};
  core::gpu::copy_to_host(&all, out.before.data() + job.num_blocks, sizeof all);
  out.num_groups = all.groups;
  out.num_slots = all.slots;
  out.num_sums = all.sums;
  if (out.num_groups == 0) return out;

  out.columns = core::device_buffer<group_columns>(device, out.num_groups);
  out.groups = core::device_buffer<mma_tiles_group>(device, out.num_groups);
  for_each(out.num_groups,
           group_body{job.brow_ptr, job.num_blocks, out.before.data(), parts.data(), out.order.data(),
                      out.columns.data(), out.groups.data()},
           "groups of columns");
  const core::device_buffer<std::int64_t> first_tile(device, out.num_groups + 1);
  sum_before(device, group_tiles{out.groups.data(), out.num_groups}, out.num_groups, first_tile.data(),
             "sums of tiles");
  for_each(out.num_groups, first_tile_body{first_tile.data(), out.groups.data()}, "tiles of groups");
  core::gpu::copy_to_host(&out.num_tiles, first_tile.data() + out.num_groups, sizeof out.num_tiles);
  return out;
}

void fill_mma_tiles(const mma_tiles_job& job, const planned_mma_tiles& planned, const mma_tiles_arrays& to) {
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
    if (job.height <= 8 * mma_tile_rows) {
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
