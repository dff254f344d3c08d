#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bench/harness/contender.hpp"
#include "core/fail.hpp"

/// NVIDIA's own: cuSPARSE's SpMM from CSR and COO with every algorithm it has, after its preprocessing, from BSR and
/// Blocked-ELL where the matrix has blocks, its SpMV at N = 1; cuBLAS on the same matrix made dense, where that fits.
namespace bcsc::bench {

namespace {

/// A dense A beyond this size is not worth the comparison.
constexpr std::int64_t max_dense_bytes = std::int64_t{2} << 30;
/// BSR whose blocks hold less than this share of true non-zeros cannot win.
constexpr double min_block_fill = 0.4;
/// Nor can Blocked-ELL that stores this many times the true non-zeros, though tensor cores multiply it.
constexpr double max_ell_padding = 4;

[[noreturn]] void give_up(bool out_of_memory, bool cannot, const char* what, const char* why) {
  const errc code = out_of_memory ? errc::out_of_memory : cannot ? errc::unsupported : errc::cuda_error;
  core::fail(code, "{}: {}", what, why);
}

void check(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const bool cannot = status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_INVALID_VALUE;
  give_up(status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, cannot, what,
          cusparseGetErrorString(status));
}

void check(cublasStatus_t status, const char* what) {
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
constexpr cudaDataType data_type = std::is_same_v<T, float>    ? CUDA_R_32F
                                   : std::is_same_v<T, double> ? CUDA_R_64F
                                   : std::is_same_v<T, half>   ? CUDA_R_16F
                                                               : CUDA_R_16BF;
/// What is computed in, and the type of alpha and beta.
template <number T>
constexpr cudaDataType compute_type = data_type<scalar_of<T>>;

cusparseOrder_t order_of(layout order) { return order == layout::row_major ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL; }

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
  template <number T>
  dense_descriptor(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld, layout order) {
    check(cusparseCreateDnMat(&handle, rows, cols, ld, const_cast<T*>(data), data_type<T>, order_of(order)),
          "cusparseCreateDnMat");
  }
  ~dense_descriptor() { cusparseDestroyDnMat(handle); }
  dense_descriptor(const dense_descriptor&) = delete;
  dense_descriptor& operator=(const dense_descriptor&) = delete;
};

struct vector_descriptor {
  cusparseDnVecDescr_t handle = nullptr;
  template <number T>
  vector_descriptor(const T* data, std::int64_t size) {
    check(cusparseCreateDnVec(&handle, size, const_cast<T*>(data), data_type<T>), "cusparseCreateDnVec");
  }
  ~vector_descriptor() { cusparseDestroyDnVec(handle); }
  vector_descriptor(const vector_descriptor&) = delete;
  vector_descriptor& operator=(const vector_descriptor&) = delete;
};

/// One product with cuSPARSE: its descriptors and its workspace.
template <number T>
class cusparse_product {
 public:
  /// `describe_a` fills the descriptor of A.
  template <class DescribeA>
  cusparse_product(handles& library, stage& where, DescribeA describe_a, dense_view<const T> b, dense_view<T> c,
                   cusparseSpMMAlg_t algorithm, cusparseOperation_t op)
      : library_(library),
        b_(b.data, b.rows, b.cols, b.ld, b.order),
        c_(c.data, c.rows, c.cols, c.ld, c.order),
        algorithm_(algorithm),
        op_(op) {
    describe_a(&a_.handle);
    std::size_t bytes = 0;
    check(cusparseSpMM_bufferSize(library_.sparse, op_, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle,
                                  compute_type<T>, algorithm_, &bytes),
          "cusparseSpMM_bufferSize");
    workspace_ = stage_array<char>(where, static_cast<std::int64_t>(bytes));
    check(cusparseSpMM_preprocess(library_.sparse, op_, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle,
                                  compute_type<T>, algorithm_, workspace_.data()),
          "cusparseSpMM_preprocess");
    where.wait();
  }

  void start() const {
    check(cusparseSpMM(library_.sparse, op_, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle, compute_type<T>,
                       algorithm_, workspace_.data()),
          "cusparseSpMM");
  }

