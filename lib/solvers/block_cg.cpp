#include "lib/solvers/block_cg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "lib/solvers/broken_block.hpp"

namespace bcsc::solvers {

namespace vector = kernels::vector;
using core::at;

namespace {

template <value T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// Of a vector's squared length: if the others leave less than this share, it is rounding.
template <value T>
constexpr double dependent = std::max(1e-13, 256 * epsilon<T> * epsilon<T>);
/// A pivot below this leaves vectors that are not orthogonal enough: they are made so once more.
constexpr double again_below = 1e-6;
/// p'Ap / p'M^-1 p below this share of the largest seen is 0 as far as T can tell.
template <value T>
constexpr double no_curvature = 64 * epsilon<T>;
/// Iterations without gain after which a singular block is restarted.
constexpr std::int64_t patience_if_singular = 20;

/// The coefficients of a block without columns.
coefficients nothing_of(std::int64_t cols) { return {0, cols}; }

}  // namespace

template <value T>
block_cg<T>::block_cg(const cg_parts<T>& parts, vector::shape shape, const cg_options& options)
    : parts_(parts),
      options_(options),
      shape_(shape),
      ops_(operations_of<T>(parts.ctx().kind())),
      block_ops_(block_operations_of<T>(parts.ctx().kind())),
      env_(parts.env()),
      b_(parts.ctx(), core::checked_product(shape.n, shape.k, "elements of B")),
      x_(parts.ctx(), b_.size()),
      w_(parts.ctx(), b_.size()),
      p_(parts.ctx(), b_.size()),
      t_(parts.ctx(), b_.size()),
      mw_(parts.ctx(), parts.preconditioner != nullptr ? b_.size() : 0),
      spare_(parts.ctx(), b_.size()),
      inverse_diagonal_(parts.ctx(), std::ssize(parts.inverse_diagonal)),
      partials_(parts.ctx(),
                std::max(vector::num_partials(shape), 2 * vector::num_block_partials(shape.n, shape.k, shape.k))),
      exchange_(parts.ctx(), parts.stream, shape.k * shape.k),
      workspace_(parts.ctx(), parts.workspace_bytes(shape.k)),
      columns_(at(shape.k)) {
  if (!parts.inverse_diagonal.empty()) {
    inverse_diagonal_.upload(parts.inverse_diagonal, parts.stream);
    jacobi_ = inverse_diagonal_.data();
  }
}

template <value T>
void block_cg<T>::start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x,
                        memory_space x_space) {
  load_block(parts_.ctx(), env_, b, b_space, b_);
  started(ops_.abs_sum(env_, shape_, b_.data(), partials_.data(), exchange_.room_for_answer(shape_.k)), "abs_sum");
  exchange_.request();
  const std::vector<double> sizes = answer(1, shape_.k).at;
  std::vector<double> zeros_at_zero(at(shape_.k), 1.0);
  const right_hand_sides sides = measured(sizes, column_squares(b_, shape_.k), options_.tolerance);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].norm_b = sides.norm[j];
    columns_[j].limit = sides.limit[j];
    if (sides.zero[j]) zeros_at_zero[j] = 0;
  }
  if (options_.use_initial_guess) {
    load_block(parts_.ctx(), env_, dense_view<const T>(x), x_space, x_);
    scale_columns(zeros_at_zero, x_);
    compute_residual();
  } else {
    x_.clear(env_.stream);
    started(block_ops_.axpby(env_, 1, read(b_, shape_.k), 0, view(w_, shape_.k)), "axpby");
    const std::vector<double> squares = column_squares(w_, shape_.k);
    for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j].rr = squares[j];
  }
  judge_residuals(columns_);
  for (column_course& c : columns_) c.recurrence = c.true_residual;
  result_.history.push_back(largest_residual(columns_));
}

template <value T>
void block_cg<T>::iterate() {
  bool by_schedule = false;
  while (result_.iterations < options_.max_iterations && begin_block(by_schedule)) {
    if (result_.iterations > 0) ++result_.num_replacements;
    bool goes_on = true;
    by_schedule = false;
    while (goes_on && result_.iterations < options_.max_iterations) {
      goes_on = advance();
      if (options_.progress && !options_.progress(result_.iterations, result_.history.back())) {
        cancelled_ = true;
        return;
      }
      by_schedule = goes_on && options_.correction.by == cg_correction::kind::recompute &&
                    static_cast<double>(since_replacement_) >= options_.correction.when;
      if (by_schedule) break;
    }
    if (!changed_since_check_) continue;
    compute_residual();
    judge_residuals(columns_);
  }
}

