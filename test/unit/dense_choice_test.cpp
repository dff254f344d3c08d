// When a plan considers, and takes, a product with A's zeros.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "lib/choice/choice.hpp"
#include "lib/choice/dense_costs.hpp"

namespace bcsc {
namespace {

TEST(dense_choice, looks_for_dense_products_only_where_they_may_win) {
  const choice::problem nearly_dense{.where = backend::cuda,
                                     .type = value_type::fp16,
                                     .rows = 2048,
                                     .inner = 2048,
                                     .nnz = 2048 * 2048 / 32,
                                     .cols = 128};
  const auto with = [&](auto change) {
    choice::problem p = nearly_dense;
    change(p);
    return p;
  };
  EXPECT_TRUE(choice::considers_dense(nearly_dense, {}));
  EXPECT_TRUE(choice::considers_dense(nearly_dense, {.expert = {.kernel = "gemm-f16"}}));
  EXPECT_FALSE(choice::considers_dense(nearly_dense, {.expert = {.kernel = "mma"}}));
  const choice::problem not_dense[] = {with([](auto& p) { --p.nnz; }),
                                       with([](auto& p) { p.cols = 15; }),
                                       with([](auto& p) { p.cols = 100; }),
                                       with([](auto& p) { p.where = backend::cpu; }),
                                       with([](auto& p) { p.b_is_col_major = true, p.inner = 2047; }),
                                       with([](auto& p) { p.rows = p.inner = 32768, p.nnz = p.rows * p.inner / 4; })};
  for (const choice::problem& p : not_dense) EXPECT_FALSE(choice::considers_dense(p, {})) << &p - not_dense;
  // More than 1 GiB, but less than CSR has.
  EXPECT_TRUE(choice::considers_dense(with([](auto& p) { p.rows = p.inner = 32768, p.nnz = p.rows * p.inner; }), {}));
  // By name whatever the numbers say, but for those that the form does not hold.
  const plan_options by_name{.expert = {.kernel = "gemm"}};
  EXPECT_TRUE(choice::considers_dense(not_dense[0], by_name));
  EXPECT_TRUE(choice::considers_dense(with([](auto& p) { p.rows = 1 << 20, p.inner = 2040; }), by_name));
  EXPECT_FALSE(choice::considers_dense(with([](auto& p) { p.rows = 1 << 20, p.inner = 2048; }), by_name));
  EXPECT_FALSE(choice::considers_dense(with([](auto& p) { p.index_bits = 64; }), by_name));
}

TEST(dense_choice, takes_dense_products_only_with_their_library) {
  choice::problem p{.where = backend::cuda,
                    .type = value_type::fp16,
                    .rows = 2048,
                    .inner = 2048,
                    .nnz = 1677887,
                    .cols = 512,
                    .max_shared_bytes = 1 << 20,
                    .compute_capability = 90,
                    .num_multiprocessors = 132,
                    .no_dense_library = "libcublasLt.so.13: not there"};
  const auto holds_gemm = [](const auto& kernels) {
    return std::ranges::any_of(kernels, [](const auto* k) { return k->info.algorithm == "gemm"; });
  };
  EXPECT_FALSE(holds_gemm(choice::allowed(p, {})));
  EXPECT_FALSE(holds_gemm(choice::allowed(p, {.expert = {.kernel = "gemm"}})));
  try {
    choice::candidates(p, {.expert = {.kernel = "gemm"}});
    FAIL() << "a kernel without its library";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_such_kernel);
    EXPECT_NE(std::string(e.what()).find("libcublasLt.so.13"), std::string::npos) << e.what();
  }
  choice::problem large = p;
  large.rows = large.inner = 1 << 16;
  try {
    choice::candidates(large, {.expert = {.kernel = "gemm-f16"}});
    FAIL() << "too many values";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unsupported);
    EXPECT_NE(std::string(e.what()).find("65536 x 65536"), std::string::npos) << e.what();
  }
  p.no_dense_library.clear();
  const bool is_built = std::ranges::any_of(
      choice::registry(), [](const auto& k) { return k.info.algorithm == "gemm" && k.launch != nullptr; });
  EXPECT_EQ(holds_gemm(choice::allowed(p, {})), is_built);
  EXPECT_EQ(holds_gemm(choice::allowed(p, {.expert = {.kernel = "gemm"}})), is_built);
}

// Networks on an H200 (docs/history, 60): us of the dense product against the fastest sparse one's.
TEST(dense_choice, predicts_when_zeros_are_worth_multiplying) {
  const auto dense_us = [](const char* name, std::int64_t size, std::int64_t cols) {
    const auto all = kernel_table();
    const auto kernel = std::ranges::find(all, name, &kernel_info::name);
    return 1e6 * choice::dense_seconds(size, size, cols, *kernel);
  };
  EXPECT_NEAR(dense_us("gemm-f16", 4096, 512), 27, 6);
  EXPECT_NEAR(dense_us("gemm-bf16", 2048, 128), 8, 3);
  EXPECT_NEAR(dense_us("gemm-f32", 4096, 512), 355, 40);
  EXPECT_NEAR(dense_us("gemm-3xf16", 4096, 512), 85, 15);
  EXPECT_NEAR(dense_us("gemm-3xf16", 2048, 128), 17, 4);
  EXPECT_NEAR(dense_us("gemm-tf32", 2048, 512), 22, 6);
  EXPECT_NEAR(dense_us("gemm-1xf16", 2048, 512), 20, 4);
  EXPECT_NEAR(dense_us("gemm-1xf16", 4096, 128), 19, 4);
  EXPECT_NEAR(dense_us("gemm-f64", 4096, 128), 89, 18);
}

}  // namespace
}  // namespace bcsc