 private:
  static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  handles& library_;
  sparse_descriptor a_;
  dense_descriptor b_, c_;
  cusparseSpMMAlg_t algorithm_;
  cusparseOperation_t op_;
  stage_array<char> workspace_;
  scalar_of<T> one_ = 1, zero_ = 0;
};

/// The same with a vector.
template <number T>
class cusparse_vector_product {
 public:
  template <class DescribeA>
  cusparse_vector_product(handles& library, stage& where, DescribeA describe_a, dense_view<const T> b, dense_view<T> c,
                          cusparseSpMVAlg_t algorithm)
      : library_(library), b_(b.data, b.rows), c_(c.data, c.rows), algorithm_(algorithm) {
    describe_a(&a_.handle);
    std::size_t bytes = 0;
    check(cusparseSpMV_bufferSize(library_.sparse, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle,
                                  compute_type<T>, algorithm_, &bytes),
          "cusparseSpMV_bufferSize");
    workspace_ = stage_array<char>(where, static_cast<std::int64_t>(bytes));
    check(cusparseSpMV_preprocess(library_.sparse, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle,
                                  compute_type<T>, algorithm_, workspace_.data()),
          "cusparseSpMV_preprocess");
    where.wait();
  }

  void start() const {
    check(cusparseSpMV(library_.sparse, plain, &one_, a_.handle, b_.handle, &zero_, c_.handle, compute_type<T>,
                       algorithm_, workspace_.data()),
          "cusparseSpMV");
  }

 private:
  static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  handles& library_;
  sparse_descriptor a_;
  vector_descriptor b_, c_;
  cusparseSpMVAlg_t algorithm_;
  stage_array<char> workspace_;
  scalar_of<T> one_ = 1, zero_ = 0;
};

/// What its constructor does, preprocessing for the most part, counts as conversion.
template <class Product, class... Arguments>
prepared make_ready(const std::shared_ptr<handles>& library, Arguments&&... arguments) {
  const auto begin = std::chrono::steady_clock::now();
  auto product = std::make_shared<const Product>(*library, std::forward<Arguments>(arguments)...);
  prepared ready;
  ready.convert_seconds = seconds_since(begin);
  ready.start = [library, product] { product->start(); };
  return ready;
}

// --- CSR ------------------------------------------------------------------------------------------------------------

template <class Algorithm>
struct named_algorithm {
  const char* name;
  Algorithm algorithm;
  bool thorough = false;  ///< rival::thorough
};
constexpr std::array<named_algorithm<cusparseSpMMAlg_t>, 4> csr_algorithms{
    {{"cusparse-csr-default", CUSPARSE_SPMM_ALG_DEFAULT},
     {"cusparse-csr-alg1", CUSPARSE_SPMM_CSR_ALG1, true},
     {"cusparse-csr-alg2", CUSPARSE_SPMM_CSR_ALG2},
     {"cusparse-csr-alg3", CUSPARSE_SPMM_CSR_ALG3}}};
constexpr std::array<named_algorithm<cusparseSpMVAlg_t>, 2> vector_algorithms{
    {{"cusparse-spmv-alg1", CUSPARSE_SPMV_CSR_ALG1}, {"cusparse-spmv-alg2", CUSPARSE_SPMV_CSR_ALG2}}};
constexpr std::array<named_algorithm<cusparseSpMMAlg_t>, 4> coo_algorithms{
    {{"cusparse-coo-alg1", CUSPARSE_SPMM_COO_ALG1, true},
     {"cusparse-coo-alg2", CUSPARSE_SPMM_COO_ALG2, true},
     {"cusparse-coo-alg3", CUSPARSE_SPMM_COO_ALG3, true},
     {"cusparse-coo-alg4", CUSPARSE_SPMM_COO_ALG4, true}}};

template <number T>
void describe_csr(const csr_view<T, std::int32_t>& a, cusparseSpMatDescr_t* to) {
  check(cusparseCreateCsr(to, a.rows, a.cols, a.nnz(), const_cast<std::int32_t*>(a.row_ptr.data()),
                          const_cast<std::int32_t*>(a.col_ind.data()), const_cast<T*>(a.values.data()),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
        "cusparseCreateCsr");
}

template <number T>
rival<T> cusparse_csr(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                      named_algorithm<cusparseSpMMAlg_t> which) {
  const auto operation = p.transpose == op::none ? CUSPARSE_OPERATION_NON_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE;
  return {.name = which.name,
          .group = "cusparse",
          .thorough = which.thorough,
          .prepare = [=, &where, a = p.placed](dense_view<const T> b, dense_view<T> c) {
            const auto describe = [&a](cusparseSpMatDescr_t* to) { describe_csr(a, to); };
            return make_ready<cusparse_product<T>>(library, where, describe, b, c, which.algorithm, operation);
          }};
}

template <number T>
rival<T> cusparse_spmv(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                       named_algorithm<cusparseSpMVAlg_t> which) {
  return {.name = which.name,
          .group = "cusparse",
          .other_layout = false,  // of one column they are the same
          .only_cols = 1,
          .prepare = [=, &where, a = p.placed](dense_view<const T> b, dense_view<T> c) {
            if (!is_vector(b) || !is_vector(c)) core::fail(errc::unsupported, "only for one packed column");
            const auto describe = [&a](cusparseSpMatDescr_t* to) { describe_csr(a, to); };
            return make_ready<cusparse_vector_product<T>>(library, where, describe, b, c, which.algorithm);
          }};
}

/// What several rivals of one matrix share; made by the first product that wants it.
template <class Shared>
class made_once {
 public:
  template <class... Arguments>
  std::shared_ptr<const Shared> get(Arguments&&... arguments) {
    if (!made_) made_ = std::make_shared<const Shared>(std::forward<Arguments>(arguments)...);
    return made_;
  }

 private:
  std::shared_ptr<const Shared> made_;
};

// --- COO ------------------------------------------------------------------------------------------------------------

/// The row of each non-zero, on the device.
struct placed_rows {
  stage_array<std::int32_t> indices;
  double convert_seconds = 0;

  template <number T>
  placed_rows(stage& where, const csr_view<T, std::int32_t>& a) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::int32_t> host;
    host.reserve(static_cast<std::size_t>(a.nnz()));
    for (std::size_t i = 0; i + 1 < a.row_ptr.size(); ++i) {
      host.insert(host.end(), static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]), static_cast<std::int32_t>(i));
    }
    indices = stage_array<std::int32_t>(where, std::span<const std::int32_t>(host));
    convert_seconds = seconds_since(begin);
  }
};

