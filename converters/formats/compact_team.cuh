#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "converters/formats/compact_classes.cuh"
#include "converters/formats/compact_moves.cuh"

/// A row block ordered by a team of threads in shared memory: counted where its columns lie close together, merged
/// elsewhere.
namespace bcsc::converters::steps {

/// The sum of `count` over this lane and the lanes below it; the whole warp takes part.
__device__ inline unsigned sum_up_to(unsigned count) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffu, count, distance);
    if (static_cast<int>(threadIdx.x) % 32 >= distance) count += below;
  }
  return count;
}

/// A team's shared memory.
template <class Class>
struct merge_storage {
  std::uint64_t keys[Class::capacity];  // from bit 16 on: the key; below: the entry's place in the row block
  std::uint16_t row_start[max_rows + 1];
  int min_col, max_col;
  unsigned warp_sums[Class::team / 32];
};
static_assert(max_capacity <= 65536);

template <class Class>
__device__ void meet() {
  if constexpr (Class::team == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// Two neighbouring lists of `span` rows each, which become one, and how far their merge has got. Must not be advanced
/// past the last pair's end.
struct pair_of_lists {
  const std::uint64_t* keys;
  const std::uint16_t* row_start;
  int height, span, pair = 0;  // the pair's first row
  int a = 0, a_end = 0, b = 0, b_end = 0;
  std::uint64_t key_a = none, key_b = none;

  static constexpr std::uint64_t none = ~0ull;

  /// Starts at the entry that will be number `first` of the row block.
  __device__ pair_of_lists(const std::uint64_t* keys, const std::uint16_t* row_start, int height, int span, int row,
                           int first)
      : keys(keys), row_start(row_start), height(height), span(span), pair(row & ~(2 * span - 1)) {
    set_ends();
    const int begin = a, before = first - begin;
    int low = before - (b_end - b) > 0 ? before - (b_end - b) : 0;
    for (int high = before < a_end - a ? before : a_end - a; low < high;) {
      const int middle = (low + high) / 2;
      if (keys[begin + middle] < keys[a_end + before - 1 - middle]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    a = begin + low;
    b = a_end + before - low;
    read_a();
    read_b();
  }
  __device__ std::uint64_t next() {
    while (a == a_end && b == b_end) {
      pair += 2 * span;
      set_ends();
      read_a();
      read_b();
    }
    const bool from_a = key_a < key_b;
    const std::uint64_t key = from_a ? key_a : key_b;
    const int place = from_a ? ++a : ++b;
    const std::uint64_t following = place < (from_a ? a_end : b_end) ? keys[place] : none;
    if (from_a) {
      key_a = following;
    } else {
      key_b = following;
    }
    return key;
  }

 private:
  __device__ int start_of(int row) const { return row_start[row < height ? row : height]; }
  __device__ void set_ends() {
    a = start_of(pair);
    b = a_end = start_of(pair + span);
    b_end = start_of(pair + 2 * span);
  }
  __device__ void read_a() { key_a = a < a_end ? keys[a] : none; }
  __device__ void read_b() { key_b = b < b_end ? keys[b] : none; }
};

/// One row block and the team that orders it.
template <class Class, class I>
struct block_team {
  const workplace<I>& at;
  merge_storage<Class>& s;
  int thread, lane, warp;
  std::int64_t block, first_row, begin;
  int height, entries;
  // From the row block's first entry on:
  const I* from_col_ind;
  I* col_ind;
  std::uint8_t* col_count;

  static constexpr int team = Class::team;
  static constexpr int warps = team / 32;
  static constexpr unsigned whole_warp = 0xffffffffu;

  __device__ block_team(const workplace<I>& at, merge_storage<Class>& s, std::int64_t block)
      : at(at),
        s(s),
        thread(static_cast<int>(threadIdx.x) % team),
        lane(thread % 32),
        warp(thread / 32),
        block(block),
        first_row(at.first_row(block)),
        begin(at.job.row_ptr[first_row]),
        height(static_cast<int>(at.first_row(block + 1) - first_row)),
        entries(static_cast<int>(at.job.row_ptr[first_row + height] - begin)),
        from_col_ind(at.job.col_ind + begin),
        col_ind(at.col_ind + begin),
        col_count(reinterpret_cast<std::uint8_t*>(at.col_count) + begin) {}

  __device__ void order() const {
    if (thread == 0) {
      s.min_col = 0x7fffffff;
      s.max_col = 0;
    }
    meet<Class>();
    for (int row = thread; row <= height; row += team) {
      const std::int64_t from = at.job.row_ptr[first_row + row];
      s.row_start[row] = static_cast<std::uint16_t>(from - begin);
      if (row == height) break;
      const std::int64_t to = at.job.row_ptr[first_row + row + 1];
      if (from == to) continue;
      atomicMin(&s.min_col, static_cast<int>(at.job.col_ind[from]));
      atomicMax(&s.max_col, static_cast<int>(at.job.col_ind[to - 1]));
    }
    meet<Class>();
    const std::int64_t span = std::int64_t{s.max_col} - s.min_col + 1;
    const int words = (height + 31) / 32;
    if (span <= 2 * entries && span * (4 * words + 2) <= counting_bytes) {
      count(static_cast<int>(span), words);
    } else {
      merge();
    }
    meet<Class>();
  }

 private:
  /// How much of `keys` the bits and the beginnings of columns may take while these are counted. After them: where each
  /// place's entry comes from (two bytes), and its row (one byte).
  static constexpr int counting_bytes = 5 * Class::capacity;

  /// Entry k's key: its column `col`, counted from the row block's least, and its row.
  __device__ std::uint32_t key(int k, unsigned col) const {
    return (col - static_cast<unsigned>(s.min_col)) << at.row_bits | static_cast<unsigned>(row_of(k));
  }
  /// The last row that begins at or before entry k.
  __device__ int row_of(int k) const {
    int row = 0;
    for (int rows = height; rows > 1;) {
      const int half = rows / 2;
      if (s.row_start[row + half] <= k) row += half;
      rows -= half;
    }
    return row;
  }
  /// Every warp passes a number and gets the sum of those before it; `all` is the total.
  __device__ unsigned sum_before(unsigned of_warp, unsigned& all) const {
    if constexpr (warps == 1) {
      all = of_warp;
      return 0;
    } else {
      if (lane == 0) s.warp_sums[warp] = of_warp;
      meet<Class>();
      const unsigned sums = sum_up_to(lane < warps ? s.warp_sums[lane] : 0);
      all = __shfl_sync(whole_warp, sums, warps - 1);
      const unsigned before = __shfl_sync(whole_warp, sums, warp > 0 ? warp - 1 : 0);
      return warp > 0 ? before : 0;
    }
  }

  /// Where columns lie close together: sets a bit for each entry, by column and row, then ranks entries by them.
  __device__ void count(int span, int words) const {
    auto* const rows = reinterpret_cast<std::uint32_t*>(s.keys);                // [span][words]
    auto* const start = reinterpret_cast<std::uint16_t*>(rows + span * words);  // [span]
    auto* const from_of = reinterpret_cast<std::uint16_t*>(reinterpret_cast<unsigned char*>(s.keys) + counting_bytes);
    auto* const row_at = reinterpret_cast<std::uint8_t*>(from_of + Class::capacity);
    const std::uint32_t row_mask = (1u << at.row_bits) - 1;
    for (int i = thread; i < span * words; i += team) rows[i] = 0;
    meet<Class>();
    std::uint32_t own[Class::max_each];
#pragma unroll
    for (int i = 0; i < Class::max_each; ++i) {
      const int k = thread + i * team;
      if (k < entries) own[i] = static_cast<unsigned>(__ldg(from_col_ind + k));
    }
#pragma unroll
    for (int i = 0; i < Class::max_each; ++i) {
      const int k = thread + i * team;
      if (k >= entries) break;
      own[i] = key(k, own[i]);
      const std::uint32_t row = own[i] & row_mask;
      atomicOr(rows + (own[i] >> at.row_bits) * words + row / 32, 1u << (row % 32));
    }
    meet<Class>();
    // Every warp takes a share of the columns: its sums hold entries in the lower half, columns in the upper.
    const auto in_column = [&](int i) {
      unsigned count = 0;
      for (int w = 0; w < words; ++w) count += static_cast<unsigned>(__popc(rows[i * words + w]));
      return count > 0 ? count + (1u << 16) : 0;
    };
    const int share = (span + 32 * warps - 1) / (32 * warps) * 32;
    const int share_begin = warp * share, share_end = share_begin + share < span ? share_begin + share : span;
    unsigned of_warp = 0, all = 0;
    for (int i = share_begin + lane; i < share_end; i += 32) of_warp += in_column(i);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) of_warp += __shfl_xor_sync(whole_warp, of_warp, distance);
    unsigned before = sum_before(of_warp, all);
    for (int i = share_begin + lane; i - lane < share_end; i += 32) {
      const unsigned own_count = i < share_end ? in_column(i) : 0;
      const unsigned with_own = sum_up_to(own_count), below = before + with_own - own_count;
      before += __shfl_sync(whole_warp, with_own, 31);
      if (i >= share_end) continue;
      start[i] = static_cast<std::uint16_t>(below);
      if (own_count == 0) continue;
      set_column(static_cast<int>(below >> 16), static_cast<unsigned>(s.min_col + i), own_count & 0xffffu);
    }
    if (thread == 0) at.num_columns[block] = static_cast<I>(all >> 16);
    meet<Class>();
#pragma unroll
    for (int i = 0; i < Class::max_each; ++i) {
      const int k = thread + i * team;
      if (k >= entries) break;
      const std::uint32_t row = own[i] & row_mask, col = own[i] >> at.row_bits;
      const std::uint32_t* const bits = rows + col * words;
      int place = start[col];
      for (std::uint32_t w = 0; w < row / 32; ++w) place += __popc(bits[w]);
      place += __popc(bits[row / 32] & ((1u << (row % 32)) - 1));
      from_of[place] = static_cast<std::uint16_t>(k);
      row_at[place] = static_cast<std::uint8_t>(row);
    }
    meet<Class>();
    move_entries(at.job, begin, entries, thread, team, [&](int k) { return entry_move{k, from_of[k], row_at[k]}; });
  }

  /// For all other row blocks. A thread makes a run of each merged list: one search for where the run begins in both
  /// lists of the pair, then entry by entry.
  __device__ void merge() const {
    for (int first = thread; first < entries; first += at_once * team) {
      unsigned col[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int k = first + i * team;
        col[i] = k < entries ? static_cast<unsigned>(__ldg(from_col_ind + k)) : 0;
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int k = first + i * team;
        if (k < entries) s.keys[k] = std::uint64_t{key(k, col[i])} << 16 | static_cast<unsigned>(k);
      }
    }
    meet<Class>();
    const int each = (entries + team - 1) / team | 1;
    const int first = thread * each, run = first + each < entries ? each : entries - first;
    for (int span = 1; span < height; span *= 2) {  // rows of a sorted list
      std::uint64_t merged[Class::max_each];
      if (run > 0) {
        pair_of_lists lists(s.keys, s.row_start, height, span, row_of(first), first);
#pragma unroll
        for (int i = 0; i < Class::max_each; ++i) {
          if (i >= run) break;
          merged[i] = lists.next();
        }
      }
      meet<Class>();
#pragma unroll
      for (int i = 0; i < Class::max_each; ++i) {
        if (i >= run) break;
        s.keys[first + i] = merged[i];
      }
      meet<Class>();
    }
    const int col_from = 16 + at.row_bits;
    const unsigned row_mask = (1u << at.row_bits) - 1;
    const std::uint64_t* const keys = s.keys;
    move_entries(at.job, begin, entries, thread, team, [&](int k) {
      return entry_move{k, static_cast<int>(keys[k] & 0xffffu), static_cast<unsigned>(keys[k] >> 16) & row_mask};
    });

    // Every warp takes a share of the entries, 32 at a time; lane i keeps the bits of those that begin a column.
    const int share_begin = warp * each * 32;
    const int rounds = share_begin < entries ? min(each, (entries - share_begin + 31) / 32) : 0;
    unsigned begins = 0, of_warp = 0, all = 0;
    for (int i = 0; i < rounds; ++i) {
      const int k = share_begin + 32 * i + lane;
      const bool yes = k < entries && (k == 0 || keys[k] >> col_from != keys[k - 1] >> col_from);
      const unsigned bits = __ballot_sync(whole_warp, yes);
      if (lane == i) begins = bits;
      of_warp += static_cast<unsigned>(__popc(bits));
    }
    unsigned before = sum_before(of_warp, all);
    if (thread == 0) at.num_columns[block] = static_cast<I>(all);
    for (int i = 0; i < rounds; ++i) {
      const unsigned bits = __shfl_sync(whole_warp, begins, i);
      const int k = share_begin + 32 * i + lane;
      if ((bits >> lane & 1u) != 0) {
        const std::uint64_t col = keys[k] >> col_from;
        const unsigned behind = bits >> lane & ~1u;
        int end = behind != 0 ? k + __ffs(static_cast<int>(behind)) - 1 : min(k + 32 - lane, entries);
        if (behind == 0) {
          while (end < entries && keys[end] >> col_from == col) ++end;
        }
        set_column(static_cast<int>(before) + __popc(bits & ((1u << lane) - 1)),
                   static_cast<unsigned>(s.min_col) + static_cast<unsigned>(col), static_cast<unsigned>(end - k));
      }
      before += static_cast<unsigned>(__popc(bits));
    }
  }

  __device__ void set_column(int j, unsigned col, unsigned in_column) const {
    col_ind[j] = static_cast<I>(col);
    col_count[j] = static_cast<std::uint8_t>(in_column - 1);
  }
};

}  // namespace bcsc::converters::steps
