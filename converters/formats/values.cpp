#include "bcsc/values.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <variant>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "converters/formats/narrowing.hpp"
#include "converters/formats/parallel.hpp"

namespace bcsc {
namespace {

/// The numbers of a view as contiguous lines: one of all values, or a dense matrix's rows or columns.
template <class T>
struct number_lines {
  const T* first = nullptr;
  std::int64_t count = 0, length = 0, apart = 0;
};

/// The numbers of any matrix; a pattern has none. Loops over them are compiled for four types of numbers, not for
/// seventy types of matrices.
using any_lines =
    std::variant<std::monostate, number_lines<float>, number_lines<double>, number_lines<half>, number_lines<bfloat16>>;

any_lines lines_of(const any_view& matrix) {
  return matrix.visit([]<matrix_view View>(const View& a) -> any_lines {
    using T = typename View::value_t;
    if constexpr (format_of<View> == matrix_format::dense) {
      const bool by_rows = a.order == layout::row_major;
      return number_lines<T>{a.data, by_rows ? a.rows : a.cols, by_rows ? a.cols : a.rows, a.ld};
    } else if constexpr (number<T>) {
      converters::require_host(a.space, to_string(format_of<View>));
      return number_lines<T>{a.values.data(), 1, static_cast<std::int64_t>(a.values.size()), 0};
    } else {
      return std::monostate();
    }
  });
}

/// Counts what `count(statistics, number)` sees, in pieces side by side; `merge` adds the pieces up.
template <class Statistics, class T, class Count, class Merge>
Statistics over_lines(const number_lines<T>& lines, Count count, Merge merge) {
  Statistics all;
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const T* const numbers = lines.first + line * lines.apart;
    const auto cuts = converters::even_cuts(lines.length);
    std::vector<Statistics> parts(cuts.size());
    converters::for_pieces(cuts, [&](std::int64_t piece, std::int64_t first, std::int64_t last) {
      Statistics part;
      for (std::int64_t k = first; k < last; ++k) count(part, numbers[k]);
      parts[static_cast<std::size_t>(piece)] = part;
    });
    for (const Statistics& part : parts) merge(all, part);
  }
  return all;
}

template <class Statistics, class Count, class Merge>
Statistics over_numbers(const any_view& a, Count count, Merge merge) {
  return std::visit(
      [&]<class Lines>(const Lines& lines) {
        if constexpr (std::same_as<Lines, std::monostate>) {
          return Statistics();
        } else {
          return over_lines<Statistics>(lines, count, merge);
        }
      },
      lines_of(a));
}

template <number T>
void count_value(value_statistics& s, T number) {
  const auto value = static_cast<double>(number);
  ++s.count;
  if (std::isnan(value)) {
    ++s.nan;
  } else if (std::isinf(value)) {
    ++(value > 0 ? s.plus_infinity : s.minus_infinity);
  } else {
    const bool is_first = s.finite_values() == 1;
    s.least = is_first ? value : std::min(s.least, value);
    s.greatest = is_first ? value : std::max(s.greatest, value);
    const double magnitude = std::abs(value);
    if (magnitude == 0) {
      ++s.zero;
      return;
    }
    s.denormal += magnitude < static_cast<double>(std::numeric_limits<T>::min());
    s.min_magnitude = s.min_magnitude == 0 ? magnitude : std::min(s.min_magnitude, magnitude);
  }
}

void add(value_statistics& to, const value_statistics& part) {
  if (part.finite_values() > 0) {
    const bool is_first = to.finite_values() == 0;
    to.least = is_first ? part.least : std::min(to.least, part.least);
    to.greatest = is_first ? part.greatest : std::max(to.greatest, part.greatest);
  }
  if (part.min_magnitude > 0) {
    to.min_magnitude = to.min_magnitude == 0 ? part.min_magnitude : std::min(to.min_magnitude, part.min_magnitude);
  }
  to.count += part.count;
  to.nan += part.nan;
  to.plus_infinity += part.plus_infinity;
  to.minus_infinity += part.minus_infinity;
  to.zero += part.zero;
  to.denormal += part.denormal;
}

template <number To>
narrowing_statistics narrowing_to(const any_view& a) {
  const auto count = []<number From>(narrowing_statistics& s, From value) {
    s.overflowed += converters::overflows<To>(value);
    s.underflowed += converters::underflows<To>(value);
  };
  const auto merge = [](narrowing_statistics& to, const narrowing_statistics& part) {
    to.overflowed += part.overflowed;
    to.underflowed += part.underflowed;
  };
  return over_numbers<narrowing_statistics>(a, count, merge);
}

}  // namespace

value_statistics analyse_values(const any_view& a) {
  return over_numbers<value_statistics>(
      a, []<number T>(value_statistics& s, T value) { count_value(s, value); }, add);
}

narrowing_statistics analyse_narrowing(const any_view& a, value_type element) {
  switch (element) {
    case value_type::fp32:
      return narrowing_to<float>(a);
    case value_type::fp64:
      return narrowing_to<double>(a);
    case value_type::fp16:
      return narrowing_to<half>(a);
    case value_type::bf16:
      return narrowing_to<bfloat16>(a);
    case value_type::pattern:
      break;
  }
  return {};
}

}  // namespace bcsc
