#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/forms/product_args.hpp"
#include "kernels/forms/row_stream/layout.hpp"

/// A as the row-wise kernels read it: a stream of pieces of rows, in the order in which thread blocks take them
/// (kernels/forms/row_stream/row_stream.hpp makes it and says why it is cut and ordered so).
namespace bcsc::kernels {

/// S: scalar_of the product's values. Values of 16 bits are widened, so that a pair is still one 16-byte load, and
/// needs no instruction before it is multiplied.
template <class S>
struct row_stream_operand {
  std::int64_t rows, cols;
  std::int64_t num_pieces;
  std::int64_t sharing;        ///< pieces of a part of a long row: a power of two that divides a thread block's teams
  std::int64_t num_shared;     ///< pieces 0 .. num_shared - 1 are those of long rows
  std::int64_t num_partials;   ///< parts 0 .. num_partials - 1 are those of rows of several parts, the heavy rows
  std::int64_t num_heavy;      ///< heavy rows
  std::int64_t rows_together;  ///< so many rows, one after the other, read the same rows of B, a brick's; 0: unknown
  /// [num_pieces + 1], every row in one of them at least, those without entries at the end; the last names no piece,
  /// only the end of the one before it
  const forms::row_piece* pieces;
  /// [pieces[num_pieces].first_pair + 1]: one more than there are, since a piece that begins at the end reads it;
  /// padding has column 0, value 0
  const forms::entry_pair<S>* pairs;
  std::int64_t num_pairs;         ///< without the one past the end
  const std::int32_t* heavy_ptr;  ///< [num_heavy + 1] which parts each heavy row has
  /// [num_partials][partials_ld(n)], aligned to 16 bytes: need not be initialised, and is not read after the product;
  /// null if num_heavy = 0
  S* workspace;
  cache_policy in_l2 = cache_policy::evict_normal;  ///< of `pairs`, but in fp64

  /// The piece that tells the row of part `p`.
  constexpr const forms::row_piece* of_partial(std::int64_t p) const { return pieces + p * sharing; }
};

template <class T>
using row_stream_args = product_args<T, row_stream_operand<scalar_of<T>>>;

/// Rows of partial sums are whole 16-byte vectors; partials_ld: elements from one to the next.
template <class S>
inline constexpr std::int64_t partials_grain = 16 / sizeof(S);
template <class S>
constexpr std::int64_t partials_ld(std::int64_t n) {
  return (n + partials_grain<S> - 1) / partials_grain<S> * partials_grain<S>;
}

/// A stream as an operand, on the host (for the emulated GPU) or the device.
template <class S, class Stream>
row_stream_operand<S> operand_of(const Stream& stream, S* workspace, std::int64_t rows_together = 0) {
  return {.rows = stream.rows,
          .cols = stream.cols,
          .num_pieces = stream.num_pieces(),
          .sharing = stream.sharing,
          .num_shared = stream.num_shared,
          .num_partials = stream.num_partials,
          .num_heavy = stream.num_heavy(),
          .rows_together = rows_together,
          .pieces = stream.pieces.data(),
          .pairs = stream.pairs.data(),
          .num_pairs = static_cast<std::int64_t>(stream.pairs.size()) - 1,
          .heavy_ptr = stream.heavy_ptr.data(),
          .workspace = workspace};
}

/// How many pieces a team takes one after the other, at most `most`, where `rounds` thread blocks would take one each:
/// as many as leave a few thread blocks for each of the `places` resident on the GPU at once; longer ones would
/// unbalance the end.
constexpr std::int64_t depth_for(std::int64_t rounds, std::int64_t places, std::int64_t most) {
  constexpr std::int64_t blocks_each = 4;
  return std::clamp<std::int64_t>(rounds / (blocks_each * std::max<std::int64_t>(1, places)), 1, most);
}

/// The same where a piece takes hardly longer than to start a thread block: as few as let all thread blocks run at
/// once, or `most`.
constexpr std::int64_t depth_for_short(std::int64_t rounds, std::int64_t places, std::int64_t most) {
  const std::int64_t before_last = std::max<std::int64_t>(0, rounds - 1) / std::max<std::int64_t>(1, places);
  return std::min(before_last + 1, most);
}

/// At most that many where rows lie in bricks: with more rows than a brick thread blocks took 10 % longer
/// (docs/history, 84).
constexpr int depth_in_bricks(std::int64_t rows_together, std::int64_t teams, int most) {
  if (rows_together == 0) return most;
  return static_cast<int>(std::min<std::int64_t>(most, (rows_together + teams - 1) / teams));
}

}  // namespace bcsc::kernels
