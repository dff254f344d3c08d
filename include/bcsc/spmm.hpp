#pragma once

#include "bcsc/plan.hpp"

namespace bcsc {

/// C = alpha * A * B + beta * C in one line, on context::best(): makes a plan, stages what lies on the host, waits.
/// For more than one product with the same A, make a spmm_plan. B and C lie on the host.
/// Throws what spmm_plan and its run() throw.
template <value T>
void spmm(const csr_view<T, std::int32_t>& a, dense_view<const T> b, dense_view<T> c, T alpha = T{1}, T beta = T{0});
/// The same on a context of your choice.
template <value T>
void spmm(const context& ctx, const csr_view<T, std::int32_t>& a, dense_view<const T> b, dense_view<T> c,
          T alpha = T{1}, T beta = T{0});

/// Owning operands.
template <value T>
void spmm(const csr_matrix<T, std::int32_t>& a, const dense_matrix<T>& b, dense_matrix<T>& c, T alpha = T{1},
          T beta = T{0}) {
  spmm<T>(a.view(), b.view(), c.view(), alpha, beta);
}
template <value T>
void spmm(const context& ctx, const csr_matrix<T, std::int32_t>& a, const dense_matrix<T>& b, dense_matrix<T>& c,
          T alpha = T{1}, T beta = T{0}) {
  spmm<T>(ctx, a.view(), b.view(), c.view(), alpha, beta);
}

}  // namespace bcsc
