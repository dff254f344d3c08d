#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bcsc/generate.hpp"
#include "core/fail.hpp"
#include "matrices/build_rows.hpp"
#include "matrices/random.hpp"
#include "matrices/spectrum.hpp"

/// A = Q D Q': D holds the eigenvalues, Q is a product of rounds, in each of which the unknowns are paired at random
/// and every pair is turned by 45 degrees (a Givens rotation with a reflection: 1/sqrt(2) * [1 1; 1 -1]). The square
/// roots occur in pairs, so 2^rounds * A comes from D by additions and subtractions. The eigenvalues are multiples of a
/// small power of two, everything is computed in integers, and a double holds each entry exactly: so A's eigenvalues
/// are exactly those of D.
namespace bcsc::generate {
namespace {

constexpr int num_rounds = 3;
constexpr double largest_condition = 0x1p40;
/// A row's entries before equal columns are summed; at most 22 remain.
constexpr std::size_t max_in_row = 32;

/// The partner of each unknown in one round; the last of an odd number is never paired and stands alone.
std::vector<std::int32_t> pair_up(std::int64_t rows, std::uint64_t seed, int round) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows - rows % 2));
  std::iota(order.begin(), order.end(), 0);
  random_stream random(seed, static_cast<std::uint64_t>(round));
  for (std::size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[static_cast<std::size_t>(below(random.next(), static_cast<std::int64_t>(k)))]);
  }
  std::vector<std::int32_t> partner(order.size());
  for (std::size_t k = 0; k < order.size(); k += 2) {
    partner[static_cast<std::size_t>(order[k])] = order[k + 1];
    partner[static_cast<std::size_t>(order[k + 1])] = order[k];
  }
  return partner;
}

/// A sparse vector of integers, its entries in any order until sorted() is called.
class sparse_row {
 public:
  explicit sparse_row(std::int32_t at) { entries_[size_++] = {at, 1}; }

  /// One round: each pair (a, b), a < b, becomes (a + b, a - b). Entries that cancel stay, so that the pattern does not
  /// depend on the eigenvalues.
  void turn(const std::vector<std::int32_t>& partner) {
    const std::size_t before = size_;
    std::array<std::pair<std::int32_t, std::int64_t>, max_in_row> turned;
    for (std::size_t k = 0; k < before; ++k) {
      const auto [index, number] = entries_[k];
      const std::int32_t other = partner[static_cast<std::size_t>(index)];
      turned[2 * k] = {index, index < other ? number : -number};
      turned[2 * k + 1] = {other, number};
    }
    sum_equal(std::span(turned).first(2 * before));
  }
  template <class Factor>
  void scale(Factor factor) {
    for (std::size_t k = 0; k < size_; ++k) entries_[k].second *= factor(entries_[k].first);
  }
  /// Ascending.
  std::span<const std::pair<std::int32_t, std::int64_t>> entries() const { return std::span(entries_).first(size_); }

 private:
  void sum_equal(std::span<std::pair<std::int32_t, std::int64_t>> from) {
    std::sort(from.begin(), from.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    size_ = 0;
    for (const auto& [index, number] : from) {
      if (size_ > 0 && entries_[size_ - 1].first == index) {
        entries_[size_ - 1].second += number;
      } else {
        entries_[size_++] = {index, number};
      }
    }
  }

  std::array<std::pair<std::int32_t, std::int64_t>, max_in_row> entries_;
  std::size_t size_ = 0;
};

/// Rows of 2^num_rounds * A.
class turned_diagonal {
 public:
  turned_diagonal(std::int64_t rows, std::int64_t largest, std::uint64_t seed)
      : rows_(rows), largest_(largest), seed_(seed) {
    for (int round = 0; round < num_rounds; ++round)
      partners_[static_cast<std::size_t>(round)] = pair_up(rows, seed, round);
  }

  sparse_row row(std::int64_t i) const {
    sparse_row entries(static_cast<std::int32_t>(i));
    const auto lambda = [this](std::int32_t k) { return eigenvalue(k, largest_, seed_); };
    if (rows_ % 2 == 1 && i == rows_ - 1) {
      entries.scale([&](std::int32_t k) { return lambda(k) << num_rounds; });
      return entries;
    }
    for (auto partner = partners_.rbegin(); partner != partners_.rend(); ++partner) entries.turn(*partner);
    entries.scale(lambda);
    for (const auto& partner : partners_) entries.turn(partner);
    return entries;
  }

 private:
  std::int64_t rows_, largest_;
  std::uint64_t seed_;
  std::array<std::vector<std::int32_t>, num_rounds> partners_;
};

}  // namespace

std::int64_t largest_eigenvalue(std::int64_t rows, double condition) {
  require_at_least(rows, 1, "rows");
  require_index_range(rows, "rows");
  if (!(condition >= 1 && condition <= largest_condition)) {
    core::fail(errc::invalid_argument, "condition = {}: must lie between 1 and 2^40", condition);
  }
  const auto largest = static_cast<std::int64_t>(std::floor(condition * static_cast<double>(one) + 0.5));
  if (rows == 1 && largest != one) {
    core::fail(errc::invalid_argument, "condition = {}: is 1 for rows = 1", condition);
  }
  return largest;
}

std::int64_t eigenvalue(std::int64_t k, std::int64_t largest, std::uint64_t seed) {
  if (k == 0) return one;
  if (k == 1) return largest;
  const std::int64_t octaves = std::bit_width(static_cast<std::uint64_t>(largest / one));
  random_stream random(~seed, static_cast<std::uint64_t>(k));
  for (;;) {
    const std::int64_t octave = below(random.next(), octaves);
    const std::int64_t drawn = (one + below(random.next(), one)) << octave;
    if (drawn <= largest) return drawn;
  }
}

template <value T>
csr_matrix<T> spd(std::int64_t rows, double condition, std::uint64_t seed) {
  const std::int64_t largest = largest_eigenvalue(rows, condition);
  try {
    const turned_diagonal turned(rows, largest, seed);
    const auto count = [&](std::int64_t row) { return std::ssize(turned.row(row).entries()); };
    const auto fill = [&](std::int64_t row, std::span<std::int32_t> columns, std::span<T> values) {
      const sparse_row integers = turned.row(row);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        columns[k] = integers.entries()[k].first;
        // Below 2^53, so a double is exact; a float is rounded once.
        values[k] =
            static_cast<T>(std::ldexp(static_cast<double>(integers.entries()[k].second), -(num_rounds + grid_bits)));
      }
    };
    return build_rows<T>(rows, rows, count, fill);
  } catch (const std::bad_alloc&) {
    constexpr auto index_bytes = static_cast<std::int64_t>(sizeof(std::int32_t));
    fail_for_memory(core::format("the rotations of a generated matrix of {} rows", core::count_text(rows)),
                    (num_rounds + 1) * index_bytes * rows);
  }
}

template csr_matrix<float> spd<float>(std::int64_t, double, std::uint64_t);
template csr_matrix<double> spd<double>(std::int64_t, double, std::uint64_t);

}  // namespace bcsc::generate
