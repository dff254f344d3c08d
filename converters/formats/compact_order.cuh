#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "converters/formats/compact_steps.hpp"
#include "core/dynamic_shared.cuh"

/// The order of a row block's entries, made by a team of threads. Nothing but CUDA's own language, so that it is tested
/// on the emulated GPU, too.
///
/// A row block's entries lie together in CSR and stay within the same range of positions; only their order is new, and
/// how many columns they make. A key is (column, row in the block), of at most 31 bits; keys differ, so no order but
/// theirs matters. Row blocks are parted into classes by weight, each with a team that suits it:
///  - up to 64 entries lie in a warp's registers; a key's place is the number of keys below it;
///  - where columns lie close together (bands, networks), bits of a small table count;
///  - elsewhere the rows, which are sorted, are merged pair by pair in shared memory.
/// Bytes moved: CSR once, the result once; the columns twice, for their number is not known before.
namespace bcsc::converters::steps {

/// Row blocks higher than this take the way of the heavy ones.
constexpr int max_rows = 256;

/// A team of threads that orders row blocks of up to `Capacity` entries; teams of one warp share a thread block.
template <int Team, int Capacity>
struct weight_class {
  static constexpr int team = Team, capacity = Capacity;
  static constexpr int threads = Team == 32 ? 128 : Team;
  static constexpr int teams = threads / Team;
  /// Entries of a thread, odd: runs of so many begin in different banks of shared memory.
  static constexpr int max_each = Capacity / Team | 1;
};
/// A thread merges up to 16 entries, for its search is worth no fewer; 8 where row blocks are so light that a team of
/// twice the threads is done sooner.
using weight_classes =
    std::tuple<weight_class<32, 256>, weight_class<64, 512>, weight_class<64, 1024>, weight_class<128, 2048>,
               weight_class<256, 4096>, weight_class<512, 8192>, weight_class<1024, 16384>>;
constexpr int num_classes = static_cast<int>(std::tuple_size_v<weight_classes>);
constexpr int min_capacity = std::tuple_element_t<0, weight_classes>::capacity;
constexpr int max_capacity = std::tuple_element_t<num_classes - 1, weight_classes>::capacity;
static_assert(max_capacity == min_capacity << (num_classes - 1), "list_of() counts doublings");

/// The lists of row blocks: those of a few entries, then the classes, then the heavy ones.
constexpr int few_list = 0, first_class_list = 1;
constexpr int heavy_list = first_class_list + num_classes;
constexpr int num_lists = heavy_list + 1;

/// A warp's registers hold so many entries, and the beginnings of so many rows and their end.
constexpr int max_few = 64, max_few_rows = 31, few_threads = 128;

__device__ inline int list_of(std::int64_t entries, std::int64_t rows) {
  if (rows > max_rows || entries > max_capacity) return heavy_list;
  if (entries <= max_few && rows <= max_few_rows) return few_list;
  int list = first_class_list;
  for (std::int64_t capacity = min_capacity; capacity < entries; capacity *= 2) ++list;
  return list;
}

/// The sum of `count` over this lane and the lanes below it; the whole warp takes part.
__device__ inline unsigned sum_up_to(unsigned count) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffu, count, distance);
    if (static_cast<int>(threadIdx.x) % 32 >= distance) count += below;
  }
  return count;
}

template <class I>
struct workplace {
  compaction<I> job;
  I* col_ind;            // [nnz] loose
  std::byte* col_count;  // [nnz] loose, as wide as the result's
  I* num_columns;        // [num_blocks + 1]
  std::int32_t* lists;   // [num_lists][num_blocks] row blocks
  unsigned* list_sizes;  // [num_lists]
  bool keys_fit;         // a key of any row block has at most 31 bits
  int row_bits;

  __device__ std::int64_t first_row(std::int64_t block) const {
    const std::int64_t row = block * job.m_block;
    return row < job.rows ? row : job.rows;
  }
};

/// What a team has of shared memory.
template <class Class>
struct merge_storage {
  std::uint64_t keys[Class::capacity];  // 16 bits from the end: the key; below: the entry's place in the row block
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

/// Two neighbouring lists of `span` rows each, which become one, and where their merging stands. Past the last pair's
/// end it must not go.
struct pair_of_lists {
  const std::uint64_t* keys;
  const std::uint16_t* row_start;
  int height, span, pair = 0;  // the pair's first row
  int a = 0, a_end = 0, b = 0, b_end = 0;
  std::uint64_t key_a = none, key_b = none;

  static constexpr std::uint64_t none = ~0ull;

