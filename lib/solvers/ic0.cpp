#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "bcsc/preconditioners.hpp"
#include "bcsc_config.h"
#include "converters/formats/current_team.hpp"
#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/incomplete_cholesky.hpp"
#include "lib/solvers/made_of.hpp"
#include "lib/solvers/operator_state.hpp"
#include "lib/solvers/scaled_plan.hpp"
#include "lib/solvers/spectrum.hpp"
#include "lib/solvers/triangle.hpp"
#if BCSC_WITH_CUDA
#include "kernels/cuda/triangular_library.hpp"
#endif

namespace bcsc {

using core::at;

namespace {

/// Z = alpha S (L L')^-1 S R + beta Z; `solve` takes S R to (L L')^-1 S R, in blocks that it names.
template <value T>
struct scaled_solve {
  context ctx;
  std::shared_ptr<const solvers::context_array<T>> scale;

  void into(const dense_view<const T>& r, const dense_view<T>& b, cuda_stream stream) const { run(1, r, 0, b, stream); }
  void out_of(scalar<T> alpha, const dense_view<T>& x, scalar<T> beta, const dense_view<T>& z,
              cuda_stream stream) const {
    run(solvers::as_factor(alpha), x, solvers::as_factor(beta), z, stream);
  }

 private:
  void run(kernels::vector::factor<T> alpha, const dense_view<const T>& from, kernels::vector::factor<T> beta,
           const dense_view<T>& to, cuda_stream stream) const {
    const kernels::launch_env env = solvers::environment_of(ctx, stream);
    core::check_launch(
        ctx.state(), solvers::block_operations_of<T>(ctx.kind()).scale_rows(env, scale->data(), alpha, from, beta, to),
        "scale_rows");
  }
};

/// On a CPU: both triangles in place of one block of the workspace.
template <value T>
struct host_ic0 {
  scaled_solve<T> scaled;
  solvers::triangle<T> lower, upper;

  void apply(scalar<T> alpha, const dense_view<const T>& r, scalar<T> beta, const dense_view<T>& z,
             const apply_options& options) const {
    const converters::team_guard team(scaled.ctx.state().who());
    const dense_view<T> x = solvers::workspace_cutter(options.workspace).template block<T>(r.rows, r.cols);
    scaled.into(r, x, options.stream);
    lower.solve(x);
    upper.solve(x);
    scaled.out_of(alpha, x, beta, z, options.stream);
  }
};

#if BCSC_WITH_CUDA
/// CSR with its diagonal, on the device.
template <value T>
class device_triangle {
 public:
  device_triangle(int device, const solvers::setup_matrix& off_diagonal, std::span<const double> diagonal,
                  bool is_lower)
      : is_lower_(is_lower) {
    const std::int64_t n = off_diagonal.rows, nnz = off_diagonal.nnz() + n;
    static_cast<void>(core::narrow<std::int32_t>(nnz, "entries of an incomplete factor"));
    std::vector<std::int32_t> row_ptr(at(n) + 1, 0), col_ind;
    std::vector<T> values;
    col_ind.reserve(at(nnz));
    values.reserve(at(nnz));
    const auto add = [&](std::int64_t column, double entry) {
      col_ind.push_back(static_cast<std::int32_t>(column));
      values.push_back(static_cast<T>(entry));
    };
    for (std::int64_t i = 0; i < n; ++i) {
      if (!is_lower) add(i, diagonal[at(i)]);
      for (std::int64_t p = off_diagonal.row_ptr[at(i)]; p < off_diagonal.row_ptr[at(i) + 1]; ++p) {
        add(off_diagonal.col_ind[at(p)], off_diagonal.values[at(p)]);
      }
      if (is_lower) add(i, diagonal[at(i)]);
      row_ptr[at(i) + 1] = static_cast<std::int32_t>(col_ind.size());
    }
    row_ptr_ = core::device_buffer<std::int32_t>(device, std::span<const std::int32_t>(row_ptr));
    col_ind_ = core::device_buffer<std::int32_t>(device, std::span<const std::int32_t>(col_ind));
    values_ = core::device_buffer<T>(device, std::span<const T>(values));
  }
  kernels::cuda::triangular_matrix view() const {
    return {value_type_of<T>, row_ptr_.size() - 1, values_.size(), row_ptr_.data(),
            col_ind_.data(),  values_.data(),      is_lower_};
  }

 private:
  bool is_lower_;
  core::device_buffer<std::int32_t> row_ptr_, col_ind_;
  core::device_buffer<T> values_;
};

/// On a GPU: cuSPARSE analyses a triangle for one number of columns.
template <value T>
class device_ic0 {
 public:
  device_ic0(scaled_solve<T> scaled, const solvers::incomplete_cholesky& made)
      : scaled_(std::move(scaled)),
        lower_(scaled_.ctx.device().device, made.lower, made.diagonal, true),
        upper_(scaled_.ctx.device().device, solvers::transpose(made.lower), made.diagonal, false) {}

