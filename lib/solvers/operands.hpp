#pragma once

#include <cstdint>
#include <string_view>

#include "bcsc/dense.hpp"
#include "bcsc/linear_operator.hpp"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/block_backend.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/host_block.hpp"

/// What solvers are given: blocks of vectors of any layout, on the host or where the context computes, and operators
/// that have to fit.
namespace bcsc::solvers {

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

/// Requires that an operator beside A fits it.
template <value T, value U>
void check_part(const linear_operator<T>& a, const linear_operator<U>& part, const char* name) {
  if (part.rows() != a.rows() || part.cols() != a.cols()) {
    core::fail(errc::size_mismatch, "A is {} x {}, {} is {} x {}", a.rows(), a.cols(), name, part.rows(), part.cols());
  }
  const context &here = a.where(), &there = part.where();
  if (here.kind() != there.kind() || here.device().device != there.device().device) {
    core::fail(errc::invalid_argument, "A computes on \"{}\", {} on \"{}\"", here.describe(), name, there.describe());
  }
}

/// Copies an operand of any layout to a packed block, or back. Complete on return where the operand is on the host.
template <value T>
void load_block(const context& ctx, const kernels::launch_env& env, const dense_view<const T>& from, memory_space space,
                context_array<T>& to) {
  if (ctx.kind() == backend::cuda && space == memory_space::host) return upload_block(ctx, env, from, to);
  core::check_launch(ctx.state(),
                     operations_of<T>(ctx.kind())
                         .pack(env, {from.rows, from.cols}, from.data, from.row_stride(), from.col_stride(), to.data()),
                     "pack");
}

/// Complete on return.
template <value T>
void store_block(const context& ctx, const kernels::launch_env& env, const context_array<T>& from,
                 const dense_view<T>& to, memory_space space) {
  if (ctx.kind() == backend::cuda && space == memory_space::host) return download_block(ctx, env, from, to);
  core::check_launch(ctx.state(),
                     operations_of<T>(ctx.kind())
                         .unpack(env, {to.rows, to.cols}, from.data(), to.data, to.row_stride(), to.col_stride()),
                     "unpack");
  if (ctx.kind() == backend::cuda) core::gpu::synchronize(env.stream);
}

}  // namespace bcsc::solvers
