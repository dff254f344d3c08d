#include "kernels/forms/bricks/bricks.hpp"
#include "kernels/forms/bricks/bricks_steps.hpp"

namespace bcsc::forms {

namespace gpu = core::gpu;
using core::device_buffer;

namespace {

/// On the current device.
template <class X>
device_buffer<X> zeros(int device, std::int64_t n) {
  device_buffer<X> made(device, n);
  if (n > 0) gpu::fill_zero(made.data(), made.bytes());
  return made;
}

template <class X>
device_buffer<X> first_of(int device, const device_buffer<X>& all, std::int64_t n) {
  device_buffer<X> made(device, n);
  if (n > 0) gpu::copy_on_device(made.data(), all.data(), made.bytes());
  return made;
}

}  // namespace

template <value T>
device_bricks<T> to_bricks_on_device(int device, const device_row_stream<T>& stream, const bricks_options& options) {
  check_bricks(stream.rows, options);
  const gpu::device_guard guard(device);
  const steps::bricks_job job{.num_pieces = stream.num_pieces(),
                              .num_partials = stream.num_partials,
                              .pieces = stream.pieces.data(),
                              .pairs = stream.pairs.data(),
                              .value_bytes = sizeof(T),
                              .slots = static_cast<int>(options.slots),
                              .grid = options.grid,
                              .shape = options.shape};
  const steps::planned_bricks planned = steps::plan_bricks(device, job);
  if (planned.num_long_pieces > 0) fail_by_long_pieces(options.slots);
  check_brick_places(planned.end);

  device_bricks<T> out;
  out.rows = stream.rows;
  out.cols = stream.cols;
  out.nnz = stream.nnz;
  out.slots = options.slots;
  out.num_partial_bricks = stream.num_partials;
  out.first_layer = zeros<std::int32_t>(device, planned.num_bricks + 1);
  out.layers = device_buffer<brick_layer>(device, planned.end.layers);
  out.brick_rows = zeros<brick_row>(device, planned.end.rows);
  out.fetches = zeros<brick_fetch>(device, planned.end.fetches);
  out.entry_slots = zeros<std::uint16_t>(device, planned.end.entries);
  out.values = zeros<T>(device, planned.end.entries);
  out.pieces = first_of(device, stream.pieces, stream.num_partials);
  out.heavy_ptr = first_of(device, stream.heavy_ptr, stream.heavy_ptr.size());
  steps::fill_bricks(job, planned,
                     {out.first_layer.data(), out.layers.data(), out.brick_rows.data(), out.fetches.data(),
                      out.entry_slots.data(), out.values.data()});
  gpu::synchronize();
  return out;
}

template device_bricks<float> to_bricks_on_device(int, const device_row_stream<float>&, const bricks_options&);
template device_bricks<double> to_bricks_on_device(int, const device_row_stream<double>&, const bricks_options&);

}  // namespace bcsc::forms
