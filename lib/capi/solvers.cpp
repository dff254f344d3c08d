#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bcsc/cg.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"
#include "lib/capi/solver_arguments.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

// --- Options --------------------------------------------------------------------------------------------------------

cg_correction correction_of(const bcsc_cg_options& given) {
  const cg_correction made{enumerator(given.correction, cg_correction::kind::refine, "options.correction"),
                           given.correction_when};
  if (made.by == cg_correction::kind::none && made.when != 0) {
    core::fail(errc::invalid_argument, "options.correction_when = {}: options.correction is none", made.when);
  }
  if (made.by == cg_correction::kind::recompute && made.when != std::floor(made.when)) {
    core::fail(errc::invalid_argument, "options.correction_when = {}: must be a whole number of iterations", made.when);
  }
  return made;
}

/// Requires that an output and its size are given together.
void check_output(const void* where, std::uint64_t size, const char* name, const char* size_name) {
  if ((where == nullptr) != (size == 0)) {
    core::fail(errc::invalid_argument, "options.{} = {}, options.{} = {}: both or neither", name, where, size_name,
               size);
  }
}

cg_options options_of(const bcsc_cg_options& given) {
  require_unused(given.reserved, "options");
  cg_options made;
  if (given.tolerance != 0) made.tolerance = given.tolerance;
  if (given.max_iterations != 0) made.max_iterations = given.max_iterations;
  made.use_initial_guess = flag(given.use_initial_guess, "options.use_initial_guess");
  if (given.progress != nullptr) {
    made.progress = [tell = given.progress, data = given.progress_data](std::int64_t iteration, double residual) {
      return tell(data, iteration, residual) != 0;
    };
  }
  made.method = enumerator(given.method, cg_method::block, "options.method");
  made.inner = enumerator(given.inner, cg_inner::bf16, "options.inner");
  made.beta = enumerator(given.beta, cg_beta::polak_ribiere, "options.beta");
  made.correction = correction_of(given);
  made.check_every = given.check_every;
  made.stream = static_cast<cuda_stream>(given.stream);
  if (given.max_history < 0) {
    core::fail(errc::invalid_argument, "options.max_history = {}: must not be negative", given.max_history);
  }
  check_output(given.history, static_cast<std::uint64_t>(given.max_history), "history", "max_history");
  check_output(given.inner_text, given.inner_text_bytes, "inner_text", "inner_text_bytes");
  return made;
}

/// Requires that a preconditioner given is of the type of the iteration's vectors.
template <value T>
void check_preconditioners(const bcsc_cg_options& given) {
  const bool on_fp32 = std::is_same_v<T, double> && given.correction == BCSC_CG_CORRECTION_REFINE;
  if (on_fp32 && given.precondition != nullptr && given.inner_precondition == nullptr) {
    core::fail(errc::invalid_argument,
               "options.inner_precondition is null: a correction by REFINE takes it instead of options.precondition");
  }
  if (!on_fp32 && given.precondition == nullptr && given.inner_precondition != nullptr) {
    core::fail(errc::invalid_argument,
               "options.precondition is null: only a correction of fp64 by REFINE takes options.inner_precondition");
  }
}

void refuse_rounding(const bcsc_cg_options& given) {
  if (given.inner == BCSC_CG_INNER_AS_GIVEN) return;
  core::fail(errc::invalid_argument,
             "options.inner = {}: only bcsc_solve_cg_matrix rounds A; else give options.inner_operator", given.inner);
}

// --- Results --------------------------------------------------------------------------------------------------------

/// NaN if one is.
double largest(const std::vector<double>& residuals) {
  double largest = 0;
  for (const double residual : residuals) {
    if (std::isnan(residual)) return residual;
    largest = std::max(largest, residual);
  }
  return largest;
}

void give_result(const cg_result& result, const bcsc_cg_options& asked, bcsc_cg_result* out) {
  give({.iterations = result.iterations,
        .num_products = result.num_products,
        .true_residual = largest(result.true_residual),
        .seconds = result.seconds,
        .reason = static_cast<int>(result.reason),
        .num_replacements = result.num_replacements,
        .recurrence_residual = largest(result.recurrence_residual)},
       out);
  if (asked.true_residuals != nullptr) std::ranges::copy(result.true_residual, asked.true_residuals);
  if (asked.recurrence_residuals != nullptr) std::ranges::copy(result.recurrence_residual, asked.recurrence_residuals);
  if (asked.column_iterations != nullptr) std::ranges::copy(result.column_iterations, asked.column_iterations);
  if (asked.column_reasons != nullptr) {
    std::ranges::transform(result.column_reason, asked.column_reasons,
                           [](cg_stop reason) { return static_cast<int>(reason); });
  }
  std::copy_n(result.history.begin(), std::min<std::int64_t>(std::ssize(result.history), asked.max_history),
              asked.history);
  if (asked.inner_text != nullptr) {
    const std::size_t length = std::min(result.inner.size(), asked.inner_text_bytes - 1);
    *std::copy_n(result.inner.begin(), length, asked.inner_text) = '\0';
  }
}

