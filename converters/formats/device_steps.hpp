#pragma once

#include <cstdint>

#include "bcsc/types.hpp"
#include "converters/formats/column_counts.hpp"
#include "core/buffer.hpp"

/// The steps of the device conversions, each a kernel or a parallel primitive, named without any CUDA header. Pointers
/// are device pointers; all run on the default stream of the current device, whose number is `device` where a step
/// allocates. A "segment" is what two neighbouring pointers of a pointer array enclose.
namespace bcsc::converters::steps {

// --- Searches for a fault: the smallest position, or -1 --------------------------------------------------------------

/// i of [1, num_segments] with ptr[i] < ptr[i - 1] (strict: <=).
template <index I>
std::int64_t first_falling_pointer(int device, const I* ptr, std::int64_t num_segments, bool strict);
/// k with ind[k] < 0 or ind[k] >= size.
template <index I>
std::int64_t first_out_of_range(int device, const I* ind, std::int64_t n, std::int64_t size);
/// k with ind[k] <= ind[k - 1] within one segment.
template <index I>
std::int64_t first_disorder(int device, const I* ptr, std::int64_t num_segments, const I* ind, std::int64_t n);
/// k whose row lies outside its row block.
template <index I>
std::int64_t first_outside_block(int device, const I* brow_ptr, std::int64_t num_row_blocks, const I* col_ptr,
                                 std::int64_t nnzc, const I* row_ind, std::int64_t nnz, std::int64_t m_block);

// --- Entries, keys, order --------------------------------------------------------------------------------------------

/// out[k] = the segment k lies in, or labels[that segment] unless `labels` is null.
template <index I>
void expand_pointers(const I* ptr, std::int64_t num_segments, const I* labels, I* out, std::int64_t n);
/// keys[k] = row_of[k] / m_block * cols + col_of[k].
template <index I>
void make_keys(const I* row_of, const I* col_of, std::int64_t n, std::int64_t m_block, std::int64_t cols,
               std::uint64_t* keys);
/// out[k] = k.
template <index I>
void number(I* out, std::int64_t n);

/// Keys ascending; the payloads of equal keys in their former order.
template <index I>
struct sorted_pairs {
  core::device_buffer<std::uint64_t> keys;
  core::device_buffer<I> payload;
};
/// Stable radix sort of keys below `key_range`.
template <index I>
sorted_pairs<I> sort_pairs(int device, core::device_buffer<std::uint64_t> keys, core::device_buffer<I> payload,
                           std::int64_t key_range);

// --- Analysis --------------------------------------------------------------------------------------------------------

/// row_ptr[i] = how many of row_ind's entries are below i, for i of [0, rows].
template <index I>
void count_rows(const I* row_ind, std::int64_t n, std::int64_t rows, I* row_ptr);
/// Of entries sorted by column, then row.
template <index I>
column_counts count_block_columns(int device, const std::uint64_t* cols, const I* rows, std::int64_t n,
                                  std::int64_t num_row_blocks, std::int64_t m_block);
/// The largest number of non-zeros in a row block.
template <index I>
std::int64_t max_block_nnz(int device, const I* row_ptr, std::int64_t rows, std::int64_t m_block);

}  // namespace bcsc::converters::steps
