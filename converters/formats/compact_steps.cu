#include "converters/formats/compact_steps.hpp"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"

/// From CSR to compact BCSC on the device.
///
/// A row block's entries lie together in CSR and stay within the same range of positions; only their order is new, and
/// how many columns they make. Its rows are sorted already, so a team of threads merges them in shared memory, pair by
/// pair: an entry's place is its place in its own list and, by one binary search, in the other. Keys (column - least
/// column, row) of at most 31 bits differ, so no order but theirs matters. Where columns lie close together (bands,
/// networks), bits of a small table count instead. Row blocks are parted into classes by
/// weight, each with a team that suits it; what is too heavy or too wide goes through one radix sort in global memory.
namespace bcsc::converters::steps {

namespace {

/// Row blocks higher than this take the way of the heavy ones.
constexpr int most_rows = 256;
constexpr int num_classes = 5;

/// A team of threads that merges row blocks of up to `Capacity` entries; light teams share a thread block.
template <int Team, int Capacity>
struct weight_class {
  static constexpr int team = Team, capacity = Capacity;
  static constexpr int threads = Team < 128 ? 128 : Team;
  static constexpr int teams = threads / Team;
};
using lightest = weight_class<32, 256>;
using light = weight_class<128, 1024>;
using middling = weight_class<512, 4096>;
using strong = weight_class<1024, 8192>;
using strongest = weight_class<1024, 16384>;

__device__ int class_of(std::int64_t entries) {
  if (entries <= lightest::capacity) return 0;
  if (entries <= light::capacity) return 1;
  if (entries <= middling::capacity) return 2;
  if (entries <= strong::capacity) return 3;
  return entries <= strongest::capacity ? 4 : num_classes;
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
  std::byte* col_count;  // [nnz] loose
  I* num_columns;        // [num_blocks + 1]
  std::int32_t* lists;   // [num_classes + 1][num_blocks] the row blocks of each class; the last: heavy ones
  unsigned* list_sizes;  // [num_classes + 1]
  bool keys_fit;         // a key of any row block has at most 31 bits
  int row_bits;

  __device__ std::int64_t first_row(std::int64_t block) const {
    const std::int64_t row = block * job.m_block;
    return row < job.rows ? row : job.rows;
  }
  __device__ void set_small(std::byte* array, std::int64_t k, unsigned index) const {
    if (job.index_bytes == 1) {
      reinterpret_cast<std::uint8_t*>(array)[k] = static_cast<std::uint8_t>(index);
    } else {
      reinterpret_cast<std::uint16_t*>(array)[k] = static_cast<std::uint16_t>(index);
    }
  }
  __device__ void move_value(std::int64_t to, std::int64_t from) const {
    switch (job.value_bytes) {
      case 2:
        static_cast<std::uint16_t*>(job.values)[to] = static_cast<const std::uint16_t*>(job.from_values)[from];
        break;
      case 4:
        static_cast<std::uint32_t*>(job.values)[to] = static_cast<const std::uint32_t*>(job.from_values)[from];
        break;
      case 8:
        static_cast<std::uint64_t*>(job.values)[to] = static_cast<const std::uint64_t*>(job.from_values)[from];
        break;
      default:
        break;
    }
  }
};

/// Where each row block's entries begin, and which class it is of. The order within a list does not matter.
template <class I>
struct classify_body {
  workplace<I> at;
  __device__ void operator()(std::int64_t block) const {
    const auto begin = at.job.row_ptr[at.first_row(block)];
    at.job.entry_ptr[block] = begin;
    if (block == at.job.num_blocks) {
      at.num_columns[block] = 0;
      return;
    }
    const std::int64_t entries = at.job.row_ptr[at.first_row(block + 1)] - begin;
    if (entries == 0) {
      at.num_columns[block] = 0;
      return;
    }
    const int list = at.keys_fit && at.job.m_block <= most_rows ? class_of(entries) : num_classes;
    // One addition for all threads of the warp with the same list.
    const unsigned alike = __match_any_sync(__activemask(), list);
    const int leader = __ffs(static_cast<int>(alike)) - 1, lane = static_cast<int>(threadIdx.x) % 32;
    unsigned place = 0;
    if (lane == leader) place = atomicAdd(at.list_sizes + list, static_cast<unsigned>(__popc(alike)));
    place = __shfl_sync(alike, place, leader) + static_cast<unsigned>(__popc(alike & ((1u << lane) - 1)));
    at.lists[list * at.job.num_blocks + place] = static_cast<std::int32_t>(block);
  }
};

/// What a team has of shared memory. The two halves of `keys` and `from` take turns.
template <class Class>
struct merge_storage {
  std::uint32_t keys[2][Class::capacity];
  std::uint16_t from[2][Class::capacity];  // the entry's place in CSR, from the row block's first on
  std::uint16_t row_start[most_rows + 1];
  int least_col, greatest_col;
  unsigned warp_sums[Class::team / 32];
};
static_assert(strongest::capacity < 65536);

template <class Class>
__device__ void meet() {
  if constexpr (Class::team == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// How many of the ascending keys are below `key`.
__device__ inline int count_below(const std::uint32_t* keys, int n, std::uint32_t key) {
  int low = 0;
  while (n > 0) {
    const int half = n / 2;
    if (keys[low + half] < key) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

/// One row block and the team that orders it.
template <class Class, class I>
struct block_team {
  const workplace<I>& at;
  merge_storage<Class>& s;
  int thread, lane, warp;
  std::int64_t block, first_row, begin;
  int height, entries;

  static constexpr int team = Class::team;
  static constexpr int warps = team / 32;

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
        entries(static_cast<int>(at.job.row_ptr[first_row + height] - begin)) {}

  __device__ void order() const {
    if (thread == 0) {
      s.least_col = 0x7fffffff;
      s.greatest_col = 0;
    }
    meet<Class>();
    for (int row = thread; row <= height; row += team) {
      const std::int64_t from = at.job.row_ptr[first_row + row];
      s.row_start[row] = static_cast<std::uint16_t>(from - begin);
      if (row == height) break;
      const std::int64_t to = at.job.row_ptr[first_row + row + 1];
      if (from == to) continue;
      atomicMin(&s.least_col, static_cast<int>(at.job.col_ind[from]));
      atomicMax(&s.greatest_col, static_cast<int>(at.job.col_ind[to - 1]));
    }
    meet<Class>();
    const std::int64_t span = std::int64_t{s.greatest_col} - s.least_col + 1;
    const int words = (height + 31) / 32;
    if (span <= 2 * entries && span <= Class::capacity && span * words <= 2 * Class::capacity) {
      count(static_cast<int>(span), words);
    } else {
      merge();
    }
    meet<Class>();
  }

  __device__ unsigned column(int k) const {
    return static_cast<unsigned>(at.job.col_ind[begin + k]) - static_cast<unsigned>(s.least_col);
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
  /// Calls each(i, the sum of value below i) for i in [0, n), and returns the whole sum: every warp takes a share, and
  /// learns what lies before it.
  template <class Value, class Each>
  __device__ unsigned scan(int n, Value value, Each each) const {
    const int share = (n + 32 * warps - 1) / (32 * warps) * 32;
    const int share_begin = warp * share, share_end = share_begin + share < n ? share_begin + share : n;
    unsigned before = 0, all = 0;
    for (int i = share_begin + lane; i < share_end; i += 32) all += value(i);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) all += __shfl_xor_sync(0xffffffffu, all, distance);
    if constexpr (warps > 1) {
      if (lane == 0) s.warp_sums[warp] = all;
      meet<Class>();
      const unsigned sums = sum_up_to(lane < warps ? s.warp_sums[lane] : 0);
      before = __shfl_sync(0xffffffffu, sums, warp > 0 ? warp - 1 : 0);
      if (warp == 0) before = 0;
      all = __shfl_sync(0xffffffffu, sums, warps - 1);
    }
    for (int i = share_begin + lane; i - lane < share_end; i += 32) {
      const unsigned own = i < share_end ? value(i) : 0;
      const unsigned with_own = sum_up_to(own);
      if (i < share_end) each(i, before + with_own - own);
      before += __shfl_sync(0xffffffffu, with_own, 31);
    }
    return all;
  }

  /// Where columns lie close together: a bit for each place that holds an entry, then a place for each bit.
  __device__ void count(int span, int words) const {
    std::uint32_t* const rows = s.keys[0];   // [span][words]
    std::uint16_t* const start = s.from[0];  // [span]
    for (int i = thread; i < span * words; i += team) rows[i] = 0;
    meet<Class>();
    for (int k = thread; k < entries; k += team) {
      const int row = row_of(k);
      atomicOr(rows + column(k) * words + row / 32, 1u << (row % 32));
    }
    meet<Class>();
    // Entries in the lower half of the sum, columns in the upper.
    const auto weight = [&](int i) {
      unsigned count = 0;
      for (int w = 0; w < words; ++w) count += static_cast<unsigned>(__popc(rows[i * words + w]));
      return count > 0 ? count + (1u << 16) : 0;
    };
    const unsigned sums = scan(span, weight, [&](int i, unsigned before) {
      start[i] = static_cast<std::uint16_t>(before);
      const unsigned own = weight(i) & 0xffffu;
      if (own > 0) set_column(static_cast<int>(before >> 16), static_cast<unsigned>(i), own);
    });
    if (thread == 0) at.num_columns[block] = static_cast<I>(sums >> 16);
    meet<Class>();
    for (int k = thread; k < entries; k += team) {
      const int row = row_of(k);
      const unsigned col = column(k);
      const std::uint32_t* const bits = rows + col * words;
      int place = start[col];
      for (int w = 0; w < row / 32; ++w) place += __popc(bits[w]);
      place += __popc(bits[row / 32] & ((1u << (row % 32)) - 1));
      set_entry(place, k, static_cast<unsigned>(row));
    }
  }

  /// Elsewhere: the rows, which are sorted, merged pair by pair.
  __device__ void merge() const {
    const int row_bits = at.row_bits;
    const std::uint32_t row_mask = (1u << row_bits) - 1;
#pragma unroll 4
    for (int k = thread; k < entries; k += team) {
      s.keys[0][k] = column(k) << row_bits | static_cast<unsigned>(row_of(k));
      s.from[0][k] = static_cast<std::uint16_t>(k);
    }
    meet<Class>();
    int now = 0;
    for (int span = 1; span < height; span *= 2) {  // rows of a sorted list
      for (int k = thread; k < entries; k += team) {
        const std::uint32_t key = s.keys[now][k];
        const int own = static_cast<int>(key & row_mask) / span * span, other = own ^ span, pair = own & ~span;
        int to = k;
        if (other < height) {
          const int other_start = s.row_start[other];
          const int other_end = s.row_start[other + span < height ? other + span : height];
          to = s.row_start[pair] + (k - s.row_start[own]) +
               count_below(s.keys[now] + other_start, other_end - other_start, key);
        }
        s.keys[1 - now][to] = key;
        s.from[1 - now][to] = s.from[now][k];
      }
      meet<Class>();
      now = 1 - now;
    }
    const std::uint32_t* const keys = s.keys[now];
    std::uint16_t* const column_start = s.from[1 - now];
    const auto begins_column = [&](int k) {
      return k == 0 || keys[k] >> row_bits != keys[k - 1] >> row_bits ? 1u : 0u;
    };
    const unsigned num_columns = scan(entries, begins_column, [&](int k, unsigned before) {
      set_entry(k, s.from[now][k], keys[k] & row_mask);
      if (begins_column(k) != 0) column_start[before] = static_cast<std::uint16_t>(k);
    });
    if (thread == 0) at.num_columns[block] = static_cast<I>(num_columns);
    meet<Class>();
    for (int j = thread; j < static_cast<int>(num_columns); j += team) {
      const int first = column_start[j];
      const int end = j + 1 < static_cast<int>(num_columns) ? column_start[j + 1] : entries;
      set_column(j, keys[first] >> row_bits, static_cast<unsigned>(end - first));
    }
  }

  __device__ void set_entry(int place, int from, unsigned row) const {
    at.set_small(at.job.row_in_block, begin + place, row);
    at.move_value(begin + place, begin + from);
  }
  __device__ void set_column(int j, unsigned col, unsigned count) const {
    at.col_ind[begin + j] = static_cast<I>(static_cast<unsigned>(s.least_col) + col);
    at.set_small(at.col_count, begin + j, count - 1);
  }
};

/// The teams take row blocks of their class's list in turn.
template <class Class, class I>
__global__ void __launch_bounds__(Class::threads) order_kernel(const __grid_constant__ workplace<I> at, int list) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const storage = reinterpret_cast<merge_storage<Class>*>(shared);
  const unsigned team = threadIdx.x / Class::team;
  for (unsigned next = blockIdx.x * Class::teams + team; next < at.list_sizes[list]; next += gridDim.x * Class::teams) {
    block_team<Class, I>(at, storage[team], at.lists[list * at.job.num_blocks + next]).order();
  }
}

template <class Class, class I>
void order_class(const workplace<I>& at, int list, std::int64_t size, cuda_stream stream) {
  if (size == 0) return;
  core::gpu::check_launch(
      core::start(&order_kernel<Class, I>, (size + Class::teams - 1) / Class::teams, Class::threads,
                  static_cast<std::int64_t>(sizeof(merge_storage<Class>)) * Class::teams, stream, at, list),
      "ordering of row blocks");
}

// --- Heavy row blocks -----------------------------------------------------------------------------------------------

/// The weight of the heavy blocks, in the order of their list.
template <class I>
struct heavy_weight_body {
  workplace<I> at;
  std::int64_t* weight;
  std::int64_t num_heavy;
  __device__ void operator()(std::int64_t h) const {
    if (h == num_heavy) {
      weight[h] = 0;
      return;
    }
    const std::int64_t block = at.lists[num_classes * at.job.num_blocks + h];
    weight[h] = at.job.entry_ptr[block + 1] - at.job.entry_ptr[block];
  }
};

/// Entry e of all heavy blocks, in their order: its key and its position in CSR.
template <class I>
struct heavy_key_body {
  workplace<I> at;
  const std::int64_t* start;  // [num_heavy + 1]
  std::int64_t num_heavy;
  std::uint64_t* keys;
  I* positions;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t h = segment_of(start, num_heavy, e);
    const std::int64_t block = at.lists[num_classes * at.job.num_blocks + h];
    const std::int64_t k = at.job.entry_ptr[block] + (e - start[h]);
    keys[e] = static_cast<std::uint64_t>(h * at.job.cols + at.job.col_ind[k]);
    positions[e] = static_cast<I>(k);
  }
};

struct is_new_heavy_key {
  const std::uint64_t* keys;
  std::int64_t* rank;
  __device__ void operator()(std::int64_t e) const { rank[e] = e == 0 || keys[e] != keys[e - 1] ? 1 : 0; }
};

/// Sorted entry e goes to its place; where a column begins, the column does too. A stable sort of what came row by row
/// has left each column's rows ascending.
template <class I>
struct heavy_place_body {
  workplace<I> at;
  const std::int64_t* start;
  std::int64_t num_heavy, num_entries;
  const std::uint64_t* keys;
  const I* positions;
  const std::int64_t* rank;  // columns up to and with e
  __device__ void operator()(std::int64_t e) const {
    const auto h = static_cast<std::int64_t>(keys[e] / static_cast<std::uint64_t>(at.job.cols));
    const std::int64_t block = at.lists[num_classes * at.job.num_blocks + h];
    const std::int64_t begin = at.job.entry_ptr[block], to = begin + (e - start[h]);
    const std::int64_t from = positions[e], first_row = at.first_row(block);
    const std::int64_t row = segment_of(at.job.row_ptr + first_row, at.first_row(block + 1) - first_row, from);
    at.set_small(at.job.row_in_block, to, static_cast<unsigned>(row));
    at.move_value(to, from);

    const std::int64_t columns_before = start[h] == 0 ? 0 : rank[start[h] - 1];
    if (e == start[h + 1] - 1) at.num_columns[block] = static_cast<I>(rank[e] - columns_before);
    if (e > 0 && rank[e] == rank[e - 1]) return;
    std::int64_t end = e + 1;
    // Columns of a row block hold at most m_block entries: a search as far as the next column begins.
    std::int64_t step = 1;
    while (end < num_entries && rank[end] == rank[e]) {
      const std::int64_t far = end + step < num_entries ? end + step : num_entries;
      if (far == num_entries || rank[far] != rank[e]) {
        std::int64_t low = end, high = far;  // rank[low] is ours, rank[high] is not
        while (high - low > 1) {
          const std::int64_t middle = low + (high - low) / 2;
          if (rank[middle] == rank[e]) {
            low = middle;
          } else {
            high = middle;
          }
        }
        end = high;
        break;
      }
      end = far;
      step *= 2;
    }
    const std::int64_t place = begin + (rank[e] - 1 - columns_before);
    at.col_ind[place] = static_cast<I>(keys[e] % static_cast<std::uint64_t>(at.job.cols));
    at.set_small(at.col_count, place, static_cast<unsigned>(end - e - 1));
  }
};

template <class I>
void sort_heavy(int device, const workplace<I>& at, std::int64_t num_heavy) {
  core::device_buffer<std::int64_t> start(device, num_heavy + 1);
  for_each(num_heavy + 1, heavy_weight_body<I>{at, start.data(), num_heavy}, "weight of heavy row blocks");
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, start.data(), start.data(), num_heavy + 1);
      },
      "sums of weights");
  std::int64_t num_entries = 0;
  core::gpu::copy_to_host(&num_entries, start.data() + num_heavy, sizeof num_entries);

