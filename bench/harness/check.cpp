#include "bench/harness/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/harness/bound.hpp"
#include "core/fail.hpp"

namespace bcsc::bench {

namespace {

/// Rows that are compared together: few enough that the reference's stay in the cache while a column-major C is walked
/// along its columns.
constexpr std::int64_t panel_rows = 32;

template <number T>
using accumulator = std::conditional_t<std::is_same_v<T, double>, long double, double>;

template <value T>
T rounded_up(accumulator<T> x) {
  if (x >= static_cast<accumulator<T>>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::infinity();
  const T nearest = static_cast<T>(x);
  return nearest < x ? std::nextafter(nearest, std::numeric_limits<T>::infinity()) : nearest;
}

/// sum += v * from, size += |v * from|, over one row of B: where all the time goes, so written for the compiler to
/// vectorise.
template <number T>
void add_row(accumulator<T> v, const T* from, std::int64_t stride, std::int64_t count, accumulator<T>* sum,
             accumulator<T>* size) {
  const auto add = [&](std::int64_t j, T element) {
    const accumulator<T> term = v * static_cast<accumulator<T>>(element);
    sum[j] += term;
    size[j] += std::abs(term);
  };
  if (stride == 1) {
    for (std::int64_t j = 0; j < count; ++j) add(j, from[j]);
  } else {
    for (std::int64_t j = 0; j < count; ++j) add(j, from[j * stride]);
  }
}

std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64 (Steele, Lea, Flood 2014)
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void merge(accuracy& into, const accuracy& other) {
  if (other.worst_row >= 0 && (into.worst_row < 0 || other.max_bound_share > into.max_bound_share)) {
    into.worst_row = other.worst_row;
    into.worst_col = other.worst_col;
  }
  into.max_error = std::max(into.max_error, other.max_error);
  into.mean_error += other.mean_error;  // sums, so far
  into.mean_bound_share += other.mean_bound_share;
  into.compared += other.compared;
  into.max_bound_share = std::max(into.max_bound_share, other.max_bound_share);
  into.violations += other.violations;
  into.not_finite += other.not_finite;
  into.by_class += other.by_class;
  into.unchecked += other.unchecked;
}

bool is_same_class(double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; }

}  // namespace

std::string accuracy::describe(std::int64_t num_entries) const {
  if (passed()) return fmt::format("all {} entries within {:.3g} of the bound", num_entries, max_bound_share);
  return fmt::format(
      "{} of {} entries wrong, {} of them not finite; the worst, ({}, {}), is {:.3g} times the bound away", violations,
      num_entries, not_finite, worst_row, worst_col, max_bound_share);
}

template <number T>
expectation<T>::expectation(const csr_view<T, std::int32_t>& a, dense_view<const T> b)
    : rows_(a.rows), cols_(b.cols), terms_(static_cast<std::size_t>(a.rows)) {
  value_.resize(at(rows_, 0));
  magnitude_.resize(at(rows_, 0));
#pragma omp parallel
  {
    std::vector<accumulator<T>> sum(static_cast<std::size_t>(cols_)), size(static_cast<std::size_t>(cols_));
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < rows_; ++i) {
      const auto row = static_cast<std::size_t>(i);
      std::fill(sum.begin(), sum.end(), accumulator<T>{0});
      std::fill(size.begin(), size.end(), accumulator<T>{0});
      for (auto k = static_cast<std::size_t>(a.row_ptr[row]); k < static_cast<std::size_t>(a.row_ptr[row + 1]); ++k) {
        const T* from = b.data + a.col_ind[k] * b.row_stride();
        add_row<T>(static_cast<accumulator<T>>(a.values[k]), from, b.col_stride(), cols_, sum.data(), size.data());
      }
      terms_[row] = a.row_ptr[row + 1] - a.row_ptr[row];
      for (std::int64_t j = 0; j < cols_; ++j) {
        value_[at(i, j)] = sum[static_cast<std::size_t>(j)];
        magnitude_[at(i, j)] = rounded_up<scalar_of<T>>(size[static_cast<std::size_t>(j)]);
      }
    }
  }
}

template <number T>
accuracy expectation<T>::compare(dense_view<const T> c, const error_bound& allowed) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (c.rows != rows_ || c.cols > cols_) {
    core::fail(errc::size_mismatch, "a result of {} x {} where at most {} x {} are known", c.rows, c.cols, rows_,
               cols_);
  }
  accuracy total;
  const accumulator<T>* const values = value_.data();
  const scalar_of<T>* const magnitudes = magnitude_.data();

