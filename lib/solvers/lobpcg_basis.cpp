#include "lib/solvers/lobpcg_basis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/checked.hpp"

namespace bcsc::solvers {

namespace {

/// Directions below this share (of squared lengths) are dropped; what is kept is made orthonormal in a second pass.
constexpr double negligible = 1e-12;
/// Passes: two suffice for vectors that are independent beyond rounding, the third is for those that barely are.
constexpr int max_passes = 3;
/// Of the power method; its estimate need not be better than that of the norm of a random matrix.
constexpr int norm_steps = 8;
constexpr std::int64_t norm_columns = 4;

template <value T>
constexpr double unit = std::numeric_limits<T>::epsilon();
/// How far from symmetric x'Ay of random x and y may be, relative to the largest of them.
template <value T>
constexpr double tolerated_asymmetry = std::is_same_v<T, double> ? 1e-9 : 1e-3;
/// Rayleigh-Ritz measures what loss of orthogonality is left, so it only has to be small.
template <value T>
constexpr double tolerated_loss = std::is_same_v<T, double> ? 1e-8 : 1e-3;

/// Whole sectors of 32 bytes, so that rows begin aligned.
template <value T>
std::int64_t leading_dimension(std::int64_t columns) {
  constexpr std::int64_t unit_of_rows = 32 / sizeof(T);
  return std::max<std::int64_t>(1, core::ceil_div(columns, unit_of_rows)) * unit_of_rows;
}

small_matrix negated(small_matrix a) {
  for (double& value : a.values()) value = -value;
  return a;
}

/// The symmetric matrix whose first columns and rows are `known`, and whose last columns are `behind`.
small_matrix bordered(const small_matrix& known, const small_matrix& behind) {
  const std::int64_t first = known.rows();
  small_matrix all(behind.rows(), behind.rows());
  for (std::int64_t i = 0; i < first; ++i) std::copy_n(known.data() + i * first, first, &all(i, 0));
  for (std::int64_t i = 0; i < behind.rows(); ++i) {
    for (std::int64_t j = 0; j < behind.cols(); ++j) {
      all(i, first + j) = behind(i, j);
      if (i < first) all(first + j, i) = behind(i, j);
    }
  }
  return all;
}

/// The sums of the absolute values of the columns of a packed block.
template <value T>
std::vector<double> sums_of_magnitudes(const context& ctx, const dense_view<T>& x) {
  const kernels::vector::shape shape{x.rows, x.cols};
  context_array<double> partials(ctx, kernels::vector::num_partials(shape)), sums(ctx, x.cols);
  const int status =
      operations_of<T>(ctx.kind()).abs_sum(environment_of(ctx, nullptr), shape, x.data, partials.data(), sums.data());
  core::check_launch(ctx.state(), status, "abs_sum");
  std::vector<double> on_host(core::at(x.cols));
  sums.download(on_host);
  return on_host;
}

}  // namespace

template <value T>
vector_basis<T>::vector_basis(const linear_operator<T>& a, const std::optional<linear_operator<T>>& b,
                              std::int64_t columns)
    : a_(&a),
      b_(b ? &*b : nullptr),
      given_a_(&a),
      n_(a.rows()),
      ld_(leading_dimension<T>(columns)),
      algebra_(a.where(), n_, ld_),
      s_(a.where(), core::checked_product(n_, ld_, "values of a basis")),
      as_(a.where(), n_ * ld_),
      bs_(a.where(), b ? n_ * ld_ : 0),
      room_(a.where(), n_ * ld_) {
  for (context_array<T>* const block : {&s_, &as_, &bs_, &room_}) block->clear();
}

template <value T>
std::vector<double> vector_basis<T>::take_sizes_out(const dense_view<T>& packed) {
  std::vector<double> sizes = sums_of_magnitudes(where(), packed), factors;
  for (double& size : sizes) {
    const bool has_one = size > 0 && std::isfinite(size);
    size = has_one ? std::exp2(std::clamp(std::ilogb(size), -1000, 1000)) : 1.0;
    factors.push_back(1 / size);
  }
  algebra_.scale_columns(factors, packed);
  return sizes;
}

template <value T>
std::int64_t vector_basis<T>::constrain(const T* y, std::int64_t count) {
  // By the passes that the basis itself goes through, in its first columns.
  const context& ctx = where();
  algebra_.copy({y, n_, count}, s(0, count));
  num_y_ = orthonormalise(0, count);
  const std::int64_t rank = num_y_;
  y_.emplace(ctx, n_ * rank);
  by_.emplace(ctx, b_ ? n_ * rank : 0);
  algebra_.copy(s(0, rank), this->y());
  if (b_) algebra_.copy(bs(0, rank), by());
  return rank;
}

template <value T>
void vector_basis<T>::estimate_norms(std::uint64_t seed) {
  norm_a_ = estimate_norm(*a_, seed);
  if (b_) norm_b_ = estimate_norm(*b_, seed);
}

template <value T>
double vector_basis<T>::estimate_norm(const linear_operator<T>& of, std::uint64_t seed) {
  const std::int64_t count = std::min({norm_columns, ld_, n_});
  const dense_view<T> x{room_.data(), n_, count};
  const auto unit_columns = [&] {
    const std::vector<double> sizes = take_sizes_out(x);
    const small_matrix squares = algebra_.gram(x, x);
    small_matrix scale(count, count);
    double longest = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      if (!std::isfinite(squares(j, j))) object(lobpcg_stop::not_finite);
      longest = std::max(longest, sizes[core::at(j)] * std::sqrt(squares(j, j)));
      scale(j, j) = squares(j, j) > 0 ? 1 / std::sqrt(squares(j, j)) : 0.0;
    }
    algebra_.combine(x, scale, 0, s(0, count));
    return longest;
  };
  algebra_.fill_random(seed, x);
  unit_columns();
  double norm = 0;
  for (int step = 0; step < norm_steps && !objection_; ++step) {
    apply(of, s(0, count), x);
    if (step == 0) {  // later vectors are nearly parallel, and would show no asymmetry
      const small_matrix products = algebra_.gram(s(0, count), x);
      if (asymmetry(products) > tolerated_asymmetry<T> * largest_entry(products)) object(lobpcg_stop::not_symmetric);
    }
    const double longest = unit_columns();
    norm = std::max(norm, longest);
    if (longest == 0) break;
  }
  return norm;
}

