#include <cuda_runtime_api.h>
#include <cusparse.h>

#include <cstddef>
#include <memory>
#include <string>

#include "core/buffer.hpp"
#include "core/fail.hpp"
#include "core/run_time_library.hpp"
#include "kernels/cuda/triangular_library.hpp"

/// cuSPARSE, loaded at run time.
namespace bcsc::kernels::cuda {

namespace {

class cusparse {
 public:
  decltype(&cusparseCreate) create = nullptr;
  decltype(&cusparseDestroy) destroy = nullptr;
  decltype(&cusparseSetStream) set_stream = nullptr;
  decltype(&cusparseGetErrorString) error_string = nullptr;
  decltype(&cusparseCreateCsr) create_csr = nullptr;
  decltype(&cusparseDestroySpMat) destroy_matrix = nullptr;
  decltype(&cusparseSpMatSetAttribute) set_attribute = nullptr;
  decltype(&cusparseCreateDnMat) create_dense = nullptr;
  decltype(&cusparseDestroyDnMat) destroy_dense = nullptr;
  decltype(&cusparseDnMatSetValues) set_values = nullptr;
  decltype(&cusparseSpSM_createDescr) create_solve = nullptr;
  decltype(&cusparseSpSM_destroyDescr) destroy_solve = nullptr;
  decltype(&cusparseSpSM_bufferSize) buffer_size = nullptr;
  decltype(&cusparseSpSM_analysis) analyse = nullptr;
  decltype(&cusparseSpSM_solve) solve = nullptr;

  cusparse() {
    core::run_time_library library("libcusparse.so.12");  // of CUDA 12 and 13
    library.bind(create, "cusparseCreate");
    library.bind(destroy, "cusparseDestroy");
    library.bind(set_stream, "cusparseSetStream");
    library.bind(error_string, "cusparseGetErrorString");
    library.bind(create_csr, "cusparseCreateCsr");
    library.bind(destroy_matrix, "cusparseDestroySpMat");
    library.bind(set_attribute, "cusparseSpMatSetAttribute");
    library.bind(create_dense, "cusparseCreateDnMat");
    library.bind(destroy_dense, "cusparseDestroyDnMat");
    library.bind(set_values, "cusparseDnMatSetValues");
    library.bind(create_solve, "cusparseSpSM_createDescr");
    library.bind(destroy_solve, "cusparseSpSM_destroyDescr");
    library.bind(buffer_size, "cusparseSpSM_bufferSize");
    library.bind(analyse, "cusparseSpSM_analysis");
    library.bind(solve, "cusparseSpSM_solve");
    if (library.why_not().empty()) return;
    why_not_ = "cuSPARSE cannot be loaded (" + library.why_not() +
               "): install it, of CUDA's packages libcusparse-13-0 or libcusparse-12-9";
  }
  const std::string& why_not() const { return why_not_; }

  void check(cusparseStatus_t status, const char* what) const {
    if (status == CUSPARSE_STATUS_SUCCESS) return;
    const bool is_full = status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    core::fail(is_full ? errc::out_of_memory : errc::cuda_error, "{}: {}", what, error_string(status));
  }

