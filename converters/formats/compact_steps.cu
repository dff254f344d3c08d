#include "converters/formats/compact_steps.hpp"

#include <bit>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "converters/formats/device_loops.cuh"
#include "converters/formats/device_steps.hpp"

/// From CSR to compact BCSC on the device.
///
/// A row block's entries lie together in CSR and stay within the same range of positions; only their order is new, and
/// how many columns they make. Blocks are sorted by weight into classes; a class has a kernel in which one thread block
/// sorts a row block in shared memory, as keys (column - least column, row) of at most 31 bits. All keys of a row block
/// differ, so no order but theirs matters. What is too heavy or too wide for that goes through one radix sort in global
/// memory.
namespace bcsc::converters::steps {

namespace {

/// Row blocks higher than this take the way of the heavy ones.
constexpr int most_rows = 256;
constexpr int num_classes = 4;

/// Entries that a class's thread block sorts.
template <int Threads, int Items>
struct weight_class {
  static constexpr int threads = Threads, items = Items, capacity = Threads * Items;
};
using lightest = weight_class<64, 4>;
using light = weight_class<128, 8>;
using middling = weight_class<256, 16>;
using strong = weight_class<512, 32>;

__device__ int class_of(std::int64_t entries) {
  if (entries <= lightest::capacity) return 0;
  if (entries <= light::capacity) return 1;
  if (entries <= middling::capacity) return 2;
  return entries <= strong::capacity ? 3 : num_classes;
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
    const unsigned place = atomicAdd(at.list_sizes + list, 1u);
    at.lists[list * at.job.num_blocks + place] = static_cast<std::int32_t>(block);
  }
};

template <class Class>
struct sort_storage {
  using sort = cub::BlockRadixSort<std::uint32_t, Class::threads, Class::items, std::uint16_t>;
  using scan = cub::BlockScan<int, Class::threads>;
  union {
    typename sort::TempStorage sorting;
    typename scan::TempStorage scanning;
    std::uint16_t column_start[Class::capacity];
  };
  std::uint32_t last_key[Class::threads];
  unsigned row_start[most_rows + 1];
  int least_col, greatest_col;
};

/// One thread block takes row blocks of its class's list in turn.
template <class Class, class I>
__global__ void __launch_bounds__(Class::threads) sort_kernel(workplace<I> at, int list) {
  using storage = sort_storage<Class>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto& s = *reinterpret_cast<storage*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const compaction<I>& job = at.job;

  for (unsigned next = blockIdx.x; next < at.list_sizes[list]; next += gridDim.x) {
    const std::int64_t block = at.lists[list * job.num_blocks + next];
    const std::int64_t first_row = at.first_row(block);
    const int height = static_cast<int>(at.first_row(block + 1) - first_row);
    const std::int64_t begin = job.row_ptr[first_row];
    const int entries = static_cast<int>(job.row_ptr[first_row + height] - begin);

    if (thread == 0) {
      s.least_col = 0x7fffffff;
      s.greatest_col = 0;
    }
    __syncthreads();
    for (int row = thread; row <= height; row += Class::threads) {
      const std::int64_t from = job.row_ptr[first_row + row];
      s.row_start[row] = static_cast<unsigned>(from - begin);
      if (row == height) break;
      const std::int64_t to = job.row_ptr[first_row + row + 1];
      if (from == to) continue;
      atomicMin(&s.least_col, static_cast<int>(job.col_ind[from]));
      atomicMax(&s.greatest_col, static_cast<int>(job.col_ind[to - 1]));
    }
    __syncthreads();
    const auto least_col = static_cast<unsigned>(s.least_col);
    const int col_bits = 32 - __clz(s.greatest_col - s.least_col);
    const int key_bits = at.row_bits + col_bits;

    std::uint32_t keys[Class::items];
    std::uint16_t from[Class::items];
#pragma unroll
    for (int i = 0; i < Class::items; ++i) {
      const int k = i * Class::threads + thread;
      from[i] = static_cast<std::uint16_t>(k);
      keys[i] = 1u << key_bits;  // behind all entries
      if (k < entries) {
        int low = 0, high = height;  // the last row that begins at or before k
        while (high - low > 1) {
          const int middle = (low + high) / 2;
          if (s.row_start[middle] <= static_cast<unsigned>(k)) {
            low = middle;
          } else {
            high = middle;
          }
        }
        keys[i] =
            (static_cast<unsigned>(job.col_ind[begin + k]) - least_col) << at.row_bits | static_cast<unsigned>(low);
      }
    }
    typename storage::sort(s.sorting).Sort(keys, from, 0, key_bits + 1);

    s.last_key[thread] = keys[Class::items - 1];
    __syncthreads();
    bool is_first[Class::items];  // of its column
    int columns = 0;
#pragma unroll
    for (int i = 0; i < Class::items; ++i) {
      const int k = thread * Class::items + i;
      const std::uint32_t former = i > 0 ? keys[i - 1] : thread > 0 ? s.last_key[thread - 1] : ~0u;
      is_first[i] = k < entries && (k == 0 || keys[i] >> at.row_bits != former >> at.row_bits);
      columns += is_first[i];
    }
    int column = 0, num_columns = 0;
    typename storage::scan(s.scanning).ExclusiveSum(columns, column, num_columns);
    __syncthreads();

    const std::uint32_t row_mask = (1u << at.row_bits) - 1;
#pragma unroll
    for (int i = 0; i < Class::items; ++i) {
      const int k = thread * Class::items + i;
      if (k >= entries) break;
      at.set_small(job.row_in_block, begin + k, keys[i] & row_mask);
      at.move_value(begin + k, begin + from[i]);
      if (!is_first[i]) continue;
      at.col_ind[begin + column] = static_cast<I>(least_col + (keys[i] >> at.row_bits));
      s.column_start[column++] = static_cast<std::uint16_t>(k);
    }
    __syncthreads();
    for (int j = thread; j < num_columns; j += Class::threads) {
      const unsigned end = j + 1 < num_columns ? s.column_start[j + 1] : static_cast<unsigned>(entries);
      at.set_small(at.col_count, begin + j, end - s.column_start[j] - 1);
    }
    if (thread == 0) at.num_columns[block] = static_cast<I>(num_columns);
    __syncthreads();
  }
}

template <class Class, class I>
void sort_class(const workplace<I>& at, int list, int grid) {
  core::gpu::check_launch(
      core::start(&sort_kernel<Class, I>, std::min<std::int64_t>(grid, at.job.num_blocks), Class::threads,
                  static_cast<std::int64_t>(sizeof(sort_storage<Class>)), nullptr, at, list),
      "sort of row blocks");
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

/// Runs a CUB algorithm twice: the first call only asks for the size of its temporary memory.
template <class Algorithm>
void with_cub(int device, Algorithm&& algorithm, const char* what) {
  forget_earlier_error();
  std::size_t bytes = 0;
  core::gpu::check_launch(algorithm(nullptr, bytes), what);
  const core::device_buffer<char> temporary(device, std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes)));
  forget_earlier_error();
  core::gpu::check_launch(algorithm(temporary.data(), bytes), what);
}

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

