#pragma once

#include <cstdint>

#include "bcsc/cg.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/solvers/cg_parts.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/operator_state.hpp"

/// What simultaneous iterations keep beside x, r, p and q so as to make fewer passes over them, and where that pays.
namespace bcsc::solvers {

/// Whether the next direction needs a pass of its own behind the step.
template <value T>
bool turns_apart(const cg_parts<T>& parts, const cg_options& options) {
  return options.beta == cg_beta::polak_ribiere || parts.preconditioner != nullptr;
}

/// Whether `count` blocks of vectors exceed a GPU's L2; false where k is too large for the one kernel of advance().
template <value T>
bool exceed_l2(const context& ctx, kernels::vector::shape s, std::int64_t count) {
  const bool narrow = ctx.kind() == backend::cuda && s.k <= kernels::vector::max_advance_cols;
  return narrow && count * s.n * s.k * std::int64_t{sizeof(T)} > ctx.device().l2_bytes;
}

/// Doubles for what products leave of p.q, and preconditioners of r.z, on a GPU: for a row of sums every six rows,
/// where kernels leave one every eight and some row blocks are cut into pieces; of one column every four, as slices
/// with eight lanes a row leave them. None where p and q both stay in L2: there the pass that is saved costs less than
/// the product takes longer.
template <value T>
std::int64_t room_for_dots(const cg_parts<T>& parts, kernels::vector::shape s) {
  const auto leaves_dots = [](const linear_operator<T>* by) {
    return by != nullptr && operator_state<T>::of(*by).multiply_with_dots;
  };
  const bool leaves = leaves_dots(&parts.inner) || leaves_dots(parts.preconditioner);
  return leaves && exceed_l2<T>(parts.ctx(), s, 2) ? (s.n / (s.k == 1 ? 4 : 6) + 64) * s.k : 0;
}

/// Whether x takes the steps of two iterations at once: where x, r, p and q do not all stay in L2, unless the host
/// looks after each iteration.
template <value T>
bool takes_two_steps(const cg_parts<T>& parts, kernels::vector::shape s, const cg_options& options) {
  const bool one_by_one = options.check_every == 1 || (options.check_every == 0 && options.progress);
  return !one_by_one && !turns_apart(parts, options) && exceed_l2<T>(parts.ctx(), s, 4);
}

/// The second block of directions for that. Empty where there is no memory left for it: x then takes each step by
/// itself, to the same bits.
template <value T>
context_array<T> second_directions(const cg_parts<T>& parts, kernels::vector::shape s, const cg_options& options) {
  try {
    return {parts.ctx(), takes_two_steps(parts, s, options) ? s.n * s.k : 0};
  } catch (const error& none_left) {
    if (none_left.code() != errc::out_of_memory) throw;
    return {parts.ctx(), 0};
  }
}

}  // namespace bcsc::solvers
