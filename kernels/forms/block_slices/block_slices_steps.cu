#include "kernels/forms/block_slices/block_slices_steps.hpp"

#include <utility>

#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"
#include "kernels/forms/block_slices/block_slices_kernels.cuh"
#include "kernels/forms/device_sums.cuh"

namespace bcsc::forms::steps {

using converters::steps::for_each;
using converters::steps::sort_pairs;

namespace {

/// Starts a warp for each of `num_slices` slices.
template <class... Params, class... Args>
void start_warps(void (*kernel)(Params...), std::int64_t num_slices, const char* what, const Args&... args) {
  constexpr std::int64_t warps = slice_threads / block_slice_lanes;
  core::gpu::check_launch(core::start(kernel, (num_slices + warps - 1) / warps, slice_threads, 0, nullptr, args...),
                          what);
}

}  // namespace

planned_block_slices plan_block_slices(int device, const block_slices_job& job) {
  planned_block_slices out;
  if (job.num_blocks == 0) return out;
  const std::int64_t shared = block_slice_lanes / job.how.lanes;
  const auto slices_of = [&](std::int64_t blocks) { return (blocks + shared - 1) / shared; };

  const core::device_buffer<slice_counts> counts(device, 1);
  core::gpu::fill_zero(counts.data(), sizeof(slice_counts));
  core::device_buffer<std::uint64_t> keys(device, job.num_blocks);
  core::device_buffer<std::int32_t> numbers(device, job.num_blocks);
  for_each(slices_of(job.num_blocks), slice_key_body{job, keys.data(), numbers.data(), counts.data()},
           "kinds of row blocks");
  const std::int64_t window = slice_sort_window(job.how), num_windows = (job.num_blocks + window - 1) / window;
  const auto order = sort_pairs(device, std::move(keys), std::move(numbers),
                                slice_key_body::first_of_windows + num_windows * (job.longest_shared + 1))
                         .payload;
  slice_counts found{};
  core::gpu::copy_to_host(&found, counts.data(), sizeof found);
  out.num_longest = static_cast<std::int64_t>(found.longest_ones);
  out.num_long = static_cast<std::int64_t>(found.long_ones);
  out.num_alone = static_cast<std::int64_t>(found.alone);
  const auto num_together = static_cast<std::int64_t>(found.together);
  const std::int64_t num_others = job.num_blocks - out.num_alone - num_together;
  const std::int64_t num_slices = out.num_alone + slices_of(num_together) + slices_of(num_others);

  out.slices = core::device_buffer<block_slice>(device, num_slices);
  out.listed = core::device_buffer<std::int32_t>(device, slices_of(num_others) * shared);
  for_each(num_slices,
           slice_body{job, order.data(), out.num_alone, num_together, num_others, out.slices.data(), out.listed.data()},
           "slices of row blocks");
  if (out.num_long > 0) {
    block_slice first{};
    core::gpu::copy_to_host(&first, out.slices.data(), sizeof first);
    out.longest_steps = first.num_steps;
  }
  out.num_together = slices_of(num_together);
  if (job.how.lanes == 1 && out.num_together > 0) {
    start_warps(&find_diagonals_kernel, out.num_together, "diagonals of slices", job, out.num_alone, out.num_together,
                out.slices.data());
  }
  out.first_step = core::device_buffer<std::int64_t>(device, num_slices + 1);
  sum_before(device, slice_steps{out.slices.data(), num_slices}, num_slices, out.first_step.data(), "sums of steps");
  for_each(num_slices, first_step_body{out.first_step.data(), out.slices.data()}, "steps of slices");
  out.first_diagonal = core::device_buffer<std::int32_t>(device, num_slices + 1);
  sum_before(device, slice_diagonals{out.slices.data(), num_slices}, num_slices, out.first_diagonal.data(),
             "sums of diagonals");
  std::int32_t num_diagonals = 0;
  core::gpu::copy_to_host(&out.num_steps, out.first_step.data() + num_slices, sizeof out.num_steps);
  core::gpu::copy_to_host(&num_diagonals, out.first_diagonal.data() + num_slices, sizeof num_diagonals);
  out.num_diagonals = num_diagonals;
  return out;
}

void fill_block_slices(int device, const block_slices_job& job, const planned_block_slices& planned,
                       const block_slices_arrays& to) {
  core::device_buffer<std::int32_t> first_entry;
  if (job.index_bytes > 0 && planned.num_steps > 0) {
    first_entry = core::device_buffer<std::int32_t>(device, job.nnzc + 1);
    sum_before(device, column_entries{job.col_count, job.index_bytes, job.nnzc}, job.nnzc, first_entry.data(),
               "beginnings of columns");
  }
  const auto fill = [&]<class Value>(Value* values) {
    const slice_filling<Value> at{job,
                                  planned.slices.data(),
                                  planned.first_step.data(),
                                  planned.slices.size(),
                                  planned.listed.data(),
                                  first_entry.size() > 0 ? first_entry.data() : nullptr,
                                  planned.first_diagonal.data(),
                                  to.diagonals,
                                  to.words,
                                  values};
    for_each(planned.num_steps * block_slice_lanes, slice_word_body<Value>{at}, "words of steps");
    if (planned.num_diagonals == 0) return;
    start_warps(&fill_diagonals_kernel<Value>, planned.num_together, "steps with diagonals", at, planned.num_alone,
                planned.num_together);
  };
  if (job.value_bytes == 2) {
    fill(static_cast<std::uint16_t*>(to.values));
  } else if (job.value_bytes == 4) {
    fill(static_cast<std::uint32_t*>(to.values));
  } else {
    fill(static_cast<std::uint64_t*>(to.values));
  }
  core::gpu::synchronize();
}

}  // namespace bcsc::forms::steps
