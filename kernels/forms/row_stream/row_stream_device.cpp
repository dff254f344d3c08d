#include <algorithm>
#include <cstddef>
#include <vector>

#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"
#include "kernels/forms/row_stream/row_stream_steps.hpp"

namespace bcsc::forms {

namespace gpu = core::gpu;
using core::device_buffer;

// What the steps write: two columns and two values, in words of 8 bytes.
static_assert(sizeof(entry_pair<float>) == 16 && sizeof(entry_pair<double>) == 24);
static_assert(offsetof(entry_pair<float>, value) == 8 && offsetof(entry_pair<double>, value) == 8);

template <number T>
device_row_stream<scalar_of<T>> to_row_stream_on_device(int device, const csr_view<T, std::int32_t>& a,
                                                        const row_stream_options& options) {
  if (a.space != memory_space::device) {
    core::fail(errc::wrong_memory_space, "csr lies in {} memory: must lie on the device", to_string(a.space));
  }
  check_row_stream(a.rows, a.cols, options);
  const gpu::device_guard guard(device);
  const steps::row_stream_job job{.rows = a.rows,
                                  .nnz = a.nnz(),
                                  .longest_light = std::min({options.split, a.cols, a.nnz()}),
                                  .cut = options.cut(),
                                  .grain = options.grain,
                                  .row_ptr = a.row_ptr.data(),
                                  .col_ind = a.col_ind.data(),
                                  .values = a.values.data(),
                                  .type = value_type_of<T>,
                                  .bricks = options.bricks,
                                  .shape = converters::brick_of(options.bricks, options.shape)};
  const steps::ordered_rows ordered = steps::order_rows(device, job);

  device_row_stream<scalar_of<T>> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.nnz = a.nnz();
  out.sharing = options.sharing;
  out.num_shared = ordered.num_shared;
  out.num_partials = ordered.num_partials;
  out.pieces = device_buffer<row_piece>(device, ordered.num_shared + a.rows - ordered.num_long + 1);
  out.pairs = device_buffer<entry_pair<scalar_of<T>>>(device, ordered.num_pairs + 1);
  out.heavy_ptr = device_buffer<std::int32_t>(device, ordered.num_heavy + 1);
  steps::fill_stream(device, job, ordered, {out.pieces.data(), out.pairs.data(), out.heavy_ptr.data()});
  gpu::synchronize();
  return out;
}

template <value T>
void rename_rows(int device, device_row_stream<T>& a, std::span<const std::int64_t> row_of) {
  if (static_cast<std::int64_t>(row_of.size()) != a.rows) {
    core::fail(errc::invalid_argument, "row_of has {} entries: must have {} (rows)", row_of.size(), a.rows);
  }
  const gpu::device_guard guard(device);
  const std::vector<std::int32_t> narrow(row_of.begin(), row_of.end());  // rows fit 31 bits
  const device_buffer<std::int32_t> there(device, std::span<const std::int32_t>(narrow));
  steps::rename_rows(a.pieces.data(), a.num_pieces(), there.data());
  gpu::synchronize();
}

#define BCSC_INSTANTIATE(T)                                                                               \
  template device_row_stream<scalar_of<T>> to_row_stream_on_device(int, const csr_view<T, std::int32_t>&, \
                                                                   const row_stream_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

template void rename_rows(int, device_row_stream<float>&, std::span<const std::int64_t>);
template void rename_rows(int, device_row_stream<double>&, std::span<const std::int64_t>);

}  // namespace bcsc::forms
