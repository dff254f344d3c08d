#include "bench/harness/stage.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bcsc/plan.hpp"
#include "test/support/operands.hpp"

namespace bcsc::bench {
namespace {

/// C = 2 B on a stage, and how often the host has started it.
class doubling {
 public:
  explicit doubling(const context& ctx)
      : where(make_stage(ctx)), b_(*where, host_b_), c_(*where, rows * cols), plan_(ctx, a_.view(), {.cols = cols}) {}

  void start() {
    ++starts;
    plan_.run(1.0F, {b_.data(), rows, cols}, 0.0F, {c_.data(), rows, cols}, {.stream = where->stream()});
  }
  launch work() {
    return [this] { start(); };
  }
  void poison() { where->poison(c_.data(), c_.bytes()); }
  bool is_right() {
    const auto* const found = static_cast<const float*>(where->fetch(c_.data(), c_.bytes()));
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      if (found[i] != 2 * host_b_[static_cast<std::size_t>(i)]) return false;
    }
    return true;
  }

  std::unique_ptr<stage> where;
  int starts = 0;

 private:
  static constexpr std::int64_t rows = 40, cols = 8;
  static std::vector<float> counted() {
    std::vector<float> values(rows * cols);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return values;
  }
  static csr_matrix<float, std::int32_t> twice() {
    std::vector<std::int32_t> row_ptr{0}, col_ind;
    for (std::int32_t i = 0; i < rows; ++i) {
      col_ind.push_back(i);
      row_ptr.push_back(i + 1);
    }
    return {rows, rows, row_ptr, col_ind, std::vector<float>(rows, 2.0F)};
  }

  std::vector<float> host_b_ = counted();
  csr_matrix<float, std::int32_t> a_ = twice();
  stage_array<float> b_, c_;
  spmm_plan<float> plan_;
};

TEST(cuda_stage, ReplaysWhatItHasRecorded) {
  const auto ctx = test::context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  doubling product(*ctx);
  product.start();
  const auto five = product.where->repeated(product.work(), 5);
  EXPECT_TRUE(five->is_recorded());
  EXPECT_EQ(product.starts, 1 + 5);
  product.poison();
  EXPECT_GT(five->seconds(), 0);
  EXPECT_GT(five->seconds(), 0);
  EXPECT_EQ(product.starts, 1 + 5);
  EXPECT_TRUE(product.is_right());
}

TEST(cuda_stage, StartsWhatCannotBeRecorded) {
  const auto ctx = test::context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  doubling product(*ctx);
  product.start();
  const launch waiting = [&] {
    product.start();
    product.where->wait();
  };
  const auto three = product.where->repeated(waiting, 3);
  EXPECT_FALSE(three->is_recorded());
  const int before = product.starts;
  product.poison();
  EXPECT_GT(three->seconds(), 0);
  EXPECT_EQ(product.starts, before + 3);
  EXPECT_TRUE(product.is_right());
}

TEST(cuda_stage, TellsWhatAStartTakesTheHost) {
  const auto ctx = test::context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  doubling product(*ctx);
  const auto seconds = product.where->start_seconds(product.work());
  ASSERT_TRUE(seconds.has_value());
  EXPECT_GT(*seconds, 0);
  EXPECT_LT(*seconds, 1e-3);
}

TEST(cpu_stage, StartsEachCall) {
  doubling product(context::cpu(2));
  const auto five = product.where->repeated(product.work(), 5);
  EXPECT_FALSE(five->is_recorded());
  EXPECT_EQ(product.starts, 0);
  product.poison();
  EXPECT_GT(five->seconds(), 0);
  EXPECT_EQ(product.starts, 5);
  EXPECT_TRUE(product.is_right());
  EXPECT_FALSE(product.where->start_seconds(product.work()).has_value());
}

}  // namespace
}  // namespace bcsc::bench