template <number T>
void add_cusparse_coo(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                      std::vector<rival<T>>& to) {
  const auto shared = std::make_shared<made_once<placed_rows>>();
  for (const auto& which : coo_algorithms) {
    to.push_back({.name = which.name,
                  .group = "cusparse",
                  .thorough = which.thorough,
                  .prepare = [=, &where, host = p.host, a = p.placed](dense_view<const T> b, dense_view<T> c) {
                    const auto rows = shared->get(where, host);
                    const auto describe = [&](cusparseSpMatDescr_t* at) {
                      check(cusparseCreateCoo(at, a.rows, a.cols, a.nnz(), rows->indices.data(),
                                              const_cast<std::int32_t*>(a.col_ind.data()),
                                              const_cast<T*>(a.values.data()), CUSPARSE_INDEX_32I,
                                              CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
                            "cusparseCreateCoo");
                    };
                    prepared ready = make_ready<cusparse_product<T>>(library, where, describe, b, c, which.algorithm,
                                                                     CUSPARSE_OPERATION_NON_TRANSPOSE);
                    ready.convert_seconds += rows->convert_seconds;
                    ready.start = [rows, start = std::move(ready.start)] { start(); };
                    return ready;
                  }});
  }
}

// --- BSR and Blocked-ELL --------------------------------------------------------------------------------------------

/// How many square blocks hold A's non-zeros.
struct block_count {
  std::int64_t all = 0;
  std::int64_t widest = 0;  ///< in one row of blocks
};

template <number T>
block_count count_blocks(const csr_view<T, std::int32_t>& a, std::int64_t block) {
  block_count found;
  std::int64_t here = 0;
  std::vector<std::int64_t> last_seen(static_cast<std::size_t>(a.cols / block + 1), -1);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (i % block == 0) here = 0;
    const auto row = static_cast<std::size_t>(i);
    for (auto k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      auto& seen = last_seen[static_cast<std::size_t>(a.col_ind[static_cast<std::size_t>(k)] / block)];
      if (seen == i / block) continue;
      seen = i / block;
      ++found.all;
      ++here;
    }
    found.widest = std::max(found.widest, here);
  }
  return found;
}

/// A in square blocks on the device.
template <number T>
struct placed_bsr {
  std::int64_t block_rows = 0, block_cols = 0, num_blocks = 0;
  stage_array<std::int32_t> brow_ptr, bcol_ind;
  stage_array<T> values;
  double convert_seconds = 0;

