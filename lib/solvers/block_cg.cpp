#include "lib/solvers/block_cg.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "bcsc_config.h"
#include "core/fail.hpp"
#include "core/gpu.hpp"

namespace bcsc::solvers {

namespace vector = kernels::vector;

namespace {

/// A restart has to bring the true residual below this share of the best one before it ...
constexpr double worthwhile = 0.5;
/// ... and a column that fails to do so this often in a row has stagnated.
constexpr int patience = 3;

template <value T>
const vector::operations<T>& operations_of(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return vector::on_cuda<T>();
#endif
  (void)where;
  return vector::on_cpu<T>();
}

}  // namespace

template <value T>
block_cg<T>::block_cg(const context& ctx, const spmm_plan<T>& plan, vector::shape shape, const cg_options& options)
    : ctx_(ctx),
      plan_(plan),
      options_(options),
      shape_(shape),
      ops_(operations_of<T>(ctx.kind())),
      env_{ctx.threads(), nullptr, ctx.device().num_multiprocessors},
      b_(ctx, size()),
      x_(ctx, size()),
      r_(ctx, size()),
      p_(ctx, size()),
      q_(ctx, size()),
      inverse_diagonal_(ctx, options.precondition == preconditioner::jacobi ? shape.n : 0),
      partials_(ctx, vector::num_partials(shape)),
      report_(ctx, shape.k * bytes_per_column),
      scalar_block_(ctx, shape.k * 5),
      rr_(static_cast<std::size_t>(shape.k)),
      state_(static_cast<std::size_t>(shape.k)),
      columns_(static_cast<std::size_t>(shape.k)) {
  const std::int64_t k = shape_.k;
  double* doubles = scalar_block_.data();
  scalars_.rr = reinterpret_cast<double*>(report_.data());
  scalars_.state = reinterpret_cast<column_state*>(report_.data() + k * static_cast<std::int64_t>(sizeof(double)));
  scalars_.rz = doubles;
  scalars_.alpha = doubles + k;
  scalars_.beta = doubles + 2 * k;
  scalars_.limit = doubles + 3 * k;
  sums_ = doubles + 4 * k;
  scalar_block_.clear();  // it is read as a whole before the whole of it is written
}

template <value T>
void block_cg<T>::precondition_with(std::span<const T> inverse_diagonal) {
  inverse_diagonal_.upload(inverse_diagonal);
  jacobi_ = inverse_diagonal_.data();
}

template <value T>
void block_cg<T>::start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x,
                        memory_space x_space) {
  load(b, b_space, b_);
  if (options_.use_initial_guess) {
    load(dense_view<const T>(x), x_space, x_);
  } else {
    x_.clear();
  }
  p_.clear();
  measure_right_hand_sides();
  compute_residual(options_.use_initial_guess);
  judge_residuals();
  restart_open_columns();
  result_.history.push_back(largest_residual());
}

template <value T>
void block_cg<T>::iterate() {
  while (any(column_state::active) && result_.iterations < options_.max_iterations) {
    advance();
    if (any(column_state::not_positive)) return;
    if (options_.progress && !options_.progress(result_.iterations, result_.history.back())) {
      cancelled_ = true;
      return;
    }
    if (!any(column_state::active)) {
      compute_residual(true);
      judge_residuals();
      restart_open_columns();
    }
  }
}

template <value T>
cg_result block_cg<T>::finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection) {
  if (changed_since_check_) {
    compute_residual(true);
    judge_residuals();
  }
  store(x, x_space);
  result_.reason = objection ? *objection : reason();
  for (const column_record& column : columns_) result_.true_residual.push_back(column.true_residual);
  return std::move(result_);
}

template <value T>
void block_cg<T>::load(const dense_view<const T>& from, memory_space space, context_array<T>& to) {
  if (!staged(space)) {
    started(ops_.pack(env_, shape_, from.data, from.row_stride(), from.col_stride(), to.data()), "pack");
    return;
  }
  std::vector<T> packed(static_cast<std::size_t>(size()));
  vector::on_cpu<T>().pack({}, shape_, from.data, from.row_stride(), from.col_stride(), packed.data());
  to.upload(packed);
}

template <value T>
void block_cg<T>::store(const dense_view<T>& to, memory_space space) {
  if (!staged(space)) {
    started(ops_.unpack(env_, shape_, x_.data(), to.data, to.row_stride(), to.col_stride()), "unpack");
    if (ctx_.kind() == backend::cuda) core::gpu::synchronize();
    return;
  }
  std::vector<T> packed(static_cast<std::size_t>(size()));
  x_.download(packed);
  vector::on_cpu<T>().unpack({}, shape_, packed.data(), to.data, to.row_stride(), to.col_stride());
}

template <value T>
void block_cg<T>::read_report() {
  std::vector<std::byte> bytes(static_cast<std::size_t>(report_.size()));
  report_.download(bytes);
  const std::size_t rr_bytes = rr_.size() * sizeof(double);
  std::memcpy(rr_.data(), bytes.data(), rr_bytes);
  std::memcpy(state_.data(), bytes.data() + rr_bytes, bytes.size() - rr_bytes);
}

