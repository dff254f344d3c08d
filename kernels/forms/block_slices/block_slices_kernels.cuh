#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "converters/formats/device_grid.cuh"
#include "kernels/forms/block_slices/block_slices_steps.hpp"
#include "kernels/forms/block_slices/layout.hpp"

/// The kernels that make block slices from compact BCSC (block_slices_steps.cu starts them).
///
/// Each row block gets a key: long ones first, then the neighbours that stay together, then the others by window and
/// length. A stable sort gives the slices' row blocks. A thread for each word then fetches the column that belongs
/// there, so that neither long row blocks nor short ones leave threads idle; where a slice has diagonals a warp does.
namespace bcsc::forms::steps {

using converters::steps::segment_of;
using converters::steps::small_at;

inline constexpr int slice_threads = 128;
__device__ inline std::int64_t warp_number() {
  return (blockIdx.x * std::int64_t{slice_threads} + threadIdx.x) / block_slice_lanes;
}
__device__ inline std::int64_t num_warps() { return gridDim.x * std::int64_t{slice_threads / block_slice_lanes}; }

/// What `join` makes of all lanes' values, in each of them.
template <class X, class Join>
__device__ X of_warp(X x, const Join& join) {
#pragma unroll
  for (int distance = block_slice_lanes / 2; distance > 0; distance /= 2) {
    x = join(x, __shfl_xor_sync(0xffffffffu, x, distance));
  }
  return x;
}

/// How many row blocks are of which kind.
struct slice_counts {
  unsigned long long longest_ones, long_ones, alone, together;  // each of the first two is part of the next
};

/// The keys and numbers of the row blocks that would be slice i, were all as they stand.
struct slice_key_body {
  /// Keys: of long row blocks 0 to most_sorted_steps, of others alone, of those that stay as they stand, then those
  /// that are sorted within windows.
  static constexpr std::int64_t of_alone = most_sorted_steps + 1, of_staying = of_alone + 1,
                                first_of_windows = of_staying + 1;
  block_slices_job job;
  std::uint64_t* keys;
  std::int32_t* numbers;
  slice_counts* counts;
  __device__ std::int64_t length(std::int64_t block) const { return job.brow_ptr[block + 1] - job.brow_ptr[block]; }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t shared = block_slice_lanes / job.how.lanes, first = i * shared;
    const std::int64_t end = first + shared < job.num_blocks ? first + shared : job.num_blocks;
    std::int64_t longest = 0;
    for (std::int64_t b = first; b < end; ++b) longest = max(longest, length(b));
    const std::int64_t columns = job.brow_ptr[end] - job.brow_ptr[first], window = slice_sort_window(job.how);
    const bool stay = longest <= job.longest_shared && stay_together(job.how, longest, end - first, columns);
    unsigned long long longest_ones = 0, long_ones = 0, alone = 0;
    for (std::int64_t b = first; b < end; ++b) {
      const bool is_alone = length(b) > job.longest_shared, is_long = is_alone && length(b) > longest_of_warp;
      const bool is_longest = is_long && length(b) > longest_of_thread_block;
      alone += is_alone ? 1 : 0;
      long_ones += is_long ? 1 : 0;
      longest_ones += is_longest ? 1 : 0;
      const std::int64_t in_windows =
          first_of_windows + b / window * (job.longest_shared + 1) + (job.longest_shared - length(b));
      keys[b] = static_cast<std::uint64_t>(is_long    ? long_block_key(length(b))
                                           : is_alone ? of_alone
                                           : stay     ? of_staying
                                                      : in_windows);
      numbers[b] = static_cast<std::int32_t>(b);
    }
    if (alone > 0) atomicAdd(&counts->alone, alone);
    if (longest_ones > 0) atomicAdd(&counts->longest_ones, longest_ones);
    if (long_ones > 0) atomicAdd(&counts->long_ones, long_ones);
    if (stay) atomicAdd(&counts->together, static_cast<unsigned long long>(end - first));
  }
};

