#include "tools/bcsc/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "bench/harness/bound.hpp"
#include "core/checked.hpp"

namespace bcsc::cli {
namespace {

template <number T>
using wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;

void keep_worse(verdict& all, const verdict& part) {
  if (part.bound_share > all.bound_share) {
    all.bound_share = part.bound_share;
    all.row = part.row;
    all.col = part.col;
  }
  all.max_error = std::max(all.max_error, part.max_error);
  all.violations += part.violations;
  all.by_class += part.by_class;
}

bool is_same_class(double x, double y) {
  return std::isnan(x) ? std::isnan(y) : std::isinf(x) ? x == y : std::isfinite(y);
}

}  // namespace

template <number T>
product_check<T>::product_check(scalar_of<T> alpha, const csr_view<T, std::int32_t>& a, dense_view<const T> b,
                                scalar_of<T> beta, dense_view<const T> c0)
    : rows_(a.rows), cols_(b.cols), alpha_(alpha), terms_(static_cast<std::size_t>(a.rows)) {
  const auto size = static_cast<std::size_t>(core::checked_product(rows_, cols_, "entries of C"));
  value_.resize(size);
  magnitude_.resize(size);

#pragma omp parallel
  {
    std::vector<wide<T>> sum(static_cast<std::size_t>(cols_)), magnitude(static_cast<std::size_t>(cols_));
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < rows_; ++i) {
      std::fill(sum.begin(), sum.end(), wide<T>{0});
      std::fill(magnitude.begin(), magnitude.end(), wide<T>{0});
      const auto first = a.row_ptr[static_cast<std::size_t>(i)], last = a.row_ptr[static_cast<std::size_t>(i) + 1];
      for (auto k = static_cast<std::size_t>(first); k < static_cast<std::size_t>(last); ++k) {
        for (std::int64_t j = 0; j < cols_; ++j) {
          const wide<T> term = static_cast<wide<T>>(a.values[k]) * static_cast<wide<T>>(b(a.col_ind[k], j));
          sum[static_cast<std::size_t>(j)] += term;
          magnitude[static_cast<std::size_t>(j)] += std::abs(term);
        }
      }
      terms_[static_cast<std::size_t>(i)] = last - first;
      for (std::int64_t j = 0; j < cols_; ++j) {
        const auto column = static_cast<std::size_t>(j);
        // alpha = 0 reads neither A nor B, beta = 0 does not read C; nothing is multiplied where nothing is stored.
        const bool is_empty = alpha == 0 || first == last;
        const wide<T> product = is_empty ? wide<T>{0} : static_cast<wide<T>>(alpha) * sum[column];
        const wide<T> added = beta == 0 ? wide<T>{0} : static_cast<wide<T>>(beta) * static_cast<wide<T>>(c0(i, j));
        const wide<T> product_size = is_empty ? wide<T>{0} : std::abs(static_cast<wide<T>>(alpha)) * magnitude[column];
        const auto at = static_cast<std::size_t>(i * cols_ + j);
        value_[at] = static_cast<double>(product + added);
        magnitude_[at] = static_cast<double>(product_size + std::abs(added));
      }
    }
  }
}

template <number T>
verdict product_check<T>::compare(dense_view<const T> c, const error_bound& allowed) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // A kernel that multiplies A's values by it, rather than their sum, gets Inf - Inf; with padding Inf * 0.
  const bool may_be_nan = !std::isfinite(alpha_);
  verdict all;
#pragma omp parallel
  {
    verdict part;
#pragma omp for schedule(static) nowait
    for (std::int64_t i = 0; i < rows_; ++i) {
      const bench::row_bound<T> bound(terms_[static_cast<std::size_t>(i)], alpha_, allowed);
      for (std::int64_t j = 0; j < cols_; ++j) {
        const auto at = static_cast<std::size_t>(i * cols_ + j);
        const auto computed = static_cast<double>(c(i, j));
        const auto right = static_cast<double>(static_cast<T>(value_[at]));
        const bool is_right_class = !std::isfinite(right) && is_same_class(right, computed);
        if (is_right_class || (std::isnan(computed) && may_be_nan)) {
          ++part.by_class;
          continue;
        }
        const bool is_bounded = std::isfinite(computed) && std::isfinite(value_[at]);
        const double error = is_bounded ? std::abs(computed - value_[at]) : infinity;
        if (error == 0) continue;
        const double share = std::isfinite(error) ? error / bound.of(magnitude_[at], value_[at]) : infinity;
        part.max_error = std::max(part.max_error, error);
        part.violations += !(share <= 1);
        if (share > part.bound_share) {
          part.bound_share = share;
          part.row = i;
          part.col = j;
        }
      }
    }
#pragma omp critical(bcsc_cli_keep_worse)
    keep_worse(all, part);
  }
  return all;
}

template class product_check<float>;
template class product_check<double>;
template class product_check<half>;
template class product_check<bfloat16>;

}  // namespace bcsc::cli
