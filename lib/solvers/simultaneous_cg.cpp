#include "lib/solvers/simultaneous_cg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/fail.hpp"
#include "lib/solvers/cg_room.hpp"
#include "lib/solvers/operator_state.hpp"

namespace bcsc::solvers {

namespace vector = kernels::vector;

namespace {

constexpr std::int64_t longest_window = 64, first_window = 4, graph_length = 8;
/// Doubles of a column in the block of scalars, and some of them.
constexpr int num_scalars = 9, min_curvature_at = 3, max_curvature_at = 4, limit_at = 6, sums_at = 7;

std::int64_t log_rows_for(const context& ctx, const cg_options& options) {
  if (options.check_every > 0) return std::min<std::int64_t>(options.check_every, 1024);
  return ctx.kind() == backend::cuda ? longest_window : 1;
}

/// |p.Ap| / p.M p below this share of the largest seen: p is in A's null space as far as T can tell.
template <value T>
constexpr double no_curvature = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon());

}  // namespace

template <value T>
simultaneous_cg<T>::simultaneous_cg(const cg_parts<T>& parts, vector::shape shape, const cg_options& options)
    : parts_(parts),
      options_(options),
      shape_(shape),
      ops_(operations_of<T>(parts.ctx().kind())),
      env_(parts.env()),
      b_(parts.ctx(), parts.trusts_recurrence ? 0 : core::checked_product(shape.n, shape.k, "elements of B")),
      x_(parts.ctx(), core::checked_product(shape.n, shape.k, "elements of X")),
      r_(parts.ctx(), x_.size()),
      p_(parts.ctx(), x_.size()),
      q_(parts.ctx(), x_.size()),
      z_(parts.ctx(), parts.preconditioner != nullptr ? x_.size() : 0),
      inverse_diagonal_(parts.ctx(), std::ssize(parts.inverse_diagonal)),
      partials_(parts.ctx(), vector::num_advance_partials(shape)),
      scalar_block_(parts.ctx(), shape.k * num_scalars),
      dots_(parts.ctx(), room_for_dots(parts, shape)),
      workspace_(parts.ctx(), parts.workspace_bytes(shape.k)),
      report_(parts.ctx(), log_rows_for(parts.ctx(), options), shape.k),
      second_p_(second_directions(parts, shape, options)),
      columns_(core::at(shape.k)),
      taken_(core::at(shape.k)) {
  const std::int64_t k = shape_.k;
  report_.place(scalars_);
  double* const doubles = scalar_block_.data();
  scalars_.rz = doubles;
  scalars_.alpha = doubles + k;
  scalars_.beta = doubles + 2 * k;
  scalars_.min_curvature = doubles + min_curvature_at * k;
  scalars_.max_curvature = doubles + max_curvature_at * k;
  scalars_.pp = doubles + 5 * k;
  scalars_.limit = doubles + limit_at * k;
  sums_ = doubles + sums_at * k;
  scalars_.alpha_before = doubles + 8 * k;
  scalars_.polak_ribiere = options.beta == cg_beta::polak_ribiere;
  scalars_.turns_apart = turns_apart(parts, options);
  if (!parts.inverse_diagonal.empty()) {
    inverse_diagonal_.upload(parts.inverse_diagonal, parts.stream);
    jacobi_ = inverse_diagonal_.data();
  }
}

template <value T>
void simultaneous_cg<T>::begin_solve(std::vector<bool> keep) {
  columns_.assign(columns_.size(), {});
  std::fill(taken_.begin(), taken_.end(), 0);
  std::ranges::fill(report_.taken(), 0);
  std::ranges::fill(report_.logged(), 0);
  result_ = {};
  keeps_direction_ = std::move(keep);
  if (keeps_direction_.empty()) p_.clear(env_.stream);
  // advance() wants zeros before its first call.
  if (shape_.k <= vector::max_advance_cols) partials_.clear(env_.stream);
}

template <value T>
void simultaneous_cg<T>::start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x,
                               memory_space x_space) {
  begin_solve({});
  load_block(parts_.ctx(), env_, b, b_space, b_);
  if (options_.use_initial_guess) {
    load_block(parts_.ctx(), env_, dense_view<const T>(x), x_space, x_);
  } else {
    x_.clear(env_.stream);
  }
  measure_right_hand_sides();
  compute_residual(options_.use_initial_guess);
  begin_iterating();
}

