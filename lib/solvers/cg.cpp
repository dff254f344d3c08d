#include "bcsc/cg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "converters/formats/parallel.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "lib/solvers/block_cg.hpp"
#include "lib/solvers/broken_block.hpp"
#include "lib/solvers/cg_parts.hpp"
#include "lib/solvers/operands.hpp"
#include "lib/solvers/refined_cg.hpp"
#include "lib/solvers/rounded_plan.hpp"
#include "lib/solvers/simultaneous_cg.hpp"
#include "lib/solvers/symmetry.hpp"

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
    case cg_stop::inconsistent:
      return "inconsistent";
    case cg_stop::not_symmetric:
      return "not_symmetric";
  }
  return "unknown";
}

std::string_view to_string(cg_method method) noexcept { return method == cg_method::block ? "block" : "simultaneous"; }

std::string_view to_string(cg_inner inner) noexcept {
  switch (inner) {
    case cg_inner::as_given:
      return "as_given";
    case cg_inner::fp32:
      return "fp32";
    case cg_inner::tf32:
      return "tf32";
    case cg_inner::tf32x3:
      return "tf32x3";
    case cg_inner::bf16:
      return "bf16";
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
  if (options.check_every < 0) {
    core::fail(errc::invalid_argument, "check_every = {}: must not be negative", options.check_every);
  }
  const auto [by, when] = options.correction;
  if (by == cg_correction::kind::refine && options.method == cg_method::block) {
    core::fail(errc::invalid_argument,
               "correction: refine() is of simultaneous iterations; block ones take reliable()");
  }
  if (by == cg_correction::kind::recompute && !(when >= 1 && when <= 1e9)) {
    core::fail(errc::invalid_argument, "correction: recompute({}): must be at least 1 and at most 1e9", when);
  }
  const bool by_share = by == cg_correction::kind::reliable || by == cg_correction::kind::refine;
  if (by_share && !(when > 0 && when < 1)) {
    core::fail(errc::invalid_argument, "correction: a share of {}: must lie between 0 and 1, both excluded", when);
  }
}

// --- Jacobi ---------------------------------------------------------------------------------------------------------

/// Of a matrix on the host.
template <value T, index I>
std::vector<T> diagonal_of(const csr_view<T, I>& a) {
  std::vector<T> diagonal(core::at(a.rows), T{0});
  const auto cuts = converters::even_segment_cuts(a.row_ptr, a.rows);
  converters::for_pieces(cuts, [&](std::int64_t, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      T sum{0};
      for (auto at = core::at(a.row_ptr[core::at(i)]); at < core::at(a.row_ptr[core::at(i + 1)]); ++at) {
        if (static_cast<std::int64_t>(a.col_ind[at]) == i) sum += a.values[at];
      }
      diagonal[core::at(i)] = sum;
    }
  });
  return diagonal;
}

/// Inverts the diagonal in place; returns what is wrong with it if Jacobi cannot use it.
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
  solvers::check_operand(b, "B");
  solvers::check_operand(x, "X");
  if (b.rows != rows || x.rows != rows || b.cols != x.cols) {
    core::fail(errc::size_mismatch, "A is {} x {}, B is {} x {}, X is {} x {}: A X = B does not fit", rows, cols,
               b.rows, b.cols, x.rows, x.cols);
  }
  if (ctx.kind() == backend::cuda) core::require_healthy(ctx.state());
  (void)solvers::locate(ctx, b, "B");
  (void)solvers::locate(ctx, x, "X");
}

/// The inverted diagonal, or why Jacobi cannot use it.
template <value T>
struct jacobi_of {
  std::vector<T> inverse;
  std::optional<cg_stop> objection;
};

/// Whether the iteration's vectors are fp32: as refine() asks for, and reliable() wherever what it needs is there.
bool has_fp32_iteration(const cg_operators<double>& given, const cg_options& options) {
  if (options.correction.by == cg_correction::kind::refine) return true;
  return options.correction.by == cg_correction::kind::reliable && given.inner &&
         (!given.preconditioner || given.inner_preconditioner);
}