/// Slice s but for where its steps begin, and what it lists.
struct slice_body {
  block_slices_job job;
  const std::int32_t* order;
  std::int64_t num_alone, num_together, num_others;  // row blocks
  block_slice* slices;
  std::int32_t* listed;
  __device__ void operator()(std::int64_t s) const {
    const std::int64_t shared = block_slice_lanes / job.how.lanes;
    const std::int64_t together = s - num_alone, others = together - (num_together + shared - 1) / shared;
    block_slice slice{};
    std::int64_t first = s, count = 1;  // in `order`
    if (others >= 0) {
      slice.rows = slice_rows::listed;
      slice.first_block = static_cast<std::int32_t>(others * shared);
      first = num_alone + num_together + others * shared;
      count = min(shared, num_others - others * shared);
      for (std::int64_t k = 0; k < shared; ++k) listed[others * shared + k] = k < count ? order[first + k] : -1;
    } else if (together >= 0) {
      slice.rows = slice_rows::neighbours;
      first = num_alone + together * shared;
      count = min(shared, num_together - together * shared);
      slice.first_block = order[first];
    } else {
      slice.rows = slice_rows::one;
      slice.first_block = order[first];
    }
    std::int64_t longest = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t block = order[first + k];
      longest = max(longest, std::int64_t{job.brow_ptr[block + 1] - job.brow_ptr[block]});
    }
    const std::int64_t parts = slice.rows == slice_rows::one ? block_slice_lanes : job.how.lanes;
    slice.num_steps = static_cast<std::int32_t>((longest + parts - 1) / parts);
    slices[s] = slice;
  }
};

/// The number of the column that non-empty column j is, and how many entries it has.
__device__ inline std::int32_t column_at(const block_slices_job& job, std::int64_t j) {
  return job.col_ind16 != nullptr ? job.col_ind16[j] : job.col_ind[j];
}
__device__ inline int entries_of(const block_slices_job& job, std::int64_t j) {
  return static_cast<int>(small_at(job.col_count, job.index_bytes, j)) + 1;
}

/// A warp merges its lanes' columns along the diagonals, in ascending order: visit(the first lane's column, the lanes
/// of a diagonal, whether this lane has a column there, and which).
template <class Visit>
__device__ void along_diagonals(const block_slices_job& job, const block_slice& slice, const Visit& visit) {
  constexpr std::int32_t none = 0x7fffffff;
  const int lane = static_cast<int>(threadIdx.x) % block_slice_lanes;
  const std::int64_t block = slice.first_block + lane;
  const bool exists = block < job.num_blocks;
  const std::int64_t end = exists ? job.brow_ptr[block + 1] : 0;
  for (std::int64_t next = exists ? job.brow_ptr[block] : 0;;) {
    const std::int32_t column = next < end ? column_at(job, next) - lane * job.height : none;
    const std::int32_t nearest = of_warp(column, [](std::int32_t a, std::int32_t b) { return a < b ? a : b; });
    if (nearest == none) return;
    const bool here = column == nearest;
    unsigned on = __ballot_sync(0xffffffffu, here && entries_of(job, next) == job.height);
    if (__popc(on) < least_lanes_of_diagonal) on = 0;
    visit(nearest, on, here, next);
    if (here) ++next;
  }
}

/// Which of the slices from `first` on have diagonals: a warp each.
__global__ void __launch_bounds__(slice_threads)
    find_diagonals_kernel(const __grid_constant__ block_slices_job job, std::int64_t first, std::int64_t num_slices,
                          block_slice* slices) {
  const int lane = static_cast<int>(threadIdx.x) % block_slice_lanes;
  for (std::int64_t i = warp_number(); i < num_slices; i += num_warps()) {
    const block_slice slice = slices[first + i];
    std::int32_t diagonals = 0, own = 0;
    along_diagonals(job, slice, [&](std::int32_t, unsigned on, bool here, std::int64_t) {
      diagonals += on != 0 ? 1 : 0;
      own += here && (on >> lane & 1u) == 0 ? 1 : 0;
    });
    const std::int32_t gathers = of_warp(own, [](std::int32_t a, std::int32_t b) { return a > b ? a : b; });
    // A lane each: as many steps as the longest has columns.
    if (lane == 0 && diagonals_pay(diagonals, gathers, slice.num_steps, job.height * job.value_bytes)) {
      slices[first + i].num_diagonals = static_cast<std::uint16_t>(diagonals);
      slices[first + i].num_steps = diagonals + gathers;
    }
  }
}

/// The steps, and the diagonals, of slice s, for the prefix sums that give where they begin.
struct slice_steps {
  const block_slice* slices;
  std::int64_t num_slices;
  __host__ __device__ std::int64_t operator()(std::int64_t s) const {
    return s < num_slices ? std::int64_t{slices[s].num_steps} : 0;
  }
};
struct slice_diagonals {
  const block_slice* slices;
  std::int64_t num_slices;
  __host__ __device__ std::int32_t operator()(std::int64_t s) const {
    return s < num_slices ? std::int32_t{slices[s].num_diagonals} : 0;
  }
};
struct first_step_body {
  const std::int64_t* first_step;
  block_slice* slices;
  __device__ void operator()(std::int64_t s) const { slices[s].first_step = static_cast<std::int32_t>(first_step[s]); }
};

