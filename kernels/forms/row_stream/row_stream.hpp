#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bcsc/formats.hpp"
#include "converters/formats/grid.hpp"
#include "core/buffer.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// CSR as the row-wise GPU kernels stream it.
///
/// Rows of more than `split` entries, the long ones, are cut into even pieces (row_cut), so that no team of threads
/// works on one for long after the others are done; their pieces come first, row by row, those of heavy rows, which
/// have more than one part, before the others. All other rows are one piece each, longest first: neighbours, which one
/// warp and one thread block take together, are alike, and what is left for the end is short; rows without entries are
/// the last. Lengths count by multiples of `grain`: within one
/// multiple, which costs a kernel about the same, rows keep their order, for neighbouring rows of a mesh read the same
/// rows of B; those of a grid lie in bricks there. Entries lie in the order of the pieces, so A is read as one stream;
/// each piece begins with a new pair of entries (an odd one's last pair is filled up with column 0, value 0, which
/// kernels do not multiply).
namespace bcsc::forms {

struct row_stream_options {
  std::int64_t split = 256;      ///< the most entries of a row that is not cut: even, at least 2
  std::int64_t grain = 8;        ///< 1: sorted by length; more than `split`: rows keep their order, but for empty ones
  std::int64_t piece = 0;        ///< the most entries of a piece of a long row: even, at most `split` times `sharing`
                                 ///< and, if several share, at least 4; 0: `split`
  converters::grid bricks = {};  ///< whose rows A's are, of at most so many; none: rows keep their order
  converters::brick_shape shape = {};  ///< the nodes of a brick; {}: brick_of(bricks)
  std::int64_t sharing = 1;            ///< pieces of a part of a long row: at most half of `split`

  constexpr std::int64_t max_piece() const { return piece > 0 ? piece : split; }
  constexpr row_cut cut() const { return {split, max_piece(), sharing}; }
  friend bool operator==(const row_stream_options&, const row_stream_options&) = default;
};

/// T: fp32 or fp64; fp16 and bf16 are streamed as fp32, in which they take no more room (entry_pair).
template <value T>
struct row_stream {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t sharing = 1;                   ///< pieces of a part of a long row
  std::int64_t num_shared = 0;                ///< the pieces of long rows
  std::int64_t num_partials = 0;              ///< the parts of heavy rows
  std::vector<row_piece> pieces;              ///< [num_pieces + 1]
  std::vector<entry_pair<T>> pairs;           ///< [num_pairs + 1]
  std::vector<std::int32_t> heavy_ptr = {0};  ///< [num_heavy + 1] the first part of each heavy row

  std::int64_t num_pieces() const { return static_cast<std::int64_t>(pieces.size()) - 1; }
  std::int64_t num_heavy() const { return static_cast<std::int64_t>(heavy_ptr.size()) - 1; }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(std::span(pieces).size_bytes() + std::span(pairs).size_bytes() +
                                     std::span(heavy_ptr).size_bytes());
  }
  friend bool operator==(const row_stream&, const row_stream&) = default;
};

