#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "bcsc/elements.hpp"
#include "converters/formats/device_entry_steps.hpp"
#include "converters/formats/device_selection.cuh"

/// Sorted entries, and what follows from their order: pointers, groups, sums.
namespace bcsc::converters::steps {

namespace sorting {

__extension__ typedef unsigned __int128 uint128;

std::int64_t num_blocks(std::int64_t count, std::int64_t block) { return count / block + (count % block != 0 ? 1 : 0); }

/// Bits of the numbers below `count`.
int bits_below(std::int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1) - 1)));
}

core::device_buffer<std::byte> bytes_for(int device, std::int64_t n, int bytes_each) {
  return {device, n * bytes_each};  // of entries that lie in memory: no overflow
}

template <class X>
X* as(const core::device_buffer<std::byte>& buffer) {
  return reinterpret_cast<X*>(buffer.data());
}

/// body(keys) with the type that the keys have.
template <class Body>
void with_keys(const sorted_entries& entries, Body body) {
  switch (entries.key_bytes) {
    case 4:
      return body(as<const std::uint32_t>(entries.keys));
    case 8:
      return body(as<const std::uint64_t>(entries.keys));
    default:
      return body(as<const uint128>(entries.keys));
  }
}

template <class Body>
void with_positions(const sorted_entries& entries, Body body) {
  if (entries.position_bytes == 4) return body(as<const std::uint32_t>(entries.positions));
  return body(as<const std::uint64_t>(entries.positions));
}

// --- Keys -----------------------------------------------------------------------------------------------------------

template <class I>
struct block_of {
  const I *major_of, *minor_of;
  divider major_block, minor_block;
  __device__ std::int64_t major(std::int64_t k) const { return major_of[k] / major_block; }
  __device__ std::int64_t minor(std::int64_t k) const { return minor_of == nullptr ? 0 : minor_of[k] / minor_block; }
};

template <class I>
struct leaves_block {
  block_of<I> block;
  __device__ bool operator()(std::int64_t k) const {
    return k == 0 || block.major(k) != block.major(k - 1) || block.minor(k) != block.minor(k - 1);
  }
};

/// Writes the key and the position of entry k to place `rank`.
template <class I, class Key, class Position>
struct write_key {
  block_of<I> block;
  int minor_bits;
  Key* keys;
  Position* positions;
  __device__ void operator()(std::int64_t k, std::int64_t rank) const {
    keys[rank] = static_cast<Key>(block.major(k)) << minor_bits | static_cast<Key>(block.minor(k));
    positions[rank] = static_cast<Position>(k);
  }
  __device__ void operator()(std::int64_t k) const { (*this)(k, k); }
};

/// Entries that `fill` writes, sorted by the lowest `num_bits` of their keys.
template <class Key, class Position, class Fill>
void sort_as(int device, sorted_entries& entries, int num_bits, Fill fill) {
  entries.key_bytes = sizeof(Key);
  entries.position_bytes = sizeof(Position);
  entries.keys = bytes_for(device, entries.n, sizeof(Key));
  entries.positions = bytes_for(device, entries.n, sizeof(Position));
  if (entries.n == 0) return;
  fill(as<Key>(entries.keys), as<Position>(entries.positions));
  if (num_bits == 0) return;  // all are equal
  auto other_keys = bytes_for(device, entries.n, sizeof(Key));
  auto other_positions = bytes_for(device, entries.n, sizeof(Position));
  cub::DoubleBuffer<Key> keys(as<Key>(entries.keys), as<Key>(other_keys));
  cub::DoubleBuffer<Position> positions(as<Position>(entries.positions), as<Position>(other_positions));
  // The first call only asks for the size of the temporary memory.
  std::size_t temporary_bytes = 0;
  forget_earlier_error();
  core::gpu::check_launch(
      cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, keys, positions, entries.n, 0, num_bits), "sort");
  const core::device_buffer<char> temporary(device,
                                            std::max<std::int64_t>(1, static_cast<std::int64_t>(temporary_bytes)));
  forget_earlier_error();
  core::gpu::check_launch(
      cub::DeviceRadixSort::SortPairs(temporary.data(), temporary_bytes, keys, positions, entries.n, 0, num_bits),
      "sort");
  if (keys.Current() == as<Key>(other_keys)) std::swap(entries.keys, other_keys);
  if (positions.Current() == as<Position>(other_positions)) std::swap(entries.positions, other_positions);
}

}  // namespace sorting

