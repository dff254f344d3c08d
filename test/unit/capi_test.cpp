#include "bcsc/capi.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "bcsc/error.hpp"

namespace {

int number(bcsc::errc code) { return static_cast<int>(code); }

const std::int32_t row_ptr[] = {0, 2, 3};
const std::int32_t col_ind[] = {0, 2, 1};
const double values[] = {1, 2, 3};  // 1 0 2 / 0 3 0

class capi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(bcsc_context_cpu(1, &context_), 0); }
  void TearDown() override {
    bcsc_plan_free(plan_);
    bcsc_context_free(context_);
  }
  bcsc_context context_ = nullptr;
  bcsc_plan plan_ = nullptr;
};

TEST_F(capi, multiplies) {
  ASSERT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 2, BCSC_ROW_MAJOR, &plan_), 0)
      << bcsc_last_error();
  const double b[] = {1, 2, 3, 4, 5, 6}, alpha = 2, beta = -1;
  double c[] = {1, 1, 1, 1};
  ASSERT_EQ(bcsc_plan_run(plan_, &alpha, b, 2, &beta, c, 2, BCSC_ROW_MAJOR, 2, nullptr), 0) << bcsc_last_error();
  EXPECT_EQ(c[0], 2 * 11 - 1);
  EXPECT_EQ(c[1], 2 * 14 - 1);
  EXPECT_EQ(c[2], 2 * 9 - 1);
  EXPECT_EQ(c[3], 2 * 12 - 1);
  const char* text = nullptr;
  ASSERT_EQ(bcsc_plan_explain(plan_, &text), 0);
  EXPECT_NE(std::string(text).find("kernel"), std::string::npos);
}

TEST_F(capi, multiplies_fp32_column_major) {
  const float v[] = {1, 2, 3}, b[] = {1, 3, 5, 2, 4, 6}, alpha = 1, beta = 0;
  float c[4];
  ASSERT_EQ(bcsc_plan_csr(context_, BCSC_FP32, 2, 3, row_ptr, col_ind, v, 2, BCSC_COL_MAJOR, &plan_), 0);
  ASSERT_EQ(bcsc_plan_run(plan_, &alpha, b, 3, &beta, c, 2, BCSC_COL_MAJOR, 2, nullptr), 0);
  EXPECT_EQ(c[0], 11);
  EXPECT_EQ(c[1], 9);
  EXPECT_EQ(c[2], 14);
  EXPECT_EQ(c[3], 12);
}

TEST_F(capi, multiplies_a_batch) {
  ASSERT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 1, BCSC_ROW_MAJOR, &plan_), 0);
  const double b[] = {1, 3, 5, -1, 2, 4, 6}, alpha = 1, beta = 2;
  double c[] = {1, 1, -1, 2, 3};
  ASSERT_EQ(bcsc_plan_run_batch(plan_, &alpha, b, 1, 4, &beta, c, 1, 3, BCSC_ROW_MAJOR, 1, 2, nullptr), 0)
      << bcsc_last_error();
  EXPECT_EQ(std::vector<double>(c, c + 5), (std::vector<double>{11 + 2, 9 + 2, -1, 14 + 4, 12 + 6}));
  ASSERT_EQ(bcsc_plan_run_batch(plan_, &alpha, b, 1, 4, &beta, c, 1, 3, BCSC_ROW_MAJOR, 1, 0, nullptr), 0);
  EXPECT_EQ(c[0], 13);

  using bcsc::errc;
  const auto run = [&](int64_t count, int64_t b_stride, int64_t c_stride) {
    return bcsc_plan_run_batch(plan_, &alpha, b, 1, b_stride, &beta, c, 1, c_stride, BCSC_ROW_MAJOR, 1, count, nullptr);
  };
  EXPECT_EQ(run(-1, 4, 3), number(errc::invalid_argument));
  EXPECT_NE(std::string(bcsc_last_error()).find("batch.count = -1"), std::string::npos);
  EXPECT_EQ(run(2, 4, 1), number(errc::overlapping_operands));
  EXPECT_NE(std::string(bcsc_last_error()).find("batch.c_stride = 1"), std::string::npos);
  EXPECT_EQ(run(INT64_MAX, 4, 3), number(errc::size_overflow));
}

TEST_F(capi, returns_codes_and_messages) {
  using bcsc::errc;
  EXPECT_EQ(bcsc_plan_csr(nullptr, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 2, 0, &plan_),
            number(errc::invalid_argument));
  EXPECT_NE(std::string(bcsc_last_error()).find("context"), std::string::npos);
  EXPECT_EQ(bcsc_plan_csr(context_, 7, 2, 3, row_ptr, col_ind, values, 2, 0, &plan_), number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 2, 5, &plan_),
            number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_csr(context_, BCSC_FP64, -2, 3, row_ptr, col_ind, values, 2, 0, &plan_),
            number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 2, row_ptr, col_ind, values, 2, 0, &plan_),
            number(errc::index_out_of_range));
  EXPECT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 0, 0, &plan_),
            number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, nullptr, values, 2, 0, &plan_),
            number(errc::invalid_argument));
  EXPECT_EQ(plan_, nullptr);
  EXPECT_EQ(bcsc_context_cpu(-1, &context_), number(errc::invalid_argument));
  EXPECT_EQ(bcsc_context_cuda(1000, &context_) == 0, false);

  ASSERT_EQ(bcsc_plan_csr(context_, BCSC_FP64, 2, 3, row_ptr, col_ind, values, 2, 0, &plan_), 0);
  EXPECT_STREQ(bcsc_last_error(), "");
  const double one = 1, b[6] = {};
  double c[4];
  EXPECT_EQ(bcsc_plan_run(plan_, &one, b, 1, &one, c, 2, 0, 2, nullptr), number(errc::bad_leading_dimension));
  EXPECT_EQ(bcsc_plan_run(plan_, nullptr, b, 2, &one, c, 2, 0, 2, nullptr), number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_run(nullptr, &one, b, 2, &one, c, 2, 0, 2, nullptr), number(errc::invalid_argument));
  EXPECT_EQ(bcsc_plan_explain(plan_, nullptr), number(errc::invalid_argument));
}

TEST(capi_alone, nothing_may_be_freed) {
  bcsc_plan_free(nullptr);
  bcsc_context_free(nullptr);
  bcsc_context best = nullptr;
  ASSERT_EQ(bcsc_context_best(&best), 0);
  bcsc_context_free(best);
  EXPECT_GT(std::strlen(bcsc_version()), 4u);
}

}  // namespace