template <class I>
struct close_body {
  compaction<I> job;
  const I* brow_ptr;
  const I* loose_ind;
  const std::byte* loose_count;
  I* col_ind;
  std::byte* col_count;
  /// A warp's lanes take a row block's columns in turn.
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t block = k / 32, lane = k % 32;
    const std::int64_t to = brow_ptr[block], columns = brow_ptr[block + 1] - to, from = job.entry_ptr[block];
    for (std::int64_t j = lane; j < columns; j += 32) {
      col_ind[to + j] = loose_ind[from + j];
      if (job.index_bytes == 1) {
        col_count[to + j] = loose_count[from + j];
      } else {
        reinterpret_cast<std::uint16_t*>(col_count)[to + j] =
            reinterpret_cast<const std::uint16_t*>(loose_count)[from + j];
      }
    }
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
  const core::device_buffer<std::int32_t> lists(device, (num_classes + 1) * job.num_blocks);
  const core::device_buffer<unsigned> list_sizes(device, num_classes + 1);
  core::gpu::fill_zero(list_sizes.data(), list_sizes.bytes());

  const auto bits = [](std::int64_t greatest) { return static_cast<int>(std::bit_width(std::uint64_t(greatest))); };
  const int row_bits = bits(std::min(job.m_block, std::max<std::int64_t>(job.rows, 1)) - 1);
  const int col_bits = bits(std::max<std::int64_t>(job.cols, 1) - 1);
  const workplace<I> at{job,          out.col_ind.data(), out.col_count.data(),      out.brow_ptr.data(),
                        lists.data(), list_sizes.data(),  row_bits + col_bits <= 31, row_bits};
  for_each(job.num_blocks + 1, classify_body<I>{at}, "classes of row blocks");
  if (job.nnz == 0) return out;
  if (at.keys_fit && job.m_block <= most_rows) {
    sort_class<lightest>(at, 0, 8192);
    sort_class<light>(at, 1, 4096);
    sort_class<middling>(at, 2, 1024);
    sort_class<strong>(at, 3, 264);
  }
  unsigned sizes[num_classes + 1];
  core::gpu::copy_to_host(sizes, list_sizes.data(), sizeof sizes);
  if (sizes[num_classes] > 0) sort_heavy(device, at, sizes[num_classes]);

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
void close_ranks(const compaction<I>& job, const loose_columns<I>& columns, I* col_ind, std::byte* col_count) {
  if (columns.nnzc == 0) return;
  for_each(
      job.num_blocks * 32,
      close_body<I>{job, columns.brow_ptr.data(), columns.col_ind.data(), columns.col_count.data(), col_ind, col_count},
      "closing of ranks");
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
  template void close_ranks(const compaction<I>&, const loose_columns<I>&, I*, std::byte*);                          \
  template void shrink_indices(const I*, std::int64_t, const I*, std::int64_t, const I*, std::int64_t, std::int64_t, \
                               int, I*, std::byte*, std::byte*);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::converters::steps
