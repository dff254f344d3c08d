#include "lib/solvers/cg_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/fail.hpp"

namespace bcsc::solvers {

right_hand_sides measured(std::span<const double> abs_sums, std::span<const double> squares, double tolerance) {
  right_hand_sides b;
  for (std::size_t j = 0; j < squares.size(); ++j) {
    const double limit = tolerance * tolerance * squares[j];
    const bool lost = abs_sums[j] > 0 && limit < std::numeric_limits<double>::min();
    if (std::isfinite(abs_sums[j]) && (lost || !std::isfinite(squares[j]))) {
      core::fail(errc::invalid_argument,
                 "B, column {}: its norm times the tolerance {} cannot be squared in fp64; scale B", j, tolerance);
    }
    b.norm.push_back(std::sqrt(squares[j]));
    b.limit.push_back(limit);
    b.zero.push_back(abs_sums[j] == 0);
  }
  return b;
}

cg_stop worst_of(std::span<const cg_stop> reasons, bool cancelled) {
  if (cancelled) return cg_stop::cancelled;
  for (const cg_stop bad : {cg_stop::not_symmetric, cg_stop::not_positive_definite, cg_stop::not_finite,
                            cg_stop::inconsistent, cg_stop::max_iterations, cg_stop::stagnated}) {
    if (std::find(reasons.begin(), reasons.end(), bad) != reasons.end()) return bad;
  }
  return cg_stop::converged;
}

double column_course::relative() const { return norm_b == 0 && rr == 0 ? 0 : std::sqrt(rr) / norm_b; }

double largest_residual(std::span<const column_course> columns) {
  double largest = 0;
  for (const column_course& c : columns) {
    const double residual = c.relative();
    if (std::isnan(residual)) return residual;
    largest = std::max(largest, residual);
  }
  return largest;
}

void judge_residuals(std::span<column_course> columns) {
  for (column_course& c : columns) {
    c.true_residual = c.relative();
    if (!std::isfinite(c.rr)) c.ended = cg_stop::not_finite;
    if (c.rr <= c.limit) c.stagnated = false;
  }
}

void count_restart(std::span<column_course> columns, bool by_schedule, double share) {
  for (column_course& c : columns) {
    if (!c.is_open()) continue;
    const bool gained = c.true_residual <= worthwhile * c.best;
    if (!by_schedule) c.idle_restarts = gained ? 0 : c.idle_restarts + 1;
    c.stagnated = c.idle_restarts >= patience || c.true_residual > lost * c.best;
    c.best = std::min(c.best, c.true_residual);
    c.target = std::max(c.limit, share * share * c.rr);
  }
}

void end_open(std::span<column_course> columns, cg_stop why) {
  for (column_course& c : columns) {
    if (c.is_open()) c.ended = why;
  }
}

namespace {

cg_stop reason_of(const column_course& c, bool cancelled, bool singular) {
  if (c.ended && *c.ended == cg_stop::not_finite) return cg_stop::not_finite;
  if (c.rr <= c.limit) return cg_stop::converged;
  if (c.ended) return *c.ended;
  if (c.stagnated) return singular ? cg_stop::inconsistent : cg_stop::stagnated;
  return cancelled ? cg_stop::cancelled : cg_stop::max_iterations;
}

}  // namespace

void report_columns(std::span<const column_course> columns, std::optional<cg_stop> objection, bool cancelled,
                    bool singular, cg_result& result) {
  for (const column_course& c : columns) {
    result.column_reason.push_back(objection ? *objection : reason_of(c, cancelled, singular));
    result.column_iterations.push_back(c.iterations);
    result.true_residual.push_back(c.true_residual);
    result.recurrence_residual.push_back(c.recurrence);
  }
  result.reason = objection ? *objection : worst_of(result.column_reason, cancelled);
}

}  // namespace bcsc::solvers