template <value T>
cg_result block_cg<T>::finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection) {
  if (changed_since_check_) {
    compute_residual();
    judge_residuals(columns_);
  }
  report_columns(columns_, objection, cancelled_, singular_, result_);
  if (!is_broken(result_)) store_block(parts_.ctx(), env_, x_, x, x_space);
  return std::move(result_);
}

// --- Vectors --------------------------------------------------------------------------------------------------------

template <value T>
void block_cg<T>::apply(const linear_operator<T>& by, T alpha, dense_view<const T> in, T beta, dense_view<T> out) {
  by.apply(alpha, in, beta, out, {env_.stream, {workspace_.data(), at(workspace_.size())}});
}

template <value T>
void block_cg<T>::ask_gram(const block& x, std::int64_t k, const block& y, std::int64_t l) {
  double* const g = exchange_.room_for_answer(k * l);
  started(block_ops_.gram(env_, read(x, k), nullptr, read(y, l), partials_.data(), g), "gram");
}

template <value T>
coefficients block_cg<T>::answer(std::int64_t rows, std::int64_t cols) {
  coefficients found(rows, cols);
  std::ranges::copy(exchange_.take(rows * cols), found.at.begin());
  return found;
}

template <value T>
void block_cg<T>::add(const block& x, const coefficients& s, block& y) {
  const double* const there = exchange_.send(s.at);
  started(block_ops_.combine(env_, read(x, s.rows), nullptr, there, 1, view(y, s.cols)), "combine");
}

template <value T>
void block_cg<T>::replace(block& v, const block& x, const T* d, const coefficients& s, const block& z,
                          const coefficients& r, const vector::grams_of_result<T>& grams) {
  const double *const s_there = exchange_.send(s.at), *const r_there = exchange_.send(r.at);
  started(
      block_ops_.recombine(env_, read(x, s.rows), d, s_there, read(z, r.rows), r_there, view(spare_, s.cols), grams),
      "recombine");
  std::swap(v, spare_);
}

template <value T>
void block_cg<T>::replace(block& v, const coefficients& s) {
  replace(v, v, nullptr, s, v, nothing_of(s.cols));
}

template <value T>
void block_cg<T>::scale_columns(std::span<const double> by, block& v) {
  started(block_ops_.scale_columns(env_, exchange_.send(by), view(v, std::ssize(by))), "scale_columns");
}

template <value T>
std::vector<double> block_cg<T>::column_squares(const block& v, std::int64_t cols) {
  double* const squares = exchange_.room_for_answer(cols);
  started(ops_.dot(env_, {shape_.n, cols}, v.data(), v.data(), partials_.data(), squares), "dot");
  exchange_.request();
  return answer(1, cols).at;
}

template <value T>
void block_cg<T>::compute_residual() {
  started(block_ops_.axpby(env_, 1, read(b_, shape_.k), 0, view(w_, shape_.k)), "axpby");
  apply(parts_.exact, T{-1}, read(x_, shape_.k), T{1}, view(w_, shape_.k));
  ++result_.num_products;
  const std::vector<double> squares = column_squares(w_, shape_.k);
  for (std::size_t j = 0; j < columns_.size(); ++j) columns_[j].rr = squares[j];
  changed_since_check_ = false;
}

// --- The block ------------------------------------------------------------------------------------------------------

