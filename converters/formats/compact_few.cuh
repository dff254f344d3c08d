#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/compact_classes.cuh"
#include "converters/formats/compact_moves.cuh"

/// A row block of a few entries, ordered in the registers of a warp.
namespace bcsc::converters::steps {

/// Orders a row block of at most 32 * Each entries in a warp's registers: the lanes exchange their keys. Lane r passes
/// where row r begins, counted from the row block's first entry.
template <int Each, class I>
__device__ void order_few(const workplace<I>& at, std::int64_t block, std::int64_t begin, int entries, int height,
                          int row_start) {
  constexpr unsigned whole_warp = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % 32, row_bits = at.row_bits;
  unsigned key[Each], row[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int k = lane + 32 * i;
    key[i] = k < entries ? static_cast<unsigned>(__ldg(at.job.col_ind + begin + k)) << row_bits : ~0u;
    row[i] = 0;
  }
  for (int r = 1; r < height; ++r) {
    const int from = __shfl_sync(whole_warp, row_start, r);
#pragma unroll
    for (int i = 0; i < Each; ++i) row[i] += lane + 32 * i >= from ? 1 : 0;
  }
  // For each key: how many keys are below it, how many are in earlier columns, how many up to its column's end.
  unsigned place[Each], column_begin[Each], column_end[Each], min_of_column[Each], min_of_next[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    min_of_column[i] = key[i];
    min_of_next[i] = key[i] + (1u << row_bits);
    if (lane + 32 * i < entries) key[i] |= row[i];
    place[i] = column_begin[i] = column_end[i] = 0;
  }
#pragma unroll
  for (int half = 0; half < Each; ++half) {
    const int there = entries - 32 * half < 32 ? entries - 32 * half : 32;
#pragma unroll 4
    for (int from = 0; from < there; ++from) {
      const unsigned other = __shfl_sync(whole_warp, key[half], from);
#pragma unroll
      for (int i = 0; i < Each; ++i) {
        place[i] += other < key[i] ? 1 : 0;
        column_begin[i] += other < min_of_column[i] ? 1 : 0;
        column_end[i] += other < min_of_next[i] ? 1 : 0;
      }
    }
  }
  unsigned long long columns = 0;  // a bit at the place of each entry that begins one
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    if (lane + 32 * i < entries && place[i] == column_begin[i]) columns |= 1ull << place[i];
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) columns |= __shfl_xor_sync(whole_warp, columns, distance);
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    if (lane + 32 * i >= entries || place[i] != column_begin[i]) continue;
    const std::int64_t j = begin + __popcll(columns & ((1ull << place[i]) - 1));
    at.col_ind[j] = static_cast<I>(key[i] >> row_bits);
    reinterpret_cast<std::uint8_t*>(at.col_count)[j] = static_cast<std::uint8_t>(column_end[i] - column_begin[i] - 1);
  }
  if (lane == 0) at.num_columns[block] = static_cast<I>(__popcll(columns));
  move_entries(at.job, begin, entries, lane, 32, [&](int k) {
    const int i = k < 32 ? 0 : Each - 1;
    return entry_move{static_cast<int>(i == 0 ? place[0] : place[Each - 1]), k, i == 0 ? row[0] : row[Each - 1]};
  });
}

}  // namespace bcsc::converters::steps