  core::device_buffer<std::uint64_t> keys(device, num_entries);
  core::device_buffer<I> positions(device, num_entries);
  for_each(num_entries, heavy_key_body<I>{at, start.data(), num_heavy, keys.data(), positions.data()},
           "keys of heavy row blocks");
  std::int64_t key_range = 0;
  if (__builtin_mul_overflow(num_heavy, at.job.cols, &key_range)) {
    throw error(errc::size_overflow, "row blocks x cols: " + std::to_string(num_heavy) + " x " +
                                         std::to_string(at.job.cols) + " does not fit 63 bits");
  }
  const sorted_pairs<I> sorted = sort_pairs(device, std::move(keys), std::move(positions), key_range);
  core::device_buffer<std::int64_t> rank(device, num_entries);
  for_each(num_entries, is_new_heavy_key{sorted.keys.data(), rank.data()}, "columns of heavy row blocks");
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveSum(temporary, bytes, rank.data(), rank.data(), num_entries);
      },
      "ranks of columns");
  for_each(num_entries,
           heavy_place_body<I>{at, start.data(), num_heavy, num_entries, sorted.keys.data(), sorted.payload.data(),
                               rank.data()},
           "placing of heavy row blocks");
  core::gpu::synchronize();
}

/// Where the loose columns are and where they go.
template <class I>
struct closing {
  const I* entry_ptr;
  const I* brow_ptr;
  const I* loose_ind;
  const std::byte* loose_count;
  I* col_ind;
  std::uint16_t* col_ind16;
  std::byte* col_count;
  int index_bytes;

