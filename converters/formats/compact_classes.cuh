#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "converters/formats/compact_steps.hpp"

/// Row blocks by weight: the classes, the lists of their row blocks, and the arrays that all of them work on.
namespace bcsc::converters::steps {

/// Row blocks higher than this count as heavy.
constexpr int max_rows = 256;

/// A team of threads that orders row blocks of up to `Capacity` entries; teams of one warp share a thread block.
template <int Team, int Capacity>
struct weight_class {
  static constexpr int team = Team, capacity = Capacity;
  static constexpr int threads = Team == 32 ? 128 : Team;
  static constexpr int teams = threads / Team;
  /// Entries per thread, odd: the threads' runs then begin in different banks of shared memory.
  static constexpr int max_each = Capacity / Team | 1;
};
/// A thread merges up to 16 entries, or its search does not pay; 8 where row blocks are so light that a team of twice
/// the threads is done sooner.
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

/// How many entries a warp's registers hold, and the beginnings of how many rows (and their end).
constexpr int max_few = 64, max_few_rows = 31, few_threads = 128;

__device__ inline int list_of(std::int64_t entries, std::int64_t rows) {
  if (rows > max_rows || entries > max_capacity) return heavy_list;
  if (entries <= max_few && rows <= max_few_rows) return few_list;
  int list = first_class_list;
  for (std::int64_t capacity = min_capacity; capacity < entries; capacity *= 2) ++list;
  return list;
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

}  // namespace bcsc::converters::steps