  /// Stands before the entry that will be `first` of all.
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

/// Where in the row block an entry goes, where it comes from, and its row.
struct entry_move {
  int place, from;
  unsigned row;
};

/// Loads that a thread asks for before it uses the first.
constexpr int at_once = 4;

/// Gives the entries of a row block that begins at `begin` their places, values of type Bits with them: those of
/// move(k) for k = thread, thread + team and so on.
template <class Bits, class I, class Move>
__device__ void move_entries_of(const compaction<I>& job, std::int64_t begin, int entries, int thread, int team,
                                Move move) {
  auto* const rows = reinterpret_cast<std::uint8_t*>(job.row_in_block) + begin;
  for (int first = thread; first < entries; first += at_once * team) {
    [[maybe_unused]] std::conditional_t<std::is_void_v<Bits>, char, Bits> value[at_once];
    int place[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int k = first + i * team;
      if (k >= entries) continue;
      const entry_move one = move(k);
      rows[one.place] = static_cast<std::uint8_t>(one.row);
      place[i] = one.place;
      if constexpr (!std::is_void_v<Bits>) {
        value[i] = __ldg(static_cast<const Bits*>(job.from_values) + begin + one.from);
      }
    }
    if constexpr (!std::is_void_v<Bits>) {
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (first + i * team < entries) static_cast<Bits*>(job.values)[begin + place[i]] = value[i];
      }
    }
  }
}
template <class I, class Move>
__device__ void move_entries(const compaction<I>& job, std::int64_t begin, int entries, int thread, int team,
                             Move move) {
  switch (job.value_bytes) {
    case 2:
      return move_entries_of<std::uint16_t>(job, begin, entries, thread, team, move);
    case 4:
      return move_entries_of<std::uint32_t>(job, begin, entries, thread, team, move);
    case 8:
      return move_entries_of<std::uint64_t>(job, begin, entries, thread, team, move);
    default:
      return move_entries_of<void>(job, begin, entries, thread, team, move);
  }
}

/// Orders a row block of at most 32 Each entries in a warp's registers: the lanes tell each other their keys. Lane r
/// brings where row r begins, from the row block's first entry on.
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
  // How many keys are below the own, how many of columns before the own, how many up to the own column's end.
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

/// Row blocks of a few entries, a warp each.
template <class I>
__global__ void __launch_bounds__(few_threads, 10) few_kernel(const __grid_constant__ workplace<I> at) {
  constexpr unsigned whole_warp = 0xffffffffu, warps = few_threads / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const unsigned size = at.list_sizes[few_list];
  for (unsigned next = blockIdx.x * warps + threadIdx.x / 32; next < size; next += gridDim.x * warps) {
    const std::int64_t block = at.lists[few_list * at.job.num_blocks + next], first_row = at.first_row(block);
    const int height = static_cast<int>(at.first_row(block + 1) - first_row);
    const I pointer = at.job.row_ptr[first_row + (lane < height ? lane : height)];
    const I begin = __shfl_sync(whole_warp, pointer, 0);
    const int row_start = static_cast<int>(pointer - begin);
    const int entries = __shfl_sync(whole_warp, row_start, 31);
    if (entries <= 32) {
      order_few<1>(at, block, begin, entries, height, row_start);
    } else {
      order_few<2>(at, block, begin, entries, height, row_start);
    }
  }
}

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
  /// Of the keys' room, what bits and beginnings of columns may take while these are counted. Behind: where each
  /// place's entry comes from, two bytes, and its row, one.
  static constexpr int counting_bytes = 5 * Class::capacity;

  /// Entry k's column, as it was read, from the least of the row block on, and its row.
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
  /// Every warp brings a number and gets the sum of those before it; `all` is the whole.
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

  /// Where columns lie close together: a bit for each place that holds an entry, then a place for each bit.
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
    // Every warp takes a share of the columns: entries in the lower half of its sums, columns in the upper.
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

  /// Elsewhere. A thread makes a run of each merged list: one search for where the run begins in both lists of the
  /// pair, then entry by entry.
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

/// The teams take row blocks of their class's list in turn.
template <class Class, class I>
__global__ void __launch_bounds__(Class::threads, 1024 / Class::threads)
    order_kernel(const __grid_constant__ workplace<I> at, int list) {
  auto* const storage = core::dynamic_shared<merge_storage<Class>>();
  const unsigned team = threadIdx.x / Class::team;
  for (unsigned next = blockIdx.x * Class::teams + team; next < at.list_sizes[list]; next += gridDim.x * Class::teams) {
    block_team<Class, I>(at, storage[team], at.lists[list * at.job.num_blocks + next]).order();
  }
}

}  // namespace bcsc::converters::steps
