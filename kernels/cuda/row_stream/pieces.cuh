#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/global_load.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/forms/row_stream/operand.hpp"

/// How a product with a row stream is cut into thread blocks, and how a team of threads walks its pieces: what the
/// row-wise product and its transpose share.
namespace bcsc::kernels::cuda {

/// The part of N x pieces that thread blocks take: computed by the host, handed to the kernel.
struct stream_grid {
  std::int64_t num_chunks;  // of depth pieces for each team of a thread block
  std::int64_t num_blocks;
  double tile_of_block;  // 1 / num_chunks
  int depth;
  int width;  // columns of a tile: all tiles are about equally wide
};

/// What a table entry asks for.
struct stream_shape {
  int teams;              // of a thread block
  int depth;              // the most pieces a team takes one after the other
  int resident_blocks;    // that a multiprocessor holds at once
  bool is_short = false;  // a piece takes hardly longer than to start a thread block
};

/// Tiles of at most `max_width` columns, of even width and in whole multiples of `unit` (a sector of 32 bytes), so that
/// 129 columns cost little more than 128.
inline stream_grid cut_stream(std::int64_t num_pieces, std::int64_t n, std::int64_t max_width, std::int64_t unit,
                              std::int64_t batch_count, const stream_shape& shape, int num_multiprocessors) {
  const std::int64_t even = ceil_div(n, ceil_div(n, max_width));
  const std::int64_t width = ceil_div(even, unit) * unit;
  const std::int64_t num_tiles = ceil_div(n, width);
  const std::int64_t rounds = ceil_div(num_pieces, shape.teams) * num_tiles * batch_count;
  const std::int64_t places = std::int64_t{num_multiprocessors} * shape.resident_blocks;
  const std::int64_t depth =
      shape.is_short ? depth_for_short(rounds, places, shape.depth) : depth_for(rounds, places, shape.depth);
  const std::int64_t num_chunks = ceil_div(num_pieces, depth * shape.teams);
  return {num_chunks, num_chunks * num_tiles, 1.0 / static_cast<double>(num_chunks), static_cast<int>(depth),
          static_cast<int>(width)};
}

/// What a thread block does at one turn: a chunk of pieces times a tile of columns.
struct stream_block {
  std::int64_t chunk;
  std::int64_t first_col;
  int num_cols;

  __device__ stream_block(const stream_grid& grid, std::int64_t index, std::int64_t n) {
    const std::int64_t col_tile =
        grid.num_blocks == grid.num_chunks ? 0 : divide(index, grid.num_chunks, grid.tile_of_block);
    chunk = index - col_tile * grid.num_chunks;
    first_col = col_tile * grid.width;
    num_cols = static_cast<int>(min(n - first_col, static_cast<std::int64_t>(grid.width)));
  }
};

/// Where the `which`th of a lane's columns stands in a tile: Width neighbours, then the next Width behind those of all
/// other lanes.
template <int Lanes, int Width>
__device__ int column_of(int lane, int which) {
  return (which / Width * Lanes + lane) * Width + which % Width;
}

/// A piece as it lies in memory: nothing is computed with it before it is needed, since that would wait for the load.
struct fetched_piece {
  unsigned first_pair, end_pair;
  unsigned row_and_odd;

  __device__ int num_pairs() const { return static_cast<int>(end_pair - first_pair); }
  __device__ int last_is_padding() const { return static_cast<int>(row_and_odd & 1); }
  __device__ int row() const { return static_cast<int>(row_and_odd >> 1); }
};

__device__ inline fetched_piece fetch_piece(const forms::row_piece* from) {
  const uint2 whole = __ldg(reinterpret_cast<const uint2*>(from));
  return {whole.x, __ldg(&from[1].first_pair), whole.y};
}

__device__ inline forms::entry_pair<float> load_pair(const forms::entry_pair<float>* from, cache_policy in_l2) {
  const int4 some = load_streamed(reinterpret_cast<const int4*>(from), in_l2);
  return {{some.x, some.y}, {__int_as_float(some.z), __int_as_float(some.w)}};
}
__device__ inline forms::entry_pair<double> load_pair(const forms::entry_pair<double>* from, cache_policy) {
  const int2 cols = __ldg(reinterpret_cast<const int2*>(from->col));
  return {{cols.x, cols.y}, {__ldg(&from->value[0]), __ldg(&from->value[1])}};
}

/// The pairs of one step of a group, `Groups` apart, since the groups of a team take a piece's pairs in turn.
template <class S, int Count>
struct fetched_pairs {
  forms::entry_pair<S> at[Count];
};

/// The pairs from `base` on. Behind the end of the piece its last pair is read again, so that no branch separates the
/// loads; the multiplication leaves it out.
template <int Count, int Groups, class S>
__device__ fetched_pairs<S, Count> fetch_pairs(const row_stream_operand<S>& a, unsigned first, int num_pairs,
                                               int base) {
  fetched_pairs<S, Count> some;
#pragma unroll
  for (int k = 0; k < Count; ++k) {
    const int wanted = min(base + k * Groups, num_pairs - 1);
    some.at[k] = load_pair(a.pairs + (first + static_cast<unsigned>(max(wanted, 0))), a.in_l2);
  }
  return some;
}

/// A team's way through its pieces. Three dependent loads (piece, entries, rows of B) belong to three different pieces
/// or steps: while one is multiplied, the entries of the next step and the piece after the next are on their way.
template <class S, int Count, int Groups>
struct piece_cursor {
  const row_stream_operand<S>& a;
  const forms::row_piece* coming;  // two further on than the current one
  std::int64_t stride;             // from one piece of the team to its next
  int left;                        // of the team's pieces, with the current one; the last chunk has none for some teams
  int group;
  fetched_piece piece, next, after_next;
  fetched_pairs<S, Count> ahead;

  /// The `count` pieces first, first + stride, ...
  __device__ piece_cursor(const row_stream_operand<S>& operand, std::int64_t first, std::int64_t stride, int count,
                          int group)
      : a(operand), coming(operand.pieces + first), stride(stride), left(count), group(group) {
    piece = fetch(0);
    coming += stride;
    next = fetch(1);
    coming += stride;
    ahead = fetch_pairs<Count, Groups>(a, piece.first_pair, piece.num_pairs(), group);
  }

  __device__ fetched_piece fetch(int further) const {
    fetched_piece some{0, 0, 0};
    if (further < left) some = fetch_piece(coming);
    return some;
  }
  /// Always true, but known only once the first entries have arrived, so a branch on it holds their loads where they
  /// are. Without it ptxas moves the loads of A past the wait for the previous kernel, and every product starts later.
  __device__ bool has_entries_at_hand() const {
    int cols = 0;  // negative if any is
#pragma unroll
    for (int k = 0; k < Count; ++k) cols |= ahead.at[k].col[0];
    return piece.num_pairs() == 0 || cols >= 0;
  }
  __device__ void look_ahead() {
    after_next = fetch(2);
    coming += stride;
  }
  __device__ void advance() {
    piece = next;
    next = after_next;
    --left;
  }
  __device__ bool exists() const { return left > 0; }
  __device__ std::int64_t index() const { return coming - 3 * stride - a.pieces; }  // behind look_ahead()
};

}  // namespace bcsc::kernels::cuda
