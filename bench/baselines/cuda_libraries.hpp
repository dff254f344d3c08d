#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "bench/harness/contender.hpp"
#include "core/fail.hpp"

/// What the baselines from NVIDIA's libraries share: status codes as errors, handles, descriptors.
namespace bcsc::bench::nvidia {

[[noreturn]] inline void give_up(bool out_of_memory, bool cannot, const char* what, const char* why) {
  const errc code = out_of_memory ? errc::out_of_memory : cannot ? errc::unsupported : errc::cuda_error;
  core::fail(code, "{}: {}", what, why);
}

inline void check(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const bool cannot = status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_INVALID_VALUE;
  give_up(status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, cannot, what,
          cusparseGetErrorString(status));
}

inline void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  give_up(status == CUBLAS_STATUS_ALLOC_FAILED, status == CUBLAS_STATUS_NOT_SUPPORTED, what,
          cublasGetStatusString(status));
}

/// The handles of both libraries, bound to the stage's stream.
struct handles {
  cusparseHandle_t sparse = nullptr;
  cublasHandle_t dense = nullptr;

  explicit handles(cudaStream_t stream) {
    check(cusparseCreate(&sparse), "cusparseCreate");
    check(cusparseSetStream(sparse, stream), "cusparseSetStream");
    check(cublasCreate(&dense), "cublasCreate");
    check(cublasSetStream(dense, stream), "cublasSetStream");
  }
  ~handles() {
    cublasDestroy(dense);
    cusparseDestroy(sparse);
  }
  handles(const handles&) = delete;
  handles& operator=(const handles&) = delete;
};

template <number T>
inline constexpr cudaDataType data_type = std::is_same_v<T, float>    ? CUDA_R_32F
                                          : std::is_same_v<T, double> ? CUDA_R_64F
                                          : std::is_same_v<T, half>   ? CUDA_R_16F
                                                                      : CUDA_R_16BF;
/// What is computed in, and the type of alpha and beta.
template <number T>
inline constexpr cudaDataType compute_type = data_type<scalar_of<T>>;

inline cusparseOrder_t order_of(layout order) {
  return order == layout::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
}

struct sparse_descriptor {
  cusparseSpMatDescr_t handle = nullptr;
  sparse_descriptor() = default;
  ~sparse_descriptor() {
    if (handle != nullptr) cusparseDestroySpMat(handle);
  }
  sparse_descriptor(const sparse_descriptor&) = delete;
  sparse_descriptor& operator=(const sparse_descriptor&) = delete;
};

struct dense_descriptor {
  cusparseDnMatDescr_t handle = nullptr;
  template <class T>
  explicit dense_descriptor(dense_view<T> x) {
    check(cusparseCreateDnMat(&handle, x.rows, x.cols, x.ld, const_cast<std::remove_const_t<T>*>(x.data),
                              data_type<std::remove_const_t<T>>, order_of(x.order)),
          "cusparseCreateDnMat");
  }
  ~dense_descriptor() { cusparseDestroyDnMat(handle); }
  dense_descriptor(const dense_descriptor&) = delete;
  dense_descriptor& operator=(const dense_descriptor&) = delete;
};

template <number T>
void describe_csr(const csr_view<T, std::int32_t>& a, cusparseSpMatDescr_t* to) {
  check(cusparseCreateCsr(to, a.rows, a.cols, a.nnz(), const_cast<std::int32_t*>(a.row_ptr.data()),
                          const_cast<std::int32_t*>(a.col_ind.data()), const_cast<T*>(a.values.data()),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
        "cusparseCreateCsr");
}

/// cuSPARSE's ways to multiply, all of them (cusparse.cpp).
template <number T>
void add_cusparse(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                  std::vector<rival<T>>& to);
/// cuBLAS on A made dense, where that fits (cublas.cpp).
template <number T>
void add_cublas(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, std::vector<rival<T>>& to);

}  // namespace bcsc::bench::nvidia
