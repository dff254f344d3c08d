#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

#include "bcsc/elements.hpp"
#include "converters/formats/device_grid.cuh"
#include "converters/formats/grid.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// The kernels that make a stream of row pieces from CSR (row_stream_steps.cu starts them).
///
/// Row order: each row gets a key, 0 for heavy rows, 1 for other long ones, then the classes of length, longest first;
/// a stable sort does the rest. Prefix sums of pairs and of long rows' pieces in that order give where each begins.
/// Entries: a thread block owns the next `tile` pairs of the stream, whatever pieces they belong to, so that neither
/// long rows nor short ones leave threads idle; each thread finds its pair's piece by a search among those of the tile,
/// in shared memory. A is read once, the pairs are written once.
namespace bcsc::forms::steps {

using converters::steps::count_while;

/// Rows of up to 2^31 - 1 entries, in 32 bits: a pair more than there are entries fits.
struct row_cutting {
  const std::int32_t* row_ptr;
  row_cut by;
  std::uint32_t grain, num_classes;

  __host__ __device__ std::uint32_t entries(std::int64_t row) const {
    return static_cast<std::uint32_t>(row_ptr[row + 1] - row_ptr[row]);
  }
  static __host__ __device__ std::uint32_t pairs(std::uint32_t entries) { return entries / 2 + entries % 2; }
  /// Keys from 0 to num_classes.
  __host__ __device__ std::uint32_t key(std::uint32_t entries) const {
    if (by.is_long(entries)) return by.is_heavy(entries) ? 0 : 1;
    const std::uint32_t length_class = entries / grain + (entries % grain != 0 ? 1 : 0);
    return num_classes - length_class;
  }
};

/// The key of the row at a place before the sort, and its number; counts the heavy rows and the long ones.
struct row_key_body {
  row_cutting cut;
  converters::grid bricks;
  converters::brick_shape shape;
  std::uint32_t* keys;
  std::int32_t* order;
  unsigned long long* counts;  // [2]
  __device__ void operator()(std::int64_t place) const {
    const std::int64_t row = bricks.exists() ? converters::row_in_bricks(bricks, shape, place) : place;
    const std::uint32_t entries = cut.entries(row);
    keys[place] = cut.key(entries);
    order[place] = static_cast<std::int32_t>(row);
    if (cut.by.is_heavy(entries)) atomicAdd(counts, 1ull);
    if (cut.by.is_long(entries)) atomicAdd(counts + 1, 1ull);
  }
};

/// What row order[s] takes of the stream: its pairs, and if it is long its pieces << 32. Neither sum reaches 2^32:
/// there are fewer than 2^31 entries and rows.
struct row_weight {
  row_cutting cut;
  const std::int32_t* order;
  std::int64_t rows;
  __host__ __device__ std::uint64_t operator()(std::int64_t s) const {
    if (s >= rows) return 0;
    const std::uint32_t entries = cut.entries(order[s]);
    const std::uint64_t pairs = row_cutting::pairs(entries);
    if (!cut.by.is_long(entries)) return pairs;
    return pairs | static_cast<std::uint64_t>(cut.by.pieces(entries)) << 32;
  }
};

__device__ inline std::uint32_t first_pair_of(std::uint64_t begin) { return static_cast<std::uint32_t>(begin); }
__device__ inline std::uint32_t first_piece_of(std::uint64_t begin) { return static_cast<std::uint32_t>(begin >> 32); }

/// A piece of row `row` as it lies in memory.
__device__ inline row_piece make_piece(std::uint32_t first_pair, std::int32_t row, bool odd) {
  return {first_pair, 2 * static_cast<std::uint32_t>(row) + (odd ? 1u : 0u)};
}

/// The pieces of the light rows, the end of the stream and, of the heavy rows, heavy_ptr: for s of [0, rows].
struct light_piece_body {
  row_cutting cut;
  const std::int32_t* order;
  const std::uint64_t* begin;  // [rows + 1]
  std::int64_t rows, num_heavy, num_long, num_shared;
  row_piece* pieces;
  std::int32_t* source;  // [pieces] where each piece's entries begin in CSR
  std::int32_t* heavy_ptr;
  std::uint64_t* last_pair;  // of `pair_words` words
  int pair_words;
  __device__ void operator()(std::int64_t s) const {
    if (s <= num_heavy) heavy_ptr[s] = static_cast<std::int32_t>(first_piece_of(begin[s]) / cut.by.sharing);
    if (s < num_long) return;
    const std::int64_t piece = num_shared + (s - num_long);
    const std::uint32_t first_pair = first_pair_of(begin[s]);
    if (s == rows) {
      pieces[piece] = make_piece(first_pair, 0, false);
      for (int w = 0; w < pair_words; ++w) last_pair[w] = 0;
      return;
    }
    const std::int32_t row = order[s];
    pieces[piece] = make_piece(first_pair, row, cut.entries(row) % 2 != 0);
    source[piece] = cut.row_ptr[row];
  }
};

/// Piece p of the long rows: even shares of the row's pairs.
struct long_piece_body {
  row_cutting cut;
  const std::int32_t* order;
  const std::uint64_t* begin;
  std::int64_t num_long;
  row_piece* pieces;
  std::int32_t* source;
  __device__ void operator()(std::int64_t p) const {
    const std::int64_t s = count_while(num_long, [&](std::int64_t r) { return first_piece_of(begin[r]) <= p; }) - 1;
    const std::int32_t row = order[s];
    const std::uint32_t entries = cut.entries(row);
    const std::int64_t i = p - first_piece_of(begin[s]), count = cut.by.pieces(entries);
    const auto before = static_cast<std::uint32_t>(row_cutting::pairs(entries) * i / count);
    pieces[p] = make_piece(first_pair_of(begin[s]) + before, row, i == count - 1 && entries % 2 != 0);
    source[p] = cut.row_ptr[row] + static_cast<std::int32_t>(2 * before);
  }
};

/// Pairs of one thread block, and how many threads share them.
inline constexpr int tile_threads = 256;
inline constexpr int pairs_of_thread = 4;
inline constexpr int tile_pairs = tile_threads * pairs_of_thread;

/// first_piece[t] = the piece that pair t * tile_pairs lies in; for the end of the last tile that of the last pair. No
/// piece but the empty ones at the end of the stream begins where another does.
struct tile_body {
  const row_piece* pieces;
  std::int64_t num_pieces, num_pairs;
  std::uint32_t* first_piece;
  __device__ void operator()(std::int64_t tile) const {
    const std::int64_t next = tile * tile_pairs, pair = next < num_pairs ? next : num_pairs - 1;
    const std::int64_t up_to = count_while(num_pieces, [&](std::int64_t p) { return pieces[p].first_pair <= pair; });
    first_piece[tile] = static_cast<std::uint32_t>(up_to - 1);
  }
};

/// What is read of a value of A as bits, which are moved or, of 16, widened; and how a pair of what they became lies in
/// memory (entry_pair).
template <class T>
struct streamed_value {
  using stored = std::uint32_t;
  using type = std::uint32_t;
  static constexpr int words = 2;
  static __device__ type of(stored bits) { return bits; }
  static __device__ void store(std::uint64_t* to, std::uint32_t col0, std::uint32_t col1, type value0, type value1) {
    *reinterpret_cast<uint4*>(to) = make_uint4(col0, col1, value0, value1);
  }
};
template <>
struct streamed_value<double> {
  using stored = std::uint64_t;
  using type = std::uint64_t;
  static constexpr int words = 3;
  static __device__ type of(stored bits) { return bits; }
  static __device__ void store(std::uint64_t* to, std::uint32_t col0, std::uint32_t col1, type value0, type value1) {
    to[0] = std::uint64_t{col1} << 32 | col0;
    to[1] = value0;
    to[2] = value1;
  }
};
template <narrow_number T>
struct streamed_value<T> : streamed_value<float> {
  using stored = std::uint16_t;
  static __device__ std::uint32_t of(stored bits) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(T::from_bits(bits)));
  }
};

