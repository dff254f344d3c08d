#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bcsc/formats.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"

/// A few rows of a matrix, wherever it lies: to judge all of them by.
namespace bcsc::converters {

/// Row i of the sample is cols[ptr[i]] .. cols[ptr[i + 1]].
template <index I>
struct row_sample {
  std::vector<I> ptr, cols;
  std::int64_t rows() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
};

/// Rows `first` to `first + count`; nothing if they have more than `max_entries`. Two small copies from a device.
template <index I>
std::optional<row_sample<I>> sample_rows(const csr_view<pattern, I>& a, std::int64_t first, std::int64_t count,
                                         std::int64_t max_entries) {
  using core::at;
  row_sample<I> rows{core::copy_to_host(a.row_ptr.subspan(at(first), at(count + 1)), a.space), {}};
  const I begin = rows.ptr.front(), entries = rows.ptr.back() - begin;
  if (entries > max_entries) return std::nullopt;
  rows.cols = core::copy_to_host(a.col_ind.subspan(at(begin), at(entries)), a.space);
  for (I& place : rows.ptr) place -= begin;
  return rows;
}

/// Where sample `k` of `num_samples` begins, so that they lie evenly over a.rows, which are at least as many.
constexpr std::int64_t first_of_sample(std::int64_t all_rows, std::int64_t k, std::int64_t num_samples,
                                       std::int64_t count) {
  return all_rows / num_samples * k + all_rows / (2 * num_samples) - count / 2;
}

}  // namespace bcsc::converters
