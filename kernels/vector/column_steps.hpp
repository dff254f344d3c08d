#pragma once

#include <cstdint>

#include "kernels/vector/vector_ops.hpp"

/// What CG does with a column's scalars once their sums are there: the same lines on either backend (constexpr, so that
/// device code may call them).
namespace bcsc::kernels::vector {

/// NaN and Inf minus themselves are NaN.
constexpr bool is_finite(double value) { return value - value == 0; }

/// After the residual was computed anew: the next direction is z alone.
constexpr void restart_column(const column_scalars& s, std::int64_t j, double rr, double rz) {
  s.rr[j] = rr;
  s.rz[j] = rz;
  s.alpha[j] = 0;
  s.beta[j] = 0;
}

/// The step length, from p.Ap.
constexpr void choose_step(const column_scalars& s, std::int64_t j, double pq) {
  s.alpha[j] = 0;
  if (s.state[j] != column_state::active) return;
  const double alpha = s.rz[j] / pq;
  if (!is_finite(pq)) {
    s.state[j] = column_state::not_finite;
  } else if (pq <= 0) {
    s.state[j] = column_state::not_positive;
  } else if (!is_finite(alpha) || alpha <= 0) {  // rz itself was lost, or the quotient underflowed
    s.state[j] = column_state::not_finite;
  } else {
    s.alpha[j] = alpha;
  }
}

/// Whether the column has arrived, and how much of the direction it keeps if not.
constexpr void judge_step(const column_scalars& s, std::int64_t j, double rr, double rz) {
  s.beta[j] = 0;
  if (s.state[j] != column_state::active) return;
  if (!is_finite(rr) || !is_finite(rz)) {
    s.state[j] = column_state::not_finite;
  } else if (rr <= s.limit[j]) {
    s.state[j] = column_state::resting;
  } else {
    s.beta[j] = rz / s.rz[j];
  }
  s.rr[j] = rr;
  s.rz[j] = rz;
}

}  // namespace bcsc::kernels::vector