template <value T>
void simultaneous_cg<T>::start_correction(const std::vector<bool>& closed, std::vector<bool> keep) {
  begin_solve(std::move(keep));
  x_.clear(env_.stream);
  right_hand_sides b{.zero = closed};
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    b.norm.push_back(closed[j] ? 0 : 1);
    b.limit.push_back(closed[j] ? 0 : options_.tolerance * options_.tolerance);
    report_.rr()[j] = closed[j] ? 0 : 1;
  }
  set_right_hand_sides(b);
  begin_with(r_.data(), nullptr);
  begin_iterating();
}

template <value T>
void simultaneous_cg<T>::begin_iterating() {
  judge_residuals();
  for (column_record& column : columns_) column.recurrence = column.true_residual;
  restart_open_columns(false);
  result_.history.push_back(largest_residual(report_.rr()));
}

template <value T>
void simultaneous_cg<T>::iterate() {
  while (any(column_state::active) && result_.iterations < options_.max_iterations) {
    const std::int64_t window = next_window();
    submit_iterations(window);
    if (!look(window)) {
      cancelled_ = true;
      return;
    }
    if (!any(column_state::active)) {
      if (parts_.trusts_recurrence) return;
      replace_residual(false);
    } else if (options_.correction.by == cg_correction::kind::recompute &&
               static_cast<double>(since_replacement_) >= options_.correction.when) {
      replace_residual(true);
    }
  }
}

template <value T>
cg_result simultaneous_cg<T>::finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection) {
  if (changed_since_check_ && !parts_.trusts_recurrence) {
    compute_residual(true);
    judge_residuals();
  }
  store_block(parts_.ctx(), env_, x_, x, x_space);
  return outcome(objection);
}

template <value T>
cg_result simultaneous_cg<T>::outcome(std::optional<cg_stop> objection) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    result_.column_reason.push_back(objection ? *objection : reason(j));
    result_.column_iterations.push_back(taken_[j]);
    result_.true_residual.push_back(columns_[j].true_residual);
    result_.recurrence_residual.push_back(columns_[j].recurrence);
  }
  result_.reason = objection ? *objection : worst_of(result_.column_reason, cancelled_);
  return std::move(result_);
}

template <value T>
bool simultaneous_cg<T>::any(column_state wanted) {
  const auto states = report_.state();
  return std::find(states.begin(), states.end(), wanted) != states.end();
}

template <value T>
std::vector<double> simultaneous_cg<T>::read_sums() {
  std::vector<double> sums(columns_.size());
  scalar_block_.download(sums, env_.stream, sums_at * sums.size());
  return sums;
}

template <value T>
double simultaneous_cg<T>::relative(std::size_t j, double rr) const {
  if (columns_[j].norm_b == 0 && rr == 0) return 0;
  return std::sqrt(rr) / columns_[j].norm_b;
}

template <value T>
double simultaneous_cg<T>::largest_residual(std::span<const double> rr) const {
  double largest = 0;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double residual = relative(j, rr[j]);
    if (std::isnan(residual)) return residual;
    largest = std::max(largest, residual);
  }
  return largest;
}

template <value T>
void simultaneous_cg<T>::measure_right_hand_sides() {
  started(ops_.abs_sum(env_, shape_, b_.data(), partials_.data(), sums_), "abs_sum");
  const std::vector<double> sizes = read_sums();
  started(ops_.dot(env_, shape_, b_.data(), b_.data(), partials_.data(), sums_), "dot");
  set_right_hand_sides(measured(sizes, read_sums(), options_.tolerance));
  report_.write(env_.stream);
  if (options_.use_initial_guess && any(column_state::resting)) {
    started(ops_.clear_inactive(env_, shape_, x_.data(), scalars_), "clear_inactive");
  }
}

template <value T>
void simultaneous_cg<T>::set_right_hand_sides(const right_hand_sides& b) {
  std::vector<double> doubles(core::at(scalar_block_.size()), 0.0);
  std::fill_n(doubles.begin() + min_curvature_at * shape_.k, shape_.k, std::numeric_limits<double>::infinity());
  std::ranges::copy(b.limit, doubles.begin() + limit_at * shape_.k);
  scalar_block_.upload(doubles, env_.stream);
  limits_ = b.limit;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].norm_b = b.norm[j];
    report_.state()[j] = b.zero[j] ? column_state::resting : column_state::active;
  }
}