  placed_bsr(stage& where, const csr_view<T, std::int32_t>& a, std::int64_t block) {
    const auto begin = std::chrono::steady_clock::now();
    const bsr_matrix<T, std::int32_t> host = to_bsr(a, block, block);
    const auto view = host.view();
    block_rows = a.rows / block;
    block_cols = a.cols / block;
    num_blocks = view.num_blocks();
    brow_ptr = stage_array<std::int32_t>(where, view.brow_ptr);
    bcol_ind = stage_array<std::int32_t>(where, view.bcol_ind);
    values = stage_array<T>(where, view.values);
    convert_seconds = seconds_since(begin);
  }
};

/// The same with equally many blocks in each row of blocks: -1 is the column of those that are not there. The values
/// are a row-major matrix as wide as all blocks of a row side by side.
template <number T>
struct placed_blocked_ell {
  std::int64_t ell_cols = 0;
  stage_array<std::int32_t> block_cols;
  stage_array<T> values;
  double convert_seconds = 0;

  placed_blocked_ell(stage& where, const csr_view<T, std::int32_t>& a, std::int64_t block, std::int64_t widest) {
    const auto begin = std::chrono::steady_clock::now();
    const bsr_matrix<T, std::int32_t> from = to_bsr(a, block, block);
    const auto bsr = from.view();
    ell_cols = widest * block;
    std::vector<std::int32_t> columns(static_cast<std::size_t>(a.rows / block * widest), -1);
    std::vector<T> host(static_cast<std::size_t>(a.rows * ell_cols), T{});
    for (std::int64_t i = 0; i < a.rows / block; ++i) {
      const std::int64_t first = bsr.brow_ptr[static_cast<std::size_t>(i)];
      const std::int64_t count = bsr.brow_ptr[static_cast<std::size_t>(i) + 1] - first;
      for (std::int64_t k = 0; k < count; ++k) {
        columns[static_cast<std::size_t>(i * widest + k)] = bsr.bcol_ind[static_cast<std::size_t>(first + k)];
        for (std::int64_t r = 0; r < block; ++r) {
          std::copy_n(bsr.values.data() + ((first + k) * block + r) * block, block,
                      host.data() + (i * block + r) * ell_cols + k * block);
        }
      }
    }
    block_cols = stage_array<std::int32_t>(where, std::span<const std::int32_t>(columns));
    values = stage_array<T>(where, std::span<const T>(host));
    convert_seconds = seconds_since(begin);
  }
};

template <number T>
rival<T> cusparse_bsr(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, std::int64_t block) {
  const auto shared = std::make_shared<made_once<placed_bsr<T>>>();  // by every N and layout
  return {.name = fmt::format("cusparse-bsr{}", block),
          .group = "cusparse",
          .prepare = [=, &where, a = p.host](dense_view<const T> b, dense_view<T> c) {
            const auto bsr = shared->get(where, a, block);
            const auto describe = [&](cusparseSpMatDescr_t* at) {
              check(
                  cusparseCreateBsr(at, bsr->block_rows, bsr->block_cols, bsr->num_blocks, block, block,
                                    bsr->brow_ptr.data(), bsr->bcol_ind.data(), bsr->values.data(), CUSPARSE_INDEX_32I,
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>, CUSPARSE_ORDER_ROW),
                  "cusparseCreateBsr");
            };
            prepared ready = make_ready<cusparse_product<T>>(library, where, describe, b, c, CUSPARSE_SPMM_BSR_ALG1,
                                                             CUSPARSE_OPERATION_NON_TRANSPOSE);
            ready.convert_seconds += bsr->convert_seconds;
            ready.start = [bsr, start = std::move(ready.start)] { start(); };
            return ready;
          }};
}

template <number T>
rival<T> cusparse_blocked_ell(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                              std::int64_t block, std::int64_t widest) {
  const auto shared = std::make_shared<made_once<placed_blocked_ell<T>>>();
  return {.name = fmt::format("cusparse-ell{}", block),
          .group = "cusparse",
          .prepare = [=, &where, a = p.host](dense_view<const T> b, dense_view<T> c) {
            const auto ell = shared->get(where, a, block, widest);
            const auto describe = [&](cusparseSpMatDescr_t* at) {
              check(cusparseCreateBlockedEll(at, a.rows, a.cols, block, ell->ell_cols, ell->block_cols.data(),
                                             ell->values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                             data_type<T>),
                    "cusparseCreateBlockedEll");
            };
            prepared ready = make_ready<cusparse_product<T>>(
                library, where, describe, b, c, CUSPARSE_SPMM_BLOCKED_ELL_ALG1, CUSPARSE_OPERATION_NON_TRANSPOSE);
            ready.convert_seconds += ell->convert_seconds;
            ready.start = [ell, start = std::move(ready.start)] { start(); };
            return ready;
          }};
}

