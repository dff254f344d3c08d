#include "lib/solvers/scaled_plan.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc::solvers {

using core::at;

std::vector<double> inverse_root_diagonal(const setup_matrix& a, double rounding, const char* what) {
  std::vector<double> scale = diagonal_of(a);
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const double entry = scale[i];
    if (!std::isfinite(entry) || entry < -rounding || (rounding == 0 && entry == 0)) {
      core::fail(errc::invalid_argument, "{} has {} at ({}, {}): not positive definite, which the preconditioner needs",
                 what, entry, i, i);
    }
    scale[i] = entry > rounding ? 1 / std::sqrt(entry) : 0;
  }
  return scale;
}

namespace {

template <value S, index I>
spmm_plan<S> plan_with(const context& ctx, const setup_matrix& a, std::span<const double> left,
                       std::span<const double> right, std::int64_t cols) {
  std::vector<I> row_ptr(a.row_ptr.begin(), a.row_ptr.end());
  std::vector<I> col_ind(a.col_ind.begin(), a.col_ind.end());
  auto values = converters::storage<S>(a.nnz(), "a scaled matrix");
  converters::for_pieces(
      converters::even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
            values[at(p)] = static_cast<S>(left[at(i)] * a.values[at(p)] * right[at(a.col_ind[at(p)])]);
          }
        }
      });
  const csr_matrix<S, I> scaled(a.rows, a.cols, std::move(row_ptr), std::move(col_ind), std::move(values),
                                trust::trusted);
  return spmm_plan<S>(ctx, scaled, {.cols = cols, .deterministic = true, .check = trust::trusted});
}

}  // namespace

template <value S>
spmm_plan<S> plan_scaled(const context& ctx, const setup_matrix& a, std::span<const double> left,
                         std::span<const double> right, std::int64_t cols) {
  return a.nnz() <= std::numeric_limits<std::int32_t>::max() ? plan_with<S, std::int32_t>(ctx, a, left, right, cols)
                                                             : plan_with<S, std::int64_t>(ctx, a, left, right, cols);
}

template spmm_plan<float> plan_scaled(const context&, const setup_matrix&, std::span<const double>,
                                      std::span<const double>, std::int64_t);
template spmm_plan<double> plan_scaled(const context&, const setup_matrix&, std::span<const double>,
                                       std::span<const double>, std::int64_t);

}  // namespace bcsc::solvers
