#include "kernels/vector/block_ops.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "test/support/cpu_isas.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/block_checks.hpp"

namespace bcsc::test {

namespace {

/// A GPU, or a CPU by some of its instructions.
struct place {
  backend where;
  core::cpu_isa isa = core::cpu_isa::baseline;
};

std::string name_of(const place& p) {
  return p.where == backend::cuda ? "cuda" : "cpu_" + std::string(core::to_string(p.isa));
}

template <class T>
const block_ops::block_operations<T>& block_operations_at(const place& p) {
#if BCSC_WITH_CUDA
  if (p.where == backend::cuda) return block_ops::block_on_cuda<T>();
#endif
  return block_ops::block_on_cpu<T>(p.isa);
}

template <class T>
block_checks<T> checks_at(const place& p, const context& ctx, const block_shape& shape) {
  return {ctx, block_operations_at<T>(p), {ctx.state().who(), nullptr, ctx.device().num_multiprocessors}, shape};
}

class block_operations_at_a_place : public testing::TestWithParam<std::tuple<place, block_shape>> {
 protected:
  template <class T>
  void check() {
    const auto& [at, shape] = GetParam();
    const auto ctx = context_of(at.where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    if (at.isa > core::best_cpu_isa()) GTEST_SKIP() << "no " << core::to_string(at.isa) << " here";
    checks_at<T>(at, *ctx, shape).all(ctx->kind() == backend::cuda);
  }
};

TEST_P(block_operations_at_a_place, compute_in_double) { check<double>(); }
TEST_P(block_operations_at_a_place, compute_in_float) { check<float>(); }

INSTANTIATE_TEST_SUITE_P(
    shapes, block_operations_at_a_place,
    testing::Combine(testing::Values(place{backend::cpu, core::cpu_isa::baseline},
                                     place{backend::cpu, core::cpu_isa::avx2},
                                     place{backend::cpu, core::cpu_isa::avx512}, place{backend::cuda}),
                     testing::ValuesIn(block_shapes())),
    [](const auto& info) { return name_of(std::get<0>(info.param)) + "_" + name_of(std::get<1>(info.param)); });

TEST(block_operations, leave_the_same_bits_wherever_a_sum_lies_in_a_tile) {
  for (const core::cpu_isa isa : available_isas()) {
    const context ctx = context::cpu(2);
    checks_at<double>({backend::cpu, isa}, ctx, {700, 13, 29, 3}).columns_by_themselves();
    checks_at<float>({backend::cpu, isa}, ctx, {700, 13, 29, 3}).columns_by_themselves();
  }
}

TEST(block_operations, do_not_depend_on_the_number_of_threads) {
  const place best{backend::cpu, core::best_cpu_isa()};
  for (const block_shape& shape : {block_shape{30000, 4, 4}, block_shape{5000, 16, 16}}) {
    const auto wanted = checks_at<float>(best, context::cpu(1), shape).gram_of_random();
    for (const context& ctx : cpu_contexts()) {
      const auto got = checks_at<float>(best, ctx, shape).gram_of_random();
      EXPECT_EQ(std::memcmp(got.at.data(), wanted.at.data(), wanted.at.size() * sizeof(double)), 0) << ctx.describe();
    }
  }
}

TEST(block_operations, keep_partial_sums_small) {
  EXPECT_EQ(block_ops::num_block_partials(1000000, 1, 1), block_ops::most_gram_chunks);
  EXPECT_LE(block_ops::num_block_partials(1000000, 300, 300), 1 << 22);
  EXPECT_EQ(block_ops::num_block_partials(1000000, 5000, 5000), 25000000) << "one chunk";
}

}  // namespace

}  // namespace bcsc::test
