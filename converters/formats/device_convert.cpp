#include "converters/formats/device_convert.hpp"

#include <algorithm>
#include <utility>

#include "converters/formats/checks.hpp"
#include "converters/formats/device_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::ceil_div;
using core::device_buffer;
using core::fail;
using core::length;
namespace gpu = core::gpu;

template <class X>
void require_on_device(int device, std::span<const X> array, const char* name) {
  if (array.empty() || gpu::is_device_pointer(array.data(), device)) return;
  fail(errc::wrong_memory_space, "{} does not lie in the memory of GPU {}", name, device);
}

void require_device(memory_space space, const char* what) {
  if (space == memory_space::device) return;
  fail(errc::wrong_memory_space, "{} lies in {} memory: must lie on the device", what, to_string(space));
}

template <number T, index I>
void require_device(int device, const csr_view<T, I>& a) {
  require_device(a.space, "csr");
  require_on_device(device, a.row_ptr, "row_ptr");
  require_on_device(device, a.col_ind, "col_ind");
  require_on_device(device, a.values, "values");
}

template <number T, index I>
void require_device(int device, const bcsc_view<T, I>& a) {
  require_device(a.space, "bcsc");
  require_on_device(device, a.brow_ptr, "brow_ptr");
  require_on_device(device, a.col_ind, "col_ind");
  require_on_device(device, a.col_ptr, "col_ptr");
  require_on_device(device, a.row_ind, "row_ind");
  require_on_device(device, a.values, "values");
}

/// array[k], fetched.
template <index I>
std::int64_t fetch(std::span<const I> array, std::int64_t k) {
  I element = 0;
  gpu::copy_to_host(&element, array.data() + k, sizeof element);
  return element;
}

/// The segment of a valid pointer array that k lies in; only for messages.
template <index I>
std::int64_t fetch_segment(std::span<const I> ptr, std::int64_t k) {
  std::int64_t low = 0, high = length(ptr);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fetch(ptr, middle) <= k) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

template <index I>
void check_pointers(int device, std::span<const I> ptr, std::int64_t num_segments, std::int64_t num_entries,
                    const array_names& names, bool strict = false) {
  check_pointer_length(ptr, num_segments, num_entries, names);
  const std::int64_t i = steps::first_falling_pointer(device, ptr.data(), num_segments, strict);
  if (i >= 0) fail_pointer_step(i, fetch(ptr, i), fetch(ptr, i - 1), strict, names);
  check_pointer_ends(fetch(ptr, 0), fetch(ptr, num_segments), num_segments, num_entries, names);
}

template <index I>
void check_range(int device, std::span<const I> ind, std::int64_t size, const char* array) {
  const std::int64_t k = steps::first_out_of_range(device, ind.data(), length(ind), size);
  if (k >= 0) fail_range(k, fetch(ind, k), size, array);
}

template <index I>
void check_order(int device, std::span<const I> ptr, std::span<const I> ind, const array_names& names) {
  const std::int64_t k = steps::first_disorder(device, ptr.data(), length(ptr) - 1, ind.data(), length(ind));
  if (k >= 0) fail_order(k, fetch(ind, k), fetch(ind, k - 1), fetch_segment(ptr, k), names);
}

/// The column of each non-zero.
template <number T, index I>
device_buffer<I> expand_columns(int device, const bcsc_view<T, I>& a) {
  device_buffer<I> columns(device, a.nnz());
  steps::expand_pointers(a.col_ptr.data(), a.nnzc(), a.col_ind.data(), columns.data(), a.nnz());
  return columns;
}

/// The row of each non-zero.
template <number T, index I>
device_buffer<I> expand_rows(int device, const csr_view<T, I>& a) {
  device_buffer<I> rows(device, a.nnz());
  steps::expand_pointers<I>(a.row_ptr.data(), a.rows, nullptr, rows.data(), a.nnz());
  return rows;
}

