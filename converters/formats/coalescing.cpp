#include "converters/formats/coalescing.hpp"

#include <algorithm>
#include <array>
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

/// Of the rows from `first` on, as many as a warp takes with `lanes` for each, which take entries beside each other.
template <index I>
std::int64_t sectors_of_warp(const row_sample<I>& rows, std::int64_t first, std::int64_t lanes) {
  const std::int64_t end = std::min(first + warp / lanes, rows.rows());
  std::int64_t longest = 0;
  for (std::int64_t i = first; i < end; ++i) {
    longest = std::max(longest, std::int64_t{rows.ptr[at(i + 1)]} - rows.ptr[at(i)]);
  }
  std::int64_t sectors = 0;
  std::vector<std::int64_t> reached;
  for (std::int64_t k = 0; k < longest; k += lanes) {
    reached.clear();
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t begin = rows.ptr[at(i)] + k;
      const std::int64_t last = std::min<std::int64_t>(begin + lanes, rows.ptr[at(i + 1)]);
      for (std::int64_t entry = begin; entry < last; ++entry) reached.push_back(rows.cols[at(entry)] / sector);
    }
    std::ranges::sort(reached);
    sectors += std::ranges::unique(reached).begin() - reached.begin();
  }
  return sectors;
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

/// How far the entries of `rows`, which begin at row `first` of A, are from the diagonal.
template <index I>
void add_distances(const csr_view<pattern, I>& a, const row_sample<I>& rows, std::int64_t first,
                   std::vector<std::int64_t>& all) {
  const double slope = static_cast<double>(a.cols) / static_cast<double>(a.rows);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    const auto on_diagonal = static_cast<std::int64_t>(static_cast<double>(first + i) * slope);
    for (I e = rows.ptr[at(i)]; e < rows.ptr[at(i + 1)]; ++e) all.push_back(std::abs(rows.cols[at(e)] - on_diagonal));
  }
}

}  // namespace

template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a) {
  const std::int64_t count = std::min(a.rows, sampled_rows);
  const std::int64_t samples = a.rows >= num_samples * sampled_rows ? num_samples : 1;
  std::array<std::int64_t, 4> sectors{};
  std::vector<std::int64_t> distances;
  std::int64_t num_rows = 0, row_sectors = 0;
  for (std::int64_t k = 0; k < samples && count > 0; ++k) {
    const std::int64_t begin = first_of_sample(a.rows, k, samples, count);
    const auto rows = sample_rows(a, begin, count, max_entries);
    if (!rows) continue;
    for (std::size_t i = 0; i < sectors.size(); ++i) {
      const std::int64_t lanes = std::int64_t{1} << i;
      for (std::int64_t first = 0; first < count; first += warp / lanes) {
        sectors[i] += sectors_of_warp(*rows, first, lanes);
      }
    }
    add_distances(a, *rows, begin, distances);
    num_rows += count;
    row_sectors += sectors_of_lengths(*rows, begin);
  }
  if (distances.empty()) return {};
  const std::int64_t entries = std::ssize(distances);
  const auto last = distances.begin() + (entries - 1) * 99 / 100;
  std::ranges::nth_element(distances, last);
  column_access found{.reach = *last,
                      .sectors_per_row = static_cast<double>(row_sectors) / static_cast<double>(num_rows)};
  std::ranges::transform(sectors, found.sectors_per_entry.begin(), [entries](std::int64_t reached) {
    return static_cast<double>(reached) / static_cast<double>(entries);
  });
  return found;
}

template column_access access_to_columns(const csr_view<pattern, std::int32_t>&);
template column_access access_to_columns(const csr_view<pattern, std::int64_t>&);

}  // namespace bcsc::converters
