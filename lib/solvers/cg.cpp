#include "bcsc/cg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "core/buffer.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/block_cg.hpp"

namespace bcsc {

std::string_view to_string(cg_stop reason) noexcept {
  switch (reason) {
    case cg_stop::converged:
      return "converged";
    case cg_stop::max_iterations:
      return "max_iterations";
    case cg_stop::not_positive_definite:
      return "not_positive_definite";
    case cg_stop::stagnated:
      return "stagnated";
    case cg_stop::not_finite:
      return "not_finite";
    case cg_stop::cancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {

// --- What is given --------------------------------------------------------------------------------------------------

void check_options(const cg_options& options) {
  if (!(options.tolerance > 0 && options.tolerance < 1)) {
    core::fail(errc::invalid_argument, "tolerance = {}: must lie between 0 and 1, both excluded", options.tolerance);
  }
  if (options.max_iterations < 0) {
    core::fail(errc::invalid_argument, "max_iterations = {}: must not be negative", options.max_iterations);
  }
}

template <class T>
void check_operand(const dense_view<T>& view, const char* name) {
  plan::check_view(view, name);
  if (view.rows > 0 && view.cols > 0 && view.data == nullptr) {
    core::fail(errc::invalid_argument, "{}.data is null", name);
  }
}

/// Where an operand lies, for a solve on `ctx`. Throws error{wrong_memory_space} if its memory is out of reach there.
template <class T>
memory_space locate(const context& ctx, const dense_view<T>& view, std::string_view name) {
  if (view.data == nullptr) return memory_space::host;
  if (ctx.kind() == backend::cuda && core::gpu::is_device_pointer(view.data, ctx.device().device)) {
    return memory_space::device;
  }
  if (core::gpu::is_device_only(view.data)) {
    core::fail(errc::wrong_memory_space, "{}.data = {} is memory of a GPU that \"{}\" cannot read", name,
               static_cast<const void*>(view.data), ctx.describe());
  }
  return memory_space::host;
}

// --- Jacobi ---------------------------------------------------------------------------------------------------------

/// Of a matrix on the host.
template <value T, index I>
std::vector<T> diagonal_of(const csr_view<T, I>& a) {
  std::vector<T> diagonal(static_cast<std::size_t>(a.rows), T{0});
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    for (I at = a.row_ptr[i]; at < a.row_ptr[i + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      if (static_cast<std::size_t>(a.col_ind[entry]) == i) diagonal[i] += a.values[entry];
    }
  }
  return diagonal;
}

/// Inverts the diagonal in place; says what is wrong with it if Jacobi cannot be had.
template <value T>
std::optional<cg_stop> invert(std::vector<T>& diagonal) {
  for (T& entry : diagonal) {
    if (!std::isfinite(entry)) return cg_stop::not_finite;
    if (entry <= 0) return cg_stop::not_positive_definite;
    entry = T{1} / entry;
  }
  return std::nullopt;
}

// --- A solve --------------------------------------------------------------------------------------------------------

/// Refuses what does not fit, before anything is made or written.
template <value T>
void check_call(const context& ctx, std::int64_t rows, std::int64_t cols, const dense_view<const T>& b,
                const dense_view<T>& x, const cg_options& options) {
  check_options(options);
  if (rows != cols) core::fail(errc::size_mismatch, "A is {} x {}: CG needs a square matrix", rows, cols);
  check_operand(b, "B");
  check_operand(x, "X");
  if (b.rows != rows || x.rows != rows || b.cols != x.cols) {
    core::fail(errc::size_mismatch, "A is {} x {}, B is {} x {}, X is {} x {}: A X = B does not fit", rows, cols,
               b.rows, b.cols, x.rows, x.cols);
  }
  if (ctx.kind() == backend::cuda) core::require_healthy(ctx.state());
  (void)locate(ctx, b, "B");
  (void)locate(ctx, x, "X");
}

/// A solve whose arguments have been checked. diagonal(): that of A; only Jacobi asks for it.
template <value T, class Diagonal>
cg_result solve(const spmm_plan<T>& plan, Diagonal diagonal, const dense_view<const T>& b, const dense_view<T>& x,
                const cg_options& options) {
  const context& ctx = plan.where();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) guard.emplace(ctx.device().device);

  cg_result result;
  if (b.rows == 0 || b.cols == 0) {
    result.reason = cg_stop::converged;
    result.true_residual.assign(static_cast<std::size_t>(b.cols), 0.0);
    result.history = {0.0};
  } else {
    core::guarded(ctx.state(), "conjugate gradients", [&] {
      solvers::block_cg<T> solver(ctx, plan, {b.rows, b.cols}, options);
      std::optional<cg_stop> objection;
      if (options.precondition == preconditioner::jacobi) {
        std::vector<T> entries = diagonal();
        objection = invert(entries);
        if (!objection) solver.precondition_with(entries);
      }
      const memory_space x_space = locate(ctx, x, "X");
      solver.start(b, locate(ctx, b, "B"), x, x_space);
      if (!objection) solver.iterate();
      result = solver.finish(x, x_space, objection);
    });
  }
  result.facts = plan.facts();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace

template <value T, index I>
std::vector<T> diagonal_of(const context& ctx, const csr_view<T, I>& a) {
  if (a.space == memory_space::host) return diagonal_of(a);
  const core::gpu::device_guard guard(ctx.device().device);
  const auto row_ptr = core::copy_to_host(a.row_ptr, a.space);
  const auto col_ind = core::copy_to_host(a.col_ind, a.space);
  const auto values = core::copy_to_host(a.values, a.space);
  return diagonal_of(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::host});
}

template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_view<T, I>& a, input_view<T> b, output_view<T> x,
                   const cg_options& options) {
  check_call<T>(ctx, a.rows, a.cols, b, x, options);
  plan_options planned = options.plan;
  planned.cols = std::max<std::int64_t>(1, b.cols);
  planned.b_layout = layout::row_major;
  const spmm_plan<T> plan(ctx, a, planned);
  return solve<T>(
      plan, [&] { return diagonal_of(ctx, a); }, b, x, options);
}

template <value T>
cg_result solve_cg(const spmm_plan<T>& plan, std::type_identity_t<std::span<const T>> diagonal, input_view<T> b,
                   output_view<T> x, const cg_options& options) {
  const plan_facts& facts = plan.facts();
  check_call<T>(plan.where(), facts.rows, facts.cols, b, x, options);
  if (options.precondition == preconditioner::jacobi && std::ssize(diagonal) != facts.rows) {
    core::fail(errc::size_mismatch,
               "diagonal has {} entries, A has {} rows: Jacobi's preconditioner needs the whole diagonal "
               "(options.precondition = none needs none)",
               diagonal.size(), facts.rows);
  }
  return solve<T>(
      plan, [&] { return std::vector<T>(diagonal.begin(), diagonal.end()); }, b, x, options);
}

#define BCSC_INSTANTIATE_FOR_INDEX(T, I)                                                                 \
  template std::vector<T> diagonal_of(const context&, const csr_view<T, I>&);                            \
  template cg_result solve_cg(const context&, const csr_view<T, I>&, dense_view<const T>, dense_view<T>, \
                              const cg_options&);
#define BCSC_INSTANTIATE(T)                                                                                \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int32_t)                                                              \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int64_t)                                                              \
  template cg_result solve_cg(const spmm_plan<T>&, std::span<const T>, dense_view<const T>, dense_view<T>, \
                              const cg_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE
#undef BCSC_INSTANTIATE_FOR_INDEX

}  // namespace bcsc
