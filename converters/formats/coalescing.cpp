#include "converters/formats/coalescing.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
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
constexpr std::int64_t sector = 8;  // columns: 32 bytes of fp32

struct counts {
  std::int64_t entries = 0, sectors = 0, rows = 0;
  std::map<std::int64_t, std::int64_t> rows_of_length;
};

/// Adds those of the rows from `first` on, a warp of them.
template <index I>
void add_warp(const row_sample<I>& rows, std::int64_t first, counts& all) {
  const std::int64_t end = std::min(first + warp, rows.rows());
  std::int64_t longest = 0;
  for (std::int64_t i = first; i < end; ++i) {
    const std::int64_t length = std::int64_t{rows.ptr[at(i + 1)]} - rows.ptr[at(i)];
    longest = std::max(longest, length);
    all.entries += length;
    ++all.rows;
    ++all.rows_of_length[length];
  }
  std::vector<std::int64_t> reached;
  for (std::int64_t k = 0; k < longest; ++k) {
    reached.clear();
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t entry = rows.ptr[at(i)] + k;
      if (entry < rows.ptr[at(i + 1)]) reached.push_back(rows.cols[at(entry)] / sector);
    }
    std::ranges::sort(reached);
    all.sectors += std::ranges::unique(reached).begin() - reached.begin();
  }
}

}  // namespace

template <index I>
column_access access_to_columns(const csr_view<pattern, I>& a) {
  const std::int64_t count = std::min(a.rows, sampled_rows);
  const std::int64_t samples = a.rows >= num_samples * sampled_rows ? num_samples : 1;
  counts all;
  for (std::int64_t k = 0; k < samples && count > 0; ++k) {
    const auto rows = sample_rows(a, first_of_sample(a.rows, k, samples, count), count, max_entries);
    if (!rows) continue;
    for (std::int64_t first = 0; first < count; first += warp) add_warp(*rows, first, all);
  }
  if (all.entries == 0) return {};
  std::int64_t alike = 0;
  for (const auto& [length, num_rows] : all.rows_of_length) {
    if (4 * num_rows >= all.rows) alike += num_rows;
  }
  const auto share = [](std::int64_t part, std::int64_t of) {
    return static_cast<double>(part) / static_cast<double>(of);
  };
  return {share(all.sectors, all.entries), share(alike, all.rows)};
}

template column_access access_to_columns(const csr_view<pattern, std::int32_t>&);
template column_access access_to_columns(const csr_view<pattern, std::int64_t>&);

}  // namespace bcsc::converters