/// From blocks of the sizes that divide A, where few of their values are zeros.
template <number T>
void add_cusparse_blocks(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                         std::vector<rival<T>>& to) {
  const auto nnz = static_cast<double>(p.host.nnz());
  for (const std::int64_t block : {2, 3, 4, 6, 8, 16, 32, 64}) {
    if (p.host.rows % block != 0 || p.host.cols % block != 0 || p.host.nnz() == 0) continue;
    const block_count count = count_blocks(p.host, block);
    const auto in_bsr = static_cast<double>(count.all * block * block);
    const auto in_ell = static_cast<double>(p.host.rows * count.widest * block);
    if (block <= 16 && nnz >= min_block_fill * in_bsr) to.push_back(cusparse_bsr(library, where, p, block));
    // Tensor cores take blocks of powers of two.
    if (std::has_single_bit(static_cast<std::uint64_t>(block)) && block >= 8 && in_ell <= max_ell_padding * nnz) {
      to.push_back(cusparse_blocked_ell(library, where, p, block, count.widest));
    }
  }
}

// --- Dense ----------------------------------------------------------------------------------------------------------

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
  const dense_descriptor to(dense.data(), a.rows, a.cols, a.cols, layout::row_major);
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

bool fits_dense(std::int64_t rows, std::int64_t cols, std::int64_t value_bytes) {
  if (rows == 0 || cols == 0) return false;
  return rows <= max_dense_bytes / value_bytes / cols;
}

class cuda_rivals final : public rivals {
 public:
  explicit cuda_rivals(stage& where) : where_(where), library_(std::make_shared<handles>(where.stream())) {}

  std::string main_group() const override { return "cusparse"; }

  void describe(machine_facts& facts) const override {
    int major = 0, minor = 0, patch = 0;
    const auto sparse = [](libraryPropertyType which, int* value) { cusparseGetProperty(which, value); };
    const auto dense = [](libraryPropertyType which, int* value) { cublasGetProperty(which, value); };
    const auto version = [&](auto get) {
      get(MAJOR_VERSION, &major);
      get(MINOR_VERSION, &minor);
      get(PATCH_LEVEL, &patch);
      return fmt::format("{}.{}.{}", major, minor, patch);
    };
    facts.versions["cusparse"] = version(sparse);
    facts.versions["cublas"] = version(dense);
  }

  std::vector<rival<float>> on(const problem<float>& p) override {
    auto them = sparse_ones(p);
    if (p.transpose == op::none && fits_dense(p.host.rows, p.host.cols, 4)) {
      them.push_back(cublas(library_, where_, p, gemm_fp32));
      them.push_back(cublas(library_, where_, p, gemm_tf32));
    }
    return them;
  }
  std::vector<rival<double>> on(const problem<double>& p) override {
    auto them = sparse_ones(p);
    if (p.transpose == op::none && fits_dense(p.host.rows, p.host.cols, 8))
      them.push_back(cublas(library_, where_, p, gemm_fp64));
    return them;
  }

  std::vector<rival<half>> on(const problem<half>& p) override {
    auto them = sparse_ones(p);
    if (fits_dense(p.host.rows, p.host.cols, 2)) them.push_back(cublas(library_, where_, p, gemm_fp16));
    return them;
  }
  std::vector<rival<bfloat16>> on(const problem<bfloat16>& p) override {
    auto them = sparse_ones(p);
    if (fits_dense(p.host.rows, p.host.cols, 2)) them.push_back(cublas(library_, where_, p, gemm_bf16));
    return them;
  }

 private:
  template <number T>
  std::vector<rival<T>> sparse_ones(const problem<T>& p) const {
    std::vector<rival<T>> them;
    for (const auto& which : csr_algorithms) them.push_back(cusparse_csr(library_, where_, p, which));
    if (p.transpose != op::none) return them;
    for (const auto& which : vector_algorithms) them.push_back(cusparse_spmv(library_, where_, p, which));
    add_cusparse_coo(library_, where_, p, them);
    add_cusparse_blocks(library_, where_, p, them);
    return them;
  }

  stage& where_;
  std::shared_ptr<handles> library_;
};

}  // namespace

std::unique_ptr<rivals> open_cuda_rivals(stage& where) { return std::make_unique<cuda_rivals>(where); }

}  // namespace bcsc::bench
