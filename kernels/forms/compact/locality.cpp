#include "kernels/forms/compact/locality.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "converters/formats/instantiate.hpp"

namespace bcsc::forms {

namespace {

constexpr std::int64_t window = 2048;       // entries after which a row of B has left the near caches
constexpr std::int64_t piece = 4 * window;  // entries looked at in a row
constexpr std::int64_t max_pieces = 64;
constexpr double min_share = 1.0 / 3;

constexpr std::int64_t rows_of_window = 256;
constexpr std::int64_t long_row = 24;  // entries from which a mispredicted branch is negligible
constexpr std::int64_t min_nnz = 16 * 1024;

template <class T, class I>
std::int64_t length(const csr_view<T, I>& a, std::int64_t row) {
  return static_cast<std::int64_t>(a.row_ptr[static_cast<std::size_t>(row) + 1]) -
         a.row_ptr[static_cast<std::size_t>(row)];
}

}  // namespace

template <element T, index I>
bool is_scattered(const csr_view<T, I>& a) {
  const std::int64_t nnz = a.nnz();
  if (nnz == 0) return false;
  const std::int64_t pieces = std::clamp<std::int64_t>(nnz / piece, 1, max_pieces);
  // When a column was last used, by a clock that continues from piece to piece; initially long ago.
  std::vector<std::int64_t> used(static_cast<std::size_t>(a.cols), -window - 1);
  const auto is_recent = [&](std::int64_t column, std::int64_t now) {
    return column >= 0 && column < a.cols && now - used[static_cast<std::size_t>(column)] <= window;
  };
  std::int64_t now = 0, scattered = 0, counted = 0;
  for (std::int64_t p = 0; p < pieces; ++p) {
    now += window + 1;
    const std::int64_t begin = nnz / pieces * p, end = std::min(begin + piece, nnz);
    for (std::int64_t k = begin; k < end; ++k, ++now) {
      const std::int64_t column = a.col_ind[static_cast<std::size_t>(k)];
      const bool known = is_recent(column, now) || is_recent(column - 1, now) || is_recent(column + 1, now);
      used[static_cast<std::size_t>(column)] = now;
      if (k - begin < window) continue;  // too early to tell
      scattered += !known;
      ++counted;
    }
  }
  return counted > 0 && static_cast<double>(scattered) > min_share * static_cast<double>(counted);
}

template <element T, index I>
bool differ_in_length(const csr_view<T, I>& a) {
  if (a.nnz() < min_nnz || a.nnz() > long_row * a.rows) return false;
  std::int64_t changes = 0;
  for (std::int64_t row = 1; row < a.rows; ++row) changes += length(a, row) != length(a, row - 1);
  return 4 * changes >= a.rows;
}

template <element T, index I>
std::vector<std::int64_t> order_rows_by_length(const csr_view<T, I>& a) {
  if (!differ_in_length(a)) return {};
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t first = 0; first < a.rows; first += rows_of_window) {
    std::stable_sort(order.begin() + first, order.begin() + std::min(first + rows_of_window, a.rows),
                     [&](std::int64_t x, std::int64_t y) { return length(a, x) < length(a, y); });
  }
  return order;
}

#define BCSC_INSTANTIATE(T, I)                           \
  template bool is_scattered(const csr_view<T, I>&);     \
  template bool differ_in_length(const csr_view<T, I>&); \
  template std::vector<std::int64_t> order_rows_by_length(const csr_view<T, I>&);
BCSC_FOR_NUMBERS(BCSC_INSTANTIATE)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::forms
