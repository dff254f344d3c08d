#include "bcsc/cg.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "bcsc_config.h"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/context_array.hpp"

namespace bcsc {

std::string_view to_string(cg_stop reason) noexcept {
  switch (reason) {
    case cg_stop::converged:
      return "converged";
    case cg_stop::max_iterations:
      return "max_iterations";
    case cg_stop::not_positive_definite:
      return "not_positive_definite";
    case cg_stop::stagnated:
      return "stagnated";
    case cg_stop::not_finite:
      return "not_finite";
    case cg_stop::cancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {

namespace vector = kernels::vector;
using solvers::context_array;
using vector::column_state;

/// A restart has to bring the true residual below this share of the best one before it ...
constexpr double worthwhile = 0.5;
/// ... and a column that fails to do so this often in a row has stagnated.
constexpr int patience = 3;

// --- What is given --------------------------------------------------------------------------------------------------

void check_options(const cg_options& options) {
  if (!(options.tolerance > 0 && options.tolerance < 1)) {
    core::fail(errc::invalid_argument, "tolerance = {}: must lie between 0 and 1, both excluded", options.tolerance);
  }
  if (options.max_iterations < 0) {
    core::fail(errc::invalid_argument, "max_iterations = {}: must not be negative", options.max_iterations);
  }
}

template <class T>
void check_operand(const dense_view<T>& view, const char* name) {
  plan::check_view(view, name);
  if (view.rows > 0 && view.cols > 0 && view.data == nullptr) {
    core::fail(errc::invalid_argument, "{}.data is null", name);
  }
}

/// Where an operand lies, for a solve on `ctx`. Throws error{wrong_memory_space} if its memory is out of reach there.
template <class T>
memory_space locate(const context& ctx, const dense_view<T>& view, std::string_view name) {
  if (view.data == nullptr) return memory_space::host;
  if (ctx.kind() == backend::cuda && core::gpu::is_device_pointer(view.data, ctx.device().device)) {
    return memory_space::device;
  }
  if (core::gpu::is_device_only(view.data)) {
    core::fail(errc::wrong_memory_space, "{}.data = {} is memory of a GPU that \"{}\" cannot read", name,
               static_cast<const void*>(view.data), ctx.describe());
  }
  return memory_space::host;
}

// --- Jacobi ---------------------------------------------------------------------------------------------------------

/// Of a matrix on the host.
template <value T, index I>
std::vector<T> diagonal_of(const csr_view<T, I>& a) {
  std::vector<T> diagonal(static_cast<std::size_t>(a.rows), T{0});
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    for (I at = a.row_ptr[i]; at < a.row_ptr[i + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      if (static_cast<std::size_t>(a.col_ind[entry]) == i) diagonal[i] += a.values[entry];
    }
  }
  return diagonal;
}

/// Inverts the diagonal in place; says what is wrong with it if Jacobi cannot be had.
template <value T>
std::optional<cg_stop> invert(std::vector<T>& diagonal) {
  for (T& entry : diagonal) {
    if (!std::isfinite(entry)) return cg_stop::not_finite;
    if (entry <= 0) return cg_stop::not_positive_definite;
    entry = T{1} / entry;
  }
  return std::nullopt;
}

// --- The iteration --------------------------------------------------------------------------------------------------

template <value T>
const vector::operations<T>& operations_of(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return vector::on_cuda<T>();
#endif
  (void)where;
  return vector::on_cpu<T>();
}

/// What the host remembers of a column.
struct column_record {
  double norm_b = 0;                                      ///< ||b||
  double true_residual = 0;                               ///< at the last check, relative
  double best = std::numeric_limits<double>::infinity();  ///< the least true residual a restart began from
  int idle_restarts = 0;                                  ///< restarts in a row that were not worthwhile
  bool stagnated = false;
};

/// The vectors and scalars of one solve, where the context computes, and the steps of the iteration.
template <value T>
class block_cg {
 public:
  block_cg(const context& ctx, const spmm_plan<T>& plan, vector::shape shape, const cg_options& options)
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

  void precondition_with(std::span<const T> inverse_diagonal) {
    inverse_diagonal_.upload(inverse_diagonal);
    jacobi_ = inverse_diagonal_.data();
  }

  /// Takes b and the start vector, and computes the residual it begins with.
  void start(const dense_view<const T>& b, memory_space b_space, const dense_view<T>& x, memory_space x_space) {
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

  /// Iterates until every column has come to an end, or the whole solve has.
  void iterate() {
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

  /// Writes x back and reports the outcome; `objection`: why the diagonal rules the solve out.
  cg_result finish(const dense_view<T>& x, memory_space x_space, std::optional<cg_stop> objection) {
    if (changed_since_check_) {
      compute_residual(true);
      judge_residuals();
    }
    store(x, x_space);
    result_.reason = objection ? *objection : reason();
    for (const column_record& column : columns_) result_.true_residual.push_back(column.true_residual);
    return std::move(result_);
  }

 private:
  /// rr and state of a column, side by side so that one small copy brings them to the host.
  static constexpr std::int64_t bytes_per_column = sizeof(double) + sizeof(column_state);

  std::int64_t size() const { return core::checked_product(shape_.n, shape_.k, "elements of B"); }
  void started(int status, const char* what) const { core::check_launch(ctx_.state(), status, what); }
  bool any(column_state wanted) const { return std::find(state_.begin(), state_.end(), wanted) != state_.end(); }

  // --- Between the caller's layout and packed multivectors ---

  bool staged(memory_space space) const { return ctx_.kind() == backend::cuda && space == memory_space::host; }

  void load(const dense_view<const T>& from, memory_space space, context_array<T>& to) {
    if (!staged(space)) {
      started(ops_.pack(env_, shape_, from.data, from.row_stride(), from.col_stride(), to.data()), "pack");
      return;
    }
    std::vector<T> packed(static_cast<std::size_t>(size()));
    vector::on_cpu<T>().pack({}, shape_, from.data, from.row_stride(), from.col_stride(), packed.data());
    to.upload(packed);
  }

  void store(const dense_view<T>& to, memory_space space) {
    if (!staged(space)) {
      started(ops_.unpack(env_, shape_, x_.data(), to.data, to.row_stride(), to.col_stride()), "unpack");
      if (ctx_.kind() == backend::cuda) core::gpu::synchronize();
      return;
    }
    std::vector<T> packed(static_cast<std::size_t>(size()));
    x_.download(packed);
    vector::on_cpu<T>().unpack({}, shape_, packed.data(), to.data, to.row_stride(), to.col_stride());
  }

  // --- Scalars ---

  void read_report() {
    std::vector<std::byte> bytes(static_cast<std::size_t>(report_.size()));
    report_.download(bytes);
    const std::size_t rr_bytes = rr_.size() * sizeof(double);
    std::memcpy(rr_.data(), bytes.data(), rr_bytes);
    std::memcpy(state_.data(), bytes.data() + rr_bytes, bytes.size() - rr_bytes);
  }

  void write_report() {
    std::vector<std::byte> bytes(static_cast<std::size_t>(report_.size()));
    const std::size_t rr_bytes = rr_.size() * sizeof(double);
    std::memcpy(bytes.data(), rr_.data(), rr_bytes);
    std::memcpy(bytes.data() + rr_bytes, state_.data(), bytes.size() - rr_bytes);
    report_.upload(bytes);
  }

  std::vector<double> read_sums() {
    std::vector<double> all(static_cast<std::size_t>(scalar_block_.size()));
    scalar_block_.download(all);
    return {all.end() - shape_.k, all.end()};
  }

  /// sqrt(r.r) / ||b||; a zero b has the residual 0 by definition, for its x is 0.
  double relative(std::size_t j) const {
    if (columns_[j].norm_b == 0 && rr_[j] == 0) return 0;
    return std::sqrt(rr_[j]) / columns_[j].norm_b;
  }

  /// Over all columns; NaN if one is.
  double largest_residual() const {
    double largest = 0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const double residual = relative(j);
      if (std::isnan(residual)) return residual;
      largest = std::max(largest, residual);
    }
    return largest;
  }

  /// ||b_j||, the limits for r.r that follow from it, and x_j = 0 where b_j = 0.
  void measure_right_hand_sides() {
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

  // --- Steps ---

  void multiply(const context_array<T>& in, context_array<T>& out) {
    plan_.run(T{1}, dense_view<const T>(in.data(), shape_.n, shape_.k), T{0},
              dense_view<T>(out.data(), shape_.n, shape_.k));
    ++result_.num_products;
  }

  /// r = b - A x, from x itself (`from_product`) or, for x = 0, from b; what the recurrence said is forgotten.
  void compute_residual(bool from_product) {
    if (from_product) multiply(x_, q_);
    started(ops_.residual(env_, shape_, b_.data(), from_product ? q_.data() : nullptr, jacobi_, r_.data(),
                          partials_.data(), scalars_),
            "residual");
    read_report();
    changed_since_check_ = false;
  }

  /// Notes the true residuals just computed. A column below the tolerance has converged, whatever came before.
  void judge_residuals() {
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

  /// Sends back to work the columns whose recurrence said "arrived" and whose true residual says "not yet", each along
  /// a fresh direction; one that has gained too little by that too often has stagnated and rests.
  void restart_open_columns() {
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

  /// One iteration: p = z + beta p, q = A p, and a step along p in every active column.
  void advance() {
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

  cg_stop reason() const {
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

  const context& ctx_;
  const spmm_plan<T>& plan_;
  const cg_options& options_;
  const vector::shape shape_;
  const vector::operations<T>& ops_;
  const kernels::launch_env env_;

  context_array<T> b_, x_, r_, p_, q_;
  context_array<T> inverse_diagonal_;
  const T* jacobi_ = nullptr;  ///< inverse_diagonal_ once it is filled
  context_array<double> partials_;
  context_array<std::byte> report_;
  context_array<double> scalar_block_;
  vector::column_scalars scalars_;  ///< into report_ and scalar_block_
  double* sums_ = nullptr;          ///< [k] results of dot and abs_sum, the last of scalar_block_

  std::vector<double> rr_;           ///< r.r as the host last read it
  std::vector<column_state> state_;  ///< likewise
  std::vector<double> limits_;
  std::vector<column_record> columns_;
  bool cancelled_ = false;
  bool changed_since_check_ = false;
  cg_result result_;
};

// --- A solve --------------------------------------------------------------------------------------------------------

/// Refuses what does not fit, before anything is made or written.
template <value T>
void check_call(const context& ctx, std::int64_t rows, std::int64_t cols, const dense_view<const T>& b,
                const dense_view<T>& x, const cg_options& options) {
  check_options(options);
  if (rows != cols) core::fail(errc::size_mismatch, "A is {} x {}: CG needs a square matrix", rows, cols);
  check_operand(b, "B");
  check_operand(x, "X");
  if (b.rows != rows || x.rows != rows || b.cols != x.cols) {
    core::fail(errc::size_mismatch, "A is {} x {}, B is {} x {}, X is {} x {}: A X = B does not fit", rows, cols,
               b.rows, b.cols, x.rows, x.cols);
  }
  if (ctx.kind() == backend::cuda) core::require_healthy(ctx.state());
  (void)locate(ctx, b, "B");
  (void)locate(ctx, x, "X");
}

/// A solve whose call was checked. diagonal(): that of A; asked for by Jacobi alone.
template <value T, class Diagonal>
cg_result solve(const spmm_plan<T>& plan, Diagonal diagonal, const dense_view<const T>& b, const dense_view<T>& x,
                const cg_options& options) {
  const context& ctx = plan.where();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) guard.emplace(ctx.device().device);

  cg_result result;
  if (b.rows == 0 || b.cols == 0) {
    result.reason = cg_stop::converged;
    result.true_residual.assign(static_cast<std::size_t>(b.cols), 0.0);
    result.history = {0.0};
  } else {
    core::guarded(ctx.state(), "conjugate gradients", [&] {
      block_cg<T> solver(ctx, plan, {b.rows, b.cols}, options);
      std::optional<cg_stop> objection;
      if (options.precondition == preconditioner::jacobi) {
        std::vector<T> entries = diagonal();
        objection = invert(entries);
        if (!objection) solver.precondition_with(entries);
      }
      const memory_space x_space = locate(ctx, x, "X");
      solver.start(b, locate(ctx, b, "B"), x, x_space);
      if (!objection) solver.iterate();
      result = solver.finish(x, x_space, objection);
    });
  }
  result.facts = plan.facts();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace

template <value T, index I>
std::vector<T> diagonal_of(const context& ctx, const csr_view<T, I>& a) {
  if (a.space == memory_space::host) return diagonal_of(a);
  const core::gpu::device_guard guard(ctx.device().device);
  const auto row_ptr = core::copy_to_host(a.row_ptr, a.space);
  const auto col_ind = core::copy_to_host(a.col_ind, a.space);
  const auto values = core::copy_to_host(a.values, a.space);
  return diagonal_of(csr_view<T, I>{a.rows, a.cols, row_ptr, col_ind, values, memory_space::host});
}

template <value T, index I>
cg_result solve_cg(const context& ctx, const csr_view<T, I>& a, input_view<T> b, output_view<T> x,
                   const cg_options& options) {
  check_call<T>(ctx, a.rows, a.cols, b, x, options);
  plan_options planned = options.plan;
  planned.cols = std::max<std::int64_t>(1, b.cols);
  planned.b_layout = layout::row_major;
  const spmm_plan<T> plan(ctx, a, planned);
  return solve<T>(
      plan, [&] { return diagonal_of(ctx, a); }, b, x, options);
}

template <value T>
cg_result solve_cg(const spmm_plan<T>& plan, std::type_identity_t<std::span<const T>> diagonal, input_view<T> b,
                   output_view<T> x, const cg_options& options) {
  const plan_facts& facts = plan.facts();
  check_call<T>(plan.where(), facts.rows, facts.cols, b, x, options);
  if (options.precondition == preconditioner::jacobi && std::ssize(diagonal) != facts.rows) {
    core::fail(errc::size_mismatch,
               "diagonal has {} entries, A has {} rows: Jacobi's preconditioner needs the whole diagonal "
               "(options.precondition = none needs none)",
               diagonal.size(), facts.rows);
  }
  return solve<T>(
      plan, [&] { return std::vector<T>(diagonal.begin(), diagonal.end()); }, b, x, options);
}

#define BCSC_INSTANTIATE_FOR_INDEX(T, I)                                                                 \
  template std::vector<T> diagonal_of(const context&, const csr_view<T, I>&);                            \
  template cg_result solve_cg(const context&, const csr_view<T, I>&, dense_view<const T>, dense_view<T>, \
                              const cg_options&);
#define BCSC_INSTANTIATE(T)                                                                                \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int32_t)                                                              \
  BCSC_INSTANTIATE_FOR_INDEX(T, std::int64_t)                                                              \
  template cg_result solve_cg(const spmm_plan<T>&, std::span<const T>, dense_view<const T>, dense_view<T>, \
                              const cg_options&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE
#undef BCSC_INSTANTIATE_FOR_INDEX

}  // namespace bcsc
