#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"

namespace bcsc::generate {
namespace {

/// Draws how many entries are left out before the next one is kept: a geometric distribution, found by looking a random
/// number up among the powers of the sparsity. They come from multiplications alone, where a logarithm would differ
/// from one platform's library to the next.
class gap_sampler {
 public:
  explicit gap_sampler(double sparsity) {
    // About as many powers as the mean gap, so that most draws end in the table.
    const double mean = 1.0 / (1.0 - sparsity);
    const auto size = static_cast<std::size_t>(std::clamp(mean, 1.0, 65536.0)) + 1;
    double power = 1.0;
    powers_.reserve(size);
    for (std::size_t k = 0; k < size; ++k) powers_.push_back(power *= sparsity);
  }

  std::int64_t draw(random_stream& random) const {
    std::int64_t gap = 0;
    for (;;) {
      const double u = unit<double>(random.next());
      // P(gap > k) = sparsity^(k+1): the first power that is not above u.
      const auto found = std::lower_bound(powers_.begin(), powers_.end(), u, [](double p, double x) { return p > x; });
      gap += found - powers_.begin();
      if (found != powers_.end()) return gap;
      // Longer than the table; the distribution has no memory, so go on from there.
    }
  }

 private:
  std::vector<double> powers_;
};

/// visit(column) for every kept column of a row, ascending, drawing from `random`.
template <class Visit>
void for_kept_columns(std::int64_t cols, const gap_sampler& gaps, random_stream& random, Visit visit) {
  for (std::int64_t column = gaps.draw(random); column < cols; column += 1 + gaps.draw(random)) visit(column);
}

}  // namespace

template <value T>
csr_matrix<T> uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed) {
  require_at_least(rows, 0, "rows");
  require_at_least(cols, 0, "cols");
  if (!(sparsity >= 0 && sparsity <= 1)) {
    core::fail(errc::invalid_argument, "sparsity = {}: must lie in [0, 1]", sparsity);
  }
  require_index_range(rows, "rows");
  require_index_range(cols, "cols");
  // Far too many entries are refused before they are drawn; build_rows counts the rest exactly.
  const double expected = static_cast<double>(rows) * static_cast<double>(cols) * (1.0 - sparsity);
  if (expected > 1.01 * std::numeric_limits<std::int32_t>::max()) {
    core::fail(errc::size_overflow,
               "nnz = about {:.0f} (rows = {}, cols = {}, sparsity = {}) does not fit a 32-bit index", expected, rows,
               cols, sparsity);
  }
  if (sparsity == 1) {
    return build_rows<T>(
        rows, cols, [](std::int64_t) { return 0; }, [](std::int64_t, auto, auto) {});
  }

  const gap_sampler gaps(sparsity);
  const auto count = [&](std::int64_t row) {
    random_stream random(seed, static_cast<std::uint64_t>(row));
    std::int64_t kept = 0;
    for_kept_columns(cols, gaps, random, [&](std::int64_t) { ++kept; });
    return kept;
  };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    random_stream random(seed, static_cast<std::uint64_t>(row));
    std::size_t entry = 0;
    for_kept_columns(cols, gaps, random, [&](std::int64_t column) {
      columns[entry] = static_cast<std::int32_t>(column);
      values[entry] =
          away_from_zero<T>(mix(~seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column)));
      ++entry;
    });
  };
  return build_rows<T>(rows, cols, count, fill);
}

template csr_matrix<float> uniform<float>(std::int64_t, std::int64_t, double, std::uint64_t);
template csr_matrix<double> uniform<double>(std::int64_t, std::int64_t, double, std::uint64_t);

}  // namespace bcsc::generate
