#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/run_time_library.hpp"
#include "kernels/cuda/dense_library.hpp"

/// cuBLASLt, loaded at run time: its functions take a stream and a workspace with each product, and keep no state
/// between two of them but the answers of their heuristic.
namespace bcsc::kernels::cuda {

namespace {

constexpr const char* names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr std::size_t max_devices = 64;

class cublas_lt {
 public:
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_desc = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithm = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;

  cublas_lt() {
    for (const char* name : names) {
      const std::string before = why_not_;
      why_not_ = load(name);
      if (why_not_.empty()) return;
      if (!before.empty()) why_not_ = before + "; " + why_not_;
    }
    why_not_ = "cuBLASLt of CUDA cannot be loaded: " + why_not_;
  }

  /// Makes a handle for `device` if there is none. Empty, or why not.
  std::string prepare(int device) {
    if (!why_not_.empty()) return why_not_;
    if (device < 0 || device >= static_cast<int>(max_devices)) return "more than 64 devices";
    std::atomic<cublasLtHandle_t>& handle = handles_[static_cast<std::size_t>(device)];
    if (handle.load(std::memory_order_acquire) != nullptr) return {};
    const std::lock_guard lock(making_);
    if (handle.load(std::memory_order_acquire) != nullptr) return {};
    int former = 0;
    cudaGetDevice(&former);
    if (former != device) cudaSetDevice(device);
    cublasLtHandle_t made = nullptr;
    const cublasStatus_t status = create(&made);
    if (former != device) cudaSetDevice(former);
    if (status != CUBLAS_STATUS_SUCCESS) return "cublasLtCreate: status " + std::to_string(static_cast<int>(status));
    handle.store(made, std::memory_order_release);
    return {};
  }

  /// Of the current device; null where prepare() was not called.
  cublasLtHandle_t handle() const {
    int device = -1;
    if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= static_cast<int>(max_devices)) return nullptr;
    return handles_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }

 private:
  std::string load(const char* name) {
    core::run_time_library library(name);
    library.bind(create, "cublasLtCreate");
    library.bind(create_desc, "cublasLtMatmulDescCreate");
    library.bind(destroy_desc, "cublasLtMatmulDescDestroy");
    library.bind(set_desc, "cublasLtMatmulDescSetAttribute");
    library.bind(create_layout, "cublasLtMatrixLayoutCreate");
    library.bind(destroy_layout, "cublasLtMatrixLayoutDestroy");
    library.bind(create_preference, "cublasLtMatmulPreferenceCreate");
    library.bind(destroy_preference, "cublasLtMatmulPreferenceDestroy");
    library.bind(set_preference, "cublasLtMatmulPreferenceSetAttribute");
    library.bind(find_algorithm, "cublasLtMatmulAlgoGetHeuristic");
    library.bind(multiply, "cublasLtMatmul");
    return library.why_not();
  }

