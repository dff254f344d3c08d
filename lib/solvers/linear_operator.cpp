#include "bcsc/linear_operator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/format.hpp"
#include "core/gpu.hpp"
#include "lib/plan/access.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/added_product.hpp"
#include "lib/solvers/operator_state.hpp"

namespace bcsc {

namespace solvers {

grown_workspace::lease::lease(grown_workspace& own, const context& ctx, std::int64_t bytes, cuda_stream stream)
    : lock_(own.taken_, std::try_to_lock) {
  if (!lock_.owns_lock()) {
    core::fail(errc::workspace_in_use,
               "the operator's own workspace serves another caller: bring one (options.workspace)");
  }
  const bool on_gpu = ctx.kind() == backend::cuda;
  if (on_gpu && own.memory_ && own.stream_ != stream) {
    core::fail(errc::workspace_in_use,
               "the operator's own workspace serves another stream: bring one (options.workspace)");
  }
  if (!own.memory_ || own.memory_->size() < bytes) {
    own.memory_.reset();
    own.memory_.emplace(ctx, bytes);
  }
  own.stream_ = stream;
  bytes_ = {own.memory_->data(), static_cast<std::size_t>(own.memory_->size())};
}

namespace {

template <value T>
typename linear_operator<T>::apply_function running(const spmm_plan<T>& plan) {
  return
      [&plan](scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y, const apply_options& options) {
        plan.run(alpha, x, beta, y, {.stream = options.stream, .workspace = options.workspace});
      };
}

/// The plan outlives what is made here.
template <value T>
std::shared_ptr<operator_state<T>> state_of(const spmm_plan<T>& plan) {
  const plan_facts& facts = plan.facts();
  const auto bytes = static_cast<std::int64_t>(plan.workspace_bytes());
  operator_traits traits{.capturable = true,
                         .workspace_bytes = [bytes](std::int64_t) { return bytes; },
                         .name = core::format("a plan, {}", facts.kernel.name)};
  std::shared_ptr<operator_state<T>> state(
      new operator_state<T>{plan.where(), facts.rows, facts.cols, running(plan), std::move(traits), true});
  state->multiply_with_dots = [&plan](dense_view<const T> x, dense_view<T> y, const apply_options& options,
                                      const kernels::dots_with_b& dots) {
    plan::access<T>::run(plan, T{1}, x, T{0}, y, {.stream = options.stream, .workspace = options.workspace},
                         {.dots = dots});
  };
  state->multiply_and_add = [&plan](T alpha, dense_view<const T> x, T gamma, dense_view<const T> z, dense_view<T> y,
                                    const apply_options& options) {
    multiply<T>(plan, alpha, x, gamma, z, y, {.stream = options.stream, .workspace = options.workspace});
  };
  return state;
}

template <value T>
std::shared_ptr<const operator_state<T>> state_keeping(spmm_plan<T>&& plan) {
  const auto kept = std::make_shared<const spmm_plan<T>>(std::move(plan));
  const auto state = state_of(*kept);
  const auto keeping = [&kept](auto run) {
    return [kept, run = std::move(run)](const auto&... arguments) { run(arguments...); };
  };
  state->apply = keeping(std::move(state->apply));
  state->multiply_with_dots = keeping(std::move(state->multiply_with_dots));
  state->multiply_and_add = keeping(std::move(state->multiply_and_add));
  return state;
}

/// A single column lies the same in either layout but for its ld.
template <class T>
dense_view<T> row_major(const dense_view<T>& v) {
  return v.order == layout::row_major ? v : dense_view<T>(v.data, v.rows, v.cols);
}

/// Shapes, layouts and memory of X and Y.
template <value T>
void check_operands(const operator_state<T>& self, const dense_view<const T>& x, const dense_view<T>& y) {
  plan::check_view(x, "X");
  plan::check_view(y, "Y");
  if (x.rows != self.cols || y.rows != self.rows || x.cols != y.cols) {
    core::fail(errc::size_mismatch, "A is {} x {}, X is {} x {}, Y is {} x {}: Y = A X does not fit", self.rows,
               self.cols, x.rows, x.cols, y.rows, y.cols);
  }
  for (const auto& [order, cols, name] : {std::tuple(x.order, x.cols, "X"), {y.order, y.cols, "Y"}}) {
    if (order != layout::row_major && cols > 1) {
      core::fail(errc::layout_mismatch, "{} is {}: operators take row-major blocks of vectors", name, to_string(order));
    }
  }
  if (plan::overlap<T>(x, y)) core::fail(errc::overlapping_operands, "X and Y share memory");
}

void check_space(const context& ctx, const void* pointer, std::int64_t elements, const char* name) {
  if (elements == 0) return;
  if (pointer == nullptr) core::fail(errc::invalid_argument, "{}.data is null", name);
  const bool on_gpu = ctx.kind() == backend::cuda;
  if (on_gpu && !core::gpu::is_device_pointer(pointer, ctx.device().device)) {
    core::fail(errc::wrong_memory_space, "{} does not lie on device {}", name, ctx.device().device);
  }
  if (!on_gpu && core::gpu::is_device_only(pointer)) {
    core::fail(errc::wrong_memory_space, "{} lies on a device, the context is a CPU", name);
  }
}

void check_workspace(std::span<std::byte> given, std::int64_t needed) {
  if (std::ssize(given) < needed) {
    core::fail(errc::workspace_too_small, "the workspace has {} bytes, the operator needs {}", given.size(), needed);
  }
  if (reinterpret_cast<std::uintptr_t>(given.data()) % workspace_alignment != 0) {
    core::fail(errc::invalid_argument, "workspace = {}: must be aligned to {} bytes",
               static_cast<const void*>(given.data()), workspace_alignment);
  }
}

}  // namespace

}  // namespace solvers

template <value T>
linear_operator<T>::linear_operator(const spmm_plan<T>& plan) : state_(solvers::state_of(plan)) {}

template <value T>
linear_operator<T>::linear_operator(spmm_plan<T>&& plan) : state_(solvers::state_keeping(std::move(plan))) {}

template <value T>
linear_operator<T>::linear_operator(const context& ctx, std::int64_t rows, std::int64_t cols, apply_function apply,
                                    operator_traits traits) {
  if (rows < 0 || cols < 0) {
    core::fail(errc::invalid_argument, "rows = {}, cols = {}: must not be negative", rows, cols);
  }
  if (!apply) core::fail(errc::invalid_argument, "apply is empty: there is nothing to call");
  state_.reset(new solvers::operator_state<T>{ctx, rows, cols, std::move(apply), std::move(traits)});
}

template <value T>
void linear_operator<T>::apply(scalar<T> alpha, dense_view<const T> x, scalar<T> beta, dense_view<T> y,
                               const apply_options& options) const {
  const solvers::operator_state<T>& self = *state_;
  const bool on_gpu = self.ctx.kind() == backend::cuda;
  if (on_gpu) core::require_healthy(self.ctx.state());
  solvers::check_operands(self, x, y);
  std::optional<core::gpu::device_guard> guard;
  if (on_gpu) guard.emplace(self.ctx.device().device);
  core::guarded(self.ctx.state(), "applying an operator", [&] {
    solvers::check_space(self.ctx, x.data, x.rows * x.cols, "X");
    solvers::check_space(self.ctx, y.data, y.rows * y.cols, "Y");
  });
  if (y.rows == 0 || y.cols == 0) return;

  const std::int64_t needed = workspace_bytes(y.cols);
  x = solvers::row_major(x);
  y = solvers::row_major(y);
  if (!options.workspace.empty()) {
    solvers::check_workspace(options.workspace, needed);
    return self.apply(alpha, x, beta, y, options);
  }
  if (needed == 0 || self.brings_workspace) return self.apply(alpha, x, beta, y, options);
  const solvers::grown_workspace::lease own(self.own, self.ctx, needed, options.stream);
  self.apply(alpha, x, beta, y, {options.stream, own.bytes()});
}

template <value T>
std::int64_t linear_operator<T>::rows() const {
  return state_->rows;
}
template <value T>
std::int64_t linear_operator<T>::cols() const {
  return state_->cols;
}
template <value T>
const context& linear_operator<T>::where() const {
  return state_->ctx;
}
template <value T>
bool linear_operator<T>::capturable() const {
  return state_->traits.capturable;
}

template <value T>
std::int64_t linear_operator<T>::workspace_bytes(std::int64_t k) const {
  if (k < 0) core::fail(errc::invalid_argument, "workspace_bytes: k = {}: must not be negative", k);
  return state_->traits.workspace_bytes ? state_->traits.workspace_bytes(k) : 0;
}

template <value T>
std::string linear_operator<T>::describe() const {
  return core::format("{} x {}: {}", state_->rows, state_->cols, state_->traits.name);
}

template class linear_operator<float>;
template class linear_operator<double>;

}  // namespace bcsc