  const auto compare_entry = [&](std::int64_t i, std::int64_t j, const row_bound<T>& bound, accuracy& found) {
    const double magnitude = magnitudes[at(i, j)];
    const auto computed = static_cast<double>(c(i, j));
    const accumulator<T> right = values[at(i, j)];
    // Then an operand is not finite, and the entry is the same in whatever order it is summed.
    const bool has_class_only = !std::isfinite(right);
    if (has_class_only && is_same_class(static_cast<double>(right), computed)) {
      ++found.by_class;
      return;
    }
    if (!has_class_only && !(magnitude <= static_cast<double>(std::numeric_limits<T>::max()))) {
      ++found.unchecked;
      return;
    }
    const auto error = static_cast<double>(std::abs(static_cast<accumulator<T>>(computed) - right));
    double relative = infinity, share = infinity;
    if (std::isfinite(computed) && !has_class_only) {
      relative = error == 0 ? 0 : error / magnitude;
      share = error == 0 ? 0 : error / bound.of(magnitude, static_cast<double>(right));
    } else {
      found.not_finite += !std::isfinite(computed);
    }
    found.max_error = std::max(found.max_error, relative);
    if (magnitude > 0) {
      found.mean_error += relative;
      found.mean_bound_share += share;
      ++found.compared;
    }
    if (!(share <= 1)) ++found.violations;
    if (found.worst_row < 0 || share > found.max_bound_share) {
      found.max_bound_share = share;
      found.worst_row = i;
      found.worst_col = j;
    }
  };

  const std::int64_t num_panels = (rows_ + panel_rows - 1) / panel_rows;
#pragma omp parallel
  {
    accuracy found;
    std::vector<row_bound<T>> bounds;
    bounds.reserve(panel_rows);
#pragma omp for schedule(dynamic, 8) nowait
    for (std::int64_t panel = 0; panel < num_panels; ++panel) {
      const std::int64_t first = panel * panel_rows, last = std::min(rows_, first + panel_rows);
      bounds.clear();
      for (std::int64_t i = first; i < last; ++i) bounds.emplace_back(terms_[static_cast<std::size_t>(i)], 1, allowed);
      const auto compare_at = [&](std::int64_t i, std::int64_t j) {
        compare_entry(i, j, bounds[static_cast<std::size_t>(i - first)], found);
      };
      if (c.order == layout::row_major) {
        for (std::int64_t i = first; i < last; ++i) {
          for (std::int64_t j = 0; j < c.cols; ++j) compare_at(i, j);
        }
      } else {
        for (std::int64_t j = 0; j < c.cols; ++j) {
          for (std::int64_t i = first; i < last; ++i) compare_at(i, j);
        }
      }
    }
#pragma omp critical(bcsc_bench_merge_accuracy)
    merge(total, found);
  }
  if (total.compared > 0) {
    total.mean_error /= static_cast<double>(total.compared);
    total.mean_bound_share /= static_cast<double>(total.compared);
  }
  return total;
}

template <number T>
void fill_seeded(dense_view<T> b, std::uint64_t seed) {
  const bool by_row = b.order == layout::row_major;
  const std::int64_t outer = by_row ? b.rows : b.cols, inner = by_row ? b.cols : b.rows;
#pragma omp parallel for schedule(static)
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t n = 0; n < inner; ++n) {
      const std::int64_t i = by_row ? o : n, j = by_row ? n : o;
      const std::uint64_t bits = mix(mix(seed + static_cast<std::uint64_t>(i)) + static_cast<std::uint64_t>(j));
      // An odd multiple of 2^-23 below 1: exact in fp32, symmetric about 0, never 0.
      const auto grid = static_cast<double>(bits >> 41) + 0.5;
      b(i, j) = static_cast<T>(grid / 4194304.0 - 1.0);
    }
  }
}

template <number T>
void copy_elements(dense_view<const T> from, dense_view<T> to) {
  constexpr std::int64_t tile = 32;
#pragma omp parallel for schedule(static)
  for (std::int64_t i0 = 0; i0 < from.rows; i0 += tile) {
    for (std::int64_t j0 = 0; j0 < from.cols; j0 += tile) {
      for (std::int64_t i = i0; i < std::min(from.rows, i0 + tile); ++i) {
        for (std::int64_t j = j0; j < std::min(from.cols, j0 + tile); ++j) to(i, j) = from(i, j);
      }
    }
  }
}

#define BCSC_INSTANTIATE(T)                                   \
  template class expectation<T>;                              \
  template void fill_seeded<T>(dense_view<T>, std::uint64_t); \
  template void copy_elements<T>(dense_view<const T>, dense_view<T>);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::bench
