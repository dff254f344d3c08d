#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "bench/baselines/cuda_libraries.hpp"

/// cuSPARSE's SpMM from CSR and COO with every algorithm it has, after its preprocessing, from BSR and Blocked-ELL
/// where the matrix has blocks, and its SpMV at N = 1.
namespace bcsc::bench::nvidia {

namespace {

/// BSR whose blocks hold less than this share of true non-zeros cannot win.
constexpr double min_block_fill = 0.4;
/// Nor can Blocked-ELL that stores this many times the true non-zeros, though tensor cores multiply it.
constexpr double max_ell_padding = 4;

// --- One product ----------------------------------------------------------------------------------------------------

struct vector_descriptor {
  cusparseDnVecDescr_t handle = nullptr;
  template <class T>
  explicit vector_descriptor(dense_view<T> x) {
    check(cusparseCreateDnVec(&handle, x.rows, const_cast<std::remove_const_t<T>*>(x.data),
                              data_type<std::remove_const_t<T>>),
          "cusparseCreateDnVec");
  }
  ~vector_descriptor() { cusparseDestroyDnVec(handle); }
  vector_descriptor(const vector_descriptor&) = delete;
  vector_descriptor& operator=(const vector_descriptor&) = delete;
};

constexpr cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

/// A function of cuSPARSE, with the name that its errors are reported under.
template <class Function>
struct library_function {
  Function call;
  const char* name;
};
template <class Function>
library_function(Function, const char*) -> library_function<Function>;

/// SpMM's steps. SpMV's take the same arguments, but for the operation on B.
struct spmm {
  using operand = dense_descriptor;
  static constexpr library_function buffer_size{cusparseSpMM_bufferSize, "cusparseSpMM_bufferSize"};
  static constexpr library_function preprocess{cusparseSpMM_preprocess, "cusparseSpMM_preprocess"};
  static constexpr library_function multiply{cusparseSpMM, "cusparseSpMM"};
  cusparseSpMMAlg_t algorithm;
  cusparseOperation_t op = plain;

  template <class Step, class Last>
  cusparseStatus_t call(Step step, cusparseHandle_t library, const void* one, const sparse_descriptor& a,
                        const operand& b, const void* zero, const operand& c, cudaDataType type, Last last) const {
    return step(library, op, plain, one, a.handle, b.handle, zero, c.handle, type, algorithm, last);
  }
};
struct spmv {
  using operand = vector_descriptor;
  static constexpr library_function buffer_size{cusparseSpMV_bufferSize, "cusparseSpMV_bufferSize"};
  static constexpr library_function preprocess{cusparseSpMV_preprocess, "cusparseSpMV_preprocess"};
  static constexpr library_function multiply{cusparseSpMV, "cusparseSpMV"};
  cusparseSpMVAlg_t algorithm;

  template <class Step, class Last>
  cusparseStatus_t call(Step step, cusparseHandle_t library, const void* one, const sparse_descriptor& a,
                        const operand& b, const void* zero, const operand& c, cudaDataType type, Last last) const {
    return step(library, plain, one, a.handle, b.handle, zero, c.handle, type, algorithm, last);
  }
};

/// One product: its descriptors and its workspace.
template <number T, class Call>
class product {
 public:
  /// `describe_a` fills the descriptor of A.
  template <class DescribeA>
  product(handles& library, stage& where, DescribeA describe_a, dense_view<const T> b, dense_view<T> c, Call call)
      : library_(library), b_(b), c_(c), call_(call) {
    describe_a(&a_.handle);
    std::size_t bytes = 0;
    step(Call::buffer_size, &bytes);
    workspace_ = stage_array<char>(where, static_cast<std::int64_t>(bytes));
    step(Call::preprocess, workspace_.data());
    where.wait();
  }

  void start() const { step(Call::multiply, workspace_.data()); }

 private:
  template <class Function, class Last>
  void step(const library_function<Function>& which, Last last) const {
    check(call_.call(which.call, library_.sparse, &one_, a_, b_, &zero_, c_, compute_type<T>, last), which.name);
  }

