#include "lib/solvers/row_rounding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"

namespace bcsc::solvers {

using core::at;

namespace {

constexpr std::int64_t most_unknowns = 6;

/// A unit in the last place of a rounded value; 0 for a denormal one.
double unit_of(float value, rounded_to precision) {
  constexpr std::uint32_t exponent_bits = 0x7f800000u;
  const double power = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & exponent_bits);
  return power * (precision == rounded_to::fp32 ? 0x1p-23 : 0x1p-7);
}

/// Rounds a row. `errors` of each unknown: by how much its values so far are too large together.
template <value T, index I>
void round_row(std::span<const I> columns, std::span<const T> given, std::span<float> rounded, std::int64_t unknowns,
               rounded_to precision) {
  using number = std::make_unsigned_t<I>;  // divides in fewer cycles
  const auto of_a_node = static_cast<number>(unknowns);
  std::array<double, most_unknowns> errors{};
  const auto pass_on = [&](std::size_t k, double from) {
    double& error = errors[static_cast<number>(columns[k]) % of_a_node];
    const double unit = unit_of(rounded[k], precision);
    const float value = rounded_value(from - std::clamp(error, -unit, unit), precision);
    if (!std::isfinite(value)) return;
    error += static_cast<double>(value) - from;
    rounded[k] = value;
  };
  for (std::size_t k = 0; k < given.size(); ++k) {
    rounded[k] = rounded_value(static_cast<double>(given[k]), precision);
    if (std::isfinite(rounded[k])) pass_on(k, static_cast<double>(given[k]));
  }
  for (std::size_t k = given.size(); k-- > 0;) {
    if (std::isfinite(rounded[k])) pass_on(k, static_cast<double>(rounded[k]));
  }
}

/// Whether the `height` rows from `first` on have the same columns.
template <index I>
bool share_columns(std::span<const I> row_ptr, std::span<const I> col_ind, std::int64_t first, std::int64_t height) {
  const auto columns_of = [&](std::int64_t row) {
    const auto begin = at(row_ptr[at(row)]);
    return col_ind.subspan(begin, at(row_ptr[at(row + 1)]) - begin);
  };
  for (std::int64_t row = first + 1; row < first + height; ++row) {
    if (!std::ranges::equal(columns_of(row), columns_of(first))) return false;
  }
  return true;
}

}  // namespace

float rounded_value(double x, rounded_to precision) {
  return precision == rounded_to::bf16 ? static_cast<float>(bfloat16(x)) : static_cast<float>(x);
}

template <index I>
std::int64_t unknowns_per_node(std::span<const I> row_ptr, std::span<const I> col_ind) {
  constexpr std::int64_t most_looked_at = 1000;
  const std::int64_t rows = std::ssize(row_ptr) - 1;
  for (std::int64_t unknowns = most_unknowns; unknowns > 1 && rows > 0; --unknowns) {
    if (rows % unknowns != 0) continue;
    const std::int64_t nodes = rows / unknowns, apart = core::ceil_div(nodes, most_looked_at);
    bool shared = true;
    for (std::int64_t node = 0; node < nodes && shared; node += apart) {
      shared = share_columns(row_ptr, col_ind, node * unknowns, unknowns);
    }
    if (shared) return unknowns;
  }
  return 1;
}

template <value T, index I>
std::vector<float> values_with_row_sums(std::span<const I> row_ptr, std::span<const I> col_ind,
                                        std::span<const T> values, rounded_to precision) {
  const std::int64_t rows = std::ssize(row_ptr) - 1, unknowns = unknowns_per_node(row_ptr, col_ind);
  std::vector<float> rounded(values.size());
  converters::for_pieces(converters::even_segment_cuts(row_ptr, rows),
                         [&](std::int64_t, std::int64_t first, std::int64_t last) {
                           for (std::int64_t row = first; row < last; ++row) {
                             const std::size_t begin = at(row_ptr[at(row)]), count = at(row_ptr[at(row + 1)]) - begin;
                             round_row<T, I>(col_ind.subspan(begin, count), values.subspan(begin, count),
                                             std::span(rounded).subspan(begin, count), unknowns, precision);
                           }
                         });
  return rounded;
}

#define BCSC_INSTANTIATE(I)                                                                                         \
  template std::int64_t unknowns_per_node(std::span<const I>, std::span<const I>);                                  \
  template std::vector<float> values_with_row_sums(std::span<const I>, std::span<const I>, std::span<const float>,  \
                                                   rounded_to);                                                     \
  template std::vector<float> values_with_row_sums(std::span<const I>, std::span<const I>, std::span<const double>, \
                                                   rounded_to);
BCSC_INSTANTIATE(std::int32_t)
BCSC_INSTANTIATE(std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::solvers
