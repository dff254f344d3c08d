#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {

template <value T>
csr_matrix<T> banded(std::int64_t rows, std::int64_t half_width, std::uint64_t seed) {
  require_at_least(rows, 0, "rows");
  require_at_least(half_width, 0, "half_width");
  require_index_range(rows, "rows");
  const std::int64_t reach = std::min(half_width, std::max<std::int64_t>(rows - 1, 0));
  require_index_range(core::checked_product(rows, 2 * reach + 1, "nnz") - reach * (reach + 1), "nnz");

  const auto first = [=](std::int64_t row) { return std::max<std::int64_t>(row - reach, 0); };
  const auto last = [=](std::int64_t row) { return std::min(row + reach, rows - 1); };
  const auto count = [=](std::int64_t row) { return last(row) - first(row) + 1; };
  const auto fill = [=](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    const auto diagonal = static_cast<std::size_t>(row - first(row));
    T sum{1};
    for (std::size_t entry = 0; entry < columns.size(); ++entry) {
      const std::int64_t column = first(row) + static_cast<std::int64_t>(entry);
      columns[entry] = static_cast<std::int32_t>(column);
      if (entry == diagonal) continue;
      // A number of the pair, whichever of the two is the row: the values are symmetric.
      const auto low = static_cast<std::uint64_t>(std::min(row, column));
      const auto high = static_cast<std::uint64_t>(std::max(row, column));
      values[entry] = symmetric_unit<T>(mix(seed, low, high));
      sum += std::abs(values[entry]);
    }
    values[diagonal] = sum;
  };
  return build_rows<T>(rows, rows, count, fill);
}

template csr_matrix<float> banded<float>(std::int64_t, std::int64_t, std::uint64_t);
template csr_matrix<double> banded<double>(std::int64_t, std::int64_t, std::uint64_t);

}  // namespace bcsc::generate