  __device__ void move(std::int64_t to, std::int64_t from) const {
    if (col_ind16 != nullptr) {
      col_ind16[to] = static_cast<std::uint16_t>(loose_ind[from]);
    } else {
      col_ind[to] = loose_ind[from];
    }
    if (index_bytes == 1) {
      col_count[to] = loose_count[from];
    } else {
      reinterpret_cast<std::uint16_t*>(col_count)[to] = reinterpret_cast<const std::uint16_t*>(loose_count)[from];
    }
  }
};

/// Teams of `Team` threads take the row blocks of a list, `parts` teams a block.
template <int Team, class I>
__global__ void close_kernel(const __grid_constant__ closing<I> at, const std::int32_t* list, std::int64_t size,
                             int parts) {
  const std::int64_t team = thread_number() / Team;
  if (team >= size * parts) return;
  const std::int64_t block = list[team / parts];
  const std::int64_t to = at.brow_ptr[block], columns = at.brow_ptr[block + 1] - to, from = at.entry_ptr[block];
  for (std::int64_t j = team % parts * Team + static_cast<int>(threadIdx.x) % Team; j < columns;
       j += std::int64_t{Team} * parts) {
    at.move(to + j, from + j);
  }
}

template <int Team, class I>
void close_list(const closing<I>& at, const std::int32_t* list, std::int64_t size, int parts) {
  if (size == 0) return;
  const std::int64_t grid = (size * parts * Team + block_threads - 1) / block_threads;
  core::gpu::check_launch(core::start(&close_kernel<Team, I>, grid, block_threads, 0, nullptr, at, list, size, parts),
                          "closing of ranks");
}