template <value T>
void simultaneous_cg<T>::multiply(const linear_operator<T>& by, const context_array<T>& in,
                                  const context_array<T>& out) {
  by.apply(T{1}, {in.data(), shape_.n, shape_.k}, T{0}, {out.data(), shape_.n, shape_.k},
           {env_.stream, {workspace_.data(), core::at(workspace_.size())}});
}

template <value T>
vector::partial_dots simultaneous_cg<T>::apply_leaving_dots(const linear_operator<T>& by, const context_array<T>& in,
                                                            const context_array<T>& out) {
  const auto& multiply_with_dots = operator_state<T>::of(by).multiply_with_dots;
  if (dots_.size() == 0 || !multiply_with_dots) {
    multiply(by, in, out);
    return {};
  }
  vector::partial_dots left{dots_.data(), 0};
  multiply_with_dots({in.data(), shape_.n, shape_.k}, {out.data(), shape_.n, shape_.k},
                     {env_.stream, {workspace_.data(), core::at(workspace_.size())}},
                     {dots_.data(), dots_.size(), &left.rows});
  return left;
}

template <value T>
void simultaneous_cg<T>::turn(const vector::column_scalars& scalars) {
  if (!scalars.turns_apart) return;
  vector::partial_dots rz;
  if (parts_.preconditioner != nullptr) {
    if (scalars.polak_ribiere) {
      multiply(*parts_.preconditioner, r_, z_);
    } else {
      rz = apply_leaving_dots(*parts_.preconditioner, r_, z_);
    }
  }
  const T* const z = parts_.preconditioner != nullptr ? z_.data() : nullptr;
  started(ops_.turn(env_, shape_, r_.data(), q_.data(), z, jacobi_, partials_.data(), rz, scalars), "turn");
}

template <value T>
void simultaneous_cg<T>::compute_residual(bool from_product) {
  if (from_product) {
    multiply(parts_.exact, x_, r_);  // q stays that of the last direction
    ++result_.num_products;
  }
  begin_with(b_.data(), from_product ? r_.data() : nullptr);
  report_.read(env_.stream);
}

template <value T>
void simultaneous_cg<T>::begin_with(const T* b, const T* q) {
  started(ops_.residual(env_, shape_, b, q, jacobi_, r_.data(), partials_.data(), scalars_), "residual");
  changed_since_check_ = false;
  since_replacement_ = 0;
}

template <value T>
void simultaneous_cg<T>::judge_residuals() {
  const auto rr = report_.rr();
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].true_residual = relative(j, rr[j]);
    column_state& state = report_.state()[j];
    if (!std::isfinite(rr[j])) {
      state = column_state::not_finite;
    } else if (rr[j] <= limits_[j] && state != column_state::not_positive) {
      state = column_state::resting;
      columns_[j].stagnated = false;
    }
  }
}

template <value T>
void simultaneous_cg<T>::restart_open_columns(bool by_schedule) {
  const auto rr = report_.rr();
  const bool has_targets =
      options_.correction.by == cg_correction::kind::reliable || options_.correction.by == cg_correction::kind::refine;
  const double share = has_targets ? options_.correction.when * options_.correction.when : 0;
  std::vector<double> targets = limits_;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    column_record& column = columns_[j];
    column_state& state = report_.state()[j];
    const bool open = state == column_state::active || state == column_state::resting;
    if (!open || column.stagnated || rr[j] <= limits_[j]) continue;
    const bool gained = column.true_residual <= worthwhile * column.best;
    if (!by_schedule) column.idle_restarts = gained ? 0 : column.idle_restarts + 1;
    column.stagnated = column.idle_restarts >= patience || column.true_residual > lost * column.best;
    column.best = std::min(column.best, column.true_residual);
    state = column.stagnated ? column_state::resting : column_state::active;
    targets[j] = std::max(limits_[j], share * rr[j]);
  }
  restarted_at_ = largest_residual(rr);
  goal_ = 0;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (report_.state()[j] == column_state::active) goal_ = std::max(goal_, relative(j, targets[j]));
  }
  report_.write(env_.stream);
  if (!any(column_state::active)) return;
  if (has_targets) scalar_block_.upload(targets, env_.stream, limit_at * targets.size());
  if (keeps_direction_.empty()) {
    turn(scalars_);
  } else {
    turn_from_last_direction();
  }
  set_direction();
}