 private:
  std::string why_not_;
};

const cusparse& library() {
  static const cusparse loaded;
  return loaded;
}

class cusparse_solve final : public triangular_solve {
 public:
  cusparse_solve(int device, const triangular_matrix& a, std::int64_t k)
      : device_(device), type_(a.type == value_type::fp32 ? CUDA_R_32F : CUDA_R_64F) {
    try {
      describe(a, k);
      analyse();
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~cusparse_solve() override { destroy(); }
  cusparse_solve(const cusparse_solve&) = delete;
  cusparse_solve& operator=(const cusparse_solve&) = delete;

  void run(const void* b, void* x, CUstream_st* stream) override {
    check_runtime(cudaStreamWaitEvent(stream, done_, 0), "cudaStreamWaitEvent");
    lib_.check(lib_.set_stream(handle_, stream), "cusparseSetStream");
    lib_.check(lib_.set_values(b_, const_cast<void*>(b)), "cusparseDnMatSetValues");
    lib_.check(lib_.set_values(x_, x), "cusparseDnMatSetValues");
    lib_.check(lib_.solve(handle_, plain, plain, one(), a_, b_, x_, type_, CUSPARSE_SPSM_ALG_DEFAULT, solve_),
               "cusparseSpSM_solve");
    check_runtime(cudaEventRecord(done_, stream), "cudaEventRecord");
  }

 private:
  static constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

  static void check_runtime(cudaError_t status, const char* what) {
    if (status != cudaSuccess) core::fail(errc::cuda_error, "{}: {}", what, cudaGetErrorString(status));
  }

  void describe(const triangular_matrix& a, std::int64_t k) {
    check_runtime(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "cudaEventCreate");
    lib_.check(lib_.create(&handle_), "cusparseCreate");
    lib_.check(lib_.create_csr(&a_, a.rows, a.rows, a.nnz, const_cast<std::int32_t*>(a.row_ptr),
                               const_cast<std::int32_t*>(a.col_ind), const_cast<void*>(a.values), CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_),
               "cusparseCreateCsr");
    cusparseFillMode_t fill = a.is_lower ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
    lib_.check(lib_.set_attribute(a_, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill), "cusparseSpMatSetAttribute");
    lib_.check(lib_.set_attribute(a_, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal),
               "cusparseSpMatSetAttribute");
    // The analysis asks for their shapes; each solve names its own blocks.
    for (cusparseDnMatDescr_t* block : {&b_, &x_}) {
      lib_.check(lib_.create_dense(block, a.rows, k, k, const_cast<void*>(a.values), type_, CUSPARSE_ORDER_ROW),
                 "cusparseCreateDnMat");
    }
    lib_.check(lib_.create_solve(&solve_), "cusparseSpSM_createDescr");
  }

  void analyse() {
    std::size_t bytes = 0;
    lib_.check(
        lib_.buffer_size(handle_, plain, plain, one(), a_, b_, x_, type_, CUSPARSE_SPSM_ALG_DEFAULT, solve_, &bytes),
        "cusparseSpSM_bufferSize");
    memory_ = core::device_buffer<std::byte>(device_, static_cast<std::int64_t>(bytes));
    lib_.check(lib_.analyse(handle_, plain, plain, one(), a_, b_, x_, type_, CUSPARSE_SPSM_ALG_DEFAULT, solve_,
                            memory_.data()),
               "cusparseSpSM_analysis");
    core::gpu::synchronize();
  }

  void destroy() noexcept {
    if (solve_ != nullptr) lib_.destroy_solve(solve_);
    if (x_ != nullptr) lib_.destroy_dense(x_);
    if (b_ != nullptr) lib_.destroy_dense(b_);
    if (a_ != nullptr) lib_.destroy_matrix(a_);
    if (handle_ != nullptr) lib_.destroy(handle_);
    if (done_ != nullptr) (void)cudaEventDestroy(done_);
  }

  const void* one() const {
    static constexpr float narrow = 1;
    static constexpr double wide = 1;
    return type_ == CUDA_R_32F ? static_cast<const void*>(&narrow) : &wide;
  }

  const cusparse& lib_ = library();
  int device_;
  cudaDataType type_;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t a_ = nullptr;
  cusparseDnMatDescr_t b_ = nullptr, x_ = nullptr;
  cusparseSpSMDescr_t solve_ = nullptr;
  cudaEvent_t done_ = nullptr;
  core::device_buffer<std::byte> memory_;
};

}  // namespace

std::string ready_triangular_library() { return library().why_not(); }

std::unique_ptr<triangular_solve> prepare_triangular_solve(int device, const triangular_matrix& a, std::int64_t k) {
  return std::make_unique<cusparse_solve>(device, a, k);
}

}  // namespace bcsc::kernels::cuda