/// BCSC from entries in any order in which each column's rows ascend, such as CSR's and BCSC's.
template <number T, index I>
device_bcsc<T, I> group_by_columns(int device, std::int64_t rows, std::int64_t cols, std::int64_t m_block,
                                   const I* row_of, const I* col_of, std::span<const T> values) {
  const std::int64_t nnz = length(values), num_row_blocks = ceil_div(rows, m_block);
  const std::int64_t key_range = core::checked_product(num_row_blocks, cols, "row blocks x cols");
  device_buffer<std::uint64_t> keys(device, nnz);
  device_buffer<I> positions(device, nnz);
  steps::make_keys(row_of, col_of, nnz, m_block, cols, keys.data());
  steps::number(positions.data(), nnz);
  const steps::sorted_pairs<I> sorted = steps::sort_pairs(device, std::move(keys), std::move(positions), key_range);

  const std::int64_t nnzc = steps::count_keys(device, sorted.keys.data(), nnz);
  device_bcsc<T, I> out;
  out.rows = rows;
  out.cols = cols;
  out.m_block = m_block;
  out.col_ptr = device_buffer<I>(device, nnzc + 1);
  out.col_ind = device_buffer<I>(device, nnzc);
  steps::collect_columns(sorted.keys.data(), nnz, cols, out.col_ptr.data(), out.col_ind.data(), nnzc);
  out.brow_ptr = device_buffer<I>(device, num_row_blocks + 1);
  steps::collect_blocks(sorted.keys.data(), out.col_ptr.data(), nnzc, cols, out.brow_ptr.data(), num_row_blocks);
  out.row_ind = device_buffer<I>(device, nnz);
  steps::gather(row_of, sorted.payload.data(), nnz, out.row_ind.data());
  out.values = device_buffer<T>(device, nnz);
  steps::gather(values.data(), sorted.payload.data(), nnz, out.values.data());
  gpu::synchronize();
  return out;
}

/// `by_column` holds the entries sorted by column, then row: the keys are the columns.
template <index I>
std::vector<block_statistics> analyse_sorted(int device, std::int64_t rows, const I* row_ptr,
                                             const steps::sorted_pairs<I>& by_column,
                                             std::span<const std::int64_t> m_blocks) {
  const std::int64_t nnz = by_column.keys.size();
  std::vector<block_statistics> list;
  for (const std::int64_t m_block : m_blocks) {
    block_statistics facts;
    facts.m_block = m_block;
    facts.num_row_blocks = ceil_div(rows, m_block);
    if (nnz > 0) {
      facts.nnzc = steps::count_block_columns(device, by_column.keys.data(), by_column.payload.data(), nnz, m_block);
      facts.max_block_nnz = steps::max_block_nnz(device, row_ptr, rows, m_block);
      facts.reuse = static_cast<double>(nnz) / static_cast<double>(facts.nnzc);
      facts.skew = static_cast<double>(facts.max_block_nnz) /
                   (static_cast<double>(nnz) / static_cast<double>(facts.num_row_blocks));
    }
    list.push_back(facts);
  }
  return list;
}

/// The rows of all entries, sorted by column; rows ascend within one.
template <index I>
steps::sorted_pairs<I> sort_by_column(int device, device_buffer<I> row_of, const I* col_of, std::int64_t rows,
                                      std::int64_t cols) {
  device_buffer<std::uint64_t> keys(device, row_of.size());
  steps::make_keys(row_of.data(), col_of, row_of.size(), std::max<std::int64_t>(rows, 1), cols, keys.data());
  return steps::sort_pairs(device, std::move(keys), std::move(row_of), cols);
}

}  // namespace

template <number T, index I>
void validate_on_device(int device, const csr_view<T, I>& a) {
  const gpu::device_guard guard(device);
  require_device(device, a);
  check_shape<I>(a.rows, a.cols);
  check_length(length(a.col_ind), a.nnz(), "col_ind", "one for each value");
  check_pointers(device, a.row_ptr, a.rows, a.nnz(), csr_names);
  check_range(device, a.col_ind, a.cols, "col_ind");
  check_order(device, a.row_ptr, a.col_ind, csr_names);
}

