#include <algorithm>

#include "bcsc/lobpcg.hpp"
#include "lib/capi/guard.hpp"
#include "lib/capi/handles.hpp"
#include "lib/capi/solver_arguments.hpp"

using namespace bcsc;
using namespace bcsc::capi;

namespace {

template <value T>
lobpcg_options<T> options_of(const bcsc_lobpcg_options& given, std::int64_t rows, layout lies) {
  require_unused(given.reserved, "options");
  lobpcg_options<T> made;
  made.which = enumerator(given.which, spectrum_end::largest, "options.which");
  made.scale = enumerator(given.scale, residual_scale::eigenvalue, "options.scale");
  made.tolerance = given.tolerance;
  if (given.max_iterations != 0) made.max_iterations = given.max_iterations;
  if (given.num_guards < -1) {
    core::fail(errc::invalid_argument, "options.num_guards = {}: must be at least -1", given.num_guards);
  }
  if (given.num_guards != 0) made.num_guards = std::max<std::int64_t>(0, given.num_guards);
  if (given.seed != 0) made.seed = static_cast<std::uint64_t>(given.seed);
  made.b = operator_given<T>(given.b, "options.b");
  made.precondition = operator_given<T>(given.precondition, "options.precondition");
  if (given.constraints != nullptr || given.num_constraints != 0) {
    made.constraints = {static_cast<const T*>(given.constraints), rows, given.num_constraints, given.ld_constraints,
                        lies};
  }
  made.use_initial_guess = flag(given.use_initial_guess, "options.use_initial_guess");
  if (given.progress != nullptr) {
    made.progress = [tell = given.progress, data = given.progress_data](const lobpcg_progress& now) {
      return tell(data, now.iteration, now.residual, now.num_converged) != 0;
    };
  }
  return made;
}

}  // namespace

int bcsc_solve_lobpcg(bcsc_operator a, int64_t k, double* values, double* residuals, void* x, int64_t ldx, int order,
                      bcsc_lobpcg_result* out, const bcsc_lobpcg_options* options) {
  return guarded([&] {
    require(a, "a");
    require(values, "values");
    require(out, "result");
    check_size(*out, "result");
    const layout lies = enumerator(order, layout::col_major, "layout");
    const bcsc_lobpcg_options given = taken(options, "options");
    std::visit(
        [&]<class T>(const linear_operator<T>& map) {
          const std::int64_t rows = map.rows();
          const lobpcg_result result =
              solve_lobpcg(map, {static_cast<T*>(x), rows, k, ldx, lies}, options_of<T>(given, rows, lies));
          std::ranges::copy(result.values, values);
          if (residuals != nullptr) std::ranges::copy(result.residual, residuals);
          give({.num_converged = result.num_converged,
                .iterations = result.iterations,
                .num_products = result.num_products,
                .block_size = result.block_size,
                .norm_a = result.norm_a,
                .norm_b = result.norm_b,
                .tolerance = result.tolerance,
                .seconds = result.seconds,
                .reason = static_cast<int>(result.reason)},
               out);
        },
        a->map);
  });
}
