#pragma once

#include <cstdint>

/// How rows that stand side by side lie in memory: what kernels/forms/row_slices/row_slices.hpp writes and the kernel
/// for one column reads.
namespace bcsc::forms {

/// Lanes of a slice, one row each: 64 bytes, whatever the machine's vectors are, so that a matrix is stored alike on
/// all.
template <class T>
inline constexpr int slice_lanes = 64 / static_cast<int>(sizeof(T));

/// Bytes of A from which no cache holds it from one product to the next: it is streamed from memory.
inline constexpr std::int64_t streamed_bytes = std::int64_t{16} << 20;

/// The most entries of a row that shares a slice, which bounds what a kernel unpacks at once.
inline constexpr std::int64_t max_shared_row = 256;

enum class slice_rows : std::uint8_t {
  neighbours,  ///< lane i is row first_row + i
  listed,      ///< lane i is row listed[first_row + i]
  one,         ///< all lanes are of one long row, first_row, and are added up
};

/// Steps that the lanes take together, each with a value and a bit of its mask for every lane. A lane whose bit is 0
/// has no entry there: its value is 0, and its column is not read. First come the diagonals, whose lane i is of column
/// columns[d] + i, so that B is read where it lies; then the gathers, with a column for each lane.
struct row_slice {
  std::int64_t first_step;    ///< in masks, and times the lanes in values
  std::int64_t first_column;  ///< in columns
  std::int32_t first_row;
  std::int32_t num_diagonals;
  std::int32_t num_gathers;
  std::uint16_t present;  ///< the lanes that are rows
  slice_rows rows;
  bool full;  ///< every lane has an entry in every step
  friend bool operator==(const row_slice&, const row_slice&) = default;
};

}  // namespace bcsc::forms
