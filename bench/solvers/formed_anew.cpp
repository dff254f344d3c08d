#include "bench/solvers/formed_anew.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "bench/baselines/cuda_libraries.hpp"
#include "bench/solvers/rounded_products.hpp"

namespace bcsc::bench {

namespace {

using nvidia::check;

/// Of the block of Q that is formed at a time, counted in fp64; in fp32 it has as many rows.
constexpr std::int64_t block_bytes = std::int64_t{64} << 20;
constexpr std::int64_t workspace_bytes = std::int64_t{32} << 20;  // what cuBLAS recommends for Hopper

cublasComputeType_t summed_in(cg_inner precision) {
  switch (precision) {
    case cg_inner::as_given:
      return CUBLAS_COMPUTE_64F;
    case cg_inner::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case cg_inner::bf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
  }
}

/// Row-major operands are handed to cuBLAS as their transposes.
template <value T>
class rows_formed_anew {
 public:
  rows_formed_anew(stage& where, const dense_matrix<double>& points, cg_inner precision)
      : library_(static_cast<cudaStream_t>(where.stream())),
        precision_(precision),
        points_(points.rows()),
        features_(points.cols()),
        block_rows_(std::clamp<std::int64_t>(block_bytes / (points_ * 8), 1, points_)),
        x_(where, points_ * features_),
        q_(where, block_rows_ * points_),
        workspace_(where, workspace_bytes) {
    std::vector<T> x(static_cast<std::size_t>(points_ * features_));
    std::transform(points.data(), points.data() + x_.size(), x.begin(),
                   [precision](double v) { return static_cast<T>(rounded(v, precision)); });
    where.upload(x_.data(), x.data(), x_.bytes());
  }

  void operator()(scalar<T> alpha, dense_view<const T> v, scalar<T> beta, dense_view<T> y,
                  const apply_options& options) const {
    if (alpha.pointer() != nullptr || beta.pointer() != nullptr) {
      core::fail(errc::unsupported, "formed_anew: alpha and beta lie on the device");
    }
    check(cublasSetStream(library_.dense, static_cast<cudaStream_t>(options.stream)), "cublasSetStream");
    // cublasSetStream() resets the workspace to cuBLAS's own, which cannot be captured.
    check(cublasSetWorkspace(library_.dense, workspace_.data(), workspace_bytes), "cublasSetWorkspace");
    for (std::int64_t first = 0; first < points_; first += block_rows_) {
      const std::int64_t rows = std::min(block_rows_, points_ - first);
      form(first, rows);
      multiply(alpha.value(), v, beta.value(), y, first, rows);
    }
  }

 private:
  static constexpr auto by_type(auto* in_fp32, auto* in_fp64) {
    if constexpr (std::is_same_v<T, float>) {
      return in_fp32;
    } else {
      return in_fp64;
    }
  }
  /// q = X[first..first + rows] X'
  void form(std::int64_t first, std::int64_t rows) const {
    const T one = 1, zero = 0;
    gemm(CUBLAS_OP_T, summed_in(precision_), points_, rows, features_, one, x_.data(), features_,
         x_.data() + first * features_, features_, zero, q_.data(), points_);
  }
  /// y[first..first + rows] = alpha (q v + v[first..first + rows]) + beta y[first..first + rows]
  void multiply(T alpha, const dense_view<const T>& v, T beta, const dense_view<T>& y, std::int64_t first,
                std::int64_t rows) const {
    T* const to = y.data + first * y.ld;
    if (v.cols == 1) {
      check(by_type(cublasSgemv_64, cublasDgemv_64)(library_.dense, CUBLAS_OP_T, points_, rows, &alpha, q_.data(),
                                                    points_, v.data, v.ld, &beta, to, y.ld),
            "cublas gemv");
    } else {
      gemm(CUBLAS_OP_N, summed_in(std::is_same_v<T, double> ? cg_inner::as_given : cg_inner::fp32), v.cols, rows,
           points_, alpha, v.data, v.ld, q_.data(), points_, beta, to, y.ld);
    }
    const T one = 1;
    check(by_type(cublasSgeam_64, cublasDgeam_64)(library_.dense, CUBLAS_OP_N, CUBLAS_OP_N, v.cols, rows, &alpha,
                                                  v.data + first * v.ld, v.ld, &one, to, y.ld, to, y.ld),
          "cublas geam");
  }
  void gemm(cublasOperation_t op_a, cublasComputeType_t compute, std::int64_t m, std::int64_t n, std::int64_t k,
            T alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) const {
    check(cublasGemmEx_64(library_.dense, op_a, CUBLAS_OP_N, m, n, k, &alpha, a, nvidia::data_type<T>, lda, b,
                          nvidia::data_type<T>, ldb, &beta, c, nvidia::data_type<T>, ldc, compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  }

  nvidia::handles library_;
  cg_inner precision_;
  std::int64_t points_, features_, block_rows_;
  stage_array<T> x_, q_;
  stage_array<char> workspace_;
};

}  // namespace

template <value T>
linear_operator<T> formed_anew(const context& ctx, stage& where, const dense_matrix<double>& points,
                               cg_inner precision) {
  const auto product = std::make_shared<const rows_formed_anew<T>>(where, points, precision);
  return {ctx,
          points.rows(),
          points.rows(),
          [product](scalar<T> alpha, dense_view<const T> v, scalar<T> beta, dense_view<T> y,
                    const apply_options& options) { (*product)(alpha, v, beta, y, options); },
          {.capturable = true, .name = "X X' + I, formed anew by cuBLAS"}};
}

template linear_operator<float> formed_anew(const context&, stage&, const dense_matrix<double>&, cg_inner);
template linear_operator<double> formed_anew(const context&, stage&, const dense_matrix<double>&, cg_inner);

}  // namespace bcsc::bench
