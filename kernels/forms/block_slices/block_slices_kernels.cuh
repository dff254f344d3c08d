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
/// there, so that neither long row blocks nor short ones leave threads idle.
namespace bcsc::forms::steps {

using converters::steps::segment_of;
using converters::steps::small_at;

/// How many row blocks are of which kind.
struct slice_counts {
  unsigned long long alone, together;
};

/// The keys and numbers of the row blocks that would be slice i, were all as they stand.
struct slice_key_body {
  block_slices_job job;
  std::uint64_t* keys;
  std::int32_t* numbers;
  slice_counts* counts;
  __device__ std::int64_t length(std::int64_t block) const { return job.brow_ptr[block + 1] - job.brow_ptr[block]; }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t shared = block_slice_lanes / job.lanes, first = i * shared;
    const std::int64_t end = first + shared < job.num_blocks ? first + shared : job.num_blocks;
    std::int64_t longest = 0;
    for (std::int64_t b = first; b < end; ++b) longest = max(longest, length(b));
    const std::int64_t columns = job.brow_ptr[end] - job.brow_ptr[first];
    const bool stay = longest <= job.longest_shared && stay_together(longest, end - first, columns);
    unsigned long long alone = 0;
    for (std::int64_t b = first; b < end; ++b) {
      const bool is_alone = length(b) > job.longest_shared;
      alone += is_alone ? 1 : 0;
      const std::int64_t in_windows =
          2 + b / slice_sort_window * (job.longest_shared + 1) + (job.longest_shared - length(b));
      keys[b] = static_cast<std::uint64_t>(is_alone ? 0 : stay ? 1 : in_windows);
      numbers[b] = static_cast<std::int32_t>(b);
    }
    if (alone > 0) atomicAdd(&counts->alone, alone);
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
    const std::int64_t shared = block_slice_lanes / job.lanes;
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
    const std::int64_t parts = slice.rows == slice_rows::one ? block_slice_lanes : job.lanes;
    slice.num_steps = static_cast<std::int32_t>((longest + parts - 1) / parts);
    slices[s] = slice;
  }
};

/// The steps of slice s, for the prefix sums that give where they begin.
struct slice_steps {
  const block_slice* slices;
  std::int64_t num_slices;
  __host__ __device__ std::int64_t operator()(std::int64_t s) const {
    return s < num_slices ? std::int64_t{slices[s].num_steps} : 0;
  }
};
struct first_step_body {
  const std::int64_t* first_step;
  block_slice* slices;
  __device__ void operator()(std::int64_t s) const { slices[s].first_step = static_cast<std::int32_t>(first_step[s]); }
};

/// Word i and its values. Value: as many bits as the values have.
template <class Value>
struct slice_word_body {
  block_slices_job job;
  const block_slice* slices;
  const std::int64_t* first_step;
  std::int64_t num_slices;
  const std::int32_t* listed;
  const std::int32_t* first_entry;  // of each column; null: column j has entry j
  std::uint32_t* words;
  Value* values;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t step = i / block_slice_lanes;
    const int lane = static_cast<int>(i % block_slice_lanes);
    const block_slice slice = slices[segment_of(first_step, num_slices, step)];
    const int parts = slice.rows == slice_rows::one ? block_slice_lanes : job.lanes;
    const int blocks = block_slice_lanes / parts;
    Value own[max_slice_height] = {};
    words[i] = 0;
    const std::int64_t place = slice.first_block + lane % blocks;
    const std::int64_t block = slice.rows == slice_rows::listed ? listed[place] : place;
    if (block >= 0 && block < job.num_blocks) {
      const std::int64_t column = job.brow_ptr[block] + (step - slice.first_step) * parts + lane / blocks;
      if (column < job.brow_ptr[block + 1]) {
        const std::int64_t first = first_entry == nullptr ? column : first_entry[column];
        const std::int64_t end = first_entry == nullptr ? column + 1 : first_entry[column + 1];
        unsigned present = 0;
        for (std::int64_t entry = first; entry < end; ++entry) {
          const auto row = static_cast<unsigned>(small_at(job.row_in_block, job.index_bytes, entry));
          const Value value = static_cast<const Value*>(job.values)[entry];
          present |= 1u << row;
#pragma unroll
          for (unsigned r = 0; r < max_slice_height; ++r) own[r] = r == row ? value : own[r];
        }
        words[i] = slice_word(job.col_ind16 != nullptr ? job.col_ind16[column] : job.col_ind[column], present);
      }
    }
#pragma unroll
    for (int r = 0; r < max_slice_height; ++r) {
      if (r < job.height) values[(step * job.height + r) * block_slice_lanes + lane] = own[r];
    }
  }
};

}  // namespace bcsc::forms::steps
