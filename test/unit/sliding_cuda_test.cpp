// Bands whose rows of B slide through shared memory: enough row blocks that each thread block has many of them, by
// every config, and with operands that bulk copies cannot take.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "bcsc/context.hpp"
#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/tuned_kernels.hpp"

namespace bcsc::test {
namespace {

/// `before` entries below the diagonal and `behind` above it, with gaps; every 999th row has one far away.
sparse_case band(std::int64_t rows, std::int64_t before, std::int64_t behind, bool has_far_entries) {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - before); j <= std::min(rows - 1, i + behind); ++j) {
      if ((i + 3 * j) % 7 != 0) positions.insert({i, j});
    }
    if (has_far_entries && i % 999 == 0) positions.insert({i, (i * 31 + 5000) % rows});
  }
  return make_case("band", rows, rows, positions, values::small_integers, 3);
}

class sliding_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
    const bool runs = std::ranges::any_of(kernel_table(backend::cuda, value_type::fp64), [&](const kernel_info& k) {
      return k.algorithm == "sliding" && runs_on(k, *ctx_);
    });
    if (!runs) GTEST_SKIP() << "needs a GPU of compute capability 9.0";
  }
  const context& ctx() const { return *ctx_; }

  /// Small integers: every order of summation is exact.
  void expect_right(const sparse_case& a, std::int64_t n, const placement& b_lies) const {
    const auto csr = csr_of<double>(a);
    const auto b = random_table<double>(a.cols, n, values::small_integers, 1);
    const product wanted = multiply<double>(a, false, 2, b, 0, {});
    for (const kernel_info& k : kernel_table(backend::cuda, value_type::fp64)) {
      if (k.algorithm != "sliding") continue;
      const spmm_plan<double> plan(ctx(), csr, {.cols = n, .expert = {.kernel = k.name}});
      operand<double> on_b(ctx(), b, b_lies), on_c(ctx(), a.rows, n, {});
      plan.run(2, on_b.view(), 0, on_c.view());
      expect_exact<double>(wanted, on_c.read(), k.name);
    }
  }

 private:
  std::optional<context> ctx_;
};

TEST_F(sliding_cuda, keeps_rows_from_one_row_block_to_the_next) {
  for (const auto& [before, behind] : {std::pair{60, 60}, {9, 3}, {64, 0}, {100, 90}}) {
    for (const std::int64_t n : {64, 130}) expect_right(band(20011, before, behind, false), n, {});
  }
}

TEST_F(sliding_cuda, begins_anew_where_an_entry_is_far_away) { expect_right(band(12007, 50, 50, true), 128, {}); }

TEST_F(sliding_cuda, takes_rows_of_b_that_begin_anywhere) {
  const sparse_case a = band(12007, 40, 40, false);
  expect_right(a, 127, {.padding = 1});
  expect_right(a, 128, {.padding = 1, .offset = 1});
}

}  // namespace
}  // namespace bcsc::test
