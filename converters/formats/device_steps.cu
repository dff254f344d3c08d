#include <thrust/functional.h>
#include <thrust/scan.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "converters/formats/device_steps.hpp"
#include "converters/formats/device_thrust.cuh"
#include "converters/formats/instantiate.hpp"

namespace bcsc::converters::steps {

// --- Faults ---------------------------------------------------------------------------------------------------------

template <class I>
struct falls {
  const I* ptr;
  bool strict;
  __device__ bool operator()(std::int64_t i) const { return strict ? ptr[i + 1] <= ptr[i] : ptr[i + 1] < ptr[i]; }
};

template <index I>
std::int64_t first_falling_pointer(int device, const I* ptr, std::int64_t num_segments, bool strict) {
  const std::int64_t i = first_where(device, num_segments, falls<I>{ptr, strict}, "check of pointers");
  return i < 0 ? -1 : i + 1;
}

template <class I>
struct is_out_of_range {
  const I* ind;
  std::int64_t size;
  __device__ bool operator()(std::int64_t k) const { return ind[k] < 0 || ind[k] >= size; }
};

template <index I>
std::int64_t first_out_of_range(int device, const I* ind, std::int64_t n, std::int64_t size) {
  return first_where(device, n, is_out_of_range<I>{ind, size}, "check of indices");
}

/// Most entries ascend; only at a descent are the pointers searched for a segment that begins there.
template <class I>
struct is_disordered {
  const I* ptr;
  std::int64_t num_segments;
  const I* ind;
  __device__ bool operator()(std::int64_t k) const {
    if (k == 0 || ind[k] > ind[k - 1]) return false;
    return ptr[segment_of(ptr, num_segments, k)] != k;
  }
};

template <index I>
std::int64_t first_disorder(int device, const I* ptr, std::int64_t num_segments, const I* ind, std::int64_t n) {
  return first_where(device, n, is_disordered<I>{ptr, num_segments, ind}, "check of order");
}

template <class I>
struct is_outside_block {
  const I *brow_ptr, *col_ptr, *row_ind;
  std::int64_t num_row_blocks, nnzc, m_block;
  __device__ bool operator()(std::int64_t k) const {
    const std::int64_t block = segment_of(brow_ptr, num_row_blocks, segment_of(col_ptr, nnzc, k));
    const std::int64_t row_in_block = row_ind[k] - block * m_block;
    return row_in_block < 0 || row_in_block >= m_block;
  }
};

template <index I>
std::int64_t first_outside_block(int device, const I* brow_ptr, std::int64_t num_row_blocks, const I* col_ptr,
                                 std::int64_t nnzc, const I* row_ind, std::int64_t nnz, std::int64_t m_block) {
  return first_where(device, nnz, is_outside_block<I>{brow_ptr, col_ptr, row_ind, num_row_blocks, nnzc, m_block},
                     "check of rows");
}

// --- Entries, keys, order -------------------------------------------------------------------------------------------

template <class I>
struct expand_body {
  const I *ptr, *labels;
  I* out;
  std::int64_t num_segments;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t segment = segment_of(ptr, num_segments, k);
    out[k] = labels != nullptr ? labels[segment] : static_cast<I>(segment);
  }
};

template <index I>
void expand_pointers(const I* ptr, std::int64_t num_segments, const I* labels, I* out, std::int64_t n) {
  for_each(n, expand_body<I>{ptr, labels, out, num_segments}, "expansion of pointers");
}

template <class I>
struct key_body {
  const I *row_of, *col_of;
  std::uint64_t* keys;
  std::int64_t m_block, cols;
  __device__ void operator()(std::int64_t k) const {
    keys[k] = static_cast<std::uint64_t>(row_of[k] / m_block * cols + col_of[k]);
  }
};

template <index I>
void make_keys(const I* row_of, const I* col_of, std::int64_t n, std::int64_t m_block, std::int64_t cols,
               std::uint64_t* keys) {
  for_each(n, key_body<I>{row_of, col_of, keys, m_block, cols}, "keys");
}

template <class I>
struct number_body {
  I* out;
  __device__ void operator()(std::int64_t k) const { out[k] = static_cast<I>(k); }
};

template <index I>
void number(I* out, std::int64_t n) {
  for_each(n, number_body<I>{out}, "numbering");
}

template <index I>
sorted_pairs<I> sort_pairs(int device, core::device_buffer<std::uint64_t> keys, core::device_buffer<I> payload,
                           std::int64_t key_range) {
  const std::int64_t n = keys.size();
  if (n == 0) return {std::move(keys), std::move(payload)};
  core::device_buffer<std::uint64_t> other_keys(device, n);
  core::device_buffer<I> other_payload(device, n);
  cub::DoubleBuffer<std::uint64_t> key_pair(keys.data(), other_keys.data());
  cub::DoubleBuffer<I> payload_pair(payload.data(), other_payload.data());
  const int num_bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(key_range - 1))));
  // The first call only asks for the size of the temporary memory.
  forget_earlier_error();
  std::size_t temporary_bytes = 0;
  core::gpu::check_launch(
      cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, key_pair, payload_pair, n, 0, num_bits), "sort");
  const core::device_buffer<char> temporary(device,
                                            std::max<std::int64_t>(1, static_cast<std::int64_t>(temporary_bytes)));
  forget_earlier_error();
  core::gpu::check_launch(
      cub::DeviceRadixSort::SortPairs(temporary.data(), temporary_bytes, key_pair, payload_pair, n, 0, num_bits),
      "sort");
  const bool keys_moved = key_pair.Current() == other_keys.data();
  const bool payload_moved = payload_pair.Current() == other_payload.data();
  return {keys_moved ? std::move(other_keys) : std::move(keys),
          payload_moved ? std::move(other_payload) : std::move(payload)};
}