  handles& library_;
  sparse_descriptor a_;
  typename Call::operand b_, c_;
  Call call_;
  stage_array<char> workspace_;
  scalar_of<T> one_ = 1, zero_ = 0;
};

/// What its constructor does, preprocessing for the most part, counts as conversion.
template <number T, class DescribeA, class Call>
prepared make_ready(const std::shared_ptr<handles>& library, stage& where, DescribeA describe_a, dense_view<const T> b,
                    dense_view<T> c, Call call) {
  const auto begin = std::chrono::steady_clock::now();
  auto made = std::make_shared<const product<T, Call>>(*library, where, describe_a, b, c, call);
  prepared ready;
  ready.convert_seconds = seconds_since(begin);
  ready.start = [library, made] { made->start(); };
  return ready;
}

/// The same from arrays that several products share: making them counts as conversion for each.
template <number T, class Arrays, class DescribeA>
prepared make_ready_from(std::shared_ptr<const Arrays> arrays, const std::shared_ptr<handles>& library, stage& where,
                         DescribeA describe_a, dense_view<const T> b, dense_view<T> c, cusparseSpMMAlg_t algorithm) {
  prepared ready = make_ready<T>(library, where, describe_a, b, c, spmm{algorithm});
  ready.convert_seconds += arrays->convert_seconds;
  ready.start = [arrays, start = std::move(ready.start)] { start(); };
  return ready;
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
     {"cusparse-csr-alg2", CUSPARSE_SPMM_CSR_ALG2, true},
     {"cusparse-csr-alg3", CUSPARSE_SPMM_CSR_ALG3}}};
constexpr std::array<named_algorithm<cusparseSpMVAlg_t>, 2> vector_algorithms{
    {{"cusparse-spmv-alg1", CUSPARSE_SPMV_CSR_ALG1}, {"cusparse-spmv-alg2", CUSPARSE_SPMV_CSR_ALG2}}};
constexpr std::array<named_algorithm<cusparseSpMMAlg_t>, 4> coo_algorithms{
    {{"cusparse-coo-alg1", CUSPARSE_SPMM_COO_ALG1},
     {"cusparse-coo-alg2", CUSPARSE_SPMM_COO_ALG2, true},
     {"cusparse-coo-alg3", CUSPARSE_SPMM_COO_ALG3},
     {"cusparse-coo-alg4", CUSPARSE_SPMM_COO_ALG4}}};

template <number T>
rival<T> cusparse_csr(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                      named_algorithm<cusparseSpMMAlg_t> which) {
  const spmm call{which.algorithm, p.transpose == op::none ? plain : CUSPARSE_OPERATION_TRANSPOSE};
  return {.name = which.name,
          .group = "cusparse",
          .thorough = which.thorough,
          .prepare = [=, &where, a = p.placed](dense_view<const T> b, dense_view<T> c) {
            return make_ready<T>(
                library, where, [&a](cusparseSpMatDescr_t* to) { describe_csr(a, to); }, b, c, call);
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
            return make_ready<T>(
                library, where, [&a](cusparseSpMatDescr_t* to) { describe_csr(a, to); }, b, c, spmv{which.algorithm});
          }};
}

// --- COO ------------------------------------------------------------------------------------------------------------

/// The row of each non-zero, on the device. By hand, since to_coo also copies columns and values, which lie on the
/// device already: that time would count as cuSPARSE's conversion.
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
void add_coo(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, std::vector<rival<T>>& to) {
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
                    return make_ready_from<T>(rows, library, where, describe, b, c, which.algorithm);
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

/// The same with equally many blocks in each row of blocks.
template <number T>
struct placed_ell {
  std::int64_t ell_cols = 0;
  stage_array<std::int32_t> bcol_ind;
  stage_array<T> values;
  double convert_seconds = 0;

  placed_ell(stage& where, const csr_view<T, std::int32_t>& a, std::int64_t block) {
    const auto begin = std::chrono::steady_clock::now();
    const ell_matrix<T, std::int32_t> host = to_ell(a, block);
    ell_cols = host.blocks_per_row() * block;
    bcol_ind = stage_array<std::int32_t>(where, host.bcol_ind());
    values = stage_array<T>(where, std::as_const(host).values());
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
            return make_ready_from<T>(bsr, library, where, describe, b, c, CUSPARSE_SPMM_BSR_ALG1);
          }};
}

template <number T>
rival<T> cusparse_blocked_ell(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                              std::int64_t block) {
  const auto shared = std::make_shared<made_once<placed_ell<T>>>();
  return {.name = fmt::format("cusparse-ell{}", block),
          .group = "cusparse",
          .prepare = [=, &where, a = p.host](dense_view<const T> b, dense_view<T> c) {
            const auto ell = shared->get(where, a, block);
            const auto describe = [&](cusparseSpMatDescr_t* at) {
              check(cusparseCreateBlockedEll(at, a.rows, a.cols, block, ell->ell_cols, ell->bcol_ind.data(),
                                             ell->values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                             data_type<T>),
                    "cusparseCreateBlockedEll");
            };
            return make_ready_from<T>(ell, library, where, describe, b, c, CUSPARSE_SPMM_BLOCKED_ELL_ALG1);
          }};
}

/// From blocks of the sizes that divide A, where few of their values are zeros.
template <number T>
void add_blocks(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p, std::vector<rival<T>>& to) {
  const auto nnz = static_cast<double>(p.host.nnz());
  for (const std::int64_t block : {2, 3, 4, 6, 8, 16, 32, 64}) {
    if (p.host.rows % block != 0 || p.host.cols % block != 0 || p.host.nnz() == 0) continue;
    const block_count count = count_blocks(p.host, block);
    const auto in_bsr = static_cast<double>(count.all * block * block);
    const auto in_ell = static_cast<double>(p.host.rows * count.widest * block);
    if (block <= 16 && nnz >= min_block_fill * in_bsr) to.push_back(cusparse_bsr(library, where, p, block));
    // Tensor cores take blocks of powers of two.
    if (std::has_single_bit(static_cast<std::uint64_t>(block)) && block >= 8 && in_ell <= max_ell_padding * nnz) {
      to.push_back(cusparse_blocked_ell(library, where, p, block));
    }
  }
}

}  // namespace

template <number T>
void add_cusparse(const std::shared_ptr<handles>& library, stage& where, const problem<T>& p,
                  std::vector<rival<T>>& to) {
  for (const auto& which : csr_algorithms) to.push_back(cusparse_csr(library, where, p, which));
  if (p.transpose != op::none) return;
  for (const auto& which : vector_algorithms) to.push_back(cusparse_spmv(library, where, p, which));
  add_coo(library, where, p, to);
  add_blocks(library, where, p, to);
}

#define BCSC_INSTANTIATE(T) \
  template void add_cusparse(const std::shared_ptr<handles>&, stage&, const problem<T>&, std::vector<rival<T>>&);
BCSC_INSTANTIATE(float)
BCSC_INSTANTIATE(double)
BCSC_INSTANTIATE(half)
BCSC_INSTANTIATE(bfloat16)
#undef BCSC_INSTANTIATE

}  // namespace bcsc::bench::nvidia
