#include "converters/formats/device_validate.hpp"

#include "converters/formats/checks.hpp"
#include "converters/formats/device_arrays.hpp"
#include "converters/formats/device_steps.hpp"
#include "converters/formats/instantiate.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::ceil_div;
using core::length;
namespace gpu = core::gpu;

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

}  // namespace

template <number T, index I>
void validate_on_device(int device, const csr_view<T, I>& a) {
  const gpu::device_guard guard(device);
  require_on_device(device, a);
  check_shape<I>(a.rows, a.cols);
  check_length(length(a.col_ind), a.nnz(), "col_ind", "one for each value");
  check_pointers(device, a.row_ptr, a.rows, a.nnz(), csr_names);
  check_range(device, a.col_ind, a.cols, "col_ind");
  check_order(device, a.row_ptr, a.col_ind, csr_names);
}

template <number T, index I>
void validate_on_device(int device, const bcsc_view<T, I>& a) {
  const gpu::device_guard guard(device);
  require_on_device(device, a);
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

#define BCSC_INSTANTIATE(T, I)                                  \
  template void validate_on_device(int, const csr_view<T, I>&); \
  template void validate_on_device(int, const bcsc_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters
