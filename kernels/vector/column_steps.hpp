#pragma once

#include <cstdint>

#include "kernels/vector/vector_ops.hpp"

/// What CG does with a column's scalars once their sums are there: the same lines on either backend (constexpr, so that
/// device code may call them).
namespace bcsc::kernels::vector {

/// NaN and Inf minus themselves are NaN.
constexpr bool is_finite(double value) { return value - value == 0; }

/// After the residual was recomputed: the next direction is z alone.
constexpr void restart_column(const column_scalars& s, std::int64_t j, double rr, double rz) {
  s.rr[j] = rr;
  s.rz[j] = rz;
  s.alpha[j] = 0;
  s.beta[j] = 0;
}

/// The step length, from p.Ap. The curvature along p is measured in the norm of the preconditioner M, where p.M p needs
/// no pass over p: p is z + beta p_old, M z = r, and r is orthogonal to p_old.
constexpr void choose_step(const column_scalars& s, std::int64_t j, double pq) {
  if (s.alpha_before != nullptr) s.alpha_before[j] = s.alpha[j];
  s.alpha[j] = 0;
  if (s.state[j] != column_state::active) return;
  if (s.taken != nullptr) ++s.taken[j];
  const double rz = s.rz[j], alpha = rz / pq;
  if (!is_finite(pq)) {
    s.state[j] = column_state::not_finite;
    return;
  }
  if (s.min_curvature != nullptr) {
    if (!s.steps_again) s.pp[j] = rz + s.beta[j] * s.beta[j] * s.pp[j];
    if (s.pp[j] > 0) {
      const double curvature = (pq < 0 ? -pq : pq) / s.pp[j];
      if (curvature < s.min_curvature[j]) s.min_curvature[j] = curvature;
      if (curvature > s.max_curvature[j]) s.max_curvature[j] = curvature;
    }
  }
  if (s.steps_again) {
    if (pq > 0 && is_finite(alpha)) s.alpha[j] = alpha;
  } else if (pq <= 0 || rz < 0) {  // r.z < 0: the preconditioner is not positive definite
    s.state[j] = column_state::not_positive;
  } else if (!is_finite(alpha) || alpha <= 0) {  // rz itself was lost, or the quotient underflowed
    s.state[j] = column_state::not_finite;
  } else {
    s.alpha[j] = alpha;
  }
}

/// Notes r.r for a host that looks later.
constexpr void log_step(const column_scalars& s, std::int64_t j) {
  if (s.log != nullptr) s.log[s.logged[j]++ % s.log_rows * s.log_cols + j] = s.rr[j];
}

/// Whether the column has arrived, and how much of the direction it keeps if not.
constexpr void judge_step(const column_scalars& s, std::int64_t j, double rr, double rz) {
  s.beta[j] = 0;
  if (s.state[j] == column_state::active && s.alpha[j] != 0) {
    if (!is_finite(rr) || (!s.turns_apart && !is_finite(rz))) {
      s.state[j] = column_state::not_finite;
    } else if (rr <= s.limit[j]) {
      s.state[j] = column_state::resting;
    } else if (!s.turns_apart) {
      s.beta[j] = rz / s.rz[j];
    }
    s.rr[j] = rr;
    if (!s.turns_apart) s.rz[j] = rz;
  }
  log_step(s, j);
}

/// The share of the direction that is kept, once z is there: Fletcher and Reeves, or Polak and Ribiere, whose
/// z.(r - r_old) is -alpha z.q.
constexpr void turn_column(const column_scalars& s, std::int64_t j, double rz, double qz) {
  s.beta[j] = 0;
  if (s.state[j] != column_state::active) return;
  const double share = (s.polak_ribiere ? -s.alpha[j] * qz : rz) / s.rz[j];
  if (!is_finite(rz)) {
    s.state[j] = column_state::not_finite;
  } else if (s.alpha[j] != 0 && share > 0) {
    s.beta[j] = share;
  }
  s.rz[j] = rz;
}

}  // namespace bcsc::kernels::vector
