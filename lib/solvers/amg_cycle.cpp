#include "lib/solvers/amg_cycle.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/context_state.hpp"
#include "lib/solvers/added_product.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/chebyshev.hpp"
#include "lib/solvers/operator_state.hpp"
#include "lib/solvers/scaled_plan.hpp"

namespace bcsc::solvers::amg {

using core::at;

namespace {

/// Lanczos' method comes from below; beyond the interval the polynomial grows.
constexpr double safety = 1.1;

/// A full n x n matrix.
template <value S>
spmm_plan<S> plan_dense(const context& ctx, const std::vector<double>& entries, std::int64_t n, std::int64_t cols) {
  constexpr const char* what = "the inverse on the coarsest level";
  setup_matrix full{
      n, n, unset<std::int64_t>(n + 1, what), unset<std::int32_t>(n * n, what), {entries.begin(), entries.end()}};
  full.row_ptr[0] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    full.row_ptr[at(i) + 1] = (i + 1) * n;
    for (std::int64_t j = 0; j < n; ++j) full.col_ind[at(i * n + j)] = static_cast<std::int32_t>(j);
  }
  const std::vector<double> ones(at(n), 1.0);
  return plan_scaled<S>(ctx, full, ones, ones, cols);
}

std::vector<double> reciprocals(const std::vector<double>& x) {
  std::vector<double> made(x.size());
  for_each_of(std::ssize(x), [&](std::int64_t i) { made[at(i)] = x[at(i)] != 0 ? 1 / x[at(i)] : 0; });
  return made;
}

}  // namespace

template <value T, value S>
v_cycle<T, S>::v_cycle(const context& ctx, hierarchy&& host, const amg_options& options)
    : ctx_(ctx), scale_(ctx, host.levels.front().a.rows) {
  const std::vector<double>& finest = host.levels.front().scale;
  scale_.upload(std::vector<S>(finest.begin(), finest.end()));
  // Far from 1 it stays where it keeps numbers in range.
  const bool is_uniform = !finest.empty() && std::ranges::adjacent_find(finest, std::not_equal_to{}) == finest.end();
  if (is_uniform && finest.front() > 0x1p-20 && finest.front() < 0x1p20) uniform_scale_ = finest.front();
  for (std::size_t depth = 0; depth < host.levels.size(); ++depth) {
    level& from = host.levels[depth];
    const double upper = safety * from.largest_eigenvalue;
    planned_level<S>& to = levels_.emplace_back(planned_level<S>{
        plan_scaled<S>(ctx, from.a, from.scale, from.scale, options.cols),
        upper > 0 ? chebyshev_coefficients(options.smoother_degree, upper / options.smoother_ratio, upper, 0)
                  : std::vector<double>{1.0},
        std::nullopt, std::nullopt});
    from.a = {};
    if (depth + 1 == host.levels.size()) break;
    const std::vector<double> roots = reciprocals(from.scale);
    const std::vector<double>& coarse = host.levels[depth + 1].scale;
    to.restriction.emplace(plan_scaled<S>(ctx, from.restriction, coarse, roots, options.cols));
    to.prolongation.emplace(plan_scaled<S>(ctx, from.prolongator, roots, coarse, options.cols));
    from.prolongator = from.restriction = {};
  }
  if (!host.coarse_inverse.empty()) {
    const auto n = static_cast<std::int64_t>(host.levels.back().scale.size());
    coarse_inverse_.emplace(plan_dense<S>(ctx, host.coarse_inverse, n, options.cols));
  }

  const auto count = [&](const std::optional<spmm_plan<S>>& plan) {
    if (plan) plan_workspace_ = std::max(plan_workspace_, static_cast<std::int64_t>(plan->workspace_bytes()));
  };
  for (const planned_level<S>& level : levels_) {
    plan_workspace_ = std::max(plan_workspace_, static_cast<std::int64_t>(level.a.workspace_bytes()));
    count(level.restriction);
    count(level.prolongation);
  }
  count(coarse_inverse_);
}

template <value T, value S>
std::int64_t v_cycle<T, S>::workspace_bytes(std::int64_t k) const {
  std::int64_t bytes = plan_workspace_;
  for (const planned_level<S>& level : levels_) bytes += 4 * block_bytes<S>(level.a.facts().rows, k);
  return bytes;
}

