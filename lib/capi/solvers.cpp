#include <algorithm>
#include <cmath>
#include <vector>

#include "bcsc/cg.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

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
  return made;
}

/// NaN if one is.
double largest(const std::vector<double>& residuals) {
  double largest = 0;
  for (const double residual : residuals) {
    if (std::isnan(residual)) return residual;
    largest = std::max(largest, residual);
  }
  return largest;
}

}  // namespace

int bcsc_solve_cg(bcsc_plan plan, int64_t k, const void* diagonal, const void* b, int64_t ldb, void* x, int64_t ldx,
                  int order, bcsc_cg_result* out, const bcsc_cg_options* options) {
  return guarded([&] {
    require(plan, "plan");
    require(out, "result");
    check_size(*out, "result");
    const layout lies = enumerator(order, layout::col_major, "layout");
    cg_options how = options_of(taken(options, "options"));
    how.precondition = diagonal != nullptr ? preconditioner::jacobi : preconditioner::none;
    std::visit(
        [&]<class T>(const spmm_plan<T>& p) {
          if constexpr (value<T>) {
            const std::int64_t rows = p.facts().rows;
            const std::size_t num_diagonal = diagonal != nullptr ? static_cast<std::size_t>(rows) : 0;
            const cg_result result =
                solve_cg(p, {static_cast<const T*>(diagonal), num_diagonal},
                         {static_cast<const T*>(b), rows, k, ldb, lies}, {static_cast<T*>(x), rows, k, ldx, lies}, how);
            give({.iterations = result.iterations,
                  .num_products = result.num_products,
                  .true_residual = largest(result.true_residual),
                  .seconds = result.seconds,
                  .reason = static_cast<int>(result.reason)},
                 out);
          } else {
            core::fail(errc::unsupported, "plan is of {}: bcsc_solve_cg takes fp32 and fp64",
                       to_string(value_type_of<T>));
          }
        },
        plan->plan);
  });
}
