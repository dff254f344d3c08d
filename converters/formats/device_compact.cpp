#include "converters/formats/device_compact.hpp"

#include <utility>
#include <vector>

#include "converters/formats/checks.hpp"
#include "converters/formats/compact_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::device_buffer;
namespace gpu = core::gpu;

void require_on_device(memory_space space, const char* what) {
  if (space == memory_space::device) return;
  core::fail(errc::wrong_memory_space, "{} lies in {} memory: must lie on the device", what, to_string(space));
}

void require_height(std::int64_t m_block) {
  if (m_block >= 1 && m_block <= max_m_block) return;
  core::fail(errc::invalid_argument, "m_block = {}: must lie in 1 .. {}", m_block, max_m_block);
}

template <class X>
device_buffer<X> copy_on_device(int device, std::span<const X> from) {
  device_buffer<X> to(device, static_cast<std::int64_t>(from.size()));
  if (!from.empty()) gpu::copy_on_device(to.data(), from.data(), to.bytes());
  return to;
}

/// The columns on the device, narrow where allowed and possible.
template <element T, index I>
void set_columns(int device, device_compact<T, I>& to, std::span<const I> from, bool narrow_columns) {
  if (!narrow_columns || to.cols > max_narrow_columns) {
    to.col_ind = copy_on_device(device, from);
    return;
  }
  to.col_ind16 = device_buffer<std::uint16_t>(device, static_cast<std::int64_t>(from.size()));
  steps::narrow(from.data(), static_cast<std::int64_t>(from.size()), to.col_ind16.data());
}

template <element T>
device_values<T> copy_values(int device, const element_span<T>& from) {
  device_values<T> to(device, static_cast<std::int64_t>(from.size()));
  if constexpr (number<T>) {
    if (!from.empty()) gpu::copy_on_device(to.buffer.data(), from.data(), to.buffer.bytes());
  }
  return to;
}

/// The bytes of an array of small indices.
std::span<const std::byte> bytes_of(const small_indices& array) {
  return {static_cast<const std::byte*>(array.data()), array.size_bytes()};
}

}  // namespace

template <element T, index I>
device_compact<T, I> upload(int device, const compact_bcsc_view<T, I>& a) {
  device_compact<T, I> d;
  d.rows = a.rows;
  d.cols = a.cols;
  d.m_block = a.m_block;
  d.block_row = device_buffer<I>(device, a.block_row);
  d.brow_ptr = device_buffer<I>(device, a.brow_ptr);
  if (a.m_block > 1) d.entry_ptr = device_buffer<I>(device, a.entry_ptr);
  d.dense_end = device_buffer<I>(device, a.dense_end);
  d.col_ind = device_buffer<I>(device, a.col_ind);
  d.col_ind16 = device_buffer<std::uint16_t>(device, a.col_ind16);
  d.col_count = device_buffer<std::byte>(device, bytes_of(a.col_count));
  d.row_in_block = device_buffer<std::byte>(device, bytes_of(a.row_in_block));
  d.values.count = a.nnz();
  if constexpr (number<T>) d.values.buffer = device_buffer<T>(device, a.values);
  return d;
}

template <element T, index I>
compact_bcsc_matrix<T, I> download(const device_compact<T, I>& a) {
  compact_bcsc_arrays<T, I> arrays;
  arrays.block_row = a.block_row.download();
  arrays.brow_ptr = a.brow_ptr.download();
  arrays.entry_ptr = a.entry_ptr.download();
  arrays.dense_end = a.dense_end.download();
  arrays.col_ind = a.col_ind.download();
  arrays.col_ind16 = a.col_ind16.download();
  arrays.col_count = a.col_count.download();
  arrays.row_in_block = a.row_in_block.download();
  if constexpr (number<T>) {
    arrays.values = a.values.buffer.download();
  } else {
    arrays.values = pattern_array(static_cast<std::size_t>(a.values.count));
  }
  return {a.rows, a.cols, a.m_block, std::move(arrays), trust::trusted};
}