template <value T, value S>
void v_cycle<T, S>::apply(scalar<T> alpha, const dense_view<const T>& r, scalar<T> beta, const dense_view<T>& z,
                          const apply_options& options, const kernels::dots_with_b& dots) const {
  const std::int64_t k = r.cols;
  workspace_cutter cutter(options.workspace);
  run now{{.stream = options.stream}, environment_of(ctx_, options.stream), {}};
  for (const planned_level<S>& level : levels_) {
    const auto next = [&] { return cutter.block<S>(level.a.facts().rows, k); };
    const dense_view<S> b = next();
    now.levels.push_back({.b = b, .x = next(), .r = next(), .y = next(), .spare = b});
  }
  now.options.workspace = cutter.rest();
  blocks& finest = now.levels.front();
  const auto& ops = block_operations_of<S>(ctx_.kind());
  const auto& outer = block_operations_of<T>(ctx_.kind());
  const bool leaves_dots = dots.sums != nullptr && as_factor(beta).is_zero();

  if constexpr (std::is_same_v<T, S>) {
    auto factor = as_factor(alpha);
    if (begins_with(r)) {
      finest.b = r;
      factor.value *= *uniform_scale_;
    } else {
      started(ops.scale_rows(now.env, scale_.data(), 1, r, 0, finest.spare), "scale_rows");
    }
    const kernels::vector::sum_of<S> result{finest.x, solve(now, 0), finest.r};
    started(leaves_dots ? outer.scale_rows_and_dot(now.env, scale_.data(), factor, result, z, r, dots)
                        : outer.scale_rows(now.env, scale_.data(), factor, result, as_factor(beta), z),
            "scale_rows");
  } else {
    started(ops.convert(now.env, scale_.data(), 1, r, 0, finest.spare), "convert");
    const kernels::vector::sum_of<S> result{finest.x, solve(now, 0), finest.r};
    started(leaves_dots ? outer.convert_and_dot(now.env, scale_.data(), as_factor(alpha), result, z, r, dots)
                        : outer.convert(now.env, scale_.data(), as_factor(alpha), result, as_factor(beta), z),
            "convert");
  }
}

template <value T, value S>
bool v_cycle<T, S>::begins_with(const dense_view<const T>& r) const {
  const bool is_packed = r.order == layout::row_major && r.ld == r.cols;
  return std::is_same_v<T, S> && uniform_scale_ && is_packed && reinterpret_cast<std::uintptr_t>(r.data) % 16 == 0;
}

template <value T, value S>
double v_cycle<T, S>::solve(const run& now, std::size_t depth) const {
  const planned_level<S>& level = levels_[depth];
  const blocks& here = now.levels[depth];
  const polynomial_step<S> smoother{level.a, level.smoother, now.env, now.options};
  if (!level.restriction) {
    if (coarse_inverse_) {
      coarse_inverse_->run(1, here.b, 0, here.x, now.options);
    } else {
      smoother.run(here.b, here.x, here.r, here.y);
    }
    return 0;
  }
  const blocks& below = now.levels[depth + 1];
  smoother.run(here.b, here.x, here.r, here.y);
  multiply<S>(level.a, -1, here.x, 1, here.b, here.r, now.options);
  level.restriction->run(1, here.r, 0, below.spare, now.options);
  const double missing = solve(now, depth + 1);
  if (missing != 0) {
    started(block_operations_of<S>(ctx_.kind()).axpby(now.env, missing, below.r, 1, below.x), "axpby");
  }
  level.prolongation->run(1, below.x, 1, here.x, now.options);
  multiply<S>(level.a, -1, here.x, 1, here.b, here.r, now.options);
  smoother.add_powers(here.r, here.x, here.y, here.spare);
  return level.smoother[0];
}

template <value T, value S>
void v_cycle<T, S>::started(int status, const char* what) const {
  core::check_launch(ctx_.state(), status, what);
}

template class v_cycle<float, float>;
template class v_cycle<double, double>;
template class v_cycle<double, float>;

}  // namespace bcsc::solvers::amg
