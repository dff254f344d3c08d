#pragma once

#include <cstdint>

/// Eigen's sparse product and its conjugate gradients, compiled once for each instruction set, as our own kernels are:
/// Eigen picks its instruction set at compile time, and its SSE2 code would be no fair match on a machine with AVX-512.
/// Each copy has its own Eigen namespace (renamed on the compiler's command line), so that the linker cannot mix them.
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

/// A symmetric system for Eigen's conjugate gradients without a preconditioner; x [rows] starts at 0.
struct eigen_system {
  std::int64_t rows, nnz;
  const std::int32_t* row_ptr;
  const std::int32_t* col_ind;
  const double* values;
  const double* b;
  double* x;
  int threads;
};

// iterate(system, n): n iterations, whatever the residual.
namespace eigen_baseline {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
void iterate(const eigen_system& system, int iterations);
}  // namespace eigen_baseline
namespace eigen_avx2 {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
void iterate(const eigen_system& system, int iterations);
}  // namespace eigen_avx2
namespace eigen_avx512 {
void multiply(const eigen_operands<float>& task);
void multiply(const eigen_operands<double>& task);
void iterate(const eigen_system& system, int iterations);
}  // namespace eigen_avx512

/// A copy of them.
struct eigen_functions {
  void (*multiply_fp32)(const eigen_operands<float>&);
  void (*multiply_fp64)(const eigen_operands<double>&);
  void (*iterate)(const eigen_system&, int iterations);

  void multiply(const eigen_operands<float>& task) const { multiply_fp32(task); }
  void multiply(const eigen_operands<double>& task) const { multiply_fp64(task); }
};

/// The copy for the best instruction set of this machine.
inline eigen_functions best_eigen() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return {eigen_avx512::multiply, eigen_avx512::multiply, eigen_avx512::iterate};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {eigen_avx2::multiply, eigen_avx2::multiply, eigen_avx2::iterate};
  }
#endif
  return {eigen_baseline::multiply, eigen_baseline::multiply, eigen_baseline::iterate};
}

}  // namespace bcsc::bench
