#include "bcsc/lobpcg.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/gpu.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/dense_pencil.hpp"
#include "lib/solvers/lapack.hpp"
#include "lib/solvers/lobpcg_iteration.hpp"
#include "lib/solvers/operands.hpp"

namespace bcsc {

std::string_view to_string(lobpcg_stop reason) noexcept {
  switch (reason) {
    case lobpcg_stop::converged:
      return "converged";
    case lobpcg_stop::max_iterations:
      return "max_iterations";
    case lobpcg_stop::stagnated:
      return "stagnated";
    case lobpcg_stop::not_finite:
      return "not_finite";
    case lobpcg_stop::cancelled:
      return "cancelled";
    case lobpcg_stop::not_symmetric:
      return "not_symmetric";
    case lobpcg_stop::b_not_positive_definite:
      return "b_not_positive_definite";
    case lobpcg_stop::breakdown:
      return "breakdown";
  }
  return "unknown";
}

namespace {

// --- What is given --------------------------------------------------------------------------------------------------

template <value T>
void check_options(const lobpcg_options<T>& options) {
  if (options.tolerance != 0 && !(options.tolerance > 0 && options.tolerance < 1)) {
    core::fail(errc::invalid_argument, "tolerance = {}: must lie between 0 and 1, 1 excluded", options.tolerance);
  }
  if (options.max_iterations < 0) {
    core::fail(errc::invalid_argument, "max_iterations = {}: must not be negative", options.max_iterations);
  }
}

template <value T>
void check_call(const context& ctx, std::int64_t rows, std::int64_t cols, const dense_view<T>& x,
                const lobpcg_options<T>& options) {
  check_options(options);
  if (rows != cols) core::fail(errc::size_mismatch, "A is {} x {}: eigenvalues need a square matrix", rows, cols);
  solvers::check_operand(x, "X");
  if (x.rows != rows) {
    core::fail(errc::size_mismatch, "A is {} x {}, X is {} x {}: X must have as many rows", rows, cols, x.rows, x.cols);
  }
  if (x.cols > rows) {
    core::fail(errc::invalid_argument, "X has {} columns: a matrix with {} rows has {} eigenvectors", x.cols, rows,
               rows);
  }
  const dense_view<const T>& y = options.constraints;
  if (y.cols != 0) solvers::check_operand(y, "constraints");
  if (y.cols != 0 && y.rows != rows) {
    core::fail(errc::size_mismatch, "A is {} x {}, constraints is {} x {}: it must have as many rows", rows, cols,
               y.rows, y.cols);
  }
  if (ctx.kind() == backend::cuda) core::require_healthy(ctx.state());
  (void)solvers::locate(ctx, x, "X");
  (void)solvers::locate(ctx, y, "constraints");
  if (const std::string why = solvers::why_no_lapack(); !why.empty()) core::fail(errc::unsupported, "{}", why);
}

// --- How large a block ----------------------------------------------------------------------------------------------

/// Wanted pairs and guards; 0: the basis would be as large as the whole space.
template <value T>
std::int64_t block_size(std::int64_t n, std::int64_t k, const lobpcg_options<T>& options) {
  const std::int64_t most = (n - options.constraints.cols) / 3;
  if (k > most) return 0;
  // Rows of a block begin aligned if it is a multiple of 4.
  const std::int64_t wanted =
      options.num_guards >= 0 ? k + options.num_guards : core::ceil_div(k + std::max<std::int64_t>(2, k / 8), 4) * 4;
  return std::min(wanted, most);
}

// --- A solve --------------------------------------------------------------------------------------------------------

/// An operand as the basis takes it: packed, where the context computes, its columns of a size that can be squared.
template <value T>
solvers::context_array<T> packed_copy(solvers::vector_basis<T>& basis, const dense_view<const T>& from,
                                      std::string_view name) {
  const context& ctx = basis.where();
  solvers::context_array<T> to(ctx, core::checked_product(from.rows, from.cols, name));
  solvers::load_block(ctx, solvers::environment_of(ctx, nullptr), from, solvers::locate(ctx, from, name), to);
  basis.take_sizes_out({to.data(), from.rows, from.cols});
  return to;
}

template <value T>
void take_constraints(solvers::vector_basis<T>& basis, std::int64_t k, const dense_view<const T>& y) {
  if (y.cols == 0 || y.rows == 0) return;
  const solvers::context_array<T> packed = packed_copy(basis, y, "constraints");
  const std::int64_t rank = basis.constrain(packed.data(), y.cols);
  if (k > basis.rows() - rank) {
    core::fail(errc::invalid_argument,
               "X has {} columns, constraints has rank {}: they leave {} of the {} dimensions of A", k, rank,
               basis.rows() - rank, basis.rows());
  }
}

/// A basis needs as many directions as it has room for. Where a singular B tells fewer apart, it is blind to most of
/// what could make the Ritz values smaller. A positive definite A is not, and 1 / lambda is wanted at its largest.
template <value T>
void choose_pencil(solvers::vector_basis<T>& basis, std::int64_t m, const lobpcg_options<T>& options) {
  if (!basis.has_b() || m == 0 || options.which == spectrum_end::largest) return;
  if (!basis.tells_apart(3 * m, options.seed)) basis.invert();
}

/// Refuses what would under- or overflow on the way: the vectors in T, the squares of their lengths in double.
template <value T>
void check_scale(const solvers::vector_basis<T>& basis, double tolerance) {
  using limits = std::numeric_limits<T>;
  using squares = std::numeric_limits<double>;
  const double a = basis.norm_a(), b = basis.norm_b();
  if (a == 0 || b == 0 || basis.objection()) return;
  // An ill-conditioned B makes some eigenvectors much longer than others.
  const double margin = basis.has_b() ? limits::epsilon() : 0.1;
  const double least = std::max<double>(limits::min(), std::sqrt(squares::min())) / tolerance;
  const double most = std::min<double>(limits::max(), std::sqrt(squares::max())) * margin;
  for (const double size : {a, a / std::sqrt(b)}) {  // of A x, where x'x = 1 or x'Bx = 1
    if (size >= least && size <= most) continue;
    const auto [of_a, of_b] = basis.is_inverted() ? std::pair(b, a) : std::pair(a, b);
    core::fail(errc::invalid_argument,
               "A of norm {:.1e}, B of norm {:.1e}: residuals down to the tolerance {} leave the range of {}; scale {}",
               of_a, of_b, tolerance, std::is_same_v<T, double> ? "what fp64 can square" : "fp32",
               basis.has_b() ? "A and B" : "A");
  }
}

/// The whole space is the basis.
template <value T>
std::optional<lobpcg_stop> solve_as_dense(const linear_operator<T>& a, std::int64_t k, const lobpcg_options<T>& options,
                                          solvers::vector_basis<T>& basis) {
  const std::int64_t n = a.rows(), num_y = basis.num_constraints();
  solvers::small_matrix y(n, num_y);
  if (num_y > 0) {
    solvers::context_array<T> packed(a.where(), n * num_y);
    basis.algebra().copy(basis.y(), {packed.data(), n, num_y});
    std::vector<T> on_host(core::at(n * num_y));
    packed.download(on_host);
    std::copy(on_host.begin(), on_host.end(), y.data());
  }
  std::optional<solvers::small_matrix> b;
  if (options.b) b = solvers::matrix_of(*options.b);
  constexpr double symmetric = std::is_same_v<T, double> ? 1e-12 : 1e-5;
  const solvers::dense_solution found = solvers::solve_pencil(solvers::matrix_of(a), b, y, k, options.which, symmetric);
  if (found.objection) return found.objection;
  std::vector<T> entries(core::at(n * k));
  std::transform(found.vectors.values().begin(), found.vectors.values().end(), entries.begin(),
                 [](double value) { return static_cast<T>(value); });
  solvers::context_array<T> packed(a.where(), n * k);
  packed.upload(entries);
  basis.algebra().copy({packed.data(), n, k}, basis.s(0, k));
  return std::nullopt;
}

/// A solve whose arguments have been checked, with the context's device current.
template <value T>
lobpcg_result solve(const linear_operator<T>& a, const dense_view<T>& x, const lobpcg_options<T>& options) {
  const context& ctx = a.where();
  const std::int64_t n = a.rows(), k = x.cols;
  const std::int64_t m = block_size(n, k, options);
  solvers::vector_basis<T> basis(a, options.b, std::max(m > 0 ? 3 * m : k, options.constraints.cols));
  basis.estimate_norms(options.seed);
  if (!basis.objection()) take_constraints(basis, k, options.constraints);
  if (!basis.objection()) choose_pencil(basis, m, options);
  check_scale(basis, solvers::tolerance_of(options));

  solvers::lobpcg_iteration<T> iteration(basis, options, k, std::max(m, k));
  if (!basis.objection()) {
    if (m == 0) {
      const auto objection = solve_as_dense(a, k, options, basis);
      if (objection) basis.object(*objection);
      iteration.start_at_solution();
    } else {
      if (options.use_initial_guess) {
        const solvers::context_array<T> packed = packed_copy(basis, dense_view<const T>(x), "X");
        basis.algebra().copy({packed.data(), n, k}, basis.s(0, k));
      }
      iteration.start(options.use_initial_guess ? k : 0);
      iteration.iterate();
    }
  }
  lobpcg_result result = iteration.finish();
  solvers::context_array<T> packed(ctx, n * k);
  basis.algebra().copy(basis.s(0, k), {packed.data(), n, k});
  solvers::store_block(ctx, solvers::environment_of(ctx, nullptr), packed, x, solvers::locate(ctx, x, "X"));
  return result;
}

}  // namespace

template <value T>
lobpcg_result solve_lobpcg(const linear_operator<T>& a, output_view<T> x, const lobpcg_options<T>& options) {
  const context& ctx = a.where();
  check_call(ctx, a.rows(), a.cols(), x, options);
  if (options.b) solvers::check_part(a, *options.b, "B");
  if (options.precondition) solvers::check_part(a, *options.precondition, "the preconditioner");
  const auto begin = std::chrono::steady_clock::now();
  lobpcg_result result;
  if (x.rows == 0 || x.cols == 0) {
    result.reason = lobpcg_stop::converged;
    result.tolerance = solvers::tolerance_of(options);
    return result;
  }
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) guard.emplace(ctx.device().device);
  core::guarded(ctx.state(), "LOBPCG", [&] { result = solve(a, x, options); });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

template <value T, index I>
lobpcg_result solve_lobpcg(const context& ctx, const csr_view<T, I>& a, output_view<T> x,
                           const lobpcg_options<T>& options) {
  check_call(ctx, a.rows, a.cols, x, options);
  plan_options planned = options.plan;
  planned.cols = std::max<std::int64_t>(1, block_size(a.rows, x.cols, options));
  planned.b_layout = layout::row_major;
  return solve_lobpcg(linear_operator<T>(spmm_plan<T>(ctx, a, planned)), x, options);
}

#define BCSC_INSTANTIATE(T)                                                                                \
  template lobpcg_result solve_lobpcg(const linear_operator<T>&, dense_view<T>, const lobpcg_options<T>&); \
  template lobpcg_result solve_lobpcg(const context&, const csr_view<T, std::int32_t>&, dense_view<T>,     \
                                      const lobpcg_options<T>&);                                           \
  template lobpcg_result solve_lobpcg(const context&, const csr_view<T, std::int64_t>&, dense_view<T>,     \
                                      const lobpcg_options<T>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
