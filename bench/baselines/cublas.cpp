#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/baselines/cuda_libraries.hpp"

/// cuBLAS on A made dense.
namespace bcsc::bench::nvidia {

namespace {

/// A dense A beyond this size is not worth the comparison.
constexpr std::int64_t max_dense_bytes = std::int64_t{2} << 30;

struct gemm_mode {
  const char* name;
  const char* group;
  cublasComputeType_t compute;
  bool bounded;
};
constexpr gemm_mode gemm_fp32{"cublas-fp32", "cublas", CUBLAS_COMPUTE_32F_PEDANTIC, true};
constexpr gemm_mode gemm_tf32{"cublas-tf32", "cublas-tf32", CUBLAS_COMPUTE_32F_FAST_TF32, false};
// Their sums may be kept in less than fp32 between the steps of a split product.
constexpr gemm_mode gemm_fp16{"cublas-fp16", "cublas", CUBLAS_COMPUTE_32F, false};
constexpr gemm_mode gemm_bf16{"cublas-bf16", "cublas", CUBLAS_COMPUTE_32F, false};
constexpr gemm_mode gemm_fp64{"cublas-fp64", "cublas", CUBLAS_COMPUTE_64F, true};

/// A as a row-major dense matrix on the stage.
template <number T>
stage_array<T> make_dense(handles& library, stage& where, const csr_view<T, std::int32_t>& a) {
  stage_array<T> dense(where, a.rows * a.cols);
  sparse_descriptor from;
  describe_csr(a, &from.handle);
  const dense_descriptor to(dense_view<T>{dense.data(), a.rows, a.cols, layout::row_major});
  std::size_t bytes = 0;
  check(cusparseSparseToDense_bufferSize(library.sparse, from.handle, to.handle, CUSPARSE_SPARSETODENSE_ALG_DEFAULT,
                                         &bytes),
        "cusparseSparseToDense_bufferSize");
  const stage_array<char> workspace(where, static_cast<std::int64_t>(bytes));
  check(cusparseSparseToDense(library.sparse, from.handle, to.handle, CUSPARSE_SPARSETODENSE_ALG_DEFAULT,
                              workspace.data()),
        "cusparseSparseToDense");
  where.wait();
  return dense;
}

/// cuBLAS thinks in columns: a row-major matrix is its own transpose there.
template <number T>
void gemm(handles& library, const T* a, std::int64_t rows, std::int64_t inner, dense_view<const T> b, dense_view<T> c,
          cublasComputeType_t compute) {
  const scalar_of<T> one = 1, zero = 0;
  const auto as_int = [](std::int64_t n) { return static_cast<int>(n); };
  const auto run = [&](cublasOperation_t op_left, int m, int n, const T* left, int ld_left, const T* right,
                       int ld_right) {
    check(
        cublasGemmEx(library.dense, op_left, CUBLAS_OP_N, m, n, as_int(inner), &one, left, data_type<T>, ld_left, right,
                     data_type<T>, ld_right, &zero, c.data, data_type<T>, as_int(c.ld), compute, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  };
  if (c.order == layout::row_major) {  // C' = B' A'
    run(CUBLAS_OP_N, as_int(c.cols), as_int(rows), b.data, as_int(b.ld), a, as_int(inner));
  } else {  // C = (A')' B
    run(CUBLAS_OP_T, as_int(rows), as_int(c.cols), a, as_int(inner), b.data, as_int(b.ld));
  }
}

template <number T>
rival<T> cublas(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, gemm_mode mode) {
  return {.name = mode.name,
          .group = mode.group,
          .bounded = mode.bounded,
          .other_layout = false,
          .prepare = [=, &where, a = p.placed](dense_view<const T> b, dense_view<T> c) {
            const auto begin = std::chrono::steady_clock::now();
            auto dense = std::make_shared<const stage_array<T>>(make_dense(*library, where, a));
            prepared ready;
            ready.convert_seconds = seconds_since(begin);
            ready.start = [=, rows = a.rows, inner = a.cols] {
              gemm<T>(*library, dense->data(), rows, inner, b, c, mode.compute);
            };
            return ready;
          }};
}

template <number T>
bool fits_dense(const problem<T>& p) {
  if (p.transpose != op::none || p.host.rows == 0 || p.host.cols == 0) return false;
  return p.host.rows <= max_dense_bytes / static_cast<std::int64_t>(sizeof(T)) / p.host.cols;
}

/// In T's own precision, and for fp32 in TF32.
template <number T>
std::vector<gemm_mode> modes() {
  if constexpr (std::is_same_v<T, float>) return {gemm_fp32, gemm_tf32};
  if constexpr (std::is_same_v<T, double>) return {gemm_fp64};
  if constexpr (std::is_same_v<T, half>) return {gemm_fp16};
  if constexpr (std::is_same_v<T, bfloat16>) return {gemm_bf16};
}

}  // namespace

template <number T>
void add_cublas(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, std::vector<rival<T>>& to) {
  if (!fits_dense(p)) return;
  for (const gemm_mode& mode : modes<T>()) to.push_back(cublas(library, where, p, mode));
}

#define BCSC_INSTANTIATE(T) \
  template void add_cublas(const std::shared_ptr<handles>&, stage&, const problem<T>&, std::vector<rival<T>>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::bench::nvidia
