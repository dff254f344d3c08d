#include <algorithm>
#include <cstdint>
#include <span>

#include "bcsc/generate.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {

template <value T>
csr_matrix<T> nm(std::int64_t rows, std::int64_t cols, std::int64_t n, std::int64_t m, std::uint64_t seed) {
  require_at_least(rows, 0, "rows");
  require_at_least(cols, 0, "cols");
  require_at_least(m, 1, "m");
  if (n < 0 || n > m) core::fail(errc::invalid_argument, "n = {}: must lie between 0 and m = {}", n, m);
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  const std::int64_t per_row = cols / m * n + std::min(n, cols % m);
  require_index_range(core::checked_product(rows, per_row, "nnz"), "nnz");

  const auto count = [=](std::int64_t) { return per_row; };
  // Selection sampling: an entry is kept with probability (still wanted) / (still to come). Source: Knuth, Algorithm S.
  const auto fill = [=](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    random_stream random(seed, static_cast<std::uint64_t>(row));
    std::size_t entry = 0;
    for (std::int64_t group = 0; group < cols; group += m) {
      const std::int64_t end = std::min(group + m, cols);
      std::int64_t wanted = std::min(n, end - group);
      for (std::int64_t column = group; wanted > 0; ++column) {
        if (below(random.next(), end - column) >= wanted) continue;
        columns[entry] = static_cast<std::int32_t>(column);
        values[entry] =
            away_from_zero<T>(mix(~seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column)));
        ++entry;
        --wanted;
      }
    }
  };
  return build_rows<T>(rows, cols, count, fill);
}

template csr_matrix<float> nm<float>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t);
template csr_matrix<double> nm<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::uint64_t);

}  // namespace bcsc::generate
