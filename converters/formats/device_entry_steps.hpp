#pragma once

#include <cstddef>
#include <cstdint>

#include "bcsc/types.hpp"
#include "converters/formats/device_divider.hpp"
#include "core/buffer.hpp"

/// More steps of the device conversions (device_steps.hpp): those between all formats. Pointers are device pointers;
/// all run on the default stream of the current device, whose number is `device` where a step allocates. Values are
/// moved by their size in bytes, 2, 4 or 8; 0 for a pattern, which has none.
namespace bcsc::converters::steps {

/// Which of n entries are taken: how many of them precede each chunk of neighbours.
struct selection {
  std::int64_t n = 0, total = 0;
  core::device_buffer<std::int64_t> before;  ///< [chunks + 1]
};

// --- Order ----------------------------------------------------------------------------------------------------------

/// Entries in ascending order of (major, minor), equal ones in their former order.
struct sorted_entries {
  std::int64_t n = 0;
  int minor_bits = 0;                        ///< a key is major << minor_bits | minor
  int key_bytes = 4, position_bytes = 4;     ///< 4, 8 or 16, and 4 or 8: as few as the entries need
  core::device_buffer<std::byte> keys;       ///< [n]
  core::device_buffer<std::byte> positions;  ///< [n] where each stood before
};

/// What entries are sorted by: the blocks that their two indices lie in.
template <index I>
struct entry_order {
  std::int64_t n = 0;
  const I* major_of = nullptr;          ///< [n]
  const I* minor_of = nullptr;          ///< [n] or null: by major_of alone
  std::int64_t majors = 1, minors = 1;  ///< each index lies below its bound
  std::int64_t major_block = 1, minor_block = 1;
  bool once = false;  ///< an entry is left out if the one before it lies in the same block
};
/// Stable radix sort over as many bits as the blocks need.
template <index I>
sorted_entries sort_entries(int device, const entry_order<I>& order);

/// ptr[i] = how many entries have a major index below i, for i of [0, majors].
template <index I>
void entry_bounds(const sorted_entries& entries, std::int64_t majors, I* ptr);
/// The same for an ascending array.
template <index I>
void index_bounds(const I* ascending, std::int64_t n, std::int64_t majors, I* ptr);

/// out[k] = from[position of the k-th entry].
void gather(const sorted_entries& entries, const void* from, int bytes, void* out);

// --- Groups of entries with one key ---------------------------------------------------------------------------------

/// first[g] = where the g-th group begins, first[number of groups] = entries.n.
template <index F>
struct entry_groups {
  std::int64_t count = 0;
  core::device_buffer<F> first;
};
template <index F>
entry_groups<F> group_entries(int device, const sorted_entries& entries);
/// The indices of each group; either may be null.
template <index F, index I>
void group_indices(const sorted_entries& entries, const entry_groups<F>& groups, I* majors, I* minors);
/// ptr[i] = how many groups have a major index below i, for i of [0, majors].
template <index I>
void group_bounds(const sorted_entries& entries, const entry_groups<I>& groups, std::int64_t majors, I* ptr);
/// The sum of each group's values, in the order of its entries, rounded at each step.
void sum_groups(const sorted_entries& entries, const entry_groups<std::int64_t>& groups, value_type type,
                const void* values, void* sums);

/// The smallest k > 0 whose (row, column) does not come after that of k - 1, or -1.
template <index I>
std::int64_t first_entry_disorder(int device, const I* row_ind, const I* col_ind, std::int64_t n);

// --- Dense blocks ---------------------------------------------------------------------------------------------------

/// Where a BSR or Blocked-ELL matrix keeps an entry.
template <index I>
struct block_places {
  std::int64_t row_block = 1, col_block = 1;
  const I* brow_ptr = nullptr;
  const I* bcol_ind = nullptr;  ///< ascending in each block row
  std::int64_t ell_width = 0;   ///< the padded columns of a Blocked-ELL matrix; 0: BSR
};
/// Writes each entry's value to its place.
template <index I>
void fill_blocks(const block_places<I>& places, std::int64_t n, const I* row_of, const I* col_of, const void* values,
                 int bytes, void* out);
/// The length of the longest segment.
template <index I>
std::int64_t longest_segment(int device, const I* ptr, std::int64_t num_segments);
/// out[i * width + j] = ind[ptr[i] + j] where segment i has a j-th entry, else -1.
template <index I>
void pad_segments(const I* ptr, std::int64_t num_segments, const I* ind, std::int64_t width, I* out);
/// out[row * row_stride + col * col_stride] = value, for each entry.
template <index I>
void fill_dense(std::int64_t n, const I* row_of, const I* col_of, const void* values, int bytes,
                std::int64_t row_stride, std::int64_t col_stride, void* out);

// --- The non-zeros among stored values ------------------------------------------------------------------------------

/// Stored values, of which the non-zero ones (NaN included) are wanted, line by line.
/// A dense matrix: a line is a row or a column.
struct dense_lines {
  const void* values = nullptr;
  std::int64_t lines = 0, length = 0, ld = 0;
};
/// A BSR matrix: a line is a row.
template <index I>
struct bsr_lines {
  const void* values = nullptr;
  std::int64_t rows = 0, cols = 0, row_block = 1, col_block = 1, num_blocks = 0;
  const I* brow_ptr = nullptr;
  const I* bcol_ind = nullptr;
  const I* brow_of = nullptr;  ///< [num_blocks] the block row of each block
};
/// A Blocked-ELL matrix: a line is a row.
template <index I>
struct ell_lines {
  const void* values = nullptr;
  std::int64_t rows = 0, cols = 0, block = 1, blocks_per_row = 0;
  const I* bcol_ind = nullptr;
};

/// Which of the stored values are not 0.
template <class Lines>
selection find_nonzeros(int device, const Lines& stored, int bytes);
/// Line, index in the line, and value of each, in the order of the lines.
template <class Lines, index I>
void collect_nonzeros(const Lines& stored, int bytes, const selection& found, I* line_of, I* index_of, void* values);

// --- Other types ----------------------------------------------------------------------------------------------------

/// Indices that fit both types.
template <index From, index To>
void convert_indices(const From* from, std::int64_t n, To* to);
/// Rounded to nearest, via float between the 16-bit types; a pattern's become 1. NaNs keep the upper bits of their
/// payload and become quiet.
void convert_values(value_type from_type, const void* from, value_type to_type, void* to, std::int64_t n);

}  // namespace bcsc::converters::steps