/// What all three ways to solve have in common: solve(options of C, options of C++, layout) between checks and outputs.
template <class Solve>
void solve_into(bcsc_cg_result* out, int order, const bcsc_cg_options* options, Solve solve) {
  require(out, "result");
  check_size(*out, "result");
  const layout lies = enumerator(order, layout::col_major, "layout");
  const bcsc_cg_options given = taken(options, "options");
  give_result(solve(given, options_of(given), lies), given, out);
}

/// A solve with operators.
template <value T>
cg_result solve_with(const linear_operator<T>& a, const bcsc_cg_options& given, input_view<T> b, output_view<T> x,
                     const cg_options& how) {
  refuse_rounding(given);
  check_preconditioners<T>(given);
  return solve_cg(cg_operators<T>{.a = a,
                                  .preconditioner = operator_given<T>(given.precondition, "options.precondition"),
                                  .inner = operator_given<float>(given.inner_operator, "options.inner_operator"),
                                  .inner_preconditioner =
                                      operator_given<float>(given.inner_precondition, "options.inner_precondition")},
                  b, x, how);
}

/// A solve with a plan and a diagonal, which the plan's own call knows how to use.
template <value T>
cg_result solve_with(const spmm_plan<T>& plan, const T* diagonal, const bcsc_cg_options& given, input_view<T> b,
                     output_view<T> x, cg_options how) {
  if (given.precondition != nullptr || given.inner_operator != nullptr || given.inner_precondition != nullptr) {
    if (diagonal != nullptr) {
      core::fail(errc::invalid_argument,
                 "diagonal = {}: has to be null with options.precondition, .inner_operator or .inner_precondition",
                 static_cast<const void*>(diagonal));
    }
    return solve_with(linear_operator<T>(plan), given, b, x, how);
  }
  refuse_rounding(given);
  how.precondition = diagonal != nullptr ? preconditioner::jacobi : preconditioner::none;
  return solve_cg(plan, {diagonal, diagonal != nullptr ? static_cast<std::size_t>(plan.facts().rows) : 0}, b, x, how);
}

/// A solve that plans, and rounds.
template <value T, bcsc::index I>
cg_result solve_with(const context& ctx, const csr_view<T, I>& a, const bcsc_cg_options& given, input_view<T> b,
                     output_view<T> x, const cg_options& how) {
  if (given.inner_operator != nullptr) {
    core::fail(errc::invalid_argument, "options.inner_operator: a matrix is rounded as options.inner says");
  }
  check_preconditioners<T>(given);
  const cg_preconditioner<T> m{operator_given<T>(given.precondition, "options.precondition"),
                               operator_given<float>(given.inner_precondition, "options.inner_precondition")};
  return m.m || m.rounded ? solve_cg(ctx, a, m, b, x, how) : solve_cg(ctx, a, b, x, how);
}

}  // namespace

int bcsc_solve_cg(bcsc_plan plan, int64_t k, const void* diagonal, const void* b, int64_t ldb, void* x, int64_t ldx,
                  int order, bcsc_cg_result* out, const bcsc_cg_options* options) {
  return guarded([&] {
    require(plan, "plan");
    solve_into(out, order, options, [&](const bcsc_cg_options& given, const cg_options& how, layout lies) {
      cg_result result;
      with_solver_plan(*plan, [&]<class T>(const spmm_plan<T>& p) {
        const std::int64_t rows = p.facts().rows;
        result =
            solve_with<T>(p, static_cast<const T*>(diagonal), given, {static_cast<const T*>(b), rows, k, ldb, lies},
                          {static_cast<T*>(x), rows, k, ldx, lies}, how);
      });
      return result;
    });
  });
}

int bcsc_solve_cg_operator(bcsc_operator a, int64_t k, const void* b, int64_t ldb, void* x, int64_t ldx, int order,
                           bcsc_cg_result* out, const bcsc_cg_options* options) {
  return guarded([&] {
    require(a, "a");
    solve_into(out, order, options, [&](const bcsc_cg_options& given, const cg_options& how, layout lies) {
      return std::visit(
          [&]<class T>(const linear_operator<T>& map) {
            const std::int64_t rows = map.rows();
            return solve_with<T>(map, given, {static_cast<const T*>(b), rows, k, ldb, lies},
                                 {static_cast<T*>(x), rows, k, ldx, lies}, how);
          },
          a->map);
    });
  });
}

int bcsc_solve_cg_matrix(bcsc_context where, bcsc_sparse matrix, int64_t k, const void* b, int64_t ldb, void* x,
                         int64_t ldx, int order, bcsc_cg_result* out, const bcsc_cg_options* options) {
  return guarded([&] {
    require(where, "context");
    solve_into(out, order, options, [&](const bcsc_cg_options& given, const cg_options& how, layout lies) {
      cg_result result;
      with_csr(matrix, [&]<class View>(const View& a) {
        using T = typename View::value_t;
        result = solve_with<T>(where->context, a, given, {static_cast<const T*>(b), a.rows, k, ldb, lies},
                               {static_cast<T*>(x), a.rows, k, ldx, lies}, how);
      });
      return result;
    });
  });
}
