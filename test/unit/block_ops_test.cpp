#include "kernels/vector/block_ops.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "bcsc_config.h"
#include "core/context_state.hpp"
#include "test/support/thread_counts.hpp"
#include "test/unit/block_checks.hpp"

namespace bcsc::test {

namespace {

template <class T>
const block_ops::block_operations<T>& block_operations_on(backend where) {
#if BCSC_WITH_CUDA
  if (where == backend::cuda) return block_ops::block_on_cuda<T>();
#endif
  (void)where;
  return block_ops::block_on_cpu<T>();
}

template <class T>
block_checks<T> checks_on(const context& ctx, const block_shape& shape) {
  return {
      ctx, block_operations_on<T>(ctx.kind()), {ctx.state().who(), nullptr, ctx.device().num_multiprocessors}, shape};
}

class block_operations_on_a_backend : public testing::TestWithParam<std::tuple<backend, block_shape>> {
 protected:
  template <class T>
  void check() {
    const auto& [where, shape] = GetParam();
    const auto ctx = context_of(where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    checks_on<T>(*ctx, shape).all(ctx->kind() == backend::cuda);
  }
};

TEST_P(block_operations_on_a_backend, compute_in_double) { check<double>(); }
TEST_P(block_operations_on_a_backend, compute_in_float) { check<float>(); }

INSTANTIATE_TEST_SUITE_P(shapes, block_operations_on_a_backend,
                         testing::Combine(testing::Values(backend::cpu, backend::cuda),
                                          testing::ValuesIn(block_shapes())),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST(block_operations, do_not_depend_on_the_number_of_threads) {
  for (const block_shape& shape : {block_shape{30000, 4, 4}, block_shape{5000, 16, 16}}) {
    const auto wanted = checks_on<float>(context::cpu(1), shape).gram_of_random();
    for (const context& ctx : cpu_contexts()) {
      const auto got = checks_on<float>(ctx, shape).gram_of_random();
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
