#include "lib/solvers/lobpcg_iteration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/checked.hpp"

namespace bcsc::solvers {

namespace {

/// Iterations after which A X, A P, B X and B P are recomputed: sums of sums collect rounding.
constexpr std::int64_t usual_period = 40;
/// The inner product of an inverted pencil does not hold X to the complement of the constraints: a part along them
/// grows from step to step, until products are recomputed.
constexpr std::int64_t confining_period = 4;
/// Iterations without progress after which the iteration has stagnated; a better residual or Ritz value is progress ...
constexpr std::int64_t patience = 80;
/// ... if it is smaller by this factor.
constexpr double worthwhile = 0.9;
/// Times in a row that products may fail to confirm convergence without having halved the residual.
constexpr int max_idle_claims = 3;

/// What another draw of random numbers begins with.
std::uint64_t next_seed(std::uint64_t seed) { return seed * 6364136223846793005ULL + 1442695040888963407ULL; }

/// Copies the columns of X that `which` names, ascending, side by side.
template <value T>
void gather_columns(block_algebra<T>& algebra, const dense_view<T>& x, const std::vector<std::int64_t>& which,
                    const dense_view<T>& to) {
  for (std::size_t begin = 0, end = 0; begin < which.size(); begin = end) {
    while (end < which.size() && which[end] == which[begin] + static_cast<std::int64_t>(end - begin)) ++end;
    const auto count = static_cast<std::int64_t>(end - begin);
    algebra.copy({x.data + which[begin], x.rows, count, x.ld}, {to.data + begin, to.rows, count, to.ld});
  }
}

}  // namespace

template <value T>
double tolerance_of(const lobpcg_options<T>& options) {
  if (options.tolerance != 0) return options.tolerance;
  return std::is_same_v<T, double> ? 1e-10 : 1e-5;
}

template <value T>
lobpcg_iteration<T>::lobpcg_iteration(vector_basis<T>& basis, const lobpcg_options<T>& options, std::int64_t k,
                                      std::int64_t m)
    : basis_(basis),
      algebra_(basis.algebra()),
      options_(options),
      tolerance_(tolerance_of(options)),
      is_largest_(options.which == spectrum_end::largest || basis.is_inverted()),
      k_(k),
      m_(m),
      r_(basis.where(), basis.rows() * m),
      values_(core::at(m), std::numeric_limits<double>::quiet_NaN()),
      residual_(core::at(m), std::numeric_limits<double>::quiet_NaN()),
      seed_(options.seed) {
  result_.tolerance = tolerance_;
  result_.block_size = m;
}

// --- The start ------------------------------------------------------------------------------------------------------

template <value T>
void lobpcg_iteration<T>::start(std::int64_t given) {
  if (complete(basis_.orthonormalise(0, given))) refresh();
}

template <value T>
bool lobpcg_iteration<T>::complete(std::int64_t filled) {
  for (int draws = 0; filled < m_ && draws < 3 && !basis_.objection(); ++draws) {
    algebra_.fill_random(seed_, basis_.s(filled, m_ - filled));
    seed_ = next_seed(seed_);
    filled += basis_.orthonormalise(filled, m_ - filled);
  }
  if (basis_.objection()) return false;
  // Random vectors are independent: what they span is then all that B, or the constraints, leave.
  if (filled < m_) stop(basis_.has_b() ? lobpcg_stop::b_not_positive_definite : lobpcg_stop::breakdown);
  return filled == m_;
}

template <value T>
void lobpcg_iteration<T>::start_at_solution() {
  if (is_stopped()) return;
  basis_.apply_b(0, m_);
  basis_.apply_a(0, m_);
  take_ritz_pairs();
  if (is_stopped()) return;
  measure_residuals();
  const double residual = largest_residual();
  result_.history.push_back(residual);
  if (!tell(residual)) return;
  stop(residual <= tolerance_ ? lobpcg_stop::converged : lobpcg_stop::stagnated);
}

// --- Recomputed products --------------------------------------------------------------------------------------------

template <value T>
std::int64_t lobpcg_iteration<T>::refresh_period() const {
  return basis_.is_inverted() && basis_.num_constraints() > 0 ? confining_period : usual_period;
}

template <value T>
void lobpcg_iteration<T>::refresh() {
  // What lies behind X moves up if X loses a dimension, so that its directions are given up.
  const std::int64_t rank = basis_.orthonormalise(0, m_);
  // X has run into the null space of B, where the eigenvalue that is sought is infinite.
  if (basis_.num_unseen() > 0) stop(lobpcg_stop::b_not_positive_definite);
  if (rank < m_) num_p_ = 0;
  if (!complete(rank)) return;
  num_p_ = basis_.orthonormalise(m_, num_p_);
  basis_.apply_a(0, m_ + num_p_);
  take_ritz_pairs();
}

template <value T>
void lobpcg_iteration<T>::take_ritz_pairs() {
  carried_.reset();
  const auto products = basis_.products(m_, carried_);
  if (!products) return;
  const auto step = rayleigh_ritz(*products, m_, is_largest_, {});
  if (!step) return stop(lobpcg_stop::b_not_positive_definite);
  values_ = step->values;
  // P stays where it is: [X P] diag(C, I).
  small_matrix c(m_ + num_p_, m_ + num_p_);
  for (std::int64_t i = 0; i < m_; ++i) std::copy_n(step->x.data() + i * m_, m_, &c(i, 0));
  for (std::int64_t j = m_; j < c.cols(); ++j) c(j, j) = 1;
  basis_.rotate(c);
  is_fresh_ = true;
  since_refresh_ = 0;
}

// --- Residuals ------------------------------------------------------------------------------------------------------

template <value T>
void lobpcg_iteration<T>::compute_residual_block() {
  std::vector<double> less(values_);
  for (double& value : less) value = -value;
  const dense_view<T> r = residuals();
  algebra_.copy(basis_.bs(0, m_), r);
  algebra_.scale_columns(less, r);
  algebra_.add(1, basis_.as(0, m_), 1, r);
  if (basis_.num_constraints() == 0) return;
  small_matrix within = algebra_.gram(basis_.y(), r);
  for (double& share : within.values()) share = -share;
  algebra_.combine(basis_.by(), within, 1, r);
}

template <value T>
void lobpcg_iteration<T>::measure_residuals() {
  compute_residual_block();
  const std::vector<double> squares = algebra_.squares(residuals());
  const bool by_matrix = options_.scale == residual_scale::matrix;
  std::optional<small_matrix> lengths;  // of x or B x; those of B-orthonormal vectors are 1 without B
  if (basis_.has_b()) {
    const dense_view<T> of = by_matrix ? basis_.s(0, m_) : basis_.bs(0, m_);
    lengths = algebra_.gram(of, of);
  }
  active_.clear();
  for (std::int64_t j = 0; j < m_; ++j) {
    const double value = std::abs(values_[core::at(j)]);
    const double length = lengths ? std::sqrt((*lengths)(j, j)) : 1.0;
    const double scale = by_matrix ? basis_.norm_a() + value * basis_.norm_b() : value;
    const double size = std::sqrt(squares[core::at(j)]);
    residual_[core::at(j)] = size == 0 ? 0 : size / (scale * length);
    if (!std::isfinite(size)) stop(lobpcg_stop::not_finite);
    if (!(residual_[core::at(j)] <= tolerance_)) active_.push_back(j);
  }
}

template <value T>
double lobpcg_iteration<T>::largest_residual() const {
  double largest = 0;
  for (std::int64_t j = 0; j < k_; ++j) {
    if (std::isnan(residual_[core::at(j)])) return residual_[core::at(j)];
    largest = std::max(largest, residual_[core::at(j)]);
  }
  return largest;
}

template <value T>
bool lobpcg_iteration<T>::tell(double residual) {
  const auto few = [&](double r) { return r <= tolerance_; };
  const std::int64_t converged = std::count_if(residual_.begin(), residual_.begin() + k_, few);
  if (!options_.progress || options_.progress({result_.iterations, residual, converged})) return true;
  stop(lobpcg_stop::cancelled);
  return false;
}

// --- When to stop ---------------------------------------------------------------------------------------------------

template <value T>
bool lobpcg_iteration<T>::is_idle(double residual) {
  const double sign = is_largest_ ? -1 : 1;
  const double sum = sign * std::accumulate(values_.begin(), values_.begin() + k_, 0.0);
  double size = 0;
  for (std::int64_t j = 0; j < k_; ++j) size += std::abs(values_[core::at(j)]);
  const double noise = 16 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
  const bool is_better = residual < worthwhile * best_residual_ || sum < best_sum_ - noise;
  idle_ = is_better ? 0 : idle_ + 1;
  if (residual < worthwhile * best_residual_) best_residual_ = residual;
  if (sum < best_sum_ - noise) best_sum_ = sum;
  return idle_ >= patience;
}

template <value T>
void lobpcg_iteration<T>::count_claim(double residual) {
  if (residual <= tolerance_) return;
  idle_claims_ = residual <= best_claim_ / 2 ? 0 : idle_claims_ + 1;
  best_claim_ = std::min(best_claim_, residual);
  if (idle_claims_ >= max_idle_claims) stop(lobpcg_stop::stagnated);
}

template <value T>
void lobpcg_iteration<T>::iterate() {
  while (!is_stopped()) {
    measure_residuals();
    if (is_stopped()) return;
    if (largest_residual() <= tolerance_ && !is_fresh_) {
      refresh();
      if (!is_fresh_) return;
      measure_residuals();
      if (stop_ == lobpcg_stop::not_finite) return;
      count_claim(largest_residual());
    }
    const double residual = largest_residual();
    result_.history.push_back(residual);
    if (!tell(residual)) return;
    if (residual <= tolerance_) return stop(lobpcg_stop::converged);
    if (is_stopped()) return;
    if (result_.iterations >= options_.max_iterations) return stop(lobpcg_stop::max_iterations);
    if (is_idle(residual)) return stop(lobpcg_stop::stagnated);
    if (since_refresh_ >= refresh_period()) {
      refresh();
      if (is_stopped()) return;
      measure_residuals();
    }
    if (is_stopped()) return;
    if (!search()) return;
    advance();
  }
}

// --- A step ---------------------------------------------------------------------------------------------------------

template <value T>
std::int64_t lobpcg_iteration<T>::precondition(bool really) {
  const std::int64_t count = core::length(active_);
  const dense_view<T> w = basis_.s(m_ + num_p_, count);
  if (really) {
    const dense_view<T> open = basis_.room(0, count);
    gather_columns(algebra_, residuals(), active_, open);
    options_.precondition->apply(T{1}, dense_view<const T>(open), T{0}, w);
  } else {
    gather_columns(algebra_, residuals(), active_, w);
  }
  return basis_.orthonormalise(m_ + num_p_, count);
}

template <value T>
bool lobpcg_iteration<T>::search() {
  // A preconditioner may map what is left into the span of the basis, or to 0: the residuals themselves do not lie
  // there.
  num_w_ = precondition(options_.precondition.has_value());
  if (num_w_ == 0 && !basis_.objection() && options_.precondition) num_w_ = precondition(false);
  if (!is_stopped() && num_w_ == 0 && num_p_ == 0) {
    stop(basis_.num_unseen() > 0 ? lobpcg_stop::b_not_positive_definite : lobpcg_stop::breakdown);
  }
  return !is_stopped();
}

template <value T>
void lobpcg_iteration<T>::advance() {
  basis_.apply_a(m_ + num_p_, num_w_);
  const auto products = basis_.products(m_ + num_p_ + num_w_, carried_);
  if (!products) return;
  const auto step = rayleigh_ritz(*products, m_, is_largest_, active_);
  if (!step) return stop(lobpcg_stop::breakdown);
  values_ = step->values;
  const small_matrix turned = beside(step->x, step->p);
  basis_.rotate(turned);
  carried_ = basis_products{transposed_product(turned, product(products->a, turned)),
                            transposed_product(turned, product(products->b, turned))};
  num_p_ = step->p.cols();
  num_w_ = 0;
  is_fresh_ = false;
  ++since_refresh_;
  ++result_.iterations;
}

// --- The end --------------------------------------------------------------------------------------------------------

template <value T>
void lobpcg_iteration<T>::turn_over() {
  const small_matrix squares = algebra_.gram(basis_.s(0, k_), basis_.s(0, k_));
  std::vector<double> scale(core::at(k_), 1.0);
  for (std::int64_t j = 0; j < k_; ++j) {
    double& value = result_.values[core::at(j)];
    if (value <= rounding_of_product<T>(basis_.norm_a(), squares(j, j))) {  // B has fewer finite eigenvalues than k
      value = std::numeric_limits<double>::infinity();
      result_.residual[core::at(j)] = std::numeric_limits<double>::quiet_NaN();
      result_.reason = lobpcg_stop::b_not_positive_definite;
    } else if (value > 0) {
      scale[core::at(j)] = 1 / std::sqrt(value);
      value = 1 / value;
    }
  }
  algebra_.scale_columns(scale, basis_.s(0, k_));
  std::swap(result_.norm_a, result_.norm_b);
}

template <value T>
lobpcg_result lobpcg_iteration<T>::finish() {
  (void)is_stopped();  // an objection is a reason
  const bool is_sound = !basis_.objection() && stop_ != lobpcg_stop::not_finite;
  if (is_sound && !is_fresh_) refresh();
  if (is_sound && is_fresh_) measure_residuals();
  result_.reason = stop_.value_or(lobpcg_stop::max_iterations);
  result_.values.assign(values_.begin(), values_.begin() + k_);
  result_.residual.assign(residual_.begin(), residual_.begin() + k_);
  result_.norm_a = basis_.norm_a();
  result_.norm_b = basis_.norm_b();
  if (basis_.is_inverted()) turn_over();
  result_.num_converged = std::count_if(result_.residual.begin(), result_.residual.end(),
                                        [&](double residual) { return residual <= tolerance_; });
  result_.num_products = basis_.num_products();
  return std::move(result_);
}

template double tolerance_of(const lobpcg_options<float>&);
template double tolerance_of(const lobpcg_options<double>&);
template class lobpcg_iteration<float>;
template class lobpcg_iteration<double>;

}  // namespace bcsc::solvers