template <value T>
void block_cg<T>::write_report() {
  std::vector<std::byte> bytes(static_cast<std::size_t>(report_.size()));
  const std::size_t rr_bytes = rr_.size() * sizeof(double);
  std::memcpy(bytes.data(), rr_.data(), rr_bytes);
  std::memcpy(bytes.data() + rr_bytes, state_.data(), bytes.size() - rr_bytes);
  report_.upload(bytes);
}

template <value T>
std::vector<double> block_cg<T>::read_sums() {
  std::vector<double> all(static_cast<std::size_t>(scalar_block_.size()));
  scalar_block_.download(all);
  return {all.end() - shape_.k, all.end()};
}

template <value T>
double block_cg<T>::relative(std::size_t j) const {
  if (columns_[j].norm_b == 0 && rr_[j] == 0) return 0;
  return std::sqrt(rr_[j]) / columns_[j].norm_b;
}

template <value T>
double block_cg<T>::largest_residual() const {
  double largest = 0;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double residual = relative(j);
    if (std::isnan(residual)) return residual;
    largest = std::max(largest, residual);
  }
  return largest;
}

template <value T>
void block_cg<T>::measure_right_hand_sides() {
  started(ops_.abs_sum(env_, shape_, b_.data(), partials_.data(), sums_), "abs_sum");
  const std::vector<double> sizes = read_sums();
  started(ops_.dot(env_, shape_, b_.data(), b_.data(), partials_.data(), sums_), "dot");
  const std::vector<double> squares = read_sums();

  std::vector<double> limits(squares.size());
  for (std::size_t j = 0; j < squares.size(); ++j) {
    limits[j] = options_.tolerance * options_.tolerance * squares[j];
    const bool lost = sizes[j] > 0 && limits[j] < std::numeric_limits<double>::min();
    if (std::isfinite(sizes[j]) && (lost || !std::isfinite(squares[j]))) {
      core::fail(errc::invalid_argument,
                 "B, column {}: its norm times the tolerance {} cannot be squared in fp64; scale B", j,
                 options_.tolerance);
    }
    columns_[j].norm_b = std::sqrt(squares[j]);
    state_[j] = sizes[j] == 0 ? column_state::resting : column_state::active;
  }
  std::vector<double> doubles(static_cast<std::size_t>(scalar_block_.size()), 0.0);
  std::copy(limits.begin(), limits.end(), doubles.begin() + 3 * shape_.k);
  scalar_block_.upload(doubles);
  limits_ = std::move(limits);
  write_report();
  if (options_.use_initial_guess && any(column_state::resting)) {
    started(ops_.clear_inactive(env_, shape_, x_.data(), scalars_), "clear_inactive");
  }
}

template <value T>
void block_cg<T>::multiply(const context_array<T>& in, context_array<T>& out) {
  plan_.run(T{1}, dense_view<const T>(in.data(), shape_.n, shape_.k), T{0},
            dense_view<T>(out.data(), shape_.n, shape_.k));
  ++result_.num_products;
}

template <value T>
void block_cg<T>::compute_residual(bool from_product) {
  if (from_product) multiply(x_, q_);
  started(ops_.residual(env_, shape_, b_.data(), from_product ? q_.data() : nullptr, jacobi_, r_.data(),
                        partials_.data(), scalars_),
          "residual");
  read_report();
  changed_since_check_ = false;
}

template <value T>
void block_cg<T>::judge_residuals() {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    columns_[j].true_residual = relative(j);
    if (!std::isfinite(rr_[j])) {
      state_[j] = column_state::not_finite;
    } else if (rr_[j] <= limits_[j] && state_[j] != column_state::not_positive) {
      state_[j] = column_state::resting;
      columns_[j].stagnated = false;
    }
  }
}

template <value T>
void block_cg<T>::restart_open_columns() {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    column_record& column = columns_[j];
    const bool open = state_[j] == column_state::active || state_[j] == column_state::resting;
    if (!open || rr_[j] <= limits_[j]) continue;
    const bool gained = column.true_residual <= worthwhile * column.best;
    column.idle_restarts = gained ? 0 : column.idle_restarts + 1;
    column.best = std::min(column.best, column.true_residual);
    column.stagnated = column.idle_restarts >= patience;
    state_[j] = column.stagnated ? column_state::resting : column_state::active;
  }
  write_report();
}

template <value T>
void block_cg<T>::advance() {
  started(ops_.direction(env_, shape_, r_.data(), jacobi_, p_.data(), scalars_), "direction");
  multiply(p_, q_);
  started(ops_.step_length(env_, shape_, p_.data(), q_.data(), partials_.data(), scalars_), "step_length");
  started(ops_.step(env_, shape_, p_.data(), q_.data(), jacobi_, x_.data(), r_.data(), partials_.data(), scalars_),
          "step");
  read_report();
  changed_since_check_ = true;
  ++result_.iterations;
  result_.history.push_back(largest_residual());
}

template <value T>
cg_stop block_cg<T>::reason() const {
  if (cancelled_) return cg_stop::cancelled;
  if (any(column_state::not_positive)) return cg_stop::not_positive_definite;
  if (any(column_state::not_finite)) return cg_stop::not_finite;
  bool stagnated = false;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    stagnated = stagnated || columns_[j].stagnated;
    if (rr_[j] > limits_[j] && !columns_[j].stagnated) return cg_stop::max_iterations;
  }
  return stagnated ? cg_stop::stagnated : cg_stop::converged;
}

template class block_cg<float>;
template class block_cg<double>;

}  // namespace bcsc::solvers
