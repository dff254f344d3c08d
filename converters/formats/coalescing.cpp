#include "converters/formats/coalescing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "converters/formats/row_sample.hpp"
#include "core/checked.hpp"

namespace bcsc::converters {

namespace {

using core::at;

constexpr std::int64_t num_samples = 4;
constexpr std::int64_t sampled_rows = 64;
constexpr std::int64_t max_entries = std::int64_t{1} << 17;  // of a sample: half a megabyte
constexpr std::int64_t warp = 32;
constexpr std::int64_t sector = 8;  // values: 32 bytes of fp32

/// Of the rows of a warp about so many entries are looked at, evenly spread.
constexpr std::int64_t enough_entries = 512;

/// Counts how many of up to 32 numbers differ: by hashing, since sorting them took most of the time of a plan.
class distinct_numbers {
 public:
  void add(std::int64_t number) {
    auto slot = static_cast<std::size_t>(static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15u >> (64 - slot_bits));
    for (; used_ >> slot & 1; slot = (slot + 1) % slots_.size()) {
      if (slots_[slot] == number) return;
    }
    slots_[slot] = number;
    used_ |= std::uint64_t{1} << slot;
  }
  std::int64_t count() const { return std::popcount(used_); }

 private:
  static constexpr int slot_bits = 6;
  std::array<std::int64_t, 1 << slot_bits> slots_;
  std::uint64_t used_ = 0;
};

struct counted_sectors {
  std::int64_t entries = 0, sectors = 0;
};

/// Adds those of the rows from `first` on, as many as a warp takes with `lanes` for each, which take entries beside
/// each other.
template <index I>
void add_warp(const row_sample<I>& rows, std::int64_t first, std::int64_t lanes, counted_sectors& counted) {
  const std::int64_t end = std::min(first + warp / lanes, rows.rows());
  const std::int64_t entries = rows.ptr[at(end)] - rows.ptr[at(first)];
  const std::int64_t apart = core::ceil_div(std::max<std::int64_t>(entries, 1), enough_entries) * lanes;
  std::int64_t longest = 0;
  for (std::int64_t i = first; i < end; ++i) {
    longest = std::max(longest, std::int64_t{rows.ptr[at(i + 1)]} - rows.ptr[at(i)]);
  }
  for (std::int64_t k = 0; k < longest; k += apart) {
    distinct_numbers reached;
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t begin = rows.ptr[at(i)] + k;
      const std::int64_t last = std::min<std::int64_t>(begin + lanes, rows.ptr[at(i + 1)]);
      for (std::int64_t entry = begin; entry < last; ++entry) {
        reached.add(rows.cols[at(entry)] / sector);
        ++counted.entries;
      }
    }
    counted.sectors += reached.count();
  }
}

/// The sectors of a column of C that rows of each length are in, added up; `rows` begin at row `first` of A.
template <index I>
std::int64_t sectors_of_lengths(const row_sample<I>& rows, std::int64_t first) {
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const std::int64_t entries = rows.ptr[at(i + 1)] - rows.ptr[at(i)];
    found.emplace(core::ceil_div(entries, entries_alike), (first + i) / sector);
  }
  return std::ssize(found);
}

/// How far the entries of `rows`, which begin at row `first` of A, are from the diagonal. Returns the farthest among
/// them, of each row the first and the last.
template <index I>
std::int64_t add_distances(const csr_view<pattern, I>& a, const row_sample<I>& rows, std::int64_t first,
                           std::vector<std::int64_t>& all) {
  const double slope = static_cast<double>(a.cols) / static_cast<double>(a.rows);
  std::int64_t farthest = 0;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const auto on_diagonal = static_cast<std::int64_t>(static_cast<double>(first + i) * slope);
    const std::int64_t begin = rows.ptr[at(i)], end = rows.ptr[at(i + 1)];
    const std::int64_t apart = std::max<std::int64_t>(1, core::ceil_div(end - begin, enough_entries / warp));
    const auto distance = [&](std::int64_t e) { return std::abs(rows.cols[at(e)] - on_diagonal); };
    for (std::int64_t e = begin; e < end; e += apart) all.push_back(distance(e));
    if (begin < end) farthest = std::max({farthest, distance(begin), distance(end - 1)});
  }
  return farthest;
}

}  // namespace

template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a) {
  const std::int64_t count = std::min(a.rows, sampled_rows);
  const std::int64_t samples = a.rows >= num_samples * sampled_rows ? num_samples : 1;
  std::array<counted_sectors, std::tuple_size_v<sectors_by_lanes>> counted{};
  std::vector<std::int64_t> distances;
  std::int64_t num_rows = 0, row_sectors = 0, farthest = 0;
  for (std::int64_t k = 0; k < samples && count > 0; ++k) {
    const std::int64_t begin = first_of_sample(a.rows, k, samples, count);
    const auto rows = sample_rows(a, begin, count, max_entries);
    if (!rows) {
      farthest = column_access{}.farthest;
      continue;
    }
    for (std::size_t i = 0; i < counted.size(); ++i) {
      const std::int64_t lanes = std::int64_t{1} << i;
      for (std::int64_t first = 0; first < count; first += warp / lanes) add_warp(*rows, first, lanes, counted[i]);
    }
    farthest = std::max(farthest, add_distances(a, *rows, begin, distances));
    num_rows += count;
    row_sectors += sectors_of_lengths(*rows, begin);
  }
  if (distances.empty()) return {};
  const auto last = distances.begin() + (std::ssize(distances) - 1) * 99 / 100;
  std::ranges::nth_element(distances, last);
  column_access found{.reach = *last,
                      .farthest = farthest,
                      .sectors_per_row = static_cast<double>(row_sectors) / static_cast<double>(num_rows)};
  std::ranges::transform(counted, found.sectors_per_entry.begin(), [](const counted_sectors& c) {
    return static_cast<double>(c.sectors) / static_cast<double>(c.entries);
  });
  return found;
}

template column_access access_to_columns(const csr_view<pattern, std::int32_t>&);
template column_access access_to_columns(const csr_view<pattern, std::int64_t>&);

}  // namespace bcsc::converters
