#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "cub/device/device_scan.cuh"

// CUB's sort, done by the host: it takes the place of CUB's where steps that use it are tested.
namespace cub {

template <class T>
struct DoubleBuffer {
  T* buffers[2];
  int selector = 0;
  DoubleBuffer(T* current, T* alternate) : buffers{current, alternate} {}
  T* Current() const { return buffers[selector]; }
  T* Alternate() const { return buffers[selector ^ 1]; }
};

struct DeviceRadixSort {
  /// Stable, by bits [begin_bit, end_bit) of the keys. The result lies in the other buffers; the first ones are
  /// clobbered.
  template <class Key, class Value>
  static cudaError_t SortPairs(void* temporary, std::size_t& bytes, DoubleBuffer<Key>& keys,
                               DoubleBuffer<Value>& values, std::int64_t n, int begin_bit, int end_bit) {
    if (const auto answer = answer_without_work(temporary, bytes, n)) return *answer;
    constexpr int max_bits = 8 * sizeof(Key);
    if (begin_bit < 0 || end_bit > max_bits || begin_bit >= end_bit) return cudaErrorInvalidValue;
    const Key mask = end_bit - begin_bit == max_bits ? ~Key{0} : (Key{1} << (end_bit - begin_bit)) - 1;
    std::vector<std::size_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return keys.Current()[k] >> begin_bit & mask; });
    for (std::size_t k = 0; k < order.size(); ++k) {
      keys.Alternate()[k] = keys.Current()[order[k]];
      values.Alternate()[k] = values.Current()[order[k]];
    }
    std::memset(keys.Current(), 0xab, order.size() * sizeof(Key));
    std::memset(values.Current(), 0xab, order.size() * sizeof(Value));
    keys.selector ^= 1;
    values.selector ^= 1;
    return cudaSuccess;
  }
};

}  // namespace cub