/// The iterations themselves, on a GPU on a stream that can be captured.
template <value T>
cg_result iterated(const cg_operators<T>& given, const jacobi_of<T>& jacobi, const dense_view<const T>& b,
                   const dense_view<T>& x, const cg_options& options) {
  const context& ctx = given.a.where();
  std::optional<core::gpu::side_stream> own_stream;
  std::optional<core::gpu::pool_guard> pool;  // the solver's arrays, in the order of its stream
  cuda_stream stream = nullptr;
  if (ctx.kind() == backend::cuda) {
    if (options.stream == nullptr) {
      const core::gpu::pool_guard keeps_streams(ctx.state().pool);
      own_stream.emplace();
    }
    stream = own_stream ? own_stream->get() : options.stream;
    pool.emplace(ctx.state().pool, stream);
  }
  std::optional<linear_operator<T>> rounded;
  if constexpr (std::is_same_v<T, float>) {
    rounded = given.inner;
  } else if (given.inner) {
    rounded = widened(*given.inner);
  }
  const solvers::cg_parts<T> parts{.exact = given.a,
                                   .inner = rounded ? *rounded : given.a,
                                   .preconditioner = given.preconditioner ? &*given.preconditioner : nullptr,
                                   .inverse_diagonal = given.preconditioner ? std::span<const T>() : jacobi.inverse,
                                   .stream = stream};
  const memory_space b_space = solvers::locate(ctx, b, "B"), x_space = solvers::locate(ctx, x, "X");
  const kernels::vector::shape shape{b.rows, b.cols};
  const auto run = [&](auto solver) {
    // What operators and the caller's functions allocate is not for this stream alone.
    const core::gpu::outside_pools of_others;
    solver.start(b, b_space, x, x_space);
    if (!jacobi.objection) solver.iterate();
    return solver.finish(x, x_space, jacobi.objection);
  };
  const auto run_simultaneous = [&](const cg_options& wanted) {
    if constexpr (std::is_same_v<T, double>) {
      if (has_fp32_iteration(given, wanted)) {
        const std::vector<float> narrow_diagonal(parts.inverse_diagonal.begin(), parts.inverse_diagonal.end());
        const solvers::cg_parts<float> within{
            .exact = *given.inner,
            .inner = *given.inner,
            .preconditioner = given.inner_preconditioner ? &*given.inner_preconditioner : nullptr,
            .inverse_diagonal = given.inner_preconditioner ? std::span<const float>() : narrow_diagonal,
            .stream = stream,
            .trusts_recurrence = true};
        return run(solvers::refined_cg(given.a, within, shape, wanted));
      }
    }
    return run(solvers::simultaneous_cg<T>(parts, shape, wanted));
  };
  cg_result result;
  if (options.method == cg_method::simultaneous) {
    result = run_simultaneous(options);
  } else {
    result = run(solvers::block_cg<T>(parts, shape, options));
    if (!jacobi.objection && solvers::is_broken(result)) {
      const cg_options rest = solvers::side_by_side(options, result);
      result = solvers::joined(result, run_simultaneous(rest));
    }
  }
  if (!jacobi.objection && solvers::may_be_asymmetric(result)) {
    const core::gpu::outside_pools of_others;
    result.num_products += 2;
    if (!solvers::looks_symmetric(parts, shape)) solvers::blame_asymmetry(result);
  }
  return result;
}

