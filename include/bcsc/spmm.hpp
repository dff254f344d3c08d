#pragma once

#include "bcsc/export.hpp"
#include "bcsc/plan.hpp"

#pragma GCC visibility push(default)
namespace bcsc {

/// C = alpha * A * B + beta * C in one line, on context::best(): makes a plan, stages what lies on the host, waits.
/// For more than one product with the same A, make a spmm_plan.
/// Throws what spmm_plan and its run() throw; error{wrong_memory_space} if B or C do not lie on the host.
template <number T>
BCSC_EXPORT void spmm(const csr_view<T, std::int32_t>& a, input_view<T> b, output_view<T> c, scalar_of<T> alpha = 1,
                      scalar_of<T> beta = 0);
/// The same on a context of your choice.
template <number T>
BCSC_EXPORT void spmm(const context& ctx, const csr_view<T, std::int32_t>& a, input_view<T> b, output_view<T> c,
                      scalar_of<T> alpha = 1, scalar_of<T> beta = 0);

/// Owning operands.
template <number T>
void spmm(const csr_matrix<T, std::int32_t>& a, const dense_matrix<T>& b, dense_matrix<T>& c, scalar_of<T> alpha = 1,
          scalar_of<T> beta = 0) {
  spmm<T>(a.view(), b.view(), c.view(), alpha, beta);
}
template <number T>
void spmm(const context& ctx, const csr_matrix<T, std::int32_t>& a, const dense_matrix<T>& b, dense_matrix<T>& c,
          scalar_of<T> alpha = 1, scalar_of<T> beta = 0) {
  spmm<T>(ctx, a.view(), b.view(), c.view(), alpha, beta);
}

}  // namespace bcsc
#pragma GCC visibility pop
