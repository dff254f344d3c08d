#include "bcsc/preconditioners.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "converters/formats/parallel.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/chebyshev.hpp"
#include "lib/solvers/dense_inverse.hpp"
#include "lib/solvers/made_of.hpp"
#include "lib/solvers/operator_state.hpp"
#include "lib/solvers/scaled_plan.hpp"
#include "lib/solvers/setup_matrix.hpp"
#include "lib/solvers/spectrum.hpp"

namespace bcsc {

using core::at;

namespace {

template <class Number>
void require(bool holds, const char* name, Number given, const char* range) {
  if (!holds) core::fail(errc::invalid_argument, "{} = {}: must be {}", name, given, range);
}

// --- Block Jacobi ---------------------------------------------------------------------------------------------------

/// The largest height of blocks whose rows share their columns.
std::int64_t find_block(const solvers::setup_matrix& a) {
  constexpr std::int64_t highest = 8;
  for (std::int64_t block = highest; block > 1; --block) {
    if (a.rows % block != 0 || a.nnz() % block != 0) continue;
    const auto shares = [&](std::int64_t i) {
      const std::int64_t first = i - i % block;
      const auto columns = [&](std::int64_t row) {
        return std::span(a.col_ind).subspan(at(a.row_ptr[at(row)]), at(a.row_ptr[at(row) + 1] - a.row_ptr[at(row)]));
      };
      return std::ranges::equal(columns(i), columns(first));
    };
    if (converters::first_fault(a.rows, [&](std::int64_t i) { return !shares(i); }) < 0) return block;
  }
  return 1;
}

/// The inverses of the diagonal blocks, as one matrix.
solvers::setup_matrix inverse_blocks(const solvers::setup_matrix& a, std::int64_t block) {
  const std::int64_t n = a.rows;
  solvers::setup_matrix made{n, n, solvers::unset<std::int64_t>(n + 1, "the inverse blocks"), {}, {}};
  made.row_ptr[0] = 0;
  const auto height_at = [&](std::int64_t first) { return std::min(block, n - first); };
  for (std::int64_t i = 0; i < n; ++i) made.row_ptr[at(i) + 1] = made.row_ptr[at(i)] + height_at(i - i % block);
  made.col_ind = solvers::unset<std::int32_t>(made.row_ptr.back(), "the inverse blocks");
  made.values = solvers::unset<double>(made.row_ptr.back(), "the inverse blocks");
  converters::check_each(core::ceil_div(n, block), n * block * block, [&](std::int64_t number) {
    const std::int64_t first = number * block, height = height_at(first);
    std::vector<double> entries(at(height * height), 0.0);
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t p = a.row_ptr[at(first + i)]; p < a.row_ptr[at(first + i) + 1]; ++p) {
        const std::int64_t j = a.col_ind[at(p)] - first;
        if (j >= 0 && j < height) entries[at(i * height + j)] = a.values[at(p)];
      }
    }
    const solvers::dense_inverse inverse = solvers::invert(std::move(entries), height);
    if (inverse.rank < height || !(inverse.min_pivot > 0)) {
      core::fail(errc::invalid_argument,
                 "the block of rows {} .. {} has a pivot of {:.1e} times its diagonal entry: not positive definite, "
                 "which the preconditioner needs",
                 first, first + height - 1, inverse.min_pivot);
    }
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < height; ++j) {
        const std::int64_t to = made.row_ptr[at(first + i)] + j;
        made.col_ind[at(to)] = static_cast<std::int32_t>(first + j);
        made.values[at(to)] = inverse.entries[at(i * height + j)];
      }
    }
  });
  return made;
}

// --- Chebyshev ------------------------------------------------------------------------------------------------------

/// Where the polynomial is to be small.
struct interval {
  double lower, upper;
};

interval interval_for(const solvers::setup_matrix& a, const std::vector<double>& scale,
                      const chebyshev_options& options) {
  constexpr double safety = 1.1;  // Lanczos' method comes from below; beyond the interval the polynomial grows
  if (a.rows == 0) return {0.5, 1};
  const solvers::spectrum ends = solvers::estimate_spectrum(a, scale, options.lanczos_steps);
  if (!(ends.smallest > -1e-10 * ends.largest)) {
    core::fail(errc::invalid_argument,
               "D^-1 A has an eigenvalue of about {:.2e}: not positive definite, which the preconditioner needs",
               ends.smallest);
  }
  const double upper = safety * ends.largest;
  const double degree = options.degree;
  return {upper / (options.ratio > 0 ? options.ratio : std::max(4.0, degree * degree)), upper};
}

/// A - shift D.
void shift_diagonal(solvers::setup_matrix& a, double shift) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t p = a.row_ptr[at(i)]; p < a.row_ptr[at(i) + 1]; ++p) {
      if (a.col_ind[at(p)] == i) a.values[at(p)] *= 1 - shift;
    }
  }
}

/// S q(N) S with S = D^-1/2, N = S A S - shift.
template <value T>
struct chebyshev {
  spmm_plan<T> shifted;
  std::vector<double> coefficients;
  std::shared_ptr<const solvers::context_array<T>> scale;

  std::int64_t workspace_bytes(std::int64_t k) const {
    return 4 * solvers::block_bytes<T>(scale->size(), k) + static_cast<std::int64_t>(shifted.workspace_bytes());
  }
  void apply(scalar<T> alpha, const dense_view<const T>& r, scalar<T> beta, const dense_view<T>& z,
             const apply_options& options) const {
    const context& ctx = shifted.where();
    const auto& ops = solvers::block_operations_of<T>(ctx.kind());
    const kernels::launch_env env = solvers::environment_of(ctx, options.stream);
    solvers::workspace_cutter cutter(options.workspace);
    const auto next = [&] { return cutter.block<T>(r.rows, r.cols); };
    const dense_view<T> b = next(), x = next(), spare = next(), other = next();
    const run_options products{.stream = options.stream, .workspace = cutter.rest()};
    core::check_launch(ctx.state(), ops.scale_rows(env, scale->data(), 1, r, 0, b), "scale_rows");
    solvers::polynomial_step<T>{shifted, coefficients, env, products}.run(b, x, spare, other);
    core::check_launch(ctx.state(),
                       ops.scale_rows(env, scale->data(), solvers::as_factor(alpha), x, solvers::as_factor(beta), z),
                       "scale_rows");
  }
};

}  // namespace

template <value T, index I>
linear_operator<T> jacobi_preconditioner(const context& ctx, const csr_view<T, I>& a) {
  return solvers::made_of(ctx, a, "Jacobi's preconditioner", [&](const solvers::setup_matrix& host) {
    static_cast<void>(solvers::inverse_root_diagonal(host, 0, "A"));  // checks it
    std::vector<double> inverse = solvers::diagonal_of(host);
    for (double& entry : inverse) entry = 1 / entry;
    const auto diagonal = solvers::uploaded<T>(ctx, inverse);
    return linear_operator<T>(ctx, host.rows, host.cols,
                              [ctx, diagonal](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z,
                                              const apply_options& options) {
                                const auto& ops = solvers::block_operations_of<T>(ctx.kind());
                                core::check_launch(
                                    ctx.state(),
                                    ops.scale_rows(solvers::environment_of(ctx, options.stream), diagonal->data(),
                                                   solvers::as_factor(alpha), r, solvers::as_factor(beta), z),
                                    "scale_rows");
                              },
                              {.capturable = true, .name = "Jacobi"});
  });
}

template <value T, index I>
linear_operator<T> block_jacobi_preconditioner(const context& ctx, const csr_view<T, I>& a,
                                               const block_jacobi_options& options) {
  require(options.block >= 0 && options.block <= 64, "block", options.block, "0 .. 64");
  require(options.cols >= 1, "cols", options.cols, "at least 1");
  return solvers::made_of(ctx, a, "block Jacobi", [&](const solvers::setup_matrix& host) {
    const std::int64_t block = options.block > 0 ? options.block : find_block(host);
    const std::vector<double> ones(at(host.rows), 1.0);
    return linear_operator<T>(solvers::plan_scaled<T>(ctx, inverse_blocks(host, block), ones, ones, options.cols));
  });
}

template <value T, index I>
linear_operator<T> chebyshev_preconditioner(const context& ctx, const csr_view<T, I>& a,
                                            const chebyshev_options& options) {
  require(options.degree >= 1 && options.degree <= 16, "degree", options.degree, "1 .. 16");
  require(options.ratio == 0 || (options.ratio > 1 && std::isfinite(options.ratio)), "ratio", options.ratio,
          "0 or above 1");
  require(options.lanczos_steps >= 2 && options.lanczos_steps <= 1000, "lanczos_steps", options.lanczos_steps,
          "2 .. 1000");
  require(options.cols >= 1, "cols", options.cols, "at least 1");
  return solvers::made_of(ctx, a, "a Chebyshev preconditioner", [&](solvers::setup_matrix host) {
    const std::vector<double> scale = solvers::inverse_root_diagonal(host, 0, "A");
    solvers::require_symmetric(host);
    const interval ends = interval_for(host, scale, options);
    const double middle = (ends.lower + ends.upper) / 2;
    shift_diagonal(host, middle);
    const auto made = std::make_shared<const chebyshev<T>>(
        chebyshev<T>{solvers::plan_scaled<T>(ctx, host, scale, scale, options.cols),
                     solvers::chebyshev_coefficients(options.degree, ends.lower, ends.upper, middle),
                     solvers::uploaded<T>(ctx, scale)});
    return linear_operator<T>(ctx, host.rows, host.cols,
                              [made](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z,
                                     const apply_options& given) { made->apply(alpha, r, beta, z, given); },
                              {.capturable = true,
                               .workspace_bytes = [made](std::int64_t k) { return made->workspace_bytes(k); },
                               .name = core::format("Chebyshev, degree {}", options.degree)});
  });
}

#define BCSC_INSTANTIATE(T, I)                                                                   \
  template linear_operator<T> jacobi_preconditioner(const context&, const csr_view<T, I>&);      \
  template linear_operator<T> block_jacobi_preconditioner(const context&, const csr_view<T, I>&, \
                                                          const block_jacobi_options&);          \
  template linear_operator<T> chebyshev_preconditioner(const context&, const csr_view<T, I>&, const chebyshev_options&);
BCSC_INSTANTIATE(float, std::int32_t)
BCSC_INSTANTIATE(float, std::int64_t)
BCSC_INSTANTIATE(double, std::int32_t)
BCSC_INSTANTIATE(double, std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
