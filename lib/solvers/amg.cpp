#include "bcsc/amg.hpp"

#include <chrono>
#include <cmath>
#include <optional>

#include "converters/formats/current_team.hpp"
#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "core/gpu.hpp"
#include "core/memory.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/amg_cycle.hpp"
#include "lib/solvers/amg_hierarchy.hpp"
#include "lib/solvers/operator_state.hpp"

namespace bcsc {

namespace {

void check_options(std::int64_t rows, std::int64_t cols, const amg_options& options) {
  if (rows != cols) core::fail(errc::size_mismatch, "A is {} x {}: a preconditioner needs a square one", rows, cols);
  const auto require = [](bool holds, const char* name, auto given, const char* range) {
    if (!holds) core::fail(errc::invalid_argument, "{} = {}: must be {}", name, given, range);
  };
  require(options.block >= 1, "block", options.block, "at least 1");
  require(rows % options.block == 0, "block", options.block, "a divisor of A's rows");
  require(options.strength >= 0 && options.strength < 1, "strength", options.strength, "in [0, 1)");
  require(options.smoother_degree >= 1 && options.smoother_degree <= 8, "smoother_degree", options.smoother_degree,
          "1 .. 8");
  require(options.smoother_ratio > 1 && std::isfinite(options.smoother_ratio), "smoother_ratio", options.smoother_ratio,
          "above 1");
  require(options.max_levels >= 1, "max_levels", options.max_levels, "at least 1");
  require(options.max_coarse >= 1 && options.max_coarse <= 4096, "max_coarse", options.max_coarse, "1 .. 4096");
  require(options.cols >= 1, "cols", options.cols, "at least 1");
  if (options.near_nullspace.cols > 0) plan::check_view(options.near_nullspace, "near_nullspace");
  if (options.near_nullspace.cols > 0 && options.near_nullspace.rows != rows) {
    core::fail(errc::size_mismatch, "near_nullspace is {} x {}, A has {} rows", options.near_nullspace.rows,
               options.near_nullspace.cols, rows);
  }
}

/// What is given, or a constant for each unknown of a node.
solvers::amg::near_nullspace vectors_for(std::int64_t rows, const amg_options& options) {
  const dense_view<const double>& given = options.near_nullspace;
  const std::int64_t m = given.cols > 0 ? given.cols : options.block;
  solvers::amg::near_nullspace made{m, solvers::unset<double>(core::checked_product(rows, m, "vectors"), "vectors")};
  converters::check_each(rows, rows * m, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < m; ++j) {
      const double entry = given.cols > 0 ? given(i, j) : i % options.block == j ? 1.0 : 0.0;
      if (!std::isfinite(entry)) {
        core::fail(errc::invalid_argument, "near_nullspace({}, {}) = {}: must be finite", i, j, entry);
      }
      made.values[static_cast<std::size_t>(i * m + j)] = entry;
    }
  });
  return made;
}

amg_facts describe(const solvers::amg::hierarchy& built, value_type precision) {
  amg_facts facts;
  double nnz = 0, rows = 0;
  for (const solvers::amg::level& level : built.levels) {
    facts.levels.push_back({level.a.rows, level.a.nnz(), level.largest_eigenvalue});
    nnz += static_cast<double>(level.a.nnz());
    rows += static_cast<double>(level.a.rows);
  }
  const amg_level& finest = facts.levels.front();
  facts.operator_complexity = finest.nnz > 0 ? nnz / static_cast<double>(finest.nnz) : 1;
  facts.grid_complexity = finest.rows > 0 ? rows / static_cast<double>(finest.rows) : 1;
  facts.coarse_inverse = finest.rows == 0 || !built.coarse_inverse.empty();
  facts.precision = precision;
  return facts;
}

template <value T, value S>
linear_operator<T> cycle_operator(const context& ctx, solvers::amg::hierarchy&& built, const amg_options& options) {
  const std::int64_t n = built.levels.front().a.rows;
  const std::string name =
      core::format("smoothed aggregation in {} levels, {}", built.levels.size(), to_string(value_type_of<S>));
  const auto cycle = std::make_shared<const solvers::amg::v_cycle<T, S>>(ctx, std::move(built), options);
  linear_operator<T> made(ctx, n, n,
                          [cycle](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z,
                                  const apply_options& given) { cycle->apply(alpha, r, beta, z, given); },
                          {.capturable = true,
                           .workspace_bytes = [cycle](std::int64_t k) { return cycle->workspace_bytes(k); },
                           .name = name});
  return solvers::operator_state<T>::with_dots(
      std::move(made), [cycle](dense_view<const T> r, dense_view<T> z, const apply_options& given,
                               const kernels::dots_with_b& dots) { cycle->apply(T{1}, r, T{0}, z, given, dots); });
}

}  // namespace

template <value T>
template <index I>
typename amg_preconditioner<T>::parts amg_preconditioner<T>::make(const context& ctx, const csr_view<T, I>& a,
                                                                  const amg_options& options) {
  const auto begin = std::chrono::steady_clock::now();
  check_options(a.rows, a.cols, options);
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) {
    core::require_healthy(ctx.state());
    guard.emplace(ctx.device().device);
  }
  const converters::team_guard team(ctx.state().who());
  return core::guarded(ctx.state(), "the set-up of an AMG preconditioner", [&]() -> parts {
    solvers::amg::hierarchy built = solvers::amg::build(solvers::to_setup(a), vectors_for(a.rows, options), options);
    const bool single = std::is_same_v<T, float> || options.single_precision;
    auto facts = std::make_shared<amg_facts>(describe(built, single ? value_type::fp32 : value_type::fp64));
    linear_operator<T> m = single ? cycle_operator<T, float>(ctx, std::move(built), options)
                                  : cycle_operator<T, T>(ctx, std::move(built), options);
    facts->setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ctx.state().say(core::format("amg: {} levels, operator complexity {:.2f}, {:.2f} s", facts->levels.size(),
                                 facts->operator_complexity, facts->setup_seconds));
    return {std::move(facts), std::move(m)};
  });
}

template <value T>
amg_preconditioner<T>::amg_preconditioner(const context& ctx, const csr_view<T, std::int32_t>& a,
                                          const amg_options& options)
    : amg_preconditioner(make(ctx, a, options)) {}
template <value T>
amg_preconditioner<T>::amg_preconditioner(const context& ctx, const csr_view<T, std::int64_t>& a,
                                          const amg_options& options)
    : amg_preconditioner(make(ctx, a, options)) {}

template <value T>
std::string amg_preconditioner<T>::explain() const {
  const amg_facts& f = facts();
  std::string text = core::format(
      "smoothed aggregation: {} level{}, {}, operator complexity {:.2f}, grid complexity {:.2f}, set up in {:.3g} s\n",
      f.levels.size(), f.levels.size() == 1 ? "" : "s", to_string(f.precision), f.operator_complexity,
      f.grid_complexity, f.setup_seconds);
  for (std::size_t depth = 0; depth < f.levels.size(); ++depth) {
    const amg_level& level = f.levels[depth];
    const bool is_last = depth + 1 == f.levels.size();
    text += core::format("  level {}: {} rows, {} non-zeros, largest eigenvalue of D^-1 A about {:.2f}{}\n", depth,
                         core::count_text(level.rows), core::count_text(level.nnz), level.largest_eigenvalue,
                         !is_last           ? ""
                         : f.coarse_inverse ? ", solved with its inverse"
                                            : ", smoothed only");
  }
  return text;
}

template class amg_preconditioner<float>;
template class amg_preconditioner<double>;

}  // namespace bcsc