  void apply(scalar<T> alpha, const dense_view<const T>& r, scalar<T> beta, const dense_view<T>& z,
             const apply_options& options) {
    if (r.rows == 0 || r.cols == 0) return;
    solvers::workspace_cutter cutter(options.workspace);
    const dense_view<T> first = cutter.template block<T>(r.rows, r.cols);
    const dense_view<T> second = cutter.template block<T>(r.rows, r.cols);
    scaled_.into(r, first, options.stream);
    {
      const std::lock_guard lock(taken_);
      if (cols_ != r.cols) prepare(r.cols);
      forward_->run(first.data, second.data, options.stream);
      backward_->run(second.data, first.data, options.stream);
    }
    scaled_.out_of(alpha, first, beta, z, options.stream);
  }

 private:
  void prepare(std::int64_t cols) {
    const int device = scaled_.ctx.device().device;
    cols_ = 0;
    forward_ = kernels::cuda::prepare_triangular_solve(device, lower_.view(), cols);
    backward_ = kernels::cuda::prepare_triangular_solve(device, upper_.view(), cols);
    cols_ = cols;
  }

  scaled_solve<T> scaled_;
  device_triangle<T> lower_, upper_;
  std::mutex taken_;
  std::int64_t cols_ = 0;  ///< that both are prepared for
  std::unique_ptr<kernels::cuda::triangular_solve> forward_, backward_;
};

template <value T>
linear_operator<T> operator_on_device(scaled_solve<T> scaled, const solvers::incomplete_cholesky& made,
                                      const std::string& name) {
  const context ctx = scaled.ctx;
  const std::int64_t n = made.lower.rows;
  const auto solve = std::make_shared<device_ic0<T>>(std::move(scaled), made);
  return linear_operator<T>(ctx, n, n,
                            [solve](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z,
                                    const apply_options& given) { solve->apply(alpha, r, beta, z, given); },
                            {.capturable = false,
                             .workspace_bytes = [n](std::int64_t k) { return 2 * solvers::block_bytes<T>(n, k); },
                             .name = name});
}
#endif

template <value T>
linear_operator<T> operator_on_host(scaled_solve<T> scaled, const solvers::incomplete_cholesky& made,
                                    const std::string& name) {
  const context ctx = scaled.ctx;
  const std::int64_t n = made.lower.rows;
  const auto solve = std::make_shared<const host_ic0<T>>(
      host_ic0<T>{std::move(scaled), solvers::to_triangle<T>(made.lower, made.diagonal, true),
                  solvers::to_triangle<T>(solvers::transpose(made.lower), made.diagonal, false)});
  return linear_operator<T>(ctx, n, n,
                            [solve](scalar<T> alpha, dense_view<const T> r, scalar<T> beta, dense_view<T> z,
                                    const apply_options& given) { solve->apply(alpha, r, beta, z, given); },
                            {.capturable = true,
                             .workspace_bytes = [n](std::int64_t k) { return solvers::block_bytes<T>(n, k); },
                             .name = name});
}

/// Fails before anything is computed.
void require_triangular_solves(const context& ctx) {
#if BCSC_WITH_CUDA
  if (ctx.kind() != backend::cuda) return;
  if (const std::string why = kernels::cuda::ready_triangular_library(); !why.empty()) {
    core::fail(errc::unsupported, "IC(0) on a GPU: {}", why);
  }
#else
  static_cast<void>(ctx);
#endif
}

}  // namespace

template <value T, index I>
linear_operator<T> ic0_preconditioner(const context& ctx, const csr_view<T, I>& a, const ic0_options& options) {
  if (!(options.shift >= 0 && options.shift <= 1)) {
    core::fail(errc::invalid_argument, "shift = {}: must be 0 .. 1", options.shift);
  }
  require_triangular_solves(ctx);
  return solvers::made_of(ctx, a, "an incomplete Cholesky factorisation", [&](const solvers::setup_matrix& host) {
    const std::vector<double> scale = solvers::inverse_root_diagonal(host, 0, "A");
    solvers::require_symmetric(host);
    const solvers::incomplete_cholesky made = solvers::factorise(host, scale, options.shift);
    const std::string name = core::format("IC(0) in {} levels, shift {:.3g}", made.num_levels, made.shift);
    if (made.shift > options.shift) {
      ctx.state().say(core::format("ic0: a pivot was not positive until {:.3g} of A's diagonal was added", made.shift));
    }
    scaled_solve<T> scaled{ctx, solvers::uploaded<T>(ctx, scale)};
#if BCSC_WITH_CUDA
    if (ctx.kind() == backend::cuda) return operator_on_device(std::move(scaled), made, name);
#endif
    return operator_on_host(std::move(scaled), made, name);
  });
}

#define BCSC_INSTANTIATE(T, I) \
  template linear_operator<T> ic0_preconditioner(const context&, const csr_view<T, I>&, const ic0_options&);
BCSC_INSTANTIATE(float, std::int32_t)
BCSC_INSTANTIATE(float, std::int64_t)
BCSC_INSTANTIATE(double, std::int32_t)
BCSC_INSTANTIATE(double, std::int64_t)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
