#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/block_slices/layout.hpp"

/// BCSC of low row blocks side by side, for products column by column on a GPU: sliced ELL (Kreutzer et al., 2014,
/// SELL-C-sigma) whose lanes own row blocks instead of rows. What a warp reads of A is contiguous, and a value of B is
/// fetched once for a row block.
///
/// Neighbouring row blocks stay together where little has to be filled up. The others are sorted by their number of
/// columns within a window, so that the lanes of their slices end together. A long row block is a slice by itself; the
/// longest come first, for a cluster of thread blocks each, then those for a thread block each. Where neighbours with a
/// lane each have diagonals in common (stencils, meshes, bands) these need no column for each lane.
namespace bcsc::forms {

/// On the host. bytes() and what it holds: kernels/forms/block_slices/operand.hpp.
template <number T>
struct block_slices {
  std::int64_t rows = 0, cols = 0, nnzc = 0, num_blocks = 0;
  int height = 1, lanes = 1;
  std::int64_t num_alone = 0, num_long = 0, num_longest = 0, longest_steps = 0;
  std::vector<block_slice> slices;
  std::vector<std::int32_t> first_diagonal;
  std::vector<slice_diagonal> diagonals;
  std::vector<std::uint32_t> words;
  std::vector<T> values;
  std::vector<std::int32_t> listed;
  std::vector<std::int32_t> block_row;

  std::int64_t num_steps() const {
    return static_cast<std::int64_t>(words.size()) / block_slice_lanes + static_cast<std::int64_t>(diagonals.size());
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(std::span(slices).size_bytes() + std::span(first_diagonal).size_bytes() +
                                     std::span(diagonals).size_bytes() + std::span(words).size_bytes() +
                                     std::span(values).size_bytes() + std::span(listed).size_bytes() +
                                     std::span(block_row).size_bytes());
  }
};

/// `a` lies on the host, holds its format's invariants and has row blocks of at most max_slice_height rows. Parallel;
/// the result does not depend on the threads. Throws error{invalid_argument | wrong_memory_space | size_overflow |
/// out_of_memory}.
template <number T, index I>
block_slices<T> to_block_slices(const compact_bcsc_view<T, I>& a, const slicing& how);

/// Throws error{invalid_argument | size_overflow} for a matrix that block slices cannot hold.
void check_block_slices(std::int64_t rows, std::int64_t cols, std::int64_t m_block, int lanes);

/// On a GPU.
template <number T>
struct device_block_slices {
  std::int64_t rows = 0, cols = 0, nnzc = 0, num_blocks = 0;
  int height = 1, lanes = 1;
  std::int64_t num_alone = 0, num_long = 0, num_longest = 0, longest_steps = 0;
  core::device_buffer<block_slice> slices;
  core::device_buffer<std::int32_t> first_diagonal;
  core::device_buffer<slice_diagonal> diagonals;
  core::device_buffer<std::uint32_t> words;
  core::device_buffer<T> values;
  core::device_buffer<std::int32_t> listed;
  core::device_buffer<std::int32_t> block_row;

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(slices.bytes() + first_diagonal.bytes() + diagonals.bytes() + words.bytes() +
                                     values.bytes() + listed.bytes() + block_row.bytes());
  }
};

/// Returns when the copy is done.
template <number T>
device_block_slices<T> upload(int device, const block_slices<T>& a) {
  return {a.rows,
          a.cols,
          a.nnzc,
          a.num_blocks,
          a.height,
          a.lanes,
          a.num_alone,
          a.num_long,
          a.num_longest,
          a.longest_steps,
          {device, std::span<const block_slice>(a.slices)},
          {device, std::span<const std::int32_t>(a.first_diagonal)},
          {device, std::span<const slice_diagonal>(a.diagonals)},
          {device, std::span<const std::uint32_t>(a.words)},
          {device, std::span<const T>(a.values)},
          {device, std::span<const std::int32_t>(a.listed)},
          {device, std::span<const std::int32_t>(a.block_row)}};
}

/// The same slices, made on the GPU: bit-equal to the host's. `a` lies on the device, in uniform row blocks. As
/// device_compact.hpp: work on the default stream, complete on return, error{no_device} in a build without CUDA.
///
/// Method: a stable radix sort of the row blocks by how they are sliced; a warp for each slice that may have diagonals
/// merges its lanes' columns along them; sums of steps; then a thread for each word, and again a warp for each slice
/// with diagonals. Reads A twice, writes the slices once, and waits twice for sizes. Temporary memory: 24 bytes per row
/// block and what the sort takes, and 4 bytes per column where row blocks have more than one row. Throws
/// error{invalid_argument | wrong_memory_space | size_overflow | out_of_memory | cuda_error}.
template <number T>
device_block_slices<T> to_block_slices_on_device(int device, const compact_bcsc_view<T, std::int32_t>& a,
                                                 const slicing& how);

}  // namespace bcsc::forms