/// A solve whose arguments have been checked.
template <value T, class Diagonal>
cg_result solve(const cg_operators<T>& given, Diagonal diagonal, const dense_view<const T>& b, const dense_view<T>& x,
                const cg_options& options) {
  const context& ctx = given.a.where();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) guard.emplace(ctx.device().device);

  cg_result result;
  if (b.rows == 0 || b.cols == 0) {
    result.reason = cg_stop::converged;
    result.true_residual.assign(core::at(b.cols), 0.0);
    result.recurrence_residual = result.true_residual;
    result.column_reason.assign(core::at(b.cols), cg_stop::converged);
    result.column_iterations.assign(core::at(b.cols), 0);
    result.history = {0.0};
  } else {
    core::guarded(ctx.state(), "conjugate gradients", [&] {
      jacobi_of<T> jacobi{diagonal(), {}};
      jacobi.objection = invert(jacobi.inverse);
      if (jacobi.objection) jacobi.inverse.clear();
      result = iterated(given, jacobi, b, x, options);
    });
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

template <value T>
std::vector<T> no_diagonal() {
  return {};
}

/// Requires that the operators beside A fit it, and each other.
template <value T>
void check_operators(const cg_operators<T>& operators) {
  if (operators.preconditioner) solvers::check_part(operators.a, *operators.preconditioner, "the preconditioner");
  if (operators.inner) solvers::check_part(operators.a, *operators.inner, "the inner operator");
  if (operators.inner_preconditioner) {
    solvers::check_part(operators.a, *operators.inner_preconditioner, "the inner preconditioner");
  }
}

template <value T>
bool iterates_on_fp32(const cg_options& options) {
  return std::is_same_v<T, double> && options.correction.by == cg_correction::kind::refine;
}

/// Makes the plans. `preconditioner`: none if the diagonal is to serve.
template <value T, index I, class Diagonal>
cg_result solve_matrix(const context& ctx, const csr_view<T, I>& a, const cg_preconditioner<T>* preconditioner,
                       Diagonal diagonal, const dense_view<const T>& b, const dense_view<T>& x,
                       const cg_options& options) {
  check_call<T>(ctx, a.rows, a.cols, b, x, options);
  plan_options planned = options.plan;
  planned.cols = std::max<std::int64_t>(1, b.cols);
  planned.b_layout = layout::row_major;
  const spmm_plan<T> plan(ctx, a, planned);
  cg_operators<T> operators{plan};
  if (preconditioner != nullptr) {
    operators.preconditioner = preconditioner->m;
    operators.inner_preconditioner = preconditioner->rounded;
    check_operators(operators);
    if (iterates_on_fp32<T>(options) ? !preconditioner->rounded : !preconditioner->m) {
      core::fail(errc::invalid_argument, "preconditioner.{} is empty", iterates_on_fp32<T>(options) ? "rounded" : "m");
    }
  }
  const std::optional<spmm_plan<float>> inner = solvers::rounded_plan(ctx, a, planned, options);
  if (inner) operators.inner.emplace(*inner);
  cg_result result = solve<T>(operators, diagonal, b, x, options);
  result.facts = plan.facts();
  result.inner = inner ? solvers::describe_rounding(*inner, options.inner) : std::string(to_string(value_type_of<T>));
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

template <value T>
cg_result solve_cg(const cg_operators<T>& operators, input_view<T> b, output_view<T> x, const cg_options& options) {
  check_call<T>(operators.a.where(), operators.a.rows(), operators.a.cols(), b, x, options);
  check_operators(operators);
  if (iterates_on_fp32<T>(options)) {
    if (!operators.inner) core::fail(errc::invalid_argument, "correction: refine() needs an inner operator of fp32");
    if (operators.preconditioner && !operators.inner_preconditioner) {
      core::fail(errc::invalid_argument, "correction: refine() needs an inner preconditioner, of fp32");
    }
  }
  cg_result result = solve<T>(operators, no_diagonal<T>, b, x, options);
  result.inner = operators.inner ? operators.inner->describe() : operators.a.describe();
  return result;
}

template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_view<T, I>& a, input_view<T> b, output_view<T> x,
                   const cg_options& options) {
  const auto diagonal = [&] {
    return options.precondition == preconditioner::jacobi ? diagonal_of(ctx, a) : std::vector<T>();
  };
  return solve_matrix<T>(ctx, a, nullptr, diagonal, b, x, options);
}

template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_view<T, I>& a,
                   const std::type_identity_t<cg_preconditioner<T>>& preconditioner, input_view<T> b, output_view<T> x,
                   const cg_options& options) {
  return solve_matrix<T>(ctx, a, &preconditioner, no_diagonal<T>, b, x, options);
}

template <value T>
cg_result solve_cg(const spmm_plan<T>& plan, std::type_identity_t<std::span<const T>> diagonal, input_view<T> b,
                   output_view<T> x, const cg_options& options) {
  const plan_facts& facts = plan.facts();
  check_call<T>(plan.where(), facts.rows, facts.cols, b, x, options);
  if (iterates_on_fp32<T>(options)) {
    core::fail(errc::invalid_argument,
               "correction: refine() needs a plan of A in fp32 besides: solve with cg_operators, or A itself");
  }
  const bool by_jacobi = options.precondition == preconditioner::jacobi;
  if (by_jacobi && std::ssize(diagonal) != facts.rows) {
    core::fail(errc::size_mismatch,
               "diagonal has {} entries, A has {} rows: Jacobi's preconditioner needs the whole diagonal "
               "(options.precondition = none needs none)",
               diagonal.size(), facts.rows);
  }
  const std::span<const T> used = by_jacobi ? diagonal : std::span<const T>();
  cg_result result = solve<T>(
      {plan}, [&] { return std::vector<T>(used.begin(), used.end()); }, b, x, options);
  result.facts = facts;
  result.inner = to_string(value_type_of<T>);
  return result;
}

#define BCSC_INSTANTIATE_FOR_INDEX(T, I)                                                                               \
  template std::vector<T> diagonal_of(const context&, const csr_view<T, I>&);                                          \
  template cg_result solve_cg(const context&, const csr_view<T, I>&, dense_view<const T>, dense_view<T>,               \
                              const cg_options&);                                                                      \
  template cg_result solve_cg(const context&, const csr_view<T, I>&, const cg_preconditioner<T>&, dense_view<const T>, \
                              dense_view<T>, const cg_options&);
#define BCSC_INSTANTIATE(T)                                                                                   \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int32_t)                                                                 \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int64_t)                                                                 \
  template cg_result solve_cg(const cg_operators<T>&, dense_view<const T>, dense_view<T>, const cg_options&); \
  template cg_result solve_cg(const spmm_plan<T>&, std::span<const T>, dense_view<const T>, dense_view<T>,    \
                              const cg_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE
#undef BCSC_INSTANTIATE_FOR_INDEX

}  // namespace bcsc