/// How to cut for products with `cols` columns by a kernel whose thread blocks have so many `teams`, each of which
/// multiplies `step` entries of a piece at a time. The steps of a piece follow each other, so at the end a GPU waits
/// for as long as the longest piece takes. The best pieces take about twice the root of the steps that the whole
/// product takes over all teams, from 4 to 72 (docs/history, 21). To share a row costs a team as much as a step or two,
/// to add up parts another kernel. So rows are shared that take more than a piece, half of one if few teams share them,
/// or a quarter if there are few rows; and only if they are a few times as long as the mean, or all would be
/// (docs/history, 128).
constexpr row_stream_options cut_for(std::int64_t rows, std::int64_t nnz, std::int64_t cols, std::int64_t step,
                                     std::int64_t teams) {
  constexpr std::int64_t products_a_step = 250000;  // of a value of A and one of B, while all of a GPU does a step
  constexpr std::int64_t max_doubled = 64, max_steps = 72;  // R-MAT: 64 and 80 took 4 and 2 % longer than 72
  constexpr std::int64_t few_rows = 4224, very_few = 528;   // 32 and 4 a multiprocessor of an H200
  constexpr std::int64_t few_teams = 8, max_sharing = 32;   // more would have few entries each
  const std::int64_t thousands = nnz / 1000 + 1;            // so that their product with any N fits
  const std::int64_t whole = thousands * (cols < 1000000 ? cols : 1000000) / (products_a_step / 1000);
  std::int64_t steps = 4;
  while (steps < max_doubled && steps * steps < 4 * whole) steps *= 2;
  if (steps == max_doubled && 60 * steps <= 4 * whole) steps = max_steps;
  const auto even = [](std::int64_t n) { return std::min(n + n % 2, max_split); };
  const std::int64_t mean = rows > 0 ? nnz / rows : 0, piece = even(steps * step);
  const std::int64_t least = rows < few_rows ? 32 : 64, usual = (rows > very_few ? 4 : 2) * mean;
  const std::int64_t alone = rows < few_rows ? piece / 4 : teams <= few_teams ? piece / 2 : piece;
  const std::int64_t split = even(std::max({alone, usual, least}));
  std::int64_t sharing = 1;
  while (2 * sharing <= std::min({teams, max_sharing, split / 2})) sharing *= 2;
  return {.split = split, .piece = std::min(piece, split * sharing), .sharing = sharing};
}

/// `a` lies on the host and holds its invariants. Parallel; the result does not depend on the number of threads. Reads
/// A once and the row pointers three times. Throws error{invalid_argument | wrong_memory_space | size_overflow |
/// out_of_memory}; size_overflow where rows or columns do not fit 31 bits or pairs 32.
template <number T, index I>
row_stream<scalar_of<T>> to_row_stream(const csr_view<T, I>& a, const row_stream_options& options = {});

/// Throws error{invalid_argument | size_overflow} for a matrix that no stream can hold.
void check_row_stream(std::int64_t rows, std::int64_t cols, const row_stream_options& options);

/// A stream on a GPU; device_compact.hpp says the same of its matrices.
template <value T>
struct device_row_stream {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  std::int64_t sharing = 1, num_shared = 0, num_partials = 0;
  core::device_buffer<row_piece> pieces;
  core::device_buffer<entry_pair<T>> pairs;
  core::device_buffer<std::int32_t> heavy_ptr;

  std::int64_t num_pieces() const { return pieces.size() - 1; }
  std::int64_t num_heavy() const { return heavy_ptr.size() - 1; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(pieces.bytes() + pairs.bytes() + heavy_ptr.bytes()); }
};

/// Returns when the copy is done.
template <value T>
device_row_stream<T> upload(int device, const row_stream<T>& a) {
  return {a.rows,
          a.cols,
          a.nnz,
          a.sharing,
          a.num_shared,
          a.num_partials,
          {device, std::span<const row_piece>(a.pieces)},
          {device, std::span<const entry_pair<T>>(a.pairs)},
          {device, std::span<const std::int32_t>(a.heavy_ptr)}};
}

/// The same stream, made on the GPU: bit-equal to the host's. `a` lies on the device and holds its invariants. As
/// device_compact.hpp: work on the default stream, complete on return, error{no_device} in a build without CUDA.
///
/// Method: a stable radix sort of the rows by class of length, sums of their pairs in that order, then every pair of
/// the stream fetches its entries. Reads A once and the row pointers four times, writes the stream once, and waits once
/// for the sizes, a second time if there are heavy rows. Temporary memory: 28 bytes per row, and what the sort of as
/// many takes. Throws error{invalid_argument | wrong_memory_space | size_overflow | out_of_memory | cuda_error}.
template <number T>
device_row_stream<scalar_of<T>> to_row_stream_on_device(int device, const csr_view<T, std::int32_t>& a,
                                                        const row_stream_options& options = {});

/// Row i becomes row_of[i], for each of the stream's rows: of a matrix whose rows were put into another order.
template <value T>
void rename_rows(row_stream<T>& a, std::span<const std::int64_t> row_of);
template <value T>
void rename_rows(int device, device_row_stream<T>& a, std::span<const std::int64_t> row_of);

}  // namespace bcsc::forms
