#pragma once

#include <cstdint>

/// How the stream of row pieces lies in memory: what kernels/forms/row_stream/row_stream.hpp writes and the row-wise
/// kernels read (kernels/forms/row_stream/operand.hpp). Pairs of entries are counted, in 32 bits: just under 2^33
/// entries, with rows and columns of 31 bits.
namespace bcsc::forms {

/// Two neighbouring entries of a row: 16 bytes in fp32, one load; 24 in fp64, three loads of 8 bytes. Columns and
/// values lie together, so that what a warp reads of a row is contiguous. fp16 and bf16 come as fp32.
template <class T>
struct alignas(sizeof(T) == 4 ? 16 : 8) entry_pair {
  std::int32_t col[2];
  T value[2];
  friend bool operator==(const entry_pair&, const entry_pair&) = default;
};

/// A run of entries of one row. It ends where the next piece begins.
struct alignas(8) row_piece {
  std::uint32_t first_pair;   ///< in the array of pairs
  std::uint32_t row_and_odd;  ///< 2 * row of C, plus 1 if the second entry of its last pair is padding
  constexpr std::int64_t row_of_c() const { return row_and_odd >> 1; }
  friend bool operator==(const row_piece&, const row_piece&) = default;
};

/// The most entries of a row that stays whole: kernels count those of a piece in 31 bits.
inline constexpr std::int64_t max_split = std::int64_t{1} << 30;

/// How rows of more than `split` entries, the long ones, are cut: into even pieces of at most `piece` entries. Each
/// `sharing` pieces that follow each other are a *part*, which the teams of one thread block take together. The rows of
/// several parts are the heavy ones.
struct row_cut {
  std::int64_t split = 2, piece = 2, sharing = 1;

  constexpr bool is_long(std::int64_t entries) const { return entries > split; }
  /// Of a long row.
  constexpr std::int64_t parts(std::int64_t entries) const { return (entries - 1) / (piece * sharing) + 1; }
  constexpr std::int64_t pieces(std::int64_t entries) const { return is_long(entries) ? parts(entries) * sharing : 1; }
  constexpr bool is_heavy(std::int64_t entries) const { return is_long(entries) && parts(entries) > 1; }
  /// Whether rows of at most `longest` entries lie the same way by `other`: by all cuts by which none is long.
  constexpr bool is_like(const row_cut& other, std::int64_t longest) const {
    return *this == other || (!is_long(longest) && !other.is_long(longest));
  }
  friend bool operator==(const row_cut&, const row_cut&) = default;
};

/// Whether a stream can hold every matrix of these sizes: each row may end in half a pair, and one pair lies behind the
/// last.
constexpr bool stream_holds(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  constexpr std::int64_t max_rows = 0x7fffffff, max_pairs = 0xffffffff;
  return rows <= max_rows && cols <= max_rows && (nnz + rows) / 2 < max_pairs;
}

}  // namespace bcsc::forms