template <value T>
bool vector_basis<T>::tells_apart(std::int64_t count, std::uint64_t seed) {
  algebra_.fill_random(seed, s(0, count));
  confine(0, count);
  apply_b(0, count);
  const small_matrix products = algebra_.gram(s(0, count), bs(0, count));
  if (!all_finite(products)) {
    object(lobpcg_stop::not_finite);
    return true;
  }
  const small_matrix euclidean = algebra_.gram(s(0, count), s(0, count));
  const whitening white = whiten(products, std::max(negligible, 64 * unit<T>));
  bool is_negative = white.smallest < -std::sqrt(unit<T>);
  for (std::int64_t j = 0; j < count; ++j) {
    is_negative |= products(j, j) < -rounding_of_product<T>(norm_b_, euclidean(j, j));
  }
  if (is_negative) object(lobpcg_stop::b_not_positive_definite);
  return is_negative || white.rank() == count;
}

template <value T>
void vector_basis<T>::invert() {
  std::swap(a_, b_);
  std::swap(norm_a_, norm_b_);
  is_inverted_ = true;
}

template <value T>
void vector_basis<T>::apply(const linear_operator<T>& op, const dense_view<T>& x, const dense_view<T>& y) {
  if (x.cols == 0) return;
  op.apply(T{1}, dense_view<const T>(x), T{0}, y);
  if (&op == given_a_) ++num_products_;
}

template <value T>
void vector_basis<T>::apply_a(std::int64_t first, std::int64_t count) {
  apply(*a_, s(first, count), as(first, count));
}

template <value T>
void vector_basis<T>::apply_b(std::int64_t first, std::int64_t count) {
  if (b_) apply(*b_, s(first, count), bs(first, count));
}

template <value T>
std::int64_t vector_basis<T>::orthonormalise(std::int64_t first, std::int64_t count) {
  num_unseen_ = 0;
  for (int pass = 0; pass < max_passes && count > 0 && !objection_; ++pass) {
    if (is_inverted_) confine(first, count);  // the inner product of A does not know the complement
    apply_b(first, count);
    const pass_result done = orthonormalise_once(first, count, pass == 0);
    count = done.rank;
    if (done.loss <= tolerated_loss<T>) break;
  }
  return objection_ ? 0 : count;
}

/// S := S - Y (B Y)' S, twice, for what the first time leaves of vectors nearly in the span of Y.
template <value T>
void vector_basis<T>::confine(std::int64_t first, std::int64_t count) {
  for (int pass = 0; pass < 2 && num_y_ > 0; ++pass) {
    algebra_.combine(y(), negated(algebra_.gram(by(), s(first, count))), 1, s(first, count));
  }
}

