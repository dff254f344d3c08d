#include "lib/solvers/refined_cg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bcsc::solvers {

namespace vector = kernels::vector;
using core::at;

/// A correction that can be the last one aims at this share of the tolerance: fp32's residual is not quite the true
/// one.
constexpr double end_share = 0.9;

refined_cg::refined_cg(const linear_operator<double>& exact, const cg_parts<float>& inner, vector::shape shape,
                       const cg_options& options)
    : exact_(exact),
      options_(options),
      correction_options_(options),
      shape_(shape),
      ops_(operations_of<double>(exact.where().kind())),
      block_ops_(block_operations_of<double>(exact.where().kind())),
      env_(inner.env()),
      b_(exact.where(), core::checked_product(shape.n, shape.k, "elements of B")),
      x_(exact.where(), b_.size()),
      r_(exact.where(), b_.size()),
      correction_solver_(inner, shape, correction_options_),
      partials_(exact.where(), vector::num_partials(shape)),
      sums_(exact.where(), shape.k),
      workspace_(exact.where(), exact.workspace_bytes(shape.k)),
      columns_(at(shape.k)) {
  correction_options_.correction = {};
  correction_options_.use_initial_guess = false;
}

void refined_cg::start(const dense_view<const double>& b, memory_space b_space, const dense_view<double>& x,
                       memory_space x_space) {
  load_block(exact_.where(), env_, b, b_space, b_);
  started(ops_.abs_sum(env_, shape_, b_.data(), partials_.data(), sums_.data()), "abs_sum");
  std::vector<double> sizes(at(shape_.k)), zeros_at_zero(at(shape_.k), 1.0);
  sums_.download(sizes, env_.stream);
  const right_hand_sides sides = measured(sizes, column_squares(b_), options_.tolerance);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].norm_b = sides.norm[j];
    columns_[j].limit = sides.limit[j];
    if (sides.zero[j]) zeros_at_zero[j] = 0;
  }
  if (options_.use_initial_guess) {
    load_block(exact_.where(), env_, dense_view<const double>(x), x_space, x_);
    scale(x_, zeros_at_zero);
    compute_residual();
  } else {
    x_.clear(env_.stream);
    started(block_ops_.axpby(env_, 1, all(b_), 0, all(r_)), "axpby");
    const std::vector<double> squares = column_squares(r_);
    for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j].rr = squares[j];
  }
  judge_residuals(columns_);
  for (column_course& c : columns_) c.recurrence = c.true_residual;
  result_.history.push_back(largest_residual(columns_));
}

void refined_cg::iterate() {
  while (result_.iterations < options_.max_iterations) {
    count_restart(columns_, false, options_.correction.when);
    if (std::none_of(columns_.begin(), columns_.end(), [](const column_course& c) { return c.is_open(); })) return;
    if (result_.iterations > 0) ++result_.num_replacements;
    cancelled_ = !correct();
    compute_residual();
    judge_residuals(columns_);
    if (cancelled_) return;
  }
}

cg_result refined_cg::finish(const dense_view<double>& x, memory_space x_space, std::optional<cg_stop> objection) {
  store_block(exact_.where(), env_, x_, x, x_space);
  report_columns(columns_, objection, cancelled_, false, result_);
  return std::move(result_);
}

void refined_cg::compute_residual() {
  started(block_ops_.axpby(env_, 1, all(b_), 0, all(r_)), "axpby");
  exact_.apply(-1.0, all(x_), 1.0, all(r_), {env_.stream, {workspace_.data(), at(workspace_.size())}});
  ++result_.num_products;
  const std::vector<double> squares = column_squares(r_);
  for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j].rr = squares[j];
}

std::vector<double> refined_cg::column_squares(const context_array<double>& v) {
  std::vector<double> squares(at(shape_.k));
  started(ops_.dot(env_, shape_, v.data(), v.data(), partials_.data(), sums_.data()), "dot");
  sums_.download(squares, env_.stream);
  return squares;
}

void refined_cg::scale(const context_array<double>& v, const std::vector<double>& factors) {
  sums_.upload(factors, env_.stream);
  started(block_ops_.scale_columns(env_, sums_.data(), all(v)), "scale_columns");
}

bool refined_cg::correct() {
  // Residuals of length 1, so that fp32 holds them whatever they have come down to.
  std::vector<double> shrink(columns_.size(), 0.0), grow(columns_.size(), 0.0);
  std::vector<bool> keep, closed;
  double largest = 0, least_left = 1;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (result_.iterations > 0) keep.push_back(columns_[j].true_residual <= on_course * columns_[j].recurrence);
    closed.push_back(!columns_[j].is_open());
    if (closed[j]) continue;
    grow[j] = std::sqrt(columns_[j].rr);
    shrink[j] = 1 / grow[j];
    largest = std::max(largest, columns_[j].true_residual);
    least_left = std::min(least_left, options_.tolerance / columns_[j].true_residual);
  }
  scale(r_, shrink);
  const auto& narrow_ops = block_operations_of<float>(exact_.where().kind());
  started(narrow_ops.convert(env_, nullptr, 1, all(r_), 0, correction_solver_.residual()), "convert");

  correction_options_.tolerance = std::max(options_.correction.when, end_share * least_left);
  correction_options_.max_iterations = options_.max_iterations - result_.iterations;
  if (options_.progress) {
    correction_options_.progress = [&, before = result_.iterations](std::int64_t iteration, double residual) {
      return options_.progress(before + iteration, residual * largest);
    };
  }
  correction_solver_.start_correction(closed, std::move(keep));
  correction_solver_.iterate();
  const cg_result correction = correction_solver_.outcome();

  started(block_ops_.convert(env_, nullptr, 1, correction_solver_.solution(), 0, all(r_)), "convert");
  scale(r_, grow);
  started(block_ops_.axpby(env_, 1, all(r_), 1, all(x_)), "axpby");
  result_.iterations += correction.iterations;
  result_.num_products += correction.num_products;
  for (std::size_t i = 1; i < correction.history.size(); ++i) {
    result_.history.push_back(correction.history[i] * largest);
  }
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    column_course& c = columns_[j];
    if (!c.is_open()) continue;
    c.iterations += correction.column_iterations[j];
    c.recurrence = correction.recurrence_residual[j] * c.true_residual;
    const cg_stop why = correction.column_reason[j];
    if (why == cg_stop::not_positive_definite || why == cg_stop::not_finite || why == cg_stop::inconsistent) {
      c.ended = why;
    }
  }
  return correction.reason != cg_stop::cancelled;
}

}  // namespace bcsc::solvers