struct pair_filling {
  const row_piece* pieces;
  const std::int32_t* source;
  const std::uint32_t* first_piece;  // [tiles + 1]
  std::int64_t num_pairs;
  const std::int32_t* col_ind;
  const void* values;
  std::uint64_t* pairs;
};

/// Block b fills pairs [b * tile_pairs, (b + 1) * tile_pairs).
template <class T>
__global__ void __launch_bounds__(tile_threads)
    fill_pairs_kernel(const __grid_constant__ pair_filling at, std::int64_t num_tiles) {
  using streamed = streamed_value<T>;
  using stored = typename streamed::stored;
  // At most a piece a pair, and one that begins where the tile ends.
  __shared__ int begin[tile_pairs + 2];             // in the tile; before it for the first piece
  __shared__ std::uint32_t source[tile_pairs + 1];  // 2 * where the entries begin, plus 1 if their number is odd
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    const std::int64_t first_pair = tile * tile_pairs;
    const std::int64_t left = at.num_pairs - first_pair;
    const int pairs = left < tile_pairs ? static_cast<int>(left) : tile_pairs;
    const std::int64_t first_piece = at.first_piece[tile];
    const int pieces = static_cast<int>(at.first_piece[tile + 1] - first_piece) + 1;
    for (int p = thread; p <= pieces; p += tile_threads) {
      const row_piece piece = at.pieces[first_piece + p];
      begin[p] = static_cast<int>(piece.first_pair - first_pair);
      if (p == pieces) break;
      source[p] = 2 * static_cast<std::uint32_t>(at.source[first_piece + p]) + piece.row_and_odd % 2;
    }
    __syncthreads();

    int max_step = 1;
    while (2 * max_step < pieces) max_step *= 2;
    std::uint32_t from[pairs_of_thread];
    bool present[pairs_of_thread], whole[pairs_of_thread];
#pragma unroll
    for (int i = 0; i < pairs_of_thread; ++i) {
      const int pair = thread + i * tile_threads;
      present[i] = pair < pairs;
      int piece = 0;  // the last that begins at or before `pair`
      for (int step = max_step; step > 0; step /= 2) {
        if (piece + step < pieces && begin[piece + step] <= pair) piece += step;
      }
      from[i] = source[piece] / 2 + 2 * static_cast<std::uint32_t>(pair - begin[piece]);
      whole[i] = source[piece] % 2 == 0 || pair + 1 < begin[piece + 1];
    }
    std::uint32_t col[pairs_of_thread][2];
    stored values[pairs_of_thread][2];
#pragma unroll
    for (int i = 0; i < pairs_of_thread; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool takes = present[i] && (e == 0 || whole[i]);
        col[i][e] = takes ? static_cast<std::uint32_t>(at.col_ind[from[i] + e]) : 0;
        values[i][e] = takes ? static_cast<const stored*>(at.values)[from[i] + e] : stored{0};
      }
    }
#pragma unroll
    for (int i = 0; i < pairs_of_thread; ++i) {
      if (!present[i]) continue;
      const std::int64_t pair = first_pair + thread + i * tile_threads;
      streamed::store(at.pairs + pair * streamed::words, col[i][0], col[i][1], streamed::of(values[i][0]),
                      streamed::of(values[i][1]));
    }
    __syncthreads();
  }
}

/// row = row_of[row].
struct rename_body {
  row_piece* pieces;
  const std::int32_t* row_of;
  __device__ void operator()(std::int64_t p) const {
    const row_piece piece = pieces[p];
    const std::uint32_t odd = piece.row_and_odd % 2;
    pieces[p].row_and_odd = 2 * static_cast<std::uint32_t>(row_of[piece.row_and_odd / 2]) + odd;
  }
};

}  // namespace bcsc::forms::steps