template <index I>
sorted_entries sort_entries(int device, const entry_order<I>& order) {
  using namespace sorting;
  const block_of<I> block{order.major_of, order.minor_of, divider(order.major_block), divider(order.minor_block)};
  const int major_bits = bits_below(num_blocks(order.majors, order.major_block));
  const int minor_bits = order.minor_of == nullptr ? 0 : bits_below(num_blocks(order.minors, order.minor_block));
  const int num_bits = major_bits + minor_bits;
  const leaves_block<I> differs{block};
  selection kept;
  if (order.once) kept = select(device, order.n, differs, "count of keys");

  sorted_entries entries;
  entries.n = order.once ? kept.total : order.n;
  entries.minor_bits = minor_bits;
  const auto fill = [&]<class Key, class Position>(Key* keys, Position* positions) {
    const write_key<I, Key, Position> write{block, minor_bits, keys, positions};
    if (order.once) {
      for_selected(kept, differs, write, "keys");
    } else {
      for_each(order.n, write, "keys");
    }
  };
  if (num_bits > 64) {
    sort_as<uint128, std::uint64_t>(device, entries, num_bits, fill);
  } else if (order.n > std::int64_t{1} << 32) {
    sort_as<std::uint64_t, std::uint64_t>(device, entries, num_bits, fill);
  } else if (num_bits >= 32) {  // a shift by a key's whole width is undefined
    sort_as<std::uint64_t, std::uint32_t>(device, entries, num_bits, fill);
  } else {
    sort_as<std::uint32_t, std::uint32_t>(device, entries, num_bits, fill);
  }
  return entries;
}

// --- Pointers -------------------------------------------------------------------------------------------------------

namespace sorting {

/// ptr[i] = how many of the ascending keys have a major index below i.
template <class Key, class I>
struct bound_body {
  const Key* keys;
  std::int64_t n;
  int minor_bits;
  I* ptr;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t low = 0, high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (static_cast<std::int64_t>(keys[middle] >> minor_bits) < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    ptr[i] = static_cast<I>(low);
  }
};

}  // namespace sorting

template <index I>
void entry_bounds(const sorted_entries& entries, std::int64_t majors, I* ptr) {
  sorting::with_keys(entries, [&]<class Key>(const Key* keys) {
    for_each(majors + 1, sorting::bound_body<Key, I>{keys, entries.n, entries.minor_bits, ptr}, "pointers");
  });
}

template <index I>
void index_bounds(const I* ascending, std::int64_t n, std::int64_t majors, I* ptr) {
  for_each(majors + 1, sorting::bound_body<I, I>{ascending, n, 0, ptr}, "pointers");
}

// --- Entries moved --------------------------------------------------------------------------------------------------

namespace sorting {

template <class X, class Position>
struct gather_body {
  const X* from;
  const Position* positions;
  X* out;
  __device__ void operator()(std::int64_t k) const { out[k] = from[positions[k]]; }
};

}  // namespace sorting

void gather(const sorted_entries& entries, const void* from, int bytes, void* out) {
  sorting::with_positions(entries, [&](const auto* positions) {
    with_size(bytes, [&]<class X>(X) {
      for_each(entries.n, sorting::gather_body{static_cast<const X*>(from), positions, static_cast<X*>(out)},
               "gathering of entries");
    });
  });
}

// --- Groups ---------------------------------------------------------------------------------------------------------

