#pragma once

#include "bcsc/context.hpp"
#include "bcsc/linear_operator.hpp"
#include "bcsc_config.h"
#include "kernels/vector/block_ops.hpp"
#include "kernels/vector/vector_ops.hpp"

/// What solvers and operators need to start operations on blocks of vectors where their context computes.
namespace bcsc::solvers {

template <value T>
const kernels::vector::operations<T>& operations_of(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return kernels::vector::on_cuda<T>();
#endif
  (void)where;
  return kernels::vector::on_cpu<T>();
}

template <value T>
const kernels::vector::block_operations<T>& block_operations_of(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return kernels::vector::block_on_cuda<T>();
#endif
  (void)where;
  return kernels::vector::block_on_cpu<T>();
}

inline kernels::launch_env environment_of(const context& ctx, cuda_stream stream) {
  return {ctx.state().who(), stream, ctx.device().num_multiprocessors};
}

template <value T>
kernels::vector::factor<T> as_factor(const scalar<T>& s) {
  using kernels::vector::factor;
  return s.pointer() != nullptr ? factor<T>(1, s.pointer()) : factor<T>(static_cast<double>(s.value()));
}

}  // namespace bcsc::solvers
