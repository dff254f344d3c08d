#pragma once

#include "bcsc/dense.hpp"
#include "bcsc/export.hpp"
#include "bcsc/formats.hpp"

#pragma GCC visibility push(default)
/// Serial SpMM on the host, one readable loop per format: C = alpha * A * B + beta * C. The fast kernels are compared
/// with them. They take any valid input: any layout, beta = 0 never reads C; fp16 and bf16 are summed in fp32.
/// Throw error{size_mismatch | bad_leading_dimension | wrong_memory_space}.
namespace bcsc::reference {

template <number T, index I>
BCSC_EXPORT void spmm(scalar_of<T> alpha, const coo_view<T, I>& a, input_view<T> b, scalar_of<T> beta,
                      output_view<T> c);
template <number T, index I>
BCSC_EXPORT void spmm(scalar_of<T> alpha, const csr_view<T, I>& a, input_view<T> b, scalar_of<T> beta,
                      output_view<T> c);
template <number T, index I>
BCSC_EXPORT void spmm(scalar_of<T> alpha, const csc_view<T, I>& a, input_view<T> b, scalar_of<T> beta,
                      output_view<T> c);
template <number T, index I>
BCSC_EXPORT void spmm(scalar_of<T> alpha, const bsr_view<T, I>& a, input_view<T> b, scalar_of<T> beta,
                      output_view<T> c);
template <number T, index I>
BCSC_EXPORT void spmm(scalar_of<T> alpha, const bcsc_view<T, I>& a, input_view<T> b, scalar_of<T> beta,
                      output_view<T> c);

}  // namespace bcsc::reference
#pragma GCC visibility pop
