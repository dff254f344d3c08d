#include "lib/solvers/scaled_plan.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace bcsc::solvers {

using core::at;

std::vector<double> inverse_root_diagonal(const setup_matrix& a, double rounding, const char* what) {
  std::vector<double> scale = diagonal_of(a);
  converters::check_each(a.rows, a.rows, [&](std::int64_t i) {
    const double entry = scale[at(i)];
    if (!std::isfinite(entry) || entry < -rounding || (rounding == 0 && entry == 0)) {
      core::fail(errc::invalid_argument, "{} has {} at ({}, {}): not positive definite, which the preconditioner needs",
                 what, entry, i, i);
    }
    scale[at(i)] = entry > rounding ? 1 / std::sqrt(entry) : 0;
  });
  return scale;
}

namespace {

/// On a GPU from a copy that lies there, so that the plan's statistics of A are made there as well.
template <value S, index I>
spmm_plan<S> plan_of(const context& ctx, const csr_view<S, I>& a, const plan_options& options) {
  const bool goes_there = ctx.kind() == backend::cuda && sizeof(I) == sizeof(std::int32_t) && a.nnz() > 0;
  if (!goes_there) return spmm_plan<S>(ctx, a, options);
  const int device = ctx.device().device;
  const core::device_buffer<I> row_ptr(device, a.row_ptr), col_ind(device, a.col_ind);
  const core::device_buffer<S> values(device, a.values);
  const auto there = [](const auto& array) { return std::span(array.data(), at(array.size())); };
  return spmm_plan<S>(
      ctx, csr_view<S, I>{a.rows, a.cols, there(row_ptr), there(col_ind), there(values), memory_space::device},
      options);
}

template <value S, index I>
spmm_plan<S> plan_with(const context& ctx, const setup_matrix& a, std::span<const double> left,
                       std::span<const double> right, std::int64_t cols) {
  constexpr const char* what = "a scaled matrix";
  auto row_ptr = unset<I>(a.rows + 1, what);
  for_each_of(a.rows + 1, [&](std::int64_t i) { row_ptr[at(i)] = static_cast<I>(a.row_ptr[at(i)]); });
  auto values = unset<S>(a.nnz(), what);
  converters::for_pieces(
      converters::even_segment_cuts(a.row_ptr, a.rows), [&](std::int64_t, std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
            values[at(p)] = static_cast<S>(left[at(i)] * a.values[at(p)] * right[at(a.col_ind[at(p)])]);
          }
        }
      });
  const plan_options options{.cols = cols, .deterministic = true, .check = trust::trusted};
  const auto plan = [&](std::span<const I> col_ind) {
    return plan_of(ctx, csr_view<S, I>{a.rows, a.cols, row_ptr, col_ind, values}, options);
  };
  if constexpr (std::is_same_v<I, std::int32_t>) {
    return plan(a.col_ind);
  } else {
    auto wide = unset<I>(a.nnz(), what);
    for_each_of(a.nnz(), [&](std::int64_t p) { wide[at(p)] = a.col_ind[at(p)]; });
    return plan(wide);
  }
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