template <value T>
void simultaneous_cg<T>::turn_from_last_direction() {
  vector::column_scalars again = scalars_;
  again.steps_again = again.turns_apart = again.polak_ribiere = true;
  again.taken = nullptr;
  again.log = nullptr;
  const auto states = report_.state();
  const std::vector<column_state> wanted(states.begin(), states.end());
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    if (!keeps_direction_[j]) states[j] = column_state::resting;
  }
  report_.write(env_.stream);
  started(ops_.dot(env_, shape_, r_.data(), p_.data(), partials_.data(), again.rz), "dot");
  started(ops_.step_length(env_, shape_, p_.data(), q_.data(), partials_.data(), {}, again), "step_length");
  started(ops_.step(env_, shape_, p_.data(), q_.data(), jacobi_, x_.data(), r_.data(), partials_.data(), again),
          "step");
  changed_since_check_ = true;
  std::ranges::copy(wanted, states.begin());
  report_.write(env_.stream);
  turn(again);
}

template <value T>
void simultaneous_cg<T>::replace_residual(bool by_schedule) {
  compute_residual(true);
  judge_residuals();
  keeps_direction_.clear();
  if (!by_schedule) {  // by a schedule, p is the next direction already, and q the product of the last
    for (const column_record& c : columns_) keeps_direction_.push_back(c.true_residual <= on_course * c.recurrence);
  }
  restart_open_columns(by_schedule);
  if (any(column_state::active)) ++result_.num_replacements;
}

template <value T>
void simultaneous_cg<T>::set_direction(bool moves) {
  const T* const z = parts_.preconditioner != nullptr ? z_.data() : r_.data();
  T* const x = moves ? x_.data() : nullptr;
  started(ops_.direction(env_, shape_, z, jacobi_, x, p_.data(), scalars_), "direction");
}

template <value T>
void simultaneous_cg<T>::advance(const context_array<T>& p, T* x, vector::directions<T> way) {
  const vector::partial_dots pq = apply_leaving_dots(parts_.inner, p, q_);
  started(ops_.advance(env_, shape_, q_.data(), jacobi_, x, r_.data(), way, partials_.data(), pq, scalars_), "advance");
}

template <value T>
void simultaneous_cg<T>::submit_iteration() {
  if (!scalars_.turns_apart) return advance(p_, x_.data(), p_.data());
  const vector::partial_dots pq = apply_leaving_dots(parts_.inner, p_, q_);
  started(ops_.step_length(env_, shape_, p_.data(), q_.data(), partials_.data(), pq, scalars_), "step_length");
  started(ops_.step(env_, shape_, p_.data(), q_.data(), jacobi_, nullptr, r_.data(), partials_.data(), scalars_),
          "step");
  turn(scalars_);
  set_direction(true);
}

template <value T>
void simultaneous_cg<T>::submit_without_graph(std::int64_t count) {
  for (; count >= 2 && second_p_.size() > 0; count -= 2) {
    advance(p_, nullptr, {p_.data(), second_p_.data()});
    advance(second_p_, x_.data(), {second_p_.data(), p_.data(), p_.data()});
  }
  for (; count > 0; --count) submit_iteration();
}

template <value T>
void simultaneous_cg<T>::submit_iterations(std::int64_t count) {
  result_.num_products += count;
  changed_since_check_ = true;
  // The first iterations are submitted one by one, and what has to be loaded for a kernel is loaded then.
  if (env_.stream != nullptr && result_.iterations > 0 && parts_.capturable()) {
    if (!graph_ && count >= graph_length) {
      graph_length_ = options_.check_every > 0 ? std::min<std::int64_t>(count, longest_window) : graph_length;
      graph_.emplace(env_.stream, [this] { submit_without_graph(graph_length_); });
    }
    for (; graph_ && count >= graph_length_; count -= graph_length_) graph_->launch(env_.stream);
  }
  submit_without_graph(count);
}

