#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "bcsc/linear_operator.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/operator_state.hpp"

namespace bcsc {

namespace {

/// A factor that is `times` one given to an operator.
template <value T>
kernels::vector::factor<T> factor_of(const scalar<T>& s, double times = 1) {
  kernels::vector::factor<T> f = solvers::as_factor(s);
  f.value *= times;
  return f;
}

kernels::launch_env env_of(const context& ctx, const apply_options& options) {
  return solvers::environment_of(ctx, options.stream);
}

void started(const context& ctx, int status, const char* what) { core::check_launch(ctx.state(), status, what); }

void require_one_context(const context& a, const context& b, const char* what) {
  if (&a.state() == &b.state()) return;
  const bool alike = a.kind() == b.kind() && a.device().device == b.device().device;
  if (!alike) {
    core::fail(errc::invalid_argument, "{}: the parts compute on \"{}\" and on \"{}\"", what, a.describe(),
               b.describe());
  }
}

/// Whether T represents the number exactly.
template <value T>
bool holds(double number) {
  return std::fabs(number) <= static_cast<double>(std::numeric_limits<T>::max()) &&
         static_cast<double>(static_cast<T>(number)) == number;
}

template <value T>
void require_square(const linear_operator<T>& a, const char* what) {
  if (a.rows() != a.cols()) {
    core::fail(errc::size_mismatch, "{}: the operator is {} x {}, not square", what, a.rows(), a.cols());
  }
}

}  // namespace

template <value T>
linear_operator<T> shifted(const linear_operator<T>& a, double sigma) {
  require_square(a, "shifted");
  const auto apply = [a, sigma](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                                const apply_options& options) {
    using state = solvers::operator_state<T>;
    const auto& multiply_and_add = state::of(a).multiply_and_add;
    const bool overwrites = beta.pointer() == nullptr && beta.value() == T{0};
    if (multiply_and_add && overwrites && alpha.pointer() == nullptr && state::lies_alike(x, y)) {
      const double gamma = static_cast<double>(alpha.value()) * sigma;
      if (holds<T>(gamma)) return multiply_and_add(alpha.value(), x, static_cast<T>(gamma), x, y, options);
    }
    a.apply(alpha, x, beta, y, options);
    const auto& ops = solvers::block_operations_of<T>(a.where().kind());
    started(a.where(), ops.axpby(env_of(a.where(), options), factor_of(alpha, sigma), x, 1, y), "a shift");
  };
  return {a.where(),
          a.rows(),
          a.cols(),
          apply,
          {a.capturable(), [a](std::int64_t k) { return a.workspace_bytes(k); },
           core::format("({}) + {} I", a.describe(), sigma)}};
}

template <value T>
linear_operator<T> sum(const linear_operator<T>& a, const linear_operator<T>& b) {
  require_one_context(a.where(), b.where(), "sum");
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    core::fail(errc::size_mismatch, "sum: A is {} x {}, B is {} x {}", a.rows(), a.cols(), b.rows(), b.cols());
  }
  const auto apply = [a, b](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                            const apply_options& options) {
    a.apply(alpha, x, beta, y, options);
    b.apply(alpha, x, T{1}, y, options);
  };
  return {a.where(),
          a.rows(),
          a.cols(),
          apply,
          {a.capturable() && b.capturable(),
           [a, b](std::int64_t k) { return std::max(a.workspace_bytes(k), b.workspace_bytes(k)); },
           core::format("({}) + ({})", a.describe(), b.describe())}};
}

template <value T>
linear_operator<T> gram(const linear_operator<T>& a, const linear_operator<T>& a_transposed) {
  require_one_context(a.where(), a_transposed.where(), "gram");
  if (a.rows() != a_transposed.cols() || a.cols() != a_transposed.rows()) {
    core::fail(errc::size_mismatch, "gram: A is {} x {}, its transpose {} x {}", a.rows(), a.cols(),
               a_transposed.rows(), a_transposed.cols());
  }
  // Runs by_transpose(A X, what is left of the workspace).
  const auto multiply = [a](const dense_view<const T>& x, const apply_options& options, const auto& by_transpose) {
    solvers::workspace_cutter workspace(options.workspace);
    const auto between = workspace.block<T>(a.rows(), x.cols);
    const apply_options rest{options.stream, workspace.rest()};
    a.apply(T{1}, x, T{0}, between, rest);
    by_transpose(between, rest);
  };
  const auto apply = [multiply, a_transposed](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                                              const apply_options& options) {
    multiply(x, options, [&](const dense_view<const T>& between, const apply_options& rest) {
      a_transposed.apply(alpha, between, beta, y, rest);
    });
  };
  linear_operator<T> made(a.where(), a.cols(), a.cols(), apply,
                          {a.capturable() && a_transposed.capturable(),
                           [a, a_transposed](std::int64_t k) {
                             return solvers::block_bytes<T>(a.rows(), k) +
                                    std::max(a.workspace_bytes(k), a_transposed.workspace_bytes(k));
                           },
                           core::format("A' A, A = ({})", a.describe())});
  if (!solvers::operator_state<T>::of(a_transposed).multiply_and_add) return made;
  return solvers::operator_state<T>::with_sum(
      std::move(made), [multiply, a_transposed](T alpha, dense_view<const T> x, T gamma, dense_view<const T> z,
                                                dense_view<T> y, const apply_options& options) {
        multiply(x, options, [&](const dense_view<const T>& between, const apply_options& rest) {
          solvers::operator_state<T>::of(a_transposed).multiply_and_add(alpha, between, gamma, z, y, rest);
        });
      });
}