template <value T>
bool block_cg<T>::begin_block(bool by_schedule) {
  const bool has_targets =
      options_.correction.by == cg_correction::kind::reliable || options_.correction.by == cg_correction::kind::refine;
  count_restart(columns_, by_schedule, has_targets ? options_.correction.when : 0);
  // Only open columns, each scaled to length 1, so that none counts for less than another.
  std::vector<std::int64_t> which;
  for (std::int64_t j = 0; j < shape_.k; ++j) {
    if (columns_[at(j)].is_open()) which.push_back(j);
  }
  if (which.empty()) return false;
  const std::int64_t width = std::ssize(which);
  coefficients open(shape_.k, width), lengths(width, shape_.k);
  for (std::int64_t m = 0; m < width; ++m) {
    const double length = std::sqrt(columns_[at(which[at(m)])].rr);
    open(which[at(m)], m) = 1 / length;
    lengths(m, which[at(m)]) = length;
  }
  // A column that is not finite would spoil a sum that it has no part in: it is cleared first.
  std::vector<double> keep(at(shape_.k), 0.0);
  for (const std::int64_t j : which) keep[at(j)] = 1;
  scale_columns(keep, w_);
  renew(open, t_, nothing_of(width));
  const auto factor = orthonormalise();
  if (!factor) {
    end_open(columns_, cg_stop::not_finite);
    return false;
  }
  if (rank_ == 0) {
    end_open(columns_, cg_stop::not_positive_definite);  // r'M r <= 0
    return false;
  }
  c_ = *factor * lengths;
  turn(coefficients(0, rank_));
  p_gram_ = identity(rank_);
  since_replacement_ = since_gain_ = 0;
  min_residual_ = std::numeric_limits<double>::infinity();
  return true;
}

template <value T>
void block_cg<T>::renew(const coefficients& s, const block& z, const coefficients& r, bool applies_m) {
  const std::int64_t cols = s.cols;
  double* const room = exchange_.room_for_answer(cols * cols * (jacobi_ != nullptr ? 2 : 1));
  replace(w_, w_, nullptr, s, z, r, {jacobi_, partials_.data(), room});
  if (stores_m()) {
    applies_m ? apply(*parts_.preconditioner, T{1}, read(w_, cols), T{0}, view(mw_, cols)) : replace(mw_, s);
    ask_gram(w_, cols, mw_, cols);
  }
  exchange_.request();
  s_ = identity(cols);
}

template <value T>
void block_cg<T>::turn(const coefficients& f) {
  replace(p_, stores_m() ? mw_ : w_, jacobi_, s_, p_, f);
}

template <value T>
std::optional<coefficients> block_cg<T>::orthonormalise() {
  // W'MW and, unless M = I, W'W, as renew() has asked for them.
  const auto inner = [&] {
    const coefficients first = answer(s_.cols, s_.cols);
    if (!has_m()) return first;
    const coefficients second = answer(s_.cols, s_.cols);
    q_gram_ = stores_m() ? first : second;
    return stores_m() ? second : first;
  };
  const auto whiten = [&](const pivoted_cholesky& by) {
    s_ = by.whitening();
    rank_ = by.rank();
    if (has_m()) q_gram_ = transposed(s_) * q_gram_ * s_;
  };
  const coefficients g = inner();
  if (!all_finite(g)) return std::nullopt;
  const pivoted_cholesky first(g, dependent<T>);
  whiten(first);
  if (rank_ == 0 || first.least >= again_below) return first.factor();

  renew(s_, t_, nothing_of(rank_), false);
  const coefficients near_identity = inner();
  if (!all_finite(near_identity)) return std::nullopt;
  const pivoted_cholesky second(near_identity, dependent<T>);
  whiten(second);
  return second.factor() * first.factor();
}

