#include <cub/device/device_scan.cuh>

#include "converters/formats/device_loops.cuh"
#include "core/launch.cuh"
#include "kernels/forms/bricks/bricks_kernels.cuh"
#include "kernels/forms/bricks/bricks_steps.hpp"
#include "kernels/forms/device_sums.cuh"

namespace bcsc::forms::steps {

using converters::steps::for_each;
using converters::steps::with_cub;

namespace {

/// Starts the kernel for the values' type, a thread block a brick.
template <class... Params, class... Args>
void start_over_bricks(const char* what, const brick_reading& at, void (*of_float)(Params...),
                       void (*of_double)(Params...), const Args&... args) {
  core::gpu::check_launch(core::start(at.job.value_bytes == 4 ? of_float : of_double, at.num_bricks, brick_threads, 0,
                                      nullptr, at, args...),
                          what);
}

/// Finds the first piece of each brick, unless there are pieces too long for any.
void cut_bricks(int device, const bricks_job& job, planned_bricks& out) {
  // The number of long pieces follows the sums, so that one copy brings the host both numbers.
  const core::device_buffer<std::uint32_t> begun(device, job.num_pieces + 2);
  std::uint32_t* const num_long = begun.data() + job.num_pieces + 1;
  core::gpu::fill_zero(num_long, sizeof *num_long);
  const brick_cut cut = brick_cut_of(job.pieces, job.num_partials, job.grid, job.shape);
  for_each(job.num_pieces + 1, begins_body{cut, job.num_pieces, max_piece_for(job.slots), begun.data(), num_long},
           "beginnings of bricks");
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, begun.data(), begun.data(), job.num_pieces + 1);
      },
      "sums of bricks");
  std::uint32_t numbers[2];
  core::gpu::copy_to_host(numbers, begun.data() + job.num_pieces, sizeof numbers);
  out.num_long_pieces = numbers[1];
  if (out.num_long_pieces > 0) return;
  out.num_bricks = numbers[0];
  out.first_piece = core::device_buffer<std::uint32_t>(device, out.num_bricks + 1);
  for_each(job.num_pieces + 1, first_piece_body{begun.data(), job.num_pieces, out.first_piece.data()},
           "first pieces of bricks");
}

}  // namespace

planned_bricks plan_bricks(int device, const bricks_job& job) {
  planned_bricks out;
  if (job.num_pieces == 0) return out;
  cut_bricks(device, job, out);
  if (out.num_long_pieces > 0) return out;
  out.plans = core::device_buffer<brick_plan>(device, out.num_bricks);
  start_over_bricks("sizes of bricks", brick_reading{job, out.first_piece.data(), out.num_bricks},
                    &measure_bricks_kernel<float>, &measure_bricks_kernel<double>, out.plans.data());
  out.before = core::device_buffer<brick_place>(device, out.num_bricks + 1);
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveScan(temporary, bytes, each_of(brick_room{out.plans.data(), out.num_bricks}),
                                              out.before.data(), add_brick_places{}, brick_place{}, out.num_bricks + 1);
      },
      "places of bricks");
  core::gpu::copy_to_host(&out.end, out.before.data() + out.num_bricks, sizeof out.end);
  return out;
}

void fill_bricks(const bricks_job& job, const planned_bricks& planned, const bricks_arrays& to) {
  if (planned.num_bricks == 0) return;
  start_over_bricks("filling of bricks", brick_reading{job, planned.first_piece.data(), planned.num_bricks},
                    &fill_bricks_kernel<float>, &fill_bricks_kernel<double>, planned.plans.data(),
                    planned.before.data(), to);
}

}  // namespace bcsc::forms::steps