template <number T, index I>
void validate_on_device(int device, const bcsc_view<T, I>& a) {
  const gpu::device_guard guard(device);
  require_device(device, a);
  check_shape<I>(a.rows, a.cols);
  require_at_least_one(a.m_block, "m_block");
  check_length(length(a.row_ind), a.nnz(), "row_ind", "one for each value");
  check_pointers(device, a.brow_ptr, ceil_div(a.rows, a.m_block), a.nnzc(), bcsc_block_names);
  check_pointers(device, a.col_ptr, a.nnzc(), a.nnz(), bcsc_column_names, true);
  check_range(device, a.col_ind, a.cols, "col_ind");
  check_range(device, a.row_ind, a.rows, "row_ind");
  check_order(device, a.brow_ptr, a.col_ind, bcsc_block_names);
  const std::int64_t k = steps::first_outside_block(device, a.brow_ptr.data(), a.num_row_blocks(), a.col_ptr.data(),
                                                    a.nnzc(), a.row_ind.data(), a.nnz(), a.m_block);
  if (k >= 0) {
    fail_outside_block(k, fetch(a.row_ind, k), fetch_segment(a.brow_ptr, fetch_segment(a.col_ptr, k)), a.m_block);
  }
  check_order(device, a.col_ptr, a.row_ind, bcsc_column_names);
}

template <number T, index I>
device_bcsc<T, I> to_bcsc_on_device(int device, const csr_view<T, I>& a, std::int64_t m_block) {
  require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_device(device, a);
  const device_buffer<I> row_of = expand_rows(device, a);
  return group_by_columns(device, a.rows, a.cols, m_block, row_of.data(), a.col_ind.data(), a.values);
}

template <number T, index I>
device_bcsc<T, I> reblock_on_device(int device, const bcsc_view<T, I>& a, std::int64_t m_block) {
  require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_device(device, a);
  const device_buffer<I> col_of = expand_columns(device, a);
  return group_by_columns(device, a.rows, a.cols, m_block, a.row_ind.data(), col_of.data(), a.values);
}

template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const csr_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks) {
  for (const std::int64_t m_block : m_blocks) require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_device(device, a);
  const auto by_column = sort_by_column(device, expand_rows(device, a), a.col_ind.data(), a.rows, a.cols);
  return analyse_sorted(device, a.rows, a.row_ptr.data(), by_column, m_blocks);
}

template <number T, index I>
std::vector<block_statistics> analyse_blocks_on_device(int device, const bcsc_view<T, I>& a,
                                                       std::span<const std::int64_t> m_blocks) {
  for (const std::int64_t m_block : m_blocks) require_at_least_one(m_block, "m_block");
  const gpu::device_guard guard(device);
  require_device(device, a);
  device_buffer<I> row_of(device, a.nnz());
  if (a.nnz() > 0) gpu::copy_on_device(row_of.data(), a.row_ind.data(), row_of.bytes());
  const device_buffer<I> row_ptr(device, a.rows + 1);
  steps::count_rows(row_of.data(), a.nnz(), a.rows, row_ptr.data());
  const device_buffer<I> col_of = expand_columns(device, a);
  const auto by_column = sort_by_column(device, std::move(row_of), col_of.data(), a.rows, a.cols);
  return analyse_sorted(device, a.rows, row_ptr.data(), by_column, m_blocks);
}

#define BCSC_INSTANTIATE(T, I)                                                                    \
  template void validate_on_device(int, const csr_view<T, I>&);                                   \
  template void validate_on_device(int, const bcsc_view<T, I>&);                                  \
  template device_bcsc<T, I> to_bcsc_on_device(int, const csr_view<T, I>&, std::int64_t);         \
  template device_bcsc<T, I> reblock_on_device(int, const bcsc_view<T, I>&, std::int64_t);        \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const csr_view<T, I>&,     \
                                                                  std::span<const std::int64_t>); \
  template std::vector<block_statistics> analyse_blocks_on_device(int, const bcsc_view<T, I>&,    \
                                                                  std::span<const std::int64_t>);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