namespace sorting {

template <class Key>
struct is_first {
  const Key* keys;
  __device__ bool operator()(std::int64_t k) const { return k == 0 || keys[k] != keys[k - 1]; }
};

template <class F>
struct write_first {
  F* first;
  std::int64_t n, count;
  __device__ void operator()(std::int64_t k, std::int64_t rank) const {
    first[rank] = static_cast<F>(k);
    if (rank == count - 1) first[count] = static_cast<F>(n);
  }
};

template <class Key, class F, class I>
struct group_index_body {
  const Key* keys;
  const F* first;
  int minor_bits;
  I *majors, *minors;
  __device__ void operator()(std::int64_t g) const {
    const Key key = keys[first[g]];
    if (majors != nullptr) majors[g] = static_cast<I>(key >> minor_bits);
    if (minors != nullptr) minors[g] = static_cast<I>(key & ((Key{1} << minor_bits) - 1));
  }
};

template <class Key, class I>
struct group_bound_body {
  const Key* keys;
  const I* first;
  std::int64_t count;
  int minor_bits;
  I* ptr;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t low = 0, high = count;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (static_cast<std::int64_t>(keys[first[middle]] >> minor_bits) < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    ptr[i] = static_cast<I>(low);
  }
};

/// One thread per group: another order of summation would give another result.
template <class T, class Position>
struct sum_body {
  const Position* positions;
  const std::int64_t* first;
  const T* values;
  T* sums;
  __device__ void operator()(std::int64_t g) const {
    T sum = values[positions[first[g]]];
    for (std::int64_t k = first[g] + 1; k < first[g + 1]; ++k) sum += values[positions[k]];
    sums[g] = sum;
  }
};

template <class I>
struct is_no_advance {
  const I *row_ind, *col_ind;
  __device__ bool operator()(std::int64_t before) const {
    const std::int64_t k = before + 1;
    return row_ind[k] < row_ind[before] || (row_ind[k] == row_ind[before] && col_ind[k] <= col_ind[before]);
  }
};

}  // namespace sorting

template <index F>
entry_groups<F> group_entries(int device, const sorted_entries& entries) {
  entry_groups<F> groups;
  sorting::with_keys(entries, [&]<class Key>(const Key* keys) {
    const sorting::is_first<Key> is_first{keys};
    const selection firsts = select(device, entries.n, is_first, "count of groups");
    groups.count = firsts.total;
    groups.first = core::device_buffer<F>(device, groups.count + 1);
    if (groups.count == 0) return core::gpu::fill_zero(groups.first.data(), sizeof(F));
    for_selected(firsts, is_first, sorting::write_first<F>{groups.first.data(), entries.n, groups.count}, "groups");
  });
  return groups;
}

template <index F, index I>
void group_indices(const sorted_entries& entries, const entry_groups<F>& groups, I* majors, I* minors) {
  sorting::with_keys(entries, [&]<class Key>(const Key* keys) {
    for_each(groups.count,
             sorting::group_index_body<Key, F, I>{keys, groups.first.data(), entries.minor_bits, majors, minors},
             "indices of groups");
  });
}

template <index I>
void group_bounds(const sorted_entries& entries, const entry_groups<I>& groups, std::int64_t majors, I* ptr) {
  sorting::with_keys(entries, [&]<class Key>(const Key* keys) {
    for_each(majors + 1,
             sorting::group_bound_body<Key, I>{keys, groups.first.data(), groups.count, entries.minor_bits, ptr},
             "pointers to groups");
  });
}

void sum_groups(const sorted_entries& entries, const entry_groups<std::int64_t>& groups, value_type type,
                const void* values, void* sums) {
  sorting::with_positions(entries, [&](const auto* positions) {
    const auto sum = [&]<class T>(T) {
      for_each(groups.count,
               sorting::sum_body{positions, groups.first.data(), static_cast<const T*>(values), static_cast<T*>(sums)},
               "sums of duplicates");
    };
    switch (type) {
      case value_type::fp32:
        return sum(float{});
      case value_type::fp64:
        return sum(double{});
      case value_type::fp16:
        return sum(half{});
      case value_type::bf16:
        return sum(bfloat16{});
      case value_type::pattern:
        return;
    }
  });
}

template <index I>
std::int64_t first_entry_disorder(int device, const I* row_ind, const I* col_ind, std::int64_t n) {
  const std::int64_t before = first_where(device, n - 1, sorting::is_no_advance<I>{row_ind, col_ind}, "check of order");
  return before < 0 ? -1 : before + 1;
}

#define BCSC_INSTANTIATE(I)                                                                    \
  template sorted_entries sort_entries(int, const entry_order<I>&);                            \
  template void entry_bounds(const sorted_entries&, std::int64_t, I*);                         \
  template void index_bounds(const I*, std::int64_t, std::int64_t, I*);                        \
  template entry_groups<I> group_entries(int, const sorted_entries&);                          \
  template void group_indices(const sorted_entries&, const entry_groups<I>&, I*, I*);          \
  template void group_bounds(const sorted_entries&, const entry_groups<I>&, std::int64_t, I*); \
  template std::int64_t first_entry_disorder(int, const I*, const I*, std::int64_t);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE
template void group_indices(const sorted_entries&, const entry_groups<std::int64_t>&, std::int32_t*, std::int32_t*);

}  // namespace bcsc::converters::steps