template <value T>
bool block_cg<T>::advance() {
  const std::int64_t old_rank = rank_;
  apply(parts_.inner, T{1}, read(p_, rank_), T{0}, view(t_, rank_));
  ++result_.num_products;
  ++result_.iterations;
  ++since_replacement_;
  for (column_course& c : columns_) c.iterations += c.is_open() ? 1 : 0;
  ask_gram(p_, rank_, t_, rank_);
  exchange_.request();
  const coefficients h = answer(rank_, rank_);
  const auto end = [&](cg_stop why) {
    end_open(columns_, why);
    result_.history.push_back(why == cg_stop::not_finite ? std::numeric_limits<double>::quiet_NaN()
                                                         : largest_residual(columns_));
    return false;
  };
  if (!all_finite(h)) return end(cg_stop::not_finite);
  // Of p'Ap, what is 0 as far as T can tell: by the curvature p'Ap / p'M^-1 p that A has elsewhere.
  for (std::int64_t i = 0; i < rank_; ++i) {
    max_curvature_ = std::max(max_curvature_, std::fabs(h(i, i)) / p_gram_(i, i));
  }
  std::vector<double> floors(at(rank_));
  bool is_flat = false, is_negative = false;
  for (std::int64_t i = 0; i < rank_; ++i) {
    floors[at(i)] = no_curvature<T> * max_curvature_ * p_gram_(i, i);
    is_flat = is_flat || std::fabs(h(i, i)) <= floors[at(i)];
    is_negative = is_negative || h(i, i) < -floors[at(i)];
  }
  const pivoted_cholesky curvature(h, dependent<T>, floors);
  singular_ = singular_ || (is_flat && max_curvature_ > 0);
  const auto not_positive = singular_ ? cg_stop::inconsistent : cg_stop::not_positive_definite;
  if (is_negative || curvature.rejected < -1e3 * epsilon<T> || curvature.rank() == 0) return end(not_positive);

  // W = Q - T xi and X += P xi C, xi the inverse of P'AP on the directions that have curvature. X while W's products
  // are on their way to the host.
  const coefficients xi = curvature.inverse();
  coefficients step = xi;
  for (double& entry : step.at) entry = -entry;
  renew(s_, t_, step);
  add(p_, xi * c_, x_);
  changed_since_check_ = true;

  const auto factor = orthonormalise();
  if (!factor) return end(cg_stop::not_finite);
  c_ = *factor * c_;
  if (rank_ > 0) {
    // P = M Q + P factor', without the directions that were left out.
    coefficients kept = transposed(*factor);
    for (std::int64_t i = 0; i < old_rank; ++i) {
      const auto& used = curvature.order;
      if (std::find(used.begin(), used.end(), i) != used.end()) continue;
      for (std::int64_t j = 0; j < rank_; ++j) kept(i, j) = 0;
    }
    turn(kept);
    // Q' M Q = I and P' Q = 0.
    p_gram_ = transposed(kept) * p_gram_ * kept;
    for (std::int64_t i = 0; i < rank_; ++i) p_gram_(i, i) += 1;
  }
  note_residuals();
  const bool stuck = singular_ && since_gain_ >= patience_if_singular;
  const bool open = std::any_of(columns_.begin(), columns_.end(),
                                [](const column_course& c) { return c.is_open() && c.rr > c.target; });
  if (rank_ == 0 || stuck || !open) return false;
  shrink();
  return true;
}

template <value T>
void block_cg<T>::note_residuals() {
  // r_j'r_j = c_j' Q'Q c_j, and Q'Q = I without a preconditioner.
  coefficients image = c_;
  if (rank_ > 0 && has_m()) image = q_gram_ * c_;
  for (std::int64_t j = 0; j < shape_.k; ++j) {
    column_course& c = columns_[at(j)];
    if (!c.is_open()) continue;
    c.rr = 0;
    for (std::int64_t i = 0; i < rank_; ++i) c.rr += c_(i, j) * image(i, j);
    c.rr = std::max(c.rr, 0.0);
    c.recurrence = std::sqrt(c.rr) / c.norm_b;
  }
  result_.history.push_back(largest_residual(columns_));
  ++since_gain_;
  if (result_.history.back() < worthwhile * min_residual_) {
    min_residual_ = result_.history.back();
    since_gain_ = 0;
  }
}

template <value T>
void block_cg<T>::shrink() {
  std::int64_t num_open = 0;
  for (const column_course& c : columns_) num_open += c.is_open() ? 1 : 0;
  if (num_open >= rank_) return;
  coefficients open(rank_, num_open);
  for (std::int64_t j = 0, m = 0; j < shape_.k; ++j) {
    if (!columns_[at(j)].is_open()) continue;
    for (std::int64_t i = 0; i < rank_; ++i) open(i, m) = c_(i, j);
    ++m;
  }
  // Q U and P U with U an orthonormal basis of what is open: R, and what makes P conjugate, stay as they are.
  const coefficients basis = orthonormal_basis(open, 1e-12);
  s_ = s_ * basis;
  replace(p_, basis);
  p_gram_ = transposed(basis) * p_gram_ * basis;
  c_ = transposed(basis) * c_;
  rank_ = basis.cols;
}

template class block_cg<float>;
template class block_cg<double>;

}  // namespace bcsc::solvers
