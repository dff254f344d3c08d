// Conjugate gradients by the C interface on a GPU: operands and matrices there, and a stream of the caller's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/capi_systems.hpp"
#include "test/unit/cg_systems.hpp"
#include "test/unit/held_stream.hpp"

namespace bcsc::test {
namespace {

/// A product by a plan, on the stream that it is given; what it was given is kept.
struct streamed_product {
  bcsc_plan plan;
  std::vector<void*> streams;

  static int apply(void* data, int64_t k, const void* alpha, const void* x, int64_t ldx, const void* beta, void* y,
                   int64_t ldy, int in_place, void* stream) {
    auto& self = *static_cast<streamed_product*>(data);
    self.streams.push_back(stream);
    auto options = sized<bcsc_run_options>();
    options.stream = stream;
    options.move_workspace = 1;
    options.scalars_in_place = in_place;
    return bcsc_plan_run(self.plan, k, alpha, x, ldx, beta, y, ldy, BCSC_ROW_MAJOR, &options);
  }
};

class capi_cg_cuda : public ::testing::Test {
 protected:
  static constexpr std::int64_t k = 4;

  void SetUp() override {
    if (bcsc_context_cuda(0, &context_) != BCSC_OK) GTEST_SKIP() << "no GPU: " << bcsc_last_error();
    ASSERT_EQ(bcsc_context_cpu(1, &host_), BCSC_OK);
    b_ = random_table<double>(a_.rows, k, values::real, 9);
    x_ = dense_table<double>(a_.rows, k);
    b_there_ = brought(b_.at);
    x_there_ = brought(x_.at);
    auto arrays = sized<bcsc_csr_arrays>();
    const auto csr = csr_of<double>(a_);
    const auto v = csr.view();
    arrays.value_type = BCSC_FP64;
    arrays.memory_space = BCSC_DEVICE;
    arrays.rows = arrays.cols = a_.rows;
    arrays.nnz = v.nnz();
    arrays.row_ptr = brought(v.row_ptr);
    arrays.col_ind = brought(v.col_ind);
    arrays.values = brought(v.values);
    ASSERT_EQ(bcsc_sparse_csr(&arrays, &matrix_), BCSC_OK) << bcsc_last_error();
    ASSERT_EQ(bcsc_plan_create(context_, matrix_, &plan_, nullptr), BCSC_OK) << bcsc_last_error();
    options_.tolerance = 1e-10;
  }
  void TearDown() override {
    bcsc_plan_free(plan_);
    bcsc_sparse_free(matrix_);
    for (void* const memory : memory_) EXPECT_EQ(bcsc_memory_free(context_, memory), BCSC_OK);
    bcsc_context_free(host_);
    bcsc_context_free(context_);
  }

