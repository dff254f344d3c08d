#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "kernels/forms/row_stream/layout.hpp"
#include "test/support/battery.hpp"

/// Matrices whose rows are as uneven as the stream of row pieces has to handle.
namespace bcsc::test {

/// The first columns of each row: row i has length(i) entries.
template <class Length>
sparse_case rows_of_lengths(std::string name, std::int64_t rows, std::int64_t cols, Length length) {
  test_random random(7);
  sparse_case c{std::move(name), rows, cols, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t entries = length(i), first = entries < cols ? random.below(cols - entries + 1) : 0;
    for (std::int64_t k = 0; k < entries; ++k) c.entries.push_back({i, first + k, random.small_integer()});
  }
  return c;
}

/// Beyond the battery: rows of one entry and of many thousands, long matrices, none but empty rows.
inline std::vector<sparse_case> uneven_rows() {
  std::vector<sparse_case> all;
  all.push_back(rows_of_lengths("single_entries", 5000, 90, [](std::int64_t) { return 1; }));
  all.push_back(rows_of_lengths("even_lengths", 3000, 90, [](std::int64_t i) { return 2 * (i % 5); }));
  all.push_back(rows_of_lengths("every_length", 400, 700, [](std::int64_t i) { return (7 * i) % 401; }));
  all.push_back(rows_of_lengths("long_rows", 9, 20000, [](std::int64_t i) { return i % 4 == 1 ? 19993 - i : i; }));
  all.push_back(rows_of_lengths("one_long_row", 2600, 9001, [](std::int64_t i) { return i == 1300 ? 9001 : i % 3; }));
  // Rows long enough for a slice to themselves, on both sides of the length from which warps share one.
  all.push_back(rows_of_lengths("some_long", 500, 700, [](std::int64_t i) {
    constexpr std::int64_t lengths[] = {256, 100, 257, 600};
    return i % 60 == 7 ? lengths[i / 60 % 4] : i % 5;
  }));
  all.push_back(rows_of_lengths("one_row_only", 1, 5001, [](std::int64_t) { return 5001; }));
  all.push_back(rows_of_lengths("all_empty", 3000, 5, [](std::int64_t) { return 0; }));
  return all;
}

/// A matrix whose row blocks fall into every class of weight, and beyond the greatest: rows get heavier and heavier.
inline csr_matrix<double> of_all_weights(std::int64_t cols) {
  test_random random(5);
  std::vector<std::int32_t> row_ptr{0}, col_ind;
  std::vector<double> values;
  for (std::int64_t row = 0; row < 600; ++row) {
    const std::int64_t per_row = row < 200 ? row % 9 : row < 400 ? 10 + row % 40 : row < 560 ? 300 : 2500;
    const std::int64_t stride = std::max<std::int64_t>(1, cols / (per_row + 1));
    for (std::int64_t k = 0; k < per_row && k * stride < cols; ++k) {
      col_ind.push_back(static_cast<std::int32_t>(k * stride + random.below(stride)));
      values.push_back(random.real());
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_ind.size()));
  }
  return {600, cols, row_ptr, col_ind, values};
}

/// Whether all columns and values have the same bits.
template <class T>
bool same_bits(const std::vector<forms::entry_pair<T>>& a, const std::vector<forms::entry_pair<T>>& b) {
  return std::ranges::equal(a, b, [](const forms::entry_pair<T>& x, const forms::entry_pair<T>& y) {
    return std::memcmp(&x, &y, offsetof(forms::entry_pair<T>, value) + sizeof x.value) == 0;
  });
}

}  // namespace bcsc::test
