#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bcsc/linear_operator.hpp"
#include "converters/formats/current_team.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/setup_matrix.hpp"

/// What the preconditioners that are made of a matrix share.
namespace bcsc::solvers {

/// make(A on the host), with the context's device current and its threads.
template <value T, index I, class Make>
linear_operator<T> made_of(const context& ctx, const csr_view<T, I>& a, const char* what, const Make& make) {
  if (a.rows != a.cols) {
    core::fail(errc::size_mismatch, "A is {} x {}: a preconditioner needs a square matrix", a.rows, a.cols);
  }
  std::optional<core::gpu::device_guard> guard;
  if (ctx.kind() == backend::cuda) {
    core::require_healthy(ctx.state());
    guard.emplace(ctx.device().device);
  }
  const converters::team_guard team(ctx.state().who());
  return core::guarded(ctx.state(), what, [&] { return make(to_setup(a)); });
}

/// A diagonal, where the context computes.
template <value T>
std::shared_ptr<const context_array<T>> uploaded(const context& ctx, const std::vector<double>& entries) {
  const auto made = std::make_shared<context_array<T>>(ctx, std::ssize(entries));
  made->upload(std::vector<T>(entries.begin(), entries.end()));
  return made;
}

}  // namespace bcsc::solvers
