#include "lib/solvers/broken_block.hpp"

#include <cmath>

namespace bcsc::solvers {

bool is_broken(const cg_result& of_block) {
  if (of_block.reason == cg_stop::cancelled) return false;
  int ended = 0;
  for (std::size_t j = 0; j < of_block.column_reason.size(); ++j) {
    const cg_stop why = of_block.column_reason[j];
    const bool as_broken =
        why == cg_stop::not_positive_definite || why == cg_stop::inconsistent || why == cg_stop::not_finite;
    // A column that was not finite to begin with has ended by itself.
    ended += as_broken && std::isfinite(of_block.true_residual[j]) ? 1 : 0;
  }
  return ended > 1;
}

cg_options side_by_side(const cg_options& options, const cg_result& so_far) {
  cg_options rest = options;
  rest.method = cg_method::simultaneous;
  rest.max_iterations -= so_far.iterations;
  if (options.progress) {
    rest.progress = [&options, before = so_far.iterations](std::int64_t iteration, double residual) {
      return options.progress(before + iteration, residual);
    };
  }
  return rest;
}

cg_result joined(const cg_result& first, cg_result second) {
  second.iterations += first.iterations;
  second.num_products += first.num_products;
  second.num_replacements += first.num_replacements + 1;
  for (std::size_t j = 0; j < second.column_iterations.size(); ++j) {
    second.column_iterations[j] += first.column_iterations[j];
  }
  // Each begins with the residual of the first x.
  second.history.erase(second.history.begin());
  second.history.insert(second.history.begin(), first.history.begin(), first.history.end());
  return second;
}

}  // namespace bcsc::solvers