template <class I>
struct narrow_body {
  const I* from;
  std::uint16_t* to;
  __device__ void operator()(std::int64_t k) const { to[k] = static_cast<std::uint16_t>(from[k]); }
};

/// Eight bytes of each array, or what is left at their end.
struct compare_body {
  array_pair arrays;
  unsigned long long* differ;
  __device__ void operator()(std::int64_t word) const {
    const auto first = static_cast<std::size_t>(word) * 8;
    bool same = true;
    if (first + 8 <= arrays.bytes) {
      same = static_cast<const std::uint64_t*>(arrays.a)[word] == static_cast<const std::uint64_t*>(arrays.b)[word];
    } else {
      for (std::size_t k = first; k < arrays.bytes; ++k) {
        same = same && static_cast<const std::uint8_t*>(arrays.a)[k] == static_cast<const std::uint8_t*>(arrays.b)[k];
      }
    }
    if (!same) atomicMax(differ, 1ull);
  }
};

template <class I>
struct shrink_columns_body {
  const I* col_ptr;
  std::byte* col_count;
  int index_bytes;
  __device__ void operator()(std::int64_t j) const {
    const auto count = static_cast<unsigned>(col_ptr[j + 1] - col_ptr[j] - 1);
    if (index_bytes == 1) {
      reinterpret_cast<std::uint8_t*>(col_count)[j] = static_cast<std::uint8_t>(count);
    } else {
      reinterpret_cast<std::uint16_t*>(col_count)[j] = static_cast<std::uint16_t>(count);
    }
  }
};

