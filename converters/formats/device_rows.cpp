#include "converters/formats/device_rows.hpp"

#include <vector>

#include "converters/formats/device_entry_steps.hpp"

namespace bcsc::converters {

using core::device_buffer;
namespace gpu = core::gpu;

namespace {

template <number T>
csr_on_device<T> permute(int device, const csr_view<T, std::int32_t>& there, std::span<const std::int64_t> order) {
  const std::vector<std::int32_t> narrow(order.begin(), order.end());
  const device_buffer<std::int32_t> row_of(device, std::span<const std::int32_t>(narrow));
  csr_on_device<T> out{there.rows, there.cols, device_buffer<std::int32_t>(device, there.rows + 1),
                       device_buffer<std::int32_t>(device, there.nnz()), device_buffer<T>(device, there.nnz())};
  const steps::row_moves moves{.rows = there.rows,
                               .nnz = there.nnz(),
                               .row_of = row_of.data(),
                               .from = there.row_ptr.data(),
                               .to = out.row_ptr.data()};
  steps::move_pointers(device, moves);
  steps::move_entries(moves, there.col_ind.data(), there.values.data(), sizeof(T), out.col_ind.data(),
                      out.values.data());
  gpu::synchronize();
  return out;
}

}  // namespace

template <number T>
csr_on_device<T> permute_rows_on_device(int device, const csr_view<T, std::int32_t>& a,
                                        std::span<const std::int64_t> order) {
  const gpu::device_guard guard(device);
  if (a.space == memory_space::device) return permute(device, a, order);
  const csr_on_device<T> copy{a.rows, a.cols, {device, a.row_ptr}, {device, a.col_ind}, {device, a.values}};
  return permute(device, copy.view(), order);
}

template csr_on_device<float> permute_rows_on_device(int, const csr_view<float, std::int32_t>&,
                                                     std::span<const std::int64_t>);
template csr_on_device<double> permute_rows_on_device(int, const csr_view<double, std::int32_t>&,
                                                      std::span<const std::int64_t>);
template csr_on_device<half> permute_rows_on_device(int, const csr_view<half, std::int32_t>&,
                                                    std::span<const std::int64_t>);
template csr_on_device<bfloat16> permute_rows_on_device(int, const csr_view<bfloat16, std::int32_t>&,
                                                        std::span<const std::int64_t>);

}  // namespace bcsc::converters
