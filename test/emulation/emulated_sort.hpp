#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "converters/formats/device_steps.hpp"

namespace bcsc::converters::steps {

/// Replaces the device's sort (device_steps.cu) by one on the host.
template <index I>
sorted_pairs<I> sort_pairs(int device, core::device_buffer<std::uint64_t> keys, core::device_buffer<I> payload,
                           std::int64_t key_range) {
  const std::vector<std::uint64_t> key = keys.download();
  const std::vector<I> from = payload.download();
  std::vector<std::size_t> order(key.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return key[k]; });
  std::vector<std::uint64_t> sorted_keys;
  std::vector<I> sorted;
  for (const std::size_t k : order) {
    EXPECT_LT(key[k], static_cast<std::uint64_t>(key_range));
    sorted_keys.push_back(key[k]);
    sorted.push_back(from[k]);
  }
  return {{device, std::span<const std::uint64_t>(sorted_keys)}, {device, std::span<const I>(sorted)}};
}
template sorted_pairs<std::int32_t> sort_pairs(int, core::device_buffer<std::uint64_t>,
                                               core::device_buffer<std::int32_t>, std::int64_t);
template sorted_pairs<std::int64_t> sort_pairs(int, core::device_buffer<std::uint64_t>,
                                               core::device_buffer<std::int64_t>, std::int64_t);

}  // namespace bcsc::converters::steps
