#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/formats.hpp"
#include "test/support/oracle.hpp"

/// The matrices every kernel, converter and plan has to get right.
namespace bcsc::test {

enum class values { real, small_integers };

/// A case from a set of positions.
inline sparse_case make_case(std::string name, std::int64_t rows, std::int64_t cols,
                             const std::set<std::pair<std::int64_t, std::int64_t>>& positions, values kind,
                             std::uint64_t seed) {
  test_random random(seed);
  sparse_case c{std::move(name), rows, cols, {}};
  for (const auto& [i, j] : positions) {
    c.entries.push_back({i, j, kind == values::real ? random.real() : random.small_integer()});
  }
  return c;
}

inline std::set<std::pair<std::int64_t, std::int64_t>> scatter(std::int64_t rows, std::int64_t cols, std::int64_t count,
                                                               std::uint64_t seed) {
  test_random random(seed);
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t k = 0; k < count; ++k) positions.insert({random.below(rows), random.below(cols)});
  return positions;
}

inline std::vector<sparse_case> battery(values kind) {
  using positions = std::set<std::pair<std::int64_t, std::int64_t>>;
  std::vector<sparse_case> all;
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t cols, const positions& p) {
    all.push_back(make_case(name, rows, cols, p, kind, 17 * (all.size() + 1)));
  };
  add("0x0", 0, 0, {});
  add("0x5", 0, 5, {});
  add("5x0", 5, 0, {});
  add("1x1", 1, 1, {{0, 0}});
  add("no_entries", 37, 21, {});
  add("one_row", 1, 300, scatter(1, 300, 120, 1));
  add("one_column", 300, 1, scatter(300, 1, 120, 2));
  add("last_entry_only", 65, 47, {{64, 46}});
  add("ragged", 67, 53, scatter(67, 53, 700, 3));
  add("wide", 19, 700, scatter(19, 700, 900, 4));
  add("tall", 700, 19, scatter(700, 19, 900, 5));

  positions holes;  // every third row and every second column empty
  for (const auto& [i, j] : scatter(130, 120, 1500, 6)) {
    if (i % 3 != 0 && j % 2 != 0) holes.insert({i, j});
  }
  add("empty_rows_and_columns", 130, 120, holes);

  positions dense;
  for (std::int64_t i = 0; i < 33; ++i) {
    for (std::int64_t j = 0; j < 45; ++j) dense.insert({i, j});
  }
  add("dense", 33, 45, dense);

  positions power_law = scatter(260, 260, 400, 7);  // one full row, one full column, thin elsewhere
  for (std::int64_t k = 0; k < 260; ++k) {
    power_law.insert({100, k});
    power_law.insert({k, 31});
  }
  add("power_law", 260, 260, power_law);

  positions band;
  for (std::int64_t i = 0; i < 200; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - 6); j <= std::min<std::int64_t>(199, i + 6); ++j) {
      band.insert({i, j});
    }
  }
  add("band", 200, 200, band);

  positions corners;  // blocks full of non-zeros beside blocks without any
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t j = 0; j < 16; ++j) {
      corners.insert({i, j});
      corners.insert({i + 500, j + 500});
    }
  }
  add("corner_blocks", 516, 516, corners);

  sparse_case zeros = make_case("explicit_zeros", 40, 40, scatter(40, 40, 200, 8), kind, 99);
  for (std::size_t k = 0; k < zeros.entries.size(); k += 3) zeros.entries[k].value = 0.0;
  all.push_back(std::move(zeros));
  return all;
}

inline sparse_case case_named(const std::string& name, values kind = values::real) {
  for (sparse_case& c : battery(kind)) {
    if (c.name == name) return std::move(c);
  }
  throw std::logic_error("no such case: " + name);
}

/// CSR arrays straight from the triplets.
template <class T, class I = std::int32_t>
csr_matrix<T, I> csr_of(const sparse_case& a) {
  std::vector<I> row_ptr(static_cast<std::size_t>(a.rows) + 1, 0), col_ind;
  std::vector<T> entries;
  for (const triplet& e : a.entries) {
    ++row_ptr[static_cast<std::size_t>(e.row) + 1];
    col_ind.push_back(static_cast<I>(e.col));
    entries.push_back(static_cast<T>(e.value));
  }
  for (std::size_t i = 1; i < row_ptr.size(); ++i) row_ptr[i] += row_ptr[i - 1];
  return {a.rows, a.cols, row_ptr, col_ind, entries};
}

template <class T>
dense_table<T> random_table(std::int64_t rows, std::int64_t cols, values kind, std::uint64_t seed) {
  test_random random(seed);
  dense_table<T> table(rows, cols);
  for (T& x : table.at) x = static_cast<T>(kind == values::real ? random.real() : random.small_integer());
  return table;
}

}  // namespace bcsc::test