template <element T, index I>
device_compact<T, I> to_compact_on_device(int device, const csr_view<T, I>& a, std::int64_t m_block,
                                          bool narrow_columns) {
  require_on_device(a.space, "csr");
  require_height(m_block);
  const gpu::device_guard guard(device);
  device_compact<T, I> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.m_block = m_block;
  if (m_block == 1) {
    // CSR itself.
    out.brow_ptr = copy_on_device(device, a.row_ptr);
    set_columns(device, out, a.col_ind, narrow_columns);
    out.values = copy_values<T>(device, a.values);
    gpu::synchronize();
    return out;
  }
  const std::int64_t nnz = a.nnz(), num_blocks = core::ceil_div(a.rows, m_block);
  const int index_bytes = small_indices::bytes_for(m_block);
  out.entry_ptr = device_buffer<I>(device, num_blocks + 1);
  out.row_in_block = device_buffer<std::byte>(device, nnz * index_bytes);
  out.values = device_values<T>(device, nnz);

  steps::compaction<I> job{.rows = a.rows,
                           .cols = a.cols,
                           .nnz = nnz,
                           .m_block = m_block,
                           .num_blocks = num_blocks,
                           .row_ptr = a.row_ptr.data(),
                           .col_ind = a.col_ind.data(),
                           .from_values = a.values.data(),
                           .value_bytes = static_cast<int>(size_of(value_type_of<T>)),
                           .index_bytes = index_bytes,
                           .entry_ptr = out.entry_ptr.data(),
                           .row_in_block = out.row_in_block.data()};
  if constexpr (number<T>) job.values = out.values.buffer.data();
  steps::loose_columns<I> columns = steps::order_entries(device, job);
  const bool narrow = narrow_columns && a.cols <= max_narrow_columns;
  if (narrow) {
    out.col_ind16 = device_buffer<std::uint16_t>(device, columns.nnzc);
  } else {
    out.col_ind = device_buffer<I>(device, columns.nnzc);
  }
  out.col_count = device_buffer<std::byte>(device, columns.nnzc * index_bytes);
  steps::close_ranks(job, columns, out.col_ind.data(), out.col_ind16.data(), out.col_count.data());
  out.brow_ptr = std::move(columns.brow_ptr);
  gpu::synchronize();
  return out;
}

template <element T, index I>
device_compact<T, I> to_compact_on_device(int device, const bcsc_view<T, I>& a, bool narrow_columns) {
  require_on_device(a.space, "bcsc");
  require_height(a.m_block);
  const gpu::device_guard guard(device);
  device_compact<T, I> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.m_block = a.m_block;
  out.brow_ptr = copy_on_device(device, a.brow_ptr);
  set_columns(device, out, a.col_ind, narrow_columns);
  out.values = copy_values<T>(device, a.values);
  if (a.m_block > 1) {
    const int index_bytes = small_indices::bytes_for(a.m_block);
    out.entry_ptr = device_buffer<I>(device, a.num_row_blocks() + 1);
    out.col_count = device_buffer<std::byte>(device, a.nnzc() * index_bytes);
    out.row_in_block = device_buffer<std::byte>(device, a.nnz() * index_bytes);
    steps::shrink_indices(a.brow_ptr.data(), a.num_row_blocks(), a.col_ptr.data(), a.nnzc(), a.row_ind.data(), a.nnz(),
                          a.m_block, index_bytes, out.entry_ptr.data(), out.col_count.data(), out.row_in_block.data());
  }
  gpu::synchronize();
  return out;
}

#define BCSC_INSTANTIATE(T, I)                                                                        \
  template device_compact<T, I> upload(int, const compact_bcsc_view<T, I>&);                          \
  template compact_bcsc_matrix<T, I> download(const device_compact<T, I>&);                           \
  template device_compact<T, I> to_compact_on_device(int, const csr_view<T, I>&, std::int64_t, bool); \
  template device_compact<T, I> to_compact_on_device(int, const bcsc_view<T, I>&, bool);
BCSC_FOR_ELEMENTS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
