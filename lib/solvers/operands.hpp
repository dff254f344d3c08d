#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bcsc/dense.hpp"
#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "core/fail.hpp"
#include "core/gpu.hpp"
#include "kernels/vector/vector_ops.hpp"
#include "lib/plan/run_checks.hpp"
#include "lib/solvers/context_array.hpp"

/// What solvers do with the dense operands they are given: blocks of vectors of any layout, on the host or where the
/// context computes.
namespace bcsc::solvers {

template <value T>
const kernels::vector::operations<T>& vector_operations(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return kernels::vector::on_cuda<T>();
#endif
  (void)where;
  return kernels::vector::on_cpu<T>();
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

/// A copy where the context computes, packed and row-major. The context's device is current.
template <value T>
context_array<T> packed_copy(const context& ctx, const dense_view<const T>& from, std::string_view name) {
  context_array<T> to(ctx, core::checked_product(from.rows, from.cols, name));
  const kernels::vector::shape shape{from.rows, from.cols};
  if (ctx.kind() == backend::cuda && locate(ctx, from, name) == memory_space::host) {
    std::vector<T> packed(static_cast<std::size_t>(to.size()));
    kernels::vector::on_cpu<T>().pack({}, shape, from.data, from.row_stride(), from.col_stride(), packed.data());
    to.upload(packed);
    return to;
  }
  const kernels::launch_env env{ctx.threads(), nullptr, ctx.device().num_multiprocessors};
  core::check_launch(
      ctx.state(),
      vector_operations<T>(ctx.kind()).pack(env, shape, from.data, from.row_stride(), from.col_stride(), to.data()),
      "pack");
  return to;
}

/// The way back; done on return.
template <value T>
void store_packed(const context& ctx, const context_array<T>& from, const dense_view<T>& to, std::string_view name) {
  const kernels::vector::shape shape{to.rows, to.cols};
  if (ctx.kind() == backend::cuda && locate(ctx, to, name) == memory_space::host) {
    std::vector<T> packed(static_cast<std::size_t>(to.rows * to.cols));
    from.download(packed);
    kernels::vector::on_cpu<T>().unpack({}, shape, packed.data(), to.data, to.row_stride(), to.col_stride());
    return;
  }
  const kernels::launch_env env{ctx.threads(), nullptr, ctx.device().num_multiprocessors};
  core::check_launch(
      ctx.state(),
      vector_operations<T>(ctx.kind()).unpack(env, shape, from.data(), to.data, to.row_stride(), to.col_stride()),
      "unpack");
  if (ctx.kind() == backend::cuda) core::gpu::synchronize();
}

}  // namespace bcsc::solvers