template <value T>
std::int64_t simultaneous_cg<T>::next_window() const {
  std::int64_t left = options_.max_iterations - result_.iterations;
  if (options_.correction.by == cg_correction::kind::recompute) {
    const double due = options_.correction.when - static_cast<double>(since_replacement_);
    left = static_cast<std::int64_t>(std::clamp(due, 1.0, static_cast<double>(left)));
  }
  if (options_.check_every > 0) return std::min({left, options_.check_every, std::int64_t{1024}});
  if (env_.stream == nullptr || options_.progress) return 1;
  // Half of the iterations that are still missing if the residual goes on falling as it has since the last restart, and
  // half as many as those were: the first ones say little.
  const double fallen = std::log(restarted_at_ / result_.history.back());
  const double missing = std::log(result_.history.back() / goal_);
  if (!(fallen > 0 && missing > 0)) return std::min(left, first_window);
  const auto done = static_cast<double>(since_replacement_);
  const double expected = std::min(done * missing / fallen, done) / 2;
  const auto window = static_cast<std::int64_t>(std::clamp(expected, 1.0, static_cast<double>(longest_window)));
  return std::min(left, window >= graph_length ? window / graph_length * graph_length : window);
}

template <value T>
bool simultaneous_cg<T>::look(std::int64_t window) {
  const std::int64_t before = report_.logged()[0];
  report_.read_with_log(before, window, env_.stream);
  std::int32_t longest = 0;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    longest = std::max(longest, report_.taken()[j] - taken_[j]);
    taken_[j] = report_.taken()[j];
    columns_[j].recurrence = relative(j, report_.rr()[j]);
  }
  give_up_lost_columns();
  bool goes_on = true;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(longest, window); ++i) {
    ++result_.iterations;
    ++since_replacement_;
    result_.history.push_back(largest_residual(report_.log_row(before + i)));
    if (goes_on && options_.progress) goes_on = options_.progress(result_.iterations, result_.history.back());
  }
  return goes_on;
}

template <value T>
void simultaneous_cg<T>::give_up_lost_columns() {
  // In fp32 a condition number of a million looks like a null space for a while.
  const bool knows_null_space = std::is_same_v<T, double> && !parts_.trusts_recurrence && since_replacement_ >= 20;
  bool any_lost = false;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    column_record& column = columns_[j];
    if (report_.state()[j] != column_state::active || !(column.recurrence > column.true_residual)) continue;
    const bool lost_now = column.recurrence > lost * column.true_residual;
    if (!lost_now && !(knows_null_space && least_curvature(j) <= no_curvature<T> / 16)) continue;
    column.stagnated = any_lost = true;
    report_.state()[j] = column_state::resting;
  }
  if (any_lost) report_.write(env_.stream);
}

template <value T>
double simultaneous_cg<T>::least_curvature(std::size_t j) const {
  std::vector<double> doubles(core::at(scalar_block_.size()));
  scalar_block_.download(doubles, env_.stream);
  const double least = doubles[core::at(min_curvature_at * shape_.k) + j];
  const double largest = doubles[core::at(max_curvature_at * shape_.k) + j];
  return largest > 0 ? least / largest : 1;
}

template <value T>
cg_stop simultaneous_cg<T>::reason(std::size_t j) {
  const column_state state = report_.state()[j];
  if (state == column_state::not_finite) return cg_stop::not_finite;
  if (state != column_state::not_positive && report_.rr()[j] <= limits_[j]) return cg_stop::converged;
  const bool gave_up = state == column_state::not_positive || columns_[j].stagnated;
  if (!gave_up && cancelled_) return cg_stop::cancelled;
  // Rounding may keep p.Ap above 0 for ever; then nothing but its size tells that p is in the null space.
  if (least_curvature(j) <= (gave_up ? no_curvature<T> : no_curvature<T> / 16)) return cg_stop::inconsistent;
  if (!gave_up) return cg_stop::max_iterations;
  return columns_[j].stagnated ? cg_stop::stagnated : cg_stop::not_positive_definite;
}

template class simultaneous_cg<float>;
template class simultaneous_cg<double>;

}  // namespace bcsc::solvers
