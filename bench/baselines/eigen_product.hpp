#pragma once

#include <cstdint>

/// Eigen's sparse product, compiled once for each instruction set, as our own kernels are: Eigen picks its instruction
/// set at compile time, and its SSE2 code would be no fair match on a machine with AVX-512. Each copy has its own Eigen
/// namespace (renamed on the compiler's command line), so that the linker cannot mix them.
namespace bcsc::bench {

template <class T>
struct eigen_operands {
  std::int64_t rows, inner, nnz;
  const std::int32_t* row_ptr;
  const std::int32_t* col_ind;
  const T* values;
  const T* b;  ///< inner x cols, packed
  T* c;        ///< rows x cols, packed
  std::int64_t cols;
  bool row_major;  ///< B and C
  int threads;
};

namespace eigen_baseline {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
}  // namespace eigen_baseline
namespace eigen_avx2 {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
}  // namespace eigen_avx2
namespace eigen_avx512 {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
}  // namespace eigen_avx512

}  // namespace bcsc::bench