template <class I>
struct shrink_rows_body {
  const I* row_ind;
  std::byte* row_in_block;
  std::int64_t m_block;
  int index_bytes;
  __device__ void operator()(std::int64_t k) const {
    const auto row = static_cast<unsigned>(row_ind[k] % m_block);
    if (index_bytes == 1) {
      reinterpret_cast<std::uint8_t*>(row_in_block)[k] = static_cast<std::uint8_t>(row);
    } else {
      reinterpret_cast<std::uint16_t*>(row_in_block)[k] = static_cast<std::uint16_t>(row);
    }
  }
};

/// Column j's entries, at place j + 1 of a pointer array whose sums follow.
template <class I>
struct column_length_body {
  const void* col_count;
  int index_bytes;
  std::int64_t* col_ptr;
  __device__ void operator()(std::int64_t j) const {
    col_ptr[j + 1] = small_at(col_count, index_bytes, j) + 1;
    if (j == 0) col_ptr[0] = 0;
  }
};

template <class I>
struct place_body {
  compact_places<I> a;
  const std::int64_t* col_ptr;
  I *row_of, *col_of;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t block = segment_of(a.entry_ptr, a.num_blocks, k);
    const std::int64_t first_row = a.block_row != nullptr ? std::int64_t{a.block_row[block]} : block * a.m_block;
    row_of[k] = static_cast<I>(first_row + small_at(a.row_in_block, a.index_bytes, k));
    const std::int64_t j = segment_of(col_ptr, a.nnzc, k);
    col_of[k] = a.col_ind16 != nullptr ? static_cast<I>(a.col_ind16[j]) : a.col_ind[j];
  }
};

