#include <memory>
#include <utility>

#include "bcsc/device.hpp"
#include "converters/formats/compact_steps.hpp"
#include "converters/formats/device_arrays.hpp"
#include "converters/formats/device_compact.hpp"
#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "converters/formats/parallel.hpp"

/// Compact BCSC among the device's formats.
namespace bcsc {

namespace {

using converters::device_arrays;
using converters::on_device;
namespace steps = converters::steps;

template <element T, index I>
device_compact_bcsc<T, I> owned(converters::device_compact<T, I> made) {
  const auto kept = std::make_shared<converters::device_compact<T, I>>(std::move(made));
  return {kept->view(), kept};
}

template <element T, index I>
void require_here(int device, const compact_bcsc_view<T, I>& a) {
  const bool here = a.space == memory_space::device &&
                    (a.brow_ptr.empty() || core::gpu::is_device_pointer(a.brow_ptr.data(), device));
  if (!here) core::fail(errc::wrong_memory_space, "compact bcsc: must lie in the memory of GPU {}", device);
}

}  // namespace

template <element T, index I>
device_compact_bcsc<T, I> upload(const context& ctx, const compact_bcsc_view<T, I>& a, trust check) {
  return on_device<device_compact_bcsc<T, I>>(ctx, "upload", [&](auto device) {
    converters::require_host(a.space, "compact bcsc");
    if (check == trust::validate) validate(a);
    return owned(converters::upload(device, a));
  });
}

template <element T, index I>
compact_bcsc_matrix<T, I> download(const context& ctx, const compact_bcsc_view<T, I>& a) {
  return on_device<compact_bcsc_matrix<T, I>>(ctx, "download", [&](auto device) {
    require_here(device, a);
    const auto fetch = []<class X>(std::span<const X> array) {
      std::vector<X> host(array.size());
      if (!array.empty()) core::gpu::copy_to_host(host.data(), array.data(), array.size_bytes());
      return host;
    };
    const auto bytes = [](const small_indices& array) {
      return std::span(static_cast<const std::byte*>(array.data()), array.size_bytes());
    };
    compact_bcsc_arrays<T, I> arrays;
    arrays.block_row = fetch(a.block_row);
    arrays.brow_ptr = fetch(a.brow_ptr);
    if (a.m_block > 1) arrays.entry_ptr = fetch(a.entry_ptr);
    arrays.dense_end = fetch(a.dense_end);
    arrays.col_ind = fetch(a.col_ind);
    arrays.col_ind16 = fetch(a.col_ind16);
    arrays.col_count = fetch(bytes(a.col_count));
    arrays.row_in_block = fetch(bytes(a.row_in_block));
    if constexpr (number<T>) {
      arrays.values = fetch(a.values);
    } else {
      arrays.values = pattern_array(a.values.size());
    }
    return compact_bcsc_matrix<T, I>(a.rows, a.cols, a.m_block, std::move(arrays), trust::trusted);
  });
}

template <element T, index I>
device_compact_bcsc<T, I> to_compact_on_device(const context& ctx, const csr_view<T, I>& a, std::int64_t m_block,
                                               bool narrow_columns) {
  return on_device<device_compact_bcsc<T, I>>(ctx, "a conversion", [&](auto device) {
    converters::require_on_device(device, a);
    return owned(converters::to_compact_on_device(device, a, m_block, narrow_columns));
  });
}

template <element T, index I>
device_csr<T, I> to_csr_on_device(const context& ctx, const compact_bcsc_view<T, I>& a) {
  return on_device<device_csr<T, I>>(ctx, "a conversion", [&](auto device) {
    require_here(device, a);
    const std::int64_t nnz = a.nnz();
    core::device_buffer<I> row_of(device, nnz), col_of(device, nnz);
    steps::expand_places<I>(device,
                            {.m_block = a.m_block,
                             .num_blocks = a.num_row_blocks(),
                             .nnzc = a.nnzc(),
                             .nnz = nnz,
                             .block_row = a.block_row.empty() ? nullptr : a.block_row.data(),
                             .entry_ptr = a.entry_ptr.data(),
                             .col_ind = a.col_ind.data(),
                             .col_ind16 = a.col_ind16.empty() ? nullptr : a.col_ind16.data(),
                             .col_count = a.col_count.data(),
                             .row_in_block = a.row_in_block.data(),
                             .index_bytes = a.row_in_block.bytes()},
                            row_of.data(), col_of.data());
    // Sorted by row and column: dense columns may come before lower ones.
    const steps::sorted_entries sorted = steps::sort_entries<I>(
        device, {.n = nnz, .major_of = row_of.data(), .minor_of = col_of.data(), .majors = a.rows, .minors = a.cols});
    device_arrays arrays(device);
    const auto row_ptr = arrays.template add<I>(a.rows + 1);
    steps::entry_bounds(sorted, a.rows, row_ptr.data());
    const auto col_ind = arrays.template add<I>(nnz);
    steps::gather(sorted, col_of.data(), sizeof(I), col_ind.data());
    const auto values = arrays.template add_values<T>(nnz);
    if constexpr (number<T>) steps::gather(sorted, a.values.data(), sizeof(T), values.data());
    return arrays.as(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::device});
  });
}

#define BCSC_INSTANTIATE(T, I)                                                                                        \
  template device_compact_bcsc<T, I> upload(const context&, const compact_bcsc_view<T, I>&, trust);                   \
  template compact_bcsc_matrix<T, I> download(const context&, const compact_bcsc_view<T, I>&);                        \
  template device_compact_bcsc<T, I> to_compact_on_device(const context&, const csr_view<T, I>&, std::int64_t, bool); \
  template device_csr<T, I> to_csr_on_device(const context&, const compact_bcsc_view<T, I>&);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
