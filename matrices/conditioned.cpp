#include "matrices/conditioned.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"
#include "matrices/spectrum.hpp"

namespace bcsc::generate {
namespace {

__extension__ using int128 = __int128;

/// That rows^2 entries can be counted; of v and D it then follows that nothing below leaves 128 bits.
void require_square_fits(std::int64_t rows) { require_index_range(rows * rows, "nnz"); }

/// Entry k of v, 16 times: ±[0.5, 1.5) in steps of 1/16.
std::int64_t reflected(std::int64_t k, std::uint64_t seed) {
  const std::uint64_t word = random_stream(seed, static_cast<std::uint64_t>(k)).next();
  const std::int64_t magnitude = 8 + below(word, 16);
  return (word & 1) != 0 ? -magnitude : magnitude;
}

/// Entries of H D H = D - 2 v v' (s (d_i + d_j) - 2 v'Dv) / s^2, s = v'v, where v and D are integers: numerators are
/// exact, and whatever the order of operations, the same number is rounded.
class reflected_diagonal {
 public:
  reflected_diagonal(std::int64_t rows, std::int64_t largest, std::uint64_t seed) {
    for (std::int64_t k = 0; k < rows; ++k) {
      d_.push_back(eigenvalue(k, largest, seed));
      v_.push_back(reflected(k, seed));
      squares_ += v_.back() * v_.back();
      weighted_ += int128{v_.back() * v_.back()} * d_.back();
    }
  }

  double at(std::size_t i, std::size_t j) const {
    int128 numerator = -2 * int128{v_[i] * v_[j]} * (int128{squares_} * (d_[i] + d_[j]) - 2 * weighted_);
    if (i == j) numerator += int128{squares_} * squares_ * d_[i];
    // s is below 2^25, so that a double holds its square.
    return std::ldexp(static_cast<double>(numerator) / static_cast<double>(squares_ * squares_), -grid_bits);
  }

 private:
  std::vector<std::int64_t> d_, v_;
  std::int64_t squares_ = 0;  ///< s
  int128 weighted_ = 0;       ///< v'Dv
};

}  // namespace

template <value T>
csr_matrix<T> diagonal(std::int64_t rows, double condition, std::uint64_t seed, bool whole) {
  const std::int64_t largest = largest_eigenvalue(rows, condition);
  if (whole) require_square_fits(rows);
  const auto count = [&](std::int64_t) { return whole ? rows : 1; };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    std::iota(columns.begin(), columns.end(), whole ? 0 : static_cast<std::int32_t>(row));
    values[whole ? static_cast<std::size_t>(row) : 0] =
        static_cast<T>(std::ldexp(static_cast<double>(eigenvalue(row, largest, seed)), -grid_bits));
  };
  return build_rows<T>(rows, rows, count, fill);
}

template <value T>
csr_matrix<T> householder(std::int64_t rows, double condition, std::uint64_t seed) {
  const std::int64_t largest = largest_eigenvalue(rows, condition);
  require_square_fits(rows);
  const reflected_diagonal entries(rows, largest, seed);
  const auto count = [&](std::int64_t) { return rows; };
  const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
    std::iota(columns.begin(), columns.end(), 0);
    for (std::size_t j = 0; j < values.size(); ++j) {
      values[j] = static_cast<T>(entries.at(static_cast<std::size_t>(row), j));
    }
  };
  return build_rows<T>(rows, rows, count, fill);
}

template csr_matrix<float> diagonal<float>(std::int64_t, double, std::uint64_t, bool);
template csr_matrix<double> diagonal<double>(std::int64_t, double, std::uint64_t, bool);
template csr_matrix<float> householder<float>(std::int64_t, double, std::uint64_t);
template csr_matrix<double> householder<double>(std::int64_t, double, std::uint64_t);

}  // namespace bcsc::generate