template <class I>
struct block_entry_body {
  const I *brow_ptr, *col_ptr;
  I* entry_ptr;
  __device__ void operator()(std::int64_t b) const { entry_ptr[b] = col_ptr[brow_ptr[b]]; }
};

}  // namespace

template <index I>
loose_columns<I> order_entries(int device, const compaction<I>& job) {
  loose_columns<I> out;
  out.col_ind = core::device_buffer<I>(device, job.nnz);
  out.col_count = core::device_buffer<std::byte>(device, job.nnz * job.index_bytes);
  out.brow_ptr = core::device_buffer<I>(device, job.num_blocks + 1);
  out.lists = core::device_buffer<std::int32_t>(device, (num_classes + 1) * job.num_blocks);
  const core::device_buffer<unsigned> list_sizes(device, num_classes + 1);
  core::gpu::fill_zero(list_sizes.data(), list_sizes.bytes());

  const auto bits = [](std::int64_t greatest) { return static_cast<int>(std::bit_width(std::uint64_t(greatest))); };
  const int row_bits = bits(std::min(job.m_block, std::max<std::int64_t>(job.rows, 1)) - 1);
  const int col_bits = bits(std::max<std::int64_t>(job.cols, 1) - 1);
  const workplace<I> at{job,
                        out.col_ind.data(),
                        out.col_count.data(),
                        out.brow_ptr.data(),
                        out.lists.data(),
                        list_sizes.data(),
                        row_bits + col_bits <= 31,
                        row_bits};
  for_each(job.num_blocks + 1, classify_body<I>{at}, "classes of row blocks");
  if (job.nnz == 0) return out;
  unsigned sizes[num_classes + 1];
  core::gpu::copy_to_host(sizes, list_sizes.data(), sizeof sizes);
  out.list_sizes.assign(std::begin(sizes), std::end(sizes));
  {
    // The classes run side by side: each leaves room that another can use.
    core::gpu::side_stream strong_ones, weak_ones;
    order_class<strongest>(at, 4, sizes[4], strong_ones.get());
    order_class<strong>(at, 3, sizes[3], strong_ones.get());
    order_class<middling>(at, 2, sizes[2], weak_ones.get());
    order_class<light>(at, 1, sizes[1], weak_ones.get());
    order_class<lightest>(at, 0, sizes[0], weak_ones.get());
    if (sizes[num_classes] > 0) sort_heavy(device, at, sizes[num_classes]);
    strong_ones.join();
    weak_ones.join();
  }

  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(temporary, bytes, out.brow_ptr.data(), out.brow_ptr.data(),
                                             job.num_blocks + 1);
      },
      "sums of columns");
  I nnzc = 0;
  core::gpu::copy_to_host(&nnzc, out.brow_ptr.data() + job.num_blocks, sizeof nnzc);
  out.nnzc = nnzc;
  return out;
}

