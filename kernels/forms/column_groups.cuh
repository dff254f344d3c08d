#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "converters/formats/device_grid.cuh"
#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"
#include "kernels/forms/column_groups.hpp"
#include "kernels/forms/device_sums.cuh"
#include "kernels/forms/gray_code.hpp"

/// From compact BCSC to groups of columns, on the device: for each column the parts of its row block that it reaches
/// are found; a stable sort by (row block, position of those parts in the Gray code) orders the columns; sums of groups
/// and of their tiles say where each stands.
namespace bcsc::forms::steps {

using converters::steps::count_while;
using converters::steps::for_each;
using converters::steps::segment_of;
using converters::steps::small_at;
using converters::steps::sort_pairs;
using converters::steps::with_cub;

/// Column j's parts and, unless null, its key and its number.
struct column_parts_body {
  column_groups_job job;
  const std::int32_t* first_entry;
  int parts_bits;
  std::uint16_t* parts;
  std::uint64_t* keys;
  std::int32_t* order;
  __device__ void operator()(std::int64_t j) const {
    unsigned reached = 0;
    for (std::int64_t k = first_entry[j]; k < first_entry[j + 1]; ++k) {
      reached |= 1u << static_cast<int>(small_at(job.row_in_block, job.index_bytes, k)) / job.part_rows;
    }
    parts[j] = static_cast<std::uint16_t>(reached);
    if (keys == nullptr) return;
    const auto block = static_cast<std::uint64_t>(segment_of(job.brow_ptr, job.num_blocks, j));
    keys[j] = block << parts_bits | gray_rank(reached);
    order[j] = static_cast<std::int32_t>(j);
  }
};

/// What row block b takes.
struct block_needs {
  const std::int32_t* brow_ptr;
  std::int64_t num_blocks, max_groups;
  int group_size;
  __host__ __device__ groups_place operator()(std::int64_t b) const {
    if (b >= num_blocks) return {};
    const auto columns = static_cast<std::uint32_t>(brow_ptr[b + 1] - brow_ptr[b]);
    const auto size = static_cast<std::uint32_t>(group_size);
    const std::uint32_t groups = (columns + size - 1) / size;
    if (max_groups == 0 || groups <= max_groups) return {groups, 0, 0, groups};
    const auto most = static_cast<std::uint32_t>(max_groups);
    return {groups, (groups - 1) / most + 1, 1, groups};
  }
};
struct add_places {
  __host__ __device__ groups_place operator()(const groups_place& a, const groups_place& b) const {
    return {a.groups + b.groups, a.slots + b.slots, a.sums + b.sums, a.longest > b.longest ? a.longest : b.longest};
  }
};

/// Group g's columns and parts.
struct group_body {
  const std::int32_t* brow_ptr;
  std::int64_t num_blocks;
  int group_size;
  const groups_place* before;
  const std::uint16_t* parts;
  const std::int32_t* order;  // null: each column stands at its own place
  group_columns* columns;
  column_group* groups;
  __device__ void operator()(std::int64_t g) const {
    const std::int64_t block = count_while(num_blocks, [&](std::int64_t b) { return before[b].groups <= g; }) - 1;
    const std::int64_t first = brow_ptr[block] + (g - before[block].groups) * group_size;
    const std::int64_t left = brow_ptr[block + 1] - first;
    const int count = left < group_size ? static_cast<int>(left) : group_size;
    unsigned reached = 0;
    for (int k = 0; k < count; ++k) reached |= parts[order != nullptr ? order[first + k] : first + k];
    columns[g] = {static_cast<std::int32_t>(first), count};
    groups[g].parts = reached;
  }
};

__host__ __device__ inline int count_bits(unsigned bits) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

/// How many tiles group g has.
struct group_tiles {
  const column_group* groups;
  std::int64_t num_groups;
  __host__ __device__ std::int64_t operator()(std::int64_t g) const {
    return g < num_groups ? count_bits(groups[g].parts) : 0;
  }
};

struct first_tile_body {
  const std::int64_t* first_tile;
  column_group* groups;
  __device__ void operator()(std::int64_t g) const { groups[g].first_tile = static_cast<std::int32_t>(first_tile[g]); }
};

/// Each column's parts; and the order of the columns, if it is not that of `job`.
inline core::device_buffer<std::uint16_t> order_columns(int device, const column_groups_job& job, planned_groups& out) {
  core::device_buffer<std::uint16_t> parts(device, job.nnzc);
  if (!job.by_parts || job.parts == 1 || job.nnzc == 0) {
    for_each(job.nnzc, column_parts_body{job, out.first_entry.data(), job.parts, parts.data(), nullptr, nullptr},
             "parts of columns");
    return parts;
  }
  core::device_buffer<std::uint64_t> keys(device, job.nnzc);
  core::device_buffer<std::int32_t> numbers(device, job.nnzc);
  for_each(job.nnzc,
           column_parts_body{job, out.first_entry.data(), job.parts, parts.data(), keys.data(), numbers.data()},
           "parts of columns");
  out.order = sort_pairs(device, std::move(keys), std::move(numbers), job.num_blocks << job.parts).payload;
  return parts;
}

/// Writes what stands before each row block if those of more than `max_groups` groups are cut; waits for the totals and
/// returns them.
inline groups_place place_groups(int device, const column_groups_job& job, std::int64_t max_groups,
                                 groups_place* before) {
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(
            temporary, bytes, each_of(block_needs{job.brow_ptr, job.num_blocks, max_groups, job.group_size}), before,
            add_places{}, groups_place{}, job.num_blocks + 1);
      },
      "sums of groups");
  groups_place all{};
  core::gpu::copy_to_host(&all, before + job.num_blocks, sizeof all);
  return all;
}

/// Waits, three times at most, for the sizes.
inline planned_groups plan_groups(int device, const column_groups_job& job) {
  planned_groups out;
  out.first_entry = core::device_buffer<std::int32_t>(device, job.nnzc + 1);
  sum_before(device, column_entries{job.col_count, job.index_bytes, job.nnzc}, job.nnzc, out.first_entry.data(),
             "beginnings of columns");
  const core::device_buffer<std::uint16_t> parts = order_columns(device, job, out);

  out.before = core::device_buffer<groups_place>(device, job.num_blocks + 1);
  groups_place all = place_groups(device, job, job.max_groups, out.before.data());
  if (all.slots > 0 && all.longest <= job.max_whole) all = place_groups(device, job, 0, out.before.data());
  out.num_groups = all.groups;
  out.num_slots = all.slots;
  out.num_sums = all.sums;
  if (out.num_groups == 0) return out;

  out.columns = core::device_buffer<group_columns>(device, out.num_groups);
  out.groups = core::device_buffer<column_group>(device, out.num_groups);
  for_each(out.num_groups,
           group_body{job.brow_ptr, job.num_blocks, job.group_size, out.before.data(), parts.data(), out.order.data(),
                      out.columns.data(), out.groups.data()},
           "groups of columns");
  const core::device_buffer<std::int64_t> first_tile(device, out.num_groups + 1);
  sum_before(device, group_tiles{out.groups.data(), out.num_groups}, out.num_groups, first_tile.data(),
             "sums of tiles");
  for_each(out.num_groups, first_tile_body{first_tile.data(), out.groups.data()}, "tiles of groups");
  core::gpu::copy_to_host(&out.num_tiles, first_tile.data() + out.num_groups, sizeof out.num_tiles);
  return out;
}

}  // namespace bcsc::forms::steps