// --- Analysis -------------------------------------------------------------------------------------------------------

template <class I>
__device__ void add_one(I* count) {
  if constexpr (sizeof(I) == 4) {
    atomicAdd(count, 1);
  } else {
    atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ull);
  }
}

/// Counts row i at place i + 1, so that the sum up to place i is what lies before row i.
template <class I>
struct row_count_body {
  const I* row_ind;
  I* count;
  __device__ void operator()(std::int64_t k) const { add_one(count + row_ind[k] + 1); }
};

template <index I>
void count_rows(const I* row_ind, std::int64_t n, std::int64_t rows, I* row_ptr) {
  core::gpu::fill_zero(row_ptr, static_cast<std::size_t>(rows + 1) * sizeof(I));
  for_each(n, row_count_body<I>{row_ind, row_ptr}, "count of rows");
  with_thrust([&](const auto& policy) { thrust::inclusive_scan(policy, row_ptr, row_ptr + rows + 1, row_ptr); },
              "sums of row counts");
}

template <class I>
struct block_column_body {
  const std::uint64_t* cols;
  const I* rows;
  std::int64_t m_block;
  I* count;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t block = rows[k] / m_block;
    if (k == 0 || cols[k] != cols[k - 1] || block != rows[k - 1] / m_block) add_one(count + block);
  }
};

template <class I>
struct columns_of_block {
  __device__ column_counts operator()(I count) const { return {count, count}; }
};

template <index I>
column_counts count_block_columns(int device, const std::uint64_t* cols, const I* rows, std::int64_t n,
                                  std::int64_t num_row_blocks, std::int64_t m_block) {
  core::device_buffer<I> count(device, num_row_blocks);
  core::gpu::fill_zero(count.data(), count.bytes());
  for_each(n, block_column_body<I>{cols, rows, m_block, count.data()}, "count of non-empty columns");
  column_counts counted;
  const I* first = count.data();
  with_thrust(
      [&](const auto& policy) {
        counted = thrust::transform_reduce(policy, first, first + num_row_blocks, columns_of_block<I>{},
                                           column_counts{}, thrust::plus<column_counts>{});
      },
      "sum of non-empty columns");
  return counted;
}

template <class I>
struct block_maximum_body {
  const I* row_ptr;
  std::int64_t rows, m_block;
  unsigned long long* maximum;
  __device__ void operator()(std::int64_t b) const {
    const std::int64_t first = b * m_block, last = m_block < rows - first ? first + m_block : rows;
    atomicMax(maximum, static_cast<unsigned long long>(row_ptr[last] - row_ptr[first]));
  }
};

template <index I>
std::int64_t max_block_nnz(int device, const I* row_ptr, std::int64_t rows, std::int64_t m_block) {
  const device_number maximum(device, 0);
  const std::int64_t num_row_blocks = rows / m_block + (rows % m_block != 0 ? 1 : 0);
  for_each(num_row_blocks, block_maximum_body<I>{row_ptr, rows, m_block, maximum.data()}, "heaviest row block");
  return maximum.get();
}

template std::int64_t first_falling_pointer(int, const std::int32_t*, std::int64_t, bool);
template std::int64_t first_falling_pointer(int, const std::int64_t*, std::int64_t, bool);
template std::int64_t first_out_of_range(int, const std::int32_t*, std::int64_t, std::int64_t);
template std::int64_t first_out_of_range(int, const std::int64_t*, std::int64_t, std::int64_t);
template std::int64_t first_disorder(int, const std::int32_t*, std::int64_t, const std::int32_t*, std::int64_t);
template std::int64_t first_disorder(int, const std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t);
template std::int64_t first_outside_block(int, const std::int32_t*, std::int64_t, const std::int32_t*, std::int64_t,
                                          const std::int32_t*, std::int64_t, std::int64_t);
template std::int64_t first_outside_block(int, const std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t,
                                          const std::int64_t*, std::int64_t, std::int64_t);
template void expand_pointers(const std::int32_t*, std::int64_t, const std::int32_t*, std::int32_t*, std::int64_t);
template void expand_pointers(const std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t*, std::int64_t);
template void make_keys(const std::int32_t*, const std::int32_t*, std::int64_t, std::int64_t, std::int64_t,
                        std::uint64_t*);
template void make_keys(const std::int64_t*, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t,
                        std::uint64_t*);
template void number(std::int32_t*, std::int64_t);
template void number(std::int64_t*, std::int64_t);
template sorted_pairs<std::int32_t> sort_pairs(int, core::device_buffer<std::uint64_t>,
                                               core::device_buffer<std::int32_t>, std::int64_t);
template sorted_pairs<std::int64_t> sort_pairs(int, core::device_buffer<std::uint64_t>,
                                               core::device_buffer<std::int64_t>, std::int64_t);
template void count_rows(const std::int32_t*, std::int64_t, std::int64_t, std::int32_t*);
template void count_rows(const std::int64_t*, std::int64_t, std::int64_t, std::int64_t*);
template column_counts count_block_columns(int, const std::uint64_t*, const std::int32_t*, std::int64_t, std::int64_t,
                                           std::int64_t);
template column_counts count_block_columns(int, const std::uint64_t*, const std::int64_t*, std::int64_t, std::int64_t,
                                           std::int64_t);
template std::int64_t max_block_nnz(int, const std::int32_t*, std::int64_t, std::int64_t);
template std::int64_t max_block_nnz(int, const std::int64_t*, std::int64_t, std::int64_t);

}  // namespace bcsc::converters::steps
