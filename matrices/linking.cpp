#include <algorithm>
#include <cstdint>
#include <span>

#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {

namespace {

/// What a short row holds: entries of its own and, in half of the rows on average, one in a linking column.
struct short_row {
  std::int64_t own, linked;

  short_row(std::int64_t row, std::int64_t own_cols, std::int64_t degree, std::int64_t linking_cols,
            std::uint64_t seed) {
    random_stream random(seed, static_cast<std::uint64_t>(row));
    own = std::min(own_cols, 1 + below(random.next(), 2 * degree - 1));
    linked = linking_cols > 0 ? below(random.next(), 2) : 0;
  }
};

}  // namespace

template <value T>
csr_matrix<T> linking(std::int64_t rows, std::int64_t cols, std::int64_t degree, std::int64_t linking_rows,
                      std::int64_t linking_degree, std::uint64_t seed, std::int64_t linking_cols) {
  require_at_least(rows, 0, "rows");
  require_at_least(cols, 0, "cols");
  require_at_least(degree, 1, "degree");
  require_at_least(linking_rows, 0, "linking_rows");
  require_at_least(linking_degree, 0, "linking_degree");
  require_at_least(linking_cols, 0, "linking_cols");
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  require_index_range(degree, "degree");
  const auto require_at_most = [](std::int64_t value, std::int64_t most, const char* what, const char* of) {
    if (value > most) core::fail(errc::invalid_argument, "{} = {}: must be at most {} = {}", what, value, of, most);
  };
  require_at_most(linking_rows, rows, "linking_rows", "rows");
  require_at_most(linking_degree, cols, "linking_degree", "cols");
  require_at_most(linking_cols, cols, "linking_cols", "cols");

  const std::int64_t own_cols = cols - linking_cols;
  const auto links = [&](std::int64_t row) { return row * linking_rows % rows < linking_rows; };  // evenly spread
  const auto count = [&](std::int64_t row) {
    if (links(row)) return linking_degree;
    const short_row has(row, own_cols, degree, linking_cols, seed);
    return has.own + has.linked;
  };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    random_stream random(~seed, static_cast<std::uint64_t>(row));
    const bool all = links(row);
    const std::int64_t spread = all ? std::ssize(columns) : short_row(row, own_cols, degree, linking_cols, seed).own;
    for (std::int64_t k = 0; k < std::ssize(columns); ++k) {
      // Each entry is drawn from its own share of the columns; the last may be in a linking column, behind them.
      const std::int64_t begin = k < spread ? k * (all ? cols : own_cols) / spread : own_cols;
      const std::int64_t end = k < spread ? (k + 1) * (all ? cols : own_cols) / spread : cols;
      const std::int64_t col = begin + below(random.next(), end - begin);
      columns[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(col);
      values[static_cast<std::size_t>(k)] =
          away_from_zero<T>(mix(~seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(col)));
    }
  };
  return build_rows<T>(rows, cols, count, fill);
}

template csr_matrix<float> linking<float>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                          std::uint64_t, std::int64_t);
template csr_matrix<double> linking<double>(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                            std::uint64_t, std::int64_t);

}  // namespace bcsc::generate