template <value T>
linear_operator<T> scaled(const linear_operator<T>& a, std::type_identity_t<std::span<const T>> d) {
  require_square(a, "scaled");
  if (std::ssize(d) != a.rows()) {
    core::fail(errc::size_mismatch, "scaled: d has {} entries, the operator {} rows", d.size(), a.rows());
  }
  std::optional<core::gpu::device_guard> guard;
  if (a.where().kind() == backend::cuda) guard.emplace(a.where().device().device);
  const auto diagonal = std::make_shared<solvers::context_array<T>>(a.where(), std::ssize(d));
  diagonal->upload(d);
  const auto apply = [a, diagonal](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                                   const apply_options& options) {
    const auto& ops = solvers::block_operations_of<T>(a.where().kind());
    const auto env = env_of(a.where(), options);
    solvers::workspace_cutter workspace(options.workspace);
    const auto in = workspace.block<T>(a.cols(), x.cols), out = workspace.block<T>(a.rows(), x.cols);
    started(a.where(), ops.scale_rows(env, diagonal->data(), 1, x, 0, in), "scaling");
    a.apply(T{1}, in, T{0}, out, {options.stream, workspace.rest()});
    started(a.where(), ops.scale_rows(env, diagonal->data(), factor_of(alpha), out, factor_of(beta), y), "scaling");
  };
  return {
      a.where(),
      a.rows(),
      a.cols(),
      apply,
      {a.capturable(), [a](std::int64_t k) { return 2 * solvers::block_bytes<T>(a.rows(), k) + a.workspace_bytes(k); },
       core::format("D ({}) D", a.describe())}};
}

linear_operator<double> widened(const linear_operator<float>& a) {
  const auto apply = [a](scalar<double> alpha, dense_view<const double> x, scalar<double> beta, dense_view<double> y,
                         const apply_options& options) {
    const auto& narrow = solvers::block_operations_of<float>(a.where().kind());
    const auto& wide = solvers::block_operations_of<double>(a.where().kind());
    const auto env = env_of(a.where(), options);
    solvers::workspace_cutter workspace(options.workspace);
    const auto in = workspace.block<float>(a.cols(), x.cols), out = workspace.block<float>(a.rows(), x.cols);
    started(a.where(), narrow.convert(env, nullptr, 1, x, 0, in), "rounding");
    a.apply(1.0f, in, 0.0f, out, {options.stream, workspace.rest()});
    started(a.where(), wide.convert(env, nullptr, factor_of(alpha), out, factor_of(beta), y), "widening");
  };
  return {a.where(),
          a.rows(),
          a.cols(),
          apply,
          {a.capturable(),
           [a](std::int64_t k) {
             return solvers::block_bytes<float>(a.cols(), k) + solvers::block_bytes<float>(a.rows(), k) +
                    a.workspace_bytes(k);
           },
           core::format("in fp32: {}", a.describe())}};
}

template <value T>
linear_operator<T> dense_operator(const context& ctx, dense_view<const T> a) {
  plan::check_view(a, "A");
  if (a.rows > 0 && a.cols > 0 && a.data == nullptr) core::fail(errc::invalid_argument, "A.data is null");
  std::vector<std::int64_t> row_ptr(core::at(a.rows + 1)), col_ind;
  std::vector<T> values;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    row_ptr[core::at(i + 1)] = row_ptr[core::at(i)] + a.cols;
    for (std::int64_t j = 0; j < a.cols; ++j) {
      col_ind.push_back(j);
      values.push_back(a(i, j));
    }
  }
  const csr_view<T, std::int64_t> every_entry{a.rows, a.cols, row_ptr, col_ind, values};
  return spmm_plan<T>(ctx, every_entry, {});
}

#define BCSC_INSTANTIATE(T)                                                               \
  template linear_operator<T> shifted(const linear_operator<T>&, double);                 \
  template linear_operator<T> sum(const linear_operator<T>&, const linear_operator<T>&);  \
  template linear_operator<T> gram(const linear_operator<T>&, const linear_operator<T>&); \
  template linear_operator<T> scaled(const linear_operator<T>&, std::span<const T>);      \
  template linear_operator<T> dense_operator(const context&, dense_view<const T>);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
#undef BCSC_INSTANTIATE

}  // namespace bcsc
