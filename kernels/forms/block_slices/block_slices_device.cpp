#include "core/checked.hpp"
#include "kernels/forms/block_slices/block_slices.hpp"
#include "kernels/forms/block_slices/block_slices_steps.hpp"
#include "kernels/forms/device_blocks_of.hpp"

namespace bcsc::forms {

namespace gpu = core::gpu;
using core::device_buffer;

template <number T>
device_block_slices<T> to_block_slices_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                                 const slicing& how) {
  steps::block_slices_job job{steps::device_blocks_of(a)};
  check_block_slices(a.rows, a.cols, a.m_block, how.lanes);
  if (!a.block_row.empty()) core::fail(errc::invalid_argument, "block_row: row blocks must be of one height");
  job.height = static_cast<int>(a.m_block);
  job.how = how;
  job.longest_shared = longest_shared_block(a.nnzc(), a.num_row_blocks());
  const gpu::device_guard guard(device);
  steps::planned_block_slices planned = steps::plan_block_slices(device, job);

  device_block_slices<T> out{.rows = a.rows,
                             .cols = a.cols,
                             .nnzc = a.nnzc(),
                             .num_blocks = a.num_row_blocks(),
                             .height = job.height,
                             .lanes = how.lanes,
                             .num_alone = planned.num_alone,
                             .num_long = planned.num_long,
                             .num_longest = planned.num_longest,
                             .longest_steps = planned.longest_steps};
  out.diagonals = device_buffer<slice_diagonal>(device, planned.num_diagonals);
  out.words = device_buffer<std::uint32_t>(device, (planned.num_steps - planned.num_diagonals) * block_slice_lanes);
  out.values = device_buffer<T>(device, planned.num_steps * block_slice_lanes * job.height);
  steps::fill_block_slices(device, job, planned, {out.diagonals.data(), out.words.data(), out.values.data()});
  if (planned.num_diagonals > 0) out.first_diagonal = std::move(planned.first_diagonal);
  out.slices = std::move(planned.slices);
  out.listed = std::move(planned.listed);
  return out;
}

#define BCSC_INSTANTIATE(T)                                                                                 \
  template device_block_slices<T> to_block_slices_on_device(int, const compact_bcsc_view<T, std::int32_t>&, \
                                                            const slicing&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