  template <class Array>
  void* brought(const Array& array) {
    const std::size_t bytes = array.size() * sizeof *array.data();
    void* there = nullptr;
    EXPECT_EQ(bcsc_memory_allocate(context_, bytes, &there), BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(bcsc_memory_copy(context_, array.data(), there, bytes), BCSC_OK) << bcsc_last_error();
    return memory_.emplace_back(there);
  }
  void expect_solved(int code) {
    ASSERT_EQ(code, BCSC_OK) << bcsc_last_error();
    EXPECT_EQ(result_.reason, BCSC_CG_CONVERGED);
    ASSERT_EQ(bcsc_memory_copy(context_, x_there_, x_.at.data(), x_.at.size() * sizeof(double)), BCSC_OK);
    for (std::int64_t j = 0; j < k; ++j) {
      const auto exact = true_residual(a_, b_, x_, j);
      EXPECT_LE(exact.relative, options_.tolerance + exact.rounding);
    }
    ASSERT_EQ(bcsc_memory_copy(context_, std::vector<double>(x_.at.size(), -7).data(), x_there_,
                               x_.at.size() * sizeof(double)),
              BCSC_OK);
  }
  int solve_operator(bcsc_operator a) {
    return bcsc_solve_cg_operator(a, k, b_there_, k, x_there_, k, BCSC_ROW_MAJOR, &result_, &options_);
  }

  const sparse_case a_ = laplace(40, 31);
  bcsc_context context_ = nullptr, host_ = nullptr;
  bcsc_sparse matrix_ = nullptr;
  bcsc_plan plan_ = nullptr;
  dense_table<double> b_, x_;
  void *b_there_ = nullptr, *x_there_ = nullptr;
  std::vector<void*> memory_;
  bcsc_cg_options options_ = sized<bcsc_cg_options>();
  bcsc_cg_result result_ = sized<bcsc_cg_result>();
};

TEST_F(capi_cg_cuda, solves_where_the_operands_lie) {
  bcsc_operator of_plan = nullptr;
  ASSERT_EQ(bcsc_operator_plan(plan_, &of_plan), BCSC_OK);
  expect_solved(bcsc_solve_cg(plan_, k, nullptr, b_there_, k, x_there_, k, BCSC_ROW_MAJOR, &result_, &options_));
  expect_solved(solve_operator(of_plan));
  const std::int64_t plain = result_.iterations;
  options_.method = BCSC_CG_METHOD_BLOCK;
  expect_solved(solve_operator(of_plan));
  EXPECT_LT(result_.iterations, plain);
  options_.method = BCSC_CG_METHOD_SIMULTANEOUS;

  ASSERT_EQ(bcsc_operator_amg(context_, matrix_, &options_.precondition, nullptr), BCSC_OK) << bcsc_last_error();
  expect_solved(solve_operator(of_plan));
  EXPECT_LT(4 * result_.iterations, plain);
  bcsc_operator_free(options_.precondition);
  options_.precondition = nullptr;

  std::string inner(100, '?');
  options_.inner = BCSC_CG_INNER_FP32;
  options_.correction = BCSC_CG_CORRECTION_REFINE;
  options_.correction_when = 0.01;
  options_.inner_text = inner.data();
  options_.inner_text_bytes = inner.size();
  expect_solved(
      bcsc_solve_cg_matrix(context_, matrix_, k, b_there_, k, x_there_, k, BCSC_ROW_MAJOR, &result_, &options_));
  EXPECT_NE(inner.find("fp32"), std::string::npos) << inner;
  bcsc_operator_free(of_plan);
}

TEST_F(capi_cg_cuda, works_on_the_callers_stream) {
  streamed_product product{plan_, {}};
  bcsc_operator function = nullptr;
  ASSERT_EQ(bcsc_operator_callback(context_, a_.rows, a_.rows, BCSC_FP64, streamed_product::apply, &product, &function),
            BCSC_OK);
  const own_stream stream;
  options_.stream = stream.get();
  expect_solved(solve_operator(function));
  EXPECT_FALSE(product.streams.empty());
  for (void* const given : product.streams) EXPECT_EQ(given, stream.get());
  bcsc_operator_free(function);
}

TEST_F(capi_cg_cuda, refuses_memory_and_operators_of_elsewhere) {
  bcsc_sparse on_host = nullptr;
  auto arrays = sized<bcsc_csr_arrays>();
  const auto csr = csr_of<double>(a_);
  const auto v = csr.view();
  arrays.value_type = BCSC_FP64;
  arrays.rows = arrays.cols = a_.rows;
  arrays.nnz = v.nnz();
  arrays.row_ptr = v.row_ptr.data();
  arrays.col_ind = v.col_ind.data();
  arrays.values = v.values.data();
  ASSERT_EQ(bcsc_sparse_csr(&arrays, &on_host), BCSC_OK);
  EXPECT_EQ(bcsc_solve_cg_matrix(host_, on_host, k, b_there_, k, x_there_, k, BCSC_ROW_MAJOR, &result_, nullptr),
            BCSC_ERROR_WRONG_MEMORY_SPACE);
  bcsc_operator of_plan = nullptr;
  ASSERT_EQ(bcsc_operator_plan(plan_, &of_plan), BCSC_OK);
  ASSERT_EQ(bcsc_operator_jacobi(host_, on_host, &options_.precondition), BCSC_OK) << bcsc_last_error();
  EXPECT_EQ(solve_operator(of_plan), BCSC_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(bcsc_last_error()).find("the preconditioner on"), std::string::npos) << bcsc_last_error();
  bcsc_operator_free(options_.precondition);
  bcsc_operator_free(of_plan);
  bcsc_sparse_free(on_host);
}

}  // namespace
}  // namespace bcsc::test
