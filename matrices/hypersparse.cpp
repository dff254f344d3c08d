#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {
namespace {

/// The place of an entry as one number, in the order of CSR.
struct place {
  static std::uint64_t of(std::int64_t row, std::int64_t col) {
    return static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(col);
  }
  static std::uint64_t row(std::uint64_t at) { return at >> 32; }
  static std::uint64_t col(std::uint64_t at) { return at & 0xffffffffu; }
};

/// `nnz` distinct places, ascending: draws as many as are missing until none is.
std::vector<std::uint64_t> draw_places(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::uint64_t seed) {
  random_stream random(seed, 0);
  std::vector<std::uint64_t> places;
  places.reserve(static_cast<std::size_t>(nnz));
  while (std::ssize(places) < nnz) {
    const auto known = std::ssize(places);
    for (auto k = known; k < nnz; ++k) {
      const std::int64_t row = below(random.next(), rows);
      places.push_back(place::of(row, below(random.next(), cols)));
    }
    std::sort(places.begin() + known, places.end());
    std::inplace_merge(places.begin(), places.begin() + known, places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
  return places;
}

}  // namespace

template <value T>
csr_matrix<T> hypersparse(std::int64_t rows, std::int64_t cols, std::int64_t nnz, std::uint64_t seed) {
  require_at_least(rows, 0, "rows");
  require_at_least(cols, 0, "cols");
  require_at_least(nnz, 0, "nnz");
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  require_index_range(nnz, "nnz");
  // Denser ones would have to be redrawn again and again; uniform() makes them.
  const std::int64_t cells = core::checked_product(rows, cols, "rows x cols");
  if (nnz > core::ceil_div(cells, 2)) {
    core::fail(errc::invalid_argument, "nnz = {}: must be at most half of rows x cols = {}", nnz, cells);
  }
  try {
    const std::vector<std::uint64_t> places = draw_places(rows, cols, nnz, seed);
    std::vector<std::int32_t> row_ptr(static_cast<std::size_t>(rows) + 1, 0), col_ind(places.size());
    std::vector<T> values(places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
      ++row_ptr[place::row(places[k]) + 1];
      col_ind[k] = static_cast<std::int32_t>(place::col(places[k]));
      values[k] = away_from_zero<T>(mix(~seed, place::row(places[k]), place::col(places[k])));
    }
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) row_ptr[row + 1] += row_ptr[row];
    return csr_matrix<T>(rows, cols, std::move(row_ptr), std::move(col_ind), std::move(values), trust::trusted);
  } catch (const std::bad_alloc&) {
    constexpr auto place_bytes = static_cast<std::int64_t>(sizeof(std::uint64_t));
    fail_for_memory(
        core::format("a generated matrix of {} rows and {} entries", core::count_text(rows), core::count_text(nnz)),
        csr_bytes<T>(rows, nnz) + place_bytes * nnz);
  }
}

template csr_matrix<float> hypersparse<float>(std::int64_t, std::int64_t, std::int64_t, std::uint64_t);
template csr_matrix<double> hypersparse<double>(std::int64_t, std::int64_t, std::int64_t, std::uint64_t);

}  // namespace bcsc::generate
