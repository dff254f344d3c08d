#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "bcsc/convert.hpp"
#include "bench/harness/contender.hpp"
#include "core/fail.hpp"

/// NVIDIA's own: cuSPARSE's SpMM from CSR with every algorithm it has, after its preprocessing, and from BSR where the
/// matrix has blocks; cuBLAS on the same matrix made dense, where that fits.
namespace bcsc::bench {

namespace {

/// A dense A beyond this size is not worth the comparison.
constexpr std::int64_t max_dense_bytes = std::int64_t{2} << 30;
/// BSR whose blocks hold less than this share of true non-zeros cannot win.
constexpr double min_block_fill = 0.4;

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

template <number T, class DescribeA>
prepared make_ready(const std::shared_ptr<handles>& library, stage& where, DescribeA describe_a, dense_view<const T> b,
                    dense_view<T> c, cusparseSpMMAlg_t algorithm,
                    cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE) {
  const auto begin = std::chrono::steady_clock::now();
  auto product = std::make_shared<const cusparse_product<T>>(*library, where, describe_a, b, c, algorithm, op);
  prepared ready;
  ready.convert_seconds = seconds_since(begin);  // its preprocessing
  ready.start = [library, product] { product->start(); };
  return ready;
}

// --- CSR ------------------------------------------------------------------------------------------------------------

struct csr_algorithm {
  const char* name;
  cusparseSpMMAlg_t algorithm;
};
constexpr std::array<csr_algorithm, 4> csr_algorithms{{{"cusparse-csr-default", CUSPARSE_SPMM_ALG_DEFAULT},
                                                       {"cusparse-csr-alg1", CUSPARSE_SPMM_CSR_ALG1},
                                                       {"cusparse-csr-alg2", CUSPARSE_SPMM_CSR_ALG2},
                                                       {"cusparse-csr-alg3", CUSPARSE_SPMM_CSR_ALG3}}};

template <number T>
void describe_csr(const csr_view<T, std::int32_t>& a, cusparseSpMatDescr_t* to) {
  check(cusparseCreateCsr(to, a.rows, a.cols, a.nnz(), const_cast<std::int32_t*>(a.row_ptr.data()),
                          const_cast<std::int32_t*>(a.col_ind.data()), const_cast<T*>(a.values.data()),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>),
        "cusparseCreateCsr");
}

template <number T>
rival<T> cusparse_csr(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, csr_algorithm which) {
  const auto operation = p.transpose == op::none ? CUSPARSE_OPERATION_NON_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE;
  return {.name = which.name,
          .group = "cusparse",
          .prepare = [=, &where, a = p.placed](dense_view<const T> b, dense_view<T> c) {
            return make_ready<T>(
                library, where, [&a](cusparseSpMatDescr_t* to) { describe_csr(a, to); }, b, c, which.algorithm,
                operation);
          }};
}

// --- BSR ------------------------------------------------------------------------------------------------------------

/// A in square blocks on the device; made by the first product that wants it.
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

/// The share of true non-zeros in the blocks BSR would store.
template <number T>
double block_fill(const csr_view<T, std::int32_t>& a, std::int64_t block) {
  std::int64_t num_blocks = 0;
  std::vector<std::int64_t> last_seen(static_cast<std::size_t>(a.cols / block + 1), -1);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (auto k = a.row_ptr[row]; k < a.row_ptr[row + 1]; ++k) {
      auto& seen = last_seen[static_cast<std::size_t>(a.col_ind[static_cast<std::size_t>(k)] / block)];
      if (seen == i / block) continue;
      seen = i / block;
      ++num_blocks;
    }
  }
  if (num_blocks == 0) return 0;
  return static_cast<double>(a.nnz()) / (static_cast<double>(num_blocks) * static_cast<double>(block * block));
}

template <number T>
void add_cusparse_bsr(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                      std::vector<rival<T>>& to) {
  for (const std::int64_t block : {2, 3, 4, 6, 8, 16}) {
    if (p.host.rows % block != 0 || p.host.cols % block != 0 || block_fill(p.host, block) < min_block_fill) continue;
    // cuSPARSE's BSR pointers are shared by every N and layout.
    auto kept = std::make_shared<std::shared_ptr<placed_bsr<T>>>();
    to.push_back({.name = fmt::format("cusparse-bsr{}", block),
                  .group = "cusparse",
                  .prepare = [=, &where, a = p.host](dense_view<const T> b, dense_view<T> c) {
                    if (!*kept) *kept = std::make_shared<placed_bsr<T>>(where, a, block);
                    const auto bsr = *kept;
                    const auto describe = [&](cusparseSpMatDescr_t* at) {
                      check(cusparseCreateBsr(at, bsr->block_rows, bsr->block_cols, bsr->num_blocks, block, block,
                                              bsr->brow_ptr.data(), bsr->bcol_ind.data(), bsr->values.data(),
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                              data_type<T>, CUSPARSE_ORDER_ROW),
                            "cusparseCreateBsr");
                    };
                    prepared ready = make_ready<T>(library, where, describe, b, c, CUSPARSE_SPMM_BSR_ALG1);
                    ready.convert_seconds += bsr->convert_seconds;
                    return ready;
                  }});
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
    for (const csr_algorithm& which : csr_algorithms) them.push_back(cusparse_csr(library_, where_, p, which));
    if (p.transpose == op::none) add_cusparse_bsr(library_, where_, p, them);
    return them;
  }

  stage& where_;
  std::shared_ptr<handles> library_;
};

}  // namespace

std::unique_ptr<rivals> open_cuda_rivals(stage& where) { return std::make_unique<cuda_rivals>(where); }

}  // namespace bcsc::bench
