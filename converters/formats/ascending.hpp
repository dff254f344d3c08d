#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "converters/formats/parallel.hpp"

namespace bcsc::converters {

/// Whether segment i of `ind`, ptr[i] .. ptr[i + 1], strictly ascends within 0 .. size - 1, for all num_segments
/// segments, and the segments cover all of `ind`: what makes CSR and CSC valid. Answers only yes or no, at the speed of
/// memory: most matrices are valid, and slower checks say what is wrong with the others. Trusts none of its input.
template <index I>
bool ascends_in_segments(std::span<const I> ptr, std::span<const I> ind, std::int64_t num_segments, std::int64_t size) {
  constexpr std::int64_t greatest = std::numeric_limits<I>::max();
  const auto num_entries = static_cast<std::int64_t>(ind.size());
  if (num_segments < 0 || num_segments > greatest || size < 0 || size > greatest || num_entries > greatest)
    return false;
  if (ptr.empty() || static_cast<std::int64_t>(ptr.size()) - 1 != num_segments) return false;
  if (ptr.front() != 0 || ptr.back() != num_entries) return false;

  // The segments of a batch are few enough that their indices are still in the cache when their ends are looked at.
  constexpr std::int64_t batch_entries = 1 << 15;
  const I* const p = ptr.data();
  const I* const x = ind.data();
  const auto is_well = [&](std::int64_t first_segment, std::int64_t last_segment) {
    for (std::int64_t from = first_segment, to = from; from < last_segment; from = to) {
      const std::int64_t begin = p[from];
      if (begin < 0 || begin > num_entries) return false;
      for (; to < last_segment && (to == from || p[to] - begin < batch_entries); ++to) {
        if (p[to + 1] < p[to]) return false;
      }
      const std::int64_t end = p[to];
      if (end > num_entries) return false;
      // Counts descents over the whole batch without branches; those between two segments are then subtracted.
      std::int64_t descents = 0;
      for (std::int64_t k = begin + 1; k < end;) {
        const std::int64_t stop = std::min(end, k + batch_entries);
        I some = 0;
        for (; k < stop; ++k) some += static_cast<I>(x[k] <= x[k - 1]);
        descents += some;
      }
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t first = p[i], last = p[i + 1];
        if (first == last) continue;
        if (x[first] < 0 || x[last - 1] >= size) return false;
        if (first > begin) descents -= x[first] <= x[first - 1];
      }
      if (descents != 0) return false;
    }
    return true;
  };
  const auto weight = [&](std::int64_t i) { return std::clamp<std::int64_t>(p[i], 0, num_entries) + i; };
  std::atomic<bool> all_well = true;
  for_pieces(num_segments == 0 ? std::vector<std::int64_t>{0}
                               : even_cuts(num_segments, worthwhile_pieces(weight(num_segments)), weight),
             [&](std::int64_t, std::int64_t first, std::int64_t last) {
               if (!is_well(first, last)) all_well = false;
             });
  return all_well;
}

}  // namespace bcsc::converters