/// What is filled. Value: as many bits as the values have.
template <class Value>
struct slice_filling {
  block_slices_job job;
  const block_slice* slices;
  const std::int64_t* first_step;
  std::int64_t num_slices;
  const std::int32_t* listed;
  const std::int32_t* first_entry;  // of each column; null: column j has entry j
  const std::int32_t* first_diagonal;
  slice_diagonal* diagonals;
  std::uint32_t* words;
  Value* values;

  /// Column j at a step, or none; returns its rows.
  __device__ unsigned put(std::int64_t j, bool exists, std::int64_t step, int lane) const {
    Value own[max_slice_height] = {};
    unsigned rows = 0;
    if (exists) {
      const std::int64_t first = first_entry == nullptr ? j : first_entry[j];
      const std::int64_t end = first + entries_of(job, j);
      for (std::int64_t entry = first; entry < end; ++entry) {
        const auto row = static_cast<unsigned>(small_at(job.row_in_block, job.index_bytes, entry));
        const Value value = static_cast<const Value*>(job.values)[entry];
        rows |= 1u << row;
#pragma unroll
        for (unsigned r = 0; r < max_slice_height; ++r) own[r] = r == row ? value : own[r];
      }
    }
#pragma unroll
    for (int r = 0; r < max_slice_height; ++r) {
      if (r < job.height) values[(step * job.height + r) * block_slice_lanes + lane] = own[r];
    }
    return rows;
  }
};

/// Word i of all steps, and its values, unless its slice has diagonals.
template <class Value>
struct slice_word_body : slice_filling<Value> {
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t step = i / block_slice_lanes;
    const int lane = static_cast<int>(i % block_slice_lanes);
    const std::int64_t s = segment_of(this->first_step, this->num_slices, step);
    const block_slice slice = this->slices[s];
    if (slice.num_diagonals > 0) return;
    const int parts = slice.rows == slice_rows::one ? block_slice_lanes : this->job.how.lanes;
    const int blocks = block_slice_lanes / parts;
    const std::int64_t place = slice.first_block + lane % blocks;
    const std::int64_t block = slice.rows == slice_rows::listed ? this->listed[place] : place;
    std::int64_t j = 0;
    bool exists = block >= 0 && block < this->job.num_blocks;
    if (exists) {
      j = this->job.brow_ptr[block] + (step - slice.first_step) * parts + lane / blocks;
      exists = j < this->job.brow_ptr[block + 1];
    }
    const unsigned rows = this->put(j, exists, step, lane);
    this->words[(step - this->first_diagonal[s]) * block_slice_lanes + lane] =
        exists ? slice_word(column_at(this->job, j), rows) : 0;
  }
};

/// The slices from `first` on that have diagonals: a warp each.
template <class Value>
__global__ void __launch_bounds__(slice_threads) fill_diagonals_kernel(const __grid_constant__ slice_filling<Value> to,
                                                                       std::int64_t first, std::int64_t num_slices) {
  const int lane = static_cast<int>(threadIdx.x) % block_slice_lanes;
  for (std::int64_t i = warp_number(); i < num_slices; i += num_warps()) {
    const block_slice slice = to.slices[first + i];
    if (slice.num_diagonals == 0) continue;
    const std::int64_t diagonals_before = to.first_diagonal[first + i];
    const std::int64_t first_gather = std::int64_t{slice.first_step} + slice.num_diagonals;
    const std::int64_t first_word = slice.first_step - diagonals_before;
    std::int32_t diagonal = 0, gathers = 0;
    const auto gather = [&](std::int64_t j, bool exists) {
      const unsigned rows = to.put(j, exists, first_gather + gathers, lane);
      to.words[(first_word + gathers) * block_slice_lanes + lane] = exists ? slice_word(column_at(to.job, j), rows) : 0;
      ++gathers;
    };
    along_diagonals(to.job, slice, [&](std::int32_t column, unsigned on, bool here, std::int64_t j) {
      const bool is_on = (on >> lane & 1u) != 0;
      if (here && !is_on) gather(j, true);
      if (on == 0) return;
      to.put(j, is_on, std::int64_t{slice.first_step} + diagonal, lane);
      if (lane == 0) to.diagonals[diagonals_before + diagonal] = {column, on};
      ++diagonal;
    });
    while (gathers < slice.num_steps - slice.num_diagonals) gather(0, false);
  }
}

}  // namespace bcsc::forms::steps