template <index I>
void close_ranks(const compaction<I>& job, const loose_columns<I>& columns, I* col_ind, std::uint16_t* col_ind16,
                 std::byte* col_count) {
  const closing<I> at{
      job.entry_ptr, columns.brow_ptr.data(), columns.col_ind.data(), columns.col_count.data(), col_ind, col_ind16,
      col_count,     job.index_bytes};
  for (std::size_t list = 0; list < columns.list_sizes.size(); ++list) {
    const std::int32_t* const blocks = columns.lists.data() + static_cast<std::int64_t>(list) * job.num_blocks;
    const std::int64_t size = columns.list_sizes[list];
    if (list == 0) {
      close_list<32>(at, blocks, size, 1);
    } else {
      // Heavier blocks take more threads, 256 each; the heaviest have no bound.
      const int parts[] = {1, 1, 2, 8, 16, 128};
      close_list<block_threads>(at, blocks, size, parts[list]);
    }
  }
}

bool same_arrays(int device, std::span<const array_pair> pairs) {
  const device_number differ(device, 0);
  for (const array_pair& arrays : pairs) {
    for_each(static_cast<std::int64_t>((arrays.bytes + 7) / 8), compare_body{arrays, differ.data()}, "comparison");
  }
  return differ.get() == 0;
}

template <index I>
void narrow(const I* from, std::int64_t n, std::uint16_t* to) {
  for_each(n, narrow_body<I>{from, to}, "narrow columns");
}

template <index I>
void expand_places(int device, const compact_places<I>& a, I* row_of, I* col_of) {
  if (a.nnz == 0) return;
  const core::device_buffer<std::int64_t> col_ptr(device, a.nnzc + 1);
  for_each(a.nnzc, column_length_body<I>{a.col_count, a.index_bytes, col_ptr.data()}, "lengths of columns");
  with_cub(
      device,
      [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceScan::InclusiveSum(temporary, bytes, col_ptr.data(), col_ptr.data(), a.nnzc + 1);
      },
      "sums of lengths");
  for_each(a.nnz, place_body<I>{a, col_ptr.data(), row_of, col_of}, "places of entries");
}

template <index I>
void shrink_indices(const I* brow_ptr, std::int64_t num_blocks, const I* col_ptr, std::int64_t nnzc, const I* row_ind,
                    std::int64_t nnz, std::int64_t m_block, int index_bytes, I* entry_ptr, std::byte* col_count,
                    std::byte* row_in_block) {
  for_each(num_blocks + 1, block_entry_body<I>{brow_ptr, col_ptr, entry_ptr}, "entries of row blocks");
  for_each(nnzc, shrink_columns_body<I>{col_ptr, col_count, index_bytes}, "lengths of columns");
  for_each(nnz, shrink_rows_body<I>{row_ind, row_in_block, m_block, index_bytes}, "rows in blocks");
}

#define BCSC_INSTANTIATE(I)                                                                                          \
  template loose_columns<I> order_entries(int, const compaction<I>&);                                                \
  template void close_ranks(const compaction<I>&, const loose_columns<I>&, I*, std::uint16_t*, std::byte*);          \
  template void narrow(const I*, std::int64_t, std::uint16_t*);                                                      \
  template void expand_places(int, const compact_places<I>&, I*, I*);                                                \
  template void shrink_indices(const I*, std::int64_t, const I*, std::int64_t, const I*, std::int64_t, std::int64_t, \
                               int, I*, std::byte*, std::byte*);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters::steps