template <value T>
auto vector_basis<T>::orthonormalise_once(std::int64_t first, std::int64_t count, bool is_first) -> pass_result {
  const dense_view<T> w = s(first, count), bw = bs(first, count);
  const small_matrix with_all = algebra_.gram(s(0, first + count), bw);
  const small_matrix own = rows_of(with_all, first, first + count);
  const bool is_constrained = num_y_ > 0 && !is_inverted_;
  const small_matrix with_constraints = is_constrained ? algebra_.gram(y(), bw) : small_matrix(0, count);
  if (!all_finite(with_all) || !all_finite(with_constraints)) {
    object(lobpcg_stop::not_finite);
    return {};
  }
  // Lengths below these are rounding: of what B sees of a vector, and of what the projection leaves of it.
  std::vector<double> least(core::at(count), 0.0);
  if (b_ && is_first) {
    const small_matrix euclidean = algebra_.gram(w, w);
    for (std::int64_t j = 0; j < count; ++j) {
      least[core::at(j)] = rounding_of_product<T>(norm_b_, euclidean(j, j));
      if (own(j, j) < -least[core::at(j)]) object(lobpcg_stop::b_not_positive_definite);
      if (own(j, j) <= least[core::at(j)] && euclidean(j, j) > 0) ++num_unseen_;
    }
    if (objection_) return {};
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const double lost = 64 * unit<T>;
    least[core::at(j)] = std::max(least[core::at(j)], lost * lost * own(j, j));
  }

  if (is_constrained) subtract(y(), by(), with_constraints, first, count);
  if (first > 0) subtract(s(0, first), bs(0, first), rows_of(with_all, 0, first), first, count);
  const small_matrix left = is_constrained || first > 0 ? algebra_.gram(w, bw) : own;
  if (!all_finite(left)) {
    object(lobpcg_stop::not_finite);
    return {};
  }
  const whitening white = whiten(left, negligible, least);
  if (white.smallest < -std::sqrt(unit<T>)) {
    object(lobpcg_stop::b_not_positive_definite);
    return {};
  }
  double share = 1;  // the least that the projection has left of a vector's squared length
  for (std::int64_t j = 0; j < count; ++j) {
    if (left(j, j) > least[core::at(j)]) share = std::min(share, left(j, j) / own(j, j));
  }
  const std::int64_t rank = white.rank();
  algebra_.combine(w, white.transform, 0, room(first, rank));
  algebra_.copy(room(first, rank), s(first, rank));
  if (b_) {
    algebra_.combine(bw, white.transform, 0, room(first, rank));
    algebra_.copy(room(first, rank), bs(first, rank));
  }
  const double smallest = std::max(white.smallest, negligible);
  return {rank, unit<double> / smallest + unit<T> / std::sqrt(share * smallest)};
}

template <value T>
void vector_basis<T>::subtract(const dense_view<T>& along, const dense_view<T>& b_along, small_matrix overlap,
                               std::int64_t first, std::int64_t count) {
  const small_matrix less = negated(std::move(overlap));
  algebra_.combine(along, less, 1, s(first, count));
  if (b_) algebra_.combine(b_along, less, 1, bs(first, count));
}

template <value T>
std::optional<basis_products> vector_basis<T>::products(std::int64_t count,
                                                        const std::optional<basis_products>& known) {
  const std::int64_t first = known ? known->a.rows() : 0;
  basis_products found{algebra_.gram(s(0, count), as(first, count - first)),
                       algebra_.gram(s(0, count), bs(first, count - first))};
  if (!all_finite(found.a) || !all_finite(found.b)) {
    object(lobpcg_stop::not_finite);
    return std::nullopt;
  }
  if (known) found = {bordered(known->a, found.a), bordered(known->b, found.b)};
  return found;
}

template <value T>
void vector_basis<T>::rotate(const small_matrix& c) {
  rotate(s_, c);
  rotate(as_, c);
  if (b_) rotate(bs_, c);
}

template <value T>
void vector_basis<T>::rotate(context_array<T>& block, const small_matrix& c) {
  algebra_.combine(view(block, 0, c.rows()), c, 0, room(0, c.cols()));
  std::swap(block, room_);
}

template class vector_basis<float>;
template class vector_basis<double>;

}  // namespace bcsc::solvers