  std::string why_not_;
  std::mutex making_;
  std::array<std::atomic<cublasLtHandle_t>, max_devices> handles_{};
};

cublas_lt& library() {
  static cublas_lt loaded;
  return loaded;
}

cudaDataType_t data_type(value_type type) {
  switch (type) {
    case value_type::fp16:
      return CUDA_R_16F;
    case value_type::bf16:
      return CUDA_R_16BF;
    case value_type::fp64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

/// The library's descriptions of one product, which it allocates on the host.
class description {
 public:
  explicit description(const cublas_lt& lt) : lt_(lt) {}
  ~description() {
    if (operation != nullptr) lt_.destroy_desc(operation);
    if (preference != nullptr) lt_.destroy_preference(preference);
    for (const cublasLtMatrixLayout_t layout : {left, right, result}) {
      if (layout != nullptr) lt_.destroy_layout(layout);
    }
  }
  description(const description&) = delete;
  description& operator=(const description&) = delete;

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;

 private:
  const cublas_lt& lt_;
};

/// The first failure of a series of calls.
class first_failure {
 public:
  void operator()(cublasStatus_t status) {
    if (status_ == CUBLAS_STATUS_SUCCESS) status_ = status;
  }
  bool none() const { return status_ == CUBLAS_STATUS_SUCCESS; }
  int as_cuda_error() const {
    switch (status_) {
      case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
      case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
      case CUBLAS_STATUS_INVALID_VALUE:
        return cudaErrorInvalidValue;
      case CUBLAS_STATUS_EXECUTION_FAILED:
        return cudaErrorLaunchFailure;
      default:
        return cudaErrorNotSupported;
    }
  }

 private:
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

/// One operand as the library sees it: column-major, so that a row-major matrix is its own transpose.
struct seen {
  const void* data;
  std::int64_t ld;
  std::uint64_t rows, cols;  ///< as it lies
  cublasOperation_t op;
};

/// `rows` x `cols` of `m`, or its transpose.
seen see(const dense_side_of_product& m, std::int64_t rows, std::int64_t cols, bool transposed) {
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  return {m.data, m.ld, size(m.row_major ? cols : rows), size(m.row_major ? rows : cols),
          m.row_major == transposed ? CUBLAS_OP_N : CUBLAS_OP_T};
}

/// What an address is a multiple of, up to the 256 bytes that the heuristic assumes.
std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return address == 0 ? 256 : static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 256));
}

cublasComputeType_t compute_type(const dense_product& p) {
  if (p.type == value_type::fp64) return CUBLAS_COMPUTE_64F;
  return p.rounds_values ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// What decides how a product is computed: all of it but the addresses, alpha and the stream.
struct product_key {
  cublasLtHandle_t handle;
  value_type type, c_type;
  bool rounds_values, b_row_major, c_row_major;
  std::int64_t rows, inner, cols, a_ld, b_ld, c_ld, workspace_bytes;
  std::uint32_t a_alignment, b_alignment, c_alignment;
  bool operator==(const product_key&) const = default;
};

product_key key_of(cublasLtHandle_t handle, const dense_product& p) {
  return {handle,
          p.type,
          p.c_type,
          p.rounds_values,
          p.b.row_major,
          p.c_row_major,
          p.rows,
          p.inner,
          p.cols,
          p.a.ld,
          p.b.ld,
          p.c_ld,
          p.workspace_bytes,
          alignment_of(p.a.data),
          alignment_of(p.b.data),
          alignment_of(p.c)};
}

/// A product that is described to the library, with the algorithm that its heuristic takes.
class described_product {
 public:
  described_product(const cublas_lt& lt, const product_key& key, const dense_product& p)
      : key_(key), lt_(lt), described_(lt) {
    describe(p);
    if (failed_.none()) find_algorithm(p);
  }

  bool is(const product_key& key) const { return key_ == key; }

  int start(const dense_product& p, CUstream_st* stream) {
    if (!failed_.none()) return failed_.as_cuda_error();
    const double wide_factors[] = {p.alpha, 0};
    const float factors[] = {static_cast<float>(p.alpha), 0};
    const bool is_wide = p.type == value_type::fp64;
    const void* const alpha = is_wide ? static_cast<const void*>(&wide_factors[0]) : &factors[0];
    const void* const beta = is_wide ? static_cast<const void*>(&wide_factors[1]) : &factors[1];
    first_failure failed;
    failed(lt_.multiply(key_.handle, described_.operation, alpha, p.c_row_major ? p.b.data : p.a.data, described_.left,
                        p.c_row_major ? p.a.data : p.b.data, described_.right, beta, p.c, described_.result, p.c,
                        described_.result, &found_.algo, p.workspace, found_.workspaceSize, stream));
    return failed.as_cuda_error();
  }

 private:
  void describe(const dense_product& p) {
    // C' = B' A' where C is row-major.
    const seen a = see(p.a, p.rows, p.inner, p.c_row_major), b = see(p.b, p.inner, p.cols, p.c_row_major);
    const seen& left = p.c_row_major ? b : a;
    const seen& right = p.c_row_major ? a : b;
    const auto c_rows = static_cast<std::uint64_t>(p.c_row_major ? p.cols : p.rows);
    const auto c_cols = static_cast<std::uint64_t>(p.c_row_major ? p.rows : p.cols);
    failed_(
        lt_.create_desc(&described_.operation, compute_type(p), p.type == value_type::fp64 ? CUDA_R_64F : CUDA_R_32F));
    failed_(lt_.create_layout(&described_.left, data_type(p.type), left.rows, left.cols, left.ld));
    failed_(lt_.create_layout(&described_.right, data_type(p.type), right.rows, right.cols, right.ld));
    failed_(lt_.create_layout(&described_.result, data_type(p.c_type), c_rows, c_cols, p.c_ld));
    failed_(lt_.create_preference(&described_.preference));
    if (!failed_.none()) return;
    failed_(lt_.set_desc(described_.operation, CUBLASLT_MATMUL_DESC_TRANSA, &left.op, sizeof left.op));
    failed_(lt_.set_desc(described_.operation, CUBLASLT_MATMUL_DESC_TRANSB, &right.op, sizeof right.op));
  }

  void find_algorithm(const dense_product& p) {
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
      failed_(lt_.set_preference(described_.preference, what, &value, sizeof value));
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(p.workspace_bytes));
    // Sums of split products are never kept in 16 bits.
    if (size_of(p.c_type) < 4) {
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    }
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.c_row_major ? key_.b_alignment : key_.a_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.c_row_major ? key_.a_alignment : key_.b_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key_.c_alignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key_.c_alignment);
    int num_found = 0;
    failed_(lt_.find_algorithm(key_.handle, described_.operation, described_.left, described_.right, described_.result,
                               described_.result, described_.preference, 1, &found_, &num_found));
    if (failed_.none() && num_found == 0) failed_(CUBLAS_STATUS_NOT_SUPPORTED);
    failed_(found_.state);
  }

  product_key key_;
  const cublas_lt& lt_;
  description described_;
  cublasLtMatmulHeuristicResult_t found_{};
  first_failure failed_;
};

/// The products that a thread started last: describing one and asking the heuristic takes as long as a small product.
class recent_products {
 public:
  described_product& of(const cublas_lt& lt, const product_key& key, const dense_product& p) {
    for (auto& known : known_) {
      if (known && known->is(key)) return *known;
    }
    auto& place = known_[next_++ % known_.size()];
    place = std::make_unique<described_product>(lt, key, p);
    return *place;
  }

 private:
  std::array<std::unique_ptr<described_product>, 8> known_;
  std::size_t next_ = 0;
};

}  // namespace

std::string ready_dense_library(int device) { return library().prepare(device); }

int multiply_dense(const dense_product& p, CUstream_st* stream) {
  const cublas_lt& lt = library();
  const cublasLtHandle_t handle = lt.handle();
  if (handle == nullptr) return cudaErrorNotSupported;
  thread_local recent_products recent;
  return recent.of(lt, key_of(handle, p), p).start(p, stream);
}

}  // namespace bcsc::kernels::cuda
