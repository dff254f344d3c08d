#include "converters/formats/compact_steps.hpp"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "converters/formats/compact_classes.cuh"
#include "converters/formats/compact_order.cuh"
#include "converters/formats/compact_team.cuh"
#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"

/// From CSR to compact BCSC on the device: row blocks are classified by weight, and each class is ordered by its teams
/// (compact_order.cuh); what is too heavy or too wide for them goes through one radix sort in global memory.
namespace bcsc::converters::steps {

namespace {

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
    const int list = at.keys_fit ? list_of(entries, at.job.m_block) : heavy_list;
    // One atomic addition for all threads of the warp with the same list.
    const unsigned alike = __match_any_sync(__activemask(), list);
    const int leader = __ffs(static_cast<int>(alike)) - 1, lane = static_cast<int>(threadIdx.x) % 32;
    unsigned place = 0;
    if (lane == leader) place = atomicAdd(at.list_sizes + list, static_cast<unsigned>(__popc(alike)));
    place = __shfl_sync(alike, place, leader) + static_cast<unsigned>(__popc(alike & ((1u << lane) - 1)));
    at.lists[list * at.job.num_blocks + place] = static_cast<std::int32_t>(block);
  }
};

template <class I>
void start_few(const workplace<I>& at, std::int64_t size, cuda_stream stream) {
  if (size == 0) return;
  core::gpu::check_launch(
      core::start(&few_kernel<I>, (size + few_threads / 32 - 1) / (few_threads / 32), few_threads, 0, stream, at),
      "ordering of light row blocks");
}

template <class Class, class I>
void start_class(const workplace<I>& at, int list, std::int64_t size, cuda_stream stream) {
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
    const std::int64_t block = at.lists[heavy_list * at.job.num_blocks + h];
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
    const std::int64_t block = at.lists[heavy_list * at.job.num_blocks + h];
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

/// Moves one value of any type.
template <class I>
__device__ void move_value(const compaction<I>& job, std::int64_t to, std::int64_t from) {
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

/// Moves sorted entry e to its place and, where a column begins, the column too. The stable sort of entries that came
/// row by row leaves each column's rows ascending.
template <class I>
struct heavy_place_body {
  workplace<I> at;
  const std::int64_t* start;
  std::int64_t num_heavy, num_entries;
  const std::uint64_t* keys;
  const I* positions;
  const std::int64_t* rank;  // columns up to and including e's
  __device__ void operator()(std::int64_t e) const {
    const auto h = static_cast<std::int64_t>(keys[e] / static_cast<std::uint64_t>(at.job.cols));
    const std::int64_t block = at.lists[heavy_list * at.job.num_blocks + h];
    const std::int64_t begin = at.job.entry_ptr[block], to = begin + (e - start[h]);
    const std::int64_t from = positions[e], first_row = at.first_row(block);
    const std::int64_t row = segment_of(at.job.row_ptr + first_row, at.first_row(block + 1) - first_row, from);
    set_small(at.job.row_in_block, at.job.index_bytes, to, static_cast<unsigned>(row));
    move_value(at.job, to, from);

    const std::int64_t columns_before = start[h] == 0 ? 0 : rank[start[h] - 1];
    if (e == start[h + 1] - 1) at.num_columns[block] = static_cast<I>(rank[e] - columns_before);
    if (e > 0 && rank[e] == rank[e - 1]) return;
    std::int64_t end = e + 1;
    // A column of a row block holds at most m_block entries: gallops to where the next one begins.
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
    set_small(at.col_count, at.job.index_bytes, place, static_cast<unsigned>(end - e - 1));
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

  /// small_at() for an array that is not written meanwhile: the load need not wait for earlier stores.
  __device__ unsigned loose_count_at(std::int64_t from) const {
    if (index_bytes == 1) return __ldg(reinterpret_cast<const std::uint8_t*>(loose_count) + from);
    return __ldg(reinterpret_cast<const std::uint16_t*>(loose_count) + from);
  }
  __device__ void put(std::int64_t to, I col, unsigned count) const {
    if (col_ind16 != nullptr) {
      col_ind16[to] = static_cast<std::uint16_t>(col);
    } else {
      col_ind[to] = col;
    }
    set_small(col_count, index_bytes, to, count);
  }
};

/// How many columns a warp moves, and how many of them a thread has in flight.
constexpr int closed_at_once = 1024, closed_by_lane = 4;

/// Finds each column's row block by counting the blocks that begin at or before it, starting at the warp's current one.
template <class I>
__global__ void __launch_bounds__(block_threads, 5)
    close_kernel(const __grid_constant__ closing<I> at, std::int64_t num_blocks, std::int64_t nnzc) {
  constexpr unsigned whole_warp = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::int64_t warp_first = thread_number() / 32 * closed_at_once; warp_first < nnzc;
       warp_first += num_grid_threads() / 32 * closed_at_once) {
    const std::int64_t warp_end = warp_first + closed_at_once < nnzc ? warp_first + closed_at_once : nnzc;
    std::int64_t block = segment_of(at.brow_ptr, num_blocks, warp_first);
    for (std::int64_t first = warp_first; first < warp_end; first += 32 * closed_by_lane) {
      const std::int64_t end = first + 32 * closed_by_lane < warp_end ? first + 32 * closed_by_lane : warp_end;
      int passed = 0, own[closed_by_lane] = {};
      for (int begun = 32; begun == 32; passed += begun) {
        const std::int64_t following = block + passed + 1 + lane;
        // Counted from `first`; blocks that begin behind `end` count for no column.
        const int begin = following < num_blocks && at.brow_ptr[following] < end
                              ? static_cast<int>(at.brow_ptr[following] - first)
                              : 32 * closed_by_lane;
        begun = __popc(__ballot_sync(whole_warp, begin < 32 * closed_by_lane));
        for (int b = 0; b < begun; ++b) {
          const int other = __shfl_sync(whole_warp, begin, b);
#pragma unroll
          for (int i = 0; i < closed_by_lane; ++i) own[i] += other <= lane + 32 * i ? 1 : 0;
        }
      }
      // All loads are issued before the first is used; lanes beyond the end repeat the last column.
      const int there = static_cast<int>(end - first);
      std::int64_t from[closed_by_lane];
      I col[closed_by_lane];
      unsigned count[closed_by_lane];
#pragma unroll
      for (int i = 0; i < closed_by_lane; ++i) {
        const std::int64_t own_block = block + own[i];
        from[i] = first + (lane + 32 * i < there ? lane + 32 * i : there - 1) +
                  (__ldg(at.entry_ptr + own_block) - __ldg(at.brow_ptr + own_block));
      }
#pragma unroll
      for (int i = 0; i < closed_by_lane; ++i) {
        col[i] = __ldg(at.loose_ind + from[i]);
        count[i] = at.loose_count_at(from[i]);
      }
#pragma unroll
      for (int i = 0; i < closed_by_lane; ++i) {
        if (lane + 32 * i < there) at.put(first + lane + 32 * i, col[i], count[i]);
      }
      block += passed;
    }
  }
}

template <class I>
struct narrow_body {
  const I* from;
  std::uint16_t* to;
  __device__ void operator()(std::int64_t k) const { to[k] = static_cast<std::uint16_t>(from[k]); }
};

template <class I>
struct shrink_columns_body {
  const I* col_ptr;
  std::byte* col_count;
  int index_bytes;
  __device__ void operator()(std::int64_t j) const {
    set_small(col_count, index_bytes, j, static_cast<unsigned>(col_ptr[j + 1] - col_ptr[j] - 1));
  }
};

template <class I>
struct shrink_rows_body {
  const I* row_ind;
  std::byte* row_in_block;
  std::int64_t m_block;
  int index_bytes;
  __device__ void operator()(std::int64_t k) const {
    set_small(row_in_block, index_bytes, k, static_cast<unsigned>(row_ind[k] % m_block));
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
  const core::device_buffer<std::int32_t> lists(device, num_lists * job.num_blocks);
  const core::device_buffer<unsigned> list_sizes(device, num_lists);
  core::gpu::fill_zero(list_sizes.data(), list_sizes.bytes());

  const auto bits = [](std::int64_t greatest) { return static_cast<int>(std::bit_width(std::uint64_t(greatest))); };
  const int row_bits = bits(std::min(job.m_block, std::max<std::int64_t>(job.rows, 1)) - 1);
  const int col_bits = bits(std::max<std::int64_t>(job.cols, 1) - 1);
  const workplace<I> at{job,          out.col_ind.data(), out.col_count.data(),      out.brow_ptr.data(),
                        lists.data(), list_sizes.data(),  row_bits + col_bits <= 31, row_bits};
  for_each(job.num_blocks + 1, classify_body<I>{at}, "classes of row blocks");
  if (job.nnz == 0) return out;
  unsigned sizes[num_lists];
  core::gpu::copy_to_host(sizes, list_sizes.data(), sizeof sizes);
  {
    // The classes run concurrently, the heavier first: each leaves resources that another can use.
    core::gpu::side_stream even_ones, odd_ones;
    [&]<std::size_t... Class>(std::index_sequence<Class...>) {
      constexpr std::size_t last = sizeof...(Class) - 1;
      (start_class<std::tuple_element_t<last - Class, weight_classes>>(
           at, first_class_list + static_cast<int>(last - Class), sizes[first_class_list + last - Class],
           Class % 2 == 0 ? even_ones.get() : odd_ones.get()),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<weight_classes>>());
    start_few(at, sizes[few_list], odd_ones.get());
    if (sizes[heavy_list] > 0) sort_heavy(device, at, sizes[heavy_list]);
    even_ones.join();
    odd_ones.join();
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
  if (columns.nnzc == 0) return;
  const std::int64_t warps = (columns.nnzc + closed_at_once - 1) / closed_at_once;
  core::gpu::check_launch(
      core::start(&close_kernel<I>, grid_for(32 * warps), block_threads, 0, nullptr, at, job.num_blocks, columns.nnzc),
      "closing of ranks");
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
