// How A is kept in L2 (kernels::cache_policy, fits_l2()): policies are what this GPU's createpolicy makes, and products
// are exact whether A stays there or not, in every config that loads it one way or the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "core/buffer.hpp"
#include "kernels/forms/stored_matrix.hpp"
#include "lib/choice/registry.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/unit/cache_policies.hpp"

namespace bcsc::test {
namespace {

using kernels::cache_policy;
using kernels::fits_l2;
using kernels::policy_for;

TEST(cache_policy_for, evicts_a_first_beside_what_fits_without_it) {
  constexpr std::int64_t l2 = 1000;
  const kernels::launch_env unknown{{}, nullptr, 132}, env{{}, nullptr, 132, false, l2};
  EXPECT_EQ(policy_for(env, 751, 0), cache_policy::evict_first);
  EXPECT_EQ(policy_for(env, 750, 0), cache_policy::evict_normal);
  EXPECT_EQ(policy_for(env, 252, 499), cache_policy::evict_first);
  EXPECT_EQ(policy_for(env, 251, 499), cache_policy::evict_normal);
  EXPECT_EQ(policy_for(env, 100 * l2, 499), cache_policy::evict_first);
  EXPECT_EQ(policy_for(env, 100 * l2, 500), cache_policy::evict_normal);
  EXPECT_EQ(policy_for(unknown, 100 * l2, 0), cache_policy::evict_normal);
}

TEST(fits_l2, takes_three_quarters_of_it_for_all_three) {
  const kernels::launch_env unknown{{}, nullptr, 132}, env{{}, nullptr, 132, false, 1000};
  EXPECT_TRUE(fits_l2(env, 250, 500));
  EXPECT_FALSE(fits_l2(env, 251, 500));
  EXPECT_FALSE(fits_l2(unknown, 1, 0));
}

class cache_policy_cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    ctx_ = context_of(backend::cuda);
    BCSC_SKIP_WITHOUT_GPU(ctx_);
  }

  /// Small integers: exact in every order.
  template <number T>
  void expect_right(const choice::registered_kernel& k, const sparse_case& a) {
    constexpr std::int64_t n = 8;
    const auto csr = csr_of<T>(a);
    const forms::storing how{.form = k.form,
                             .m_block = k.info.m_tile,
                             .cols = n,
                             .columns_at_once = k.info.columns_at_once,
                             .tile_cols = static_cast<int>(k.info.n_tile),
                             .device = ctx_->device().device};
    const forms::stored_matrix<T> stored(csr.view(), how);
    const core::device_buffer<scalar_of<T>> partials(ctx_->device().device,
                                                     std::max<std::int64_t>(1, stored.partials().values(n)));
    const auto b = random_table<T>(a.cols, n, values::small_integers, 3);
    const dense_table<T> unwritten(a.rows, n, std::numeric_limits<T>::quiet_NaN());
    // Unknown, so small that A does not fit, but B and C do (this A has many entries a row), and large enough for all.
    for (const std::int64_t l2_bytes : {std::int64_t{0}, stored.facts().bytes, std::int64_t{1} << 30}) {
      operand<T> on_b(*ctx_, b, {}), on_c(*ctx_, unwritten, {});
      const auto b_view = on_b.view();
      const auto c_view = on_c.view();
      const forms::dense_side<T> product{b_view.data, b_view.ld, 1, n,       n,       c_view.data,    c_view.ld,
                                         1,           1,         0, nullptr, nullptr, partials.data()};
      EXPECT_EQ(stored.start(k.launch, product, {{}, nullptr, ctx_->device().num_multiprocessors, false, l2_bytes}), 0);
      expect_exact<T>(multiply<T>(a, false, 1, b, 0, unwritten), on_c.read(), k.info.name);
    }
  }

  std::optional<context> ctx_;
};

TEST_F(cache_policy_cuda, is_what_createpolicy_makes) {
  created_policies created;
  ASSERT_EQ(create_policies(created), 0);
  EXPECT_EQ(created.normal, static_cast<std::uint64_t>(cache_policy::evict_normal));
  EXPECT_EQ(created.first, static_cast<std::uint64_t>(cache_policy::evict_first));
}

TEST_F(cache_policy_cuda, products_are_right_by_either) {
  const sparse_case a = rows_of_lengths("every_length", 400, 700, [](std::int64_t i) { return (7 * i) % 401; });
  // Where A stays, clusters of thread blocks share its longest row blocks (forms::clusters_pay()).
  const sparse_case with_longest = rows_of_lengths("with_longest", 600, 9000, [](std::int64_t i) {
    return i % 97 == 5 ? 7000 + i : i % 41 == 3 ? 600 : i * i % 23;
  });
  const std::set<std::string> keeping{"mma", "rowwise", "sliced"};
  std::set<std::string> algorithms;
  for (const choice::registered_kernel& k : choice::registry()) {
    if (k.info.where != backend::cuda || k.launch == nullptr) continue;
    if (!keeping.contains(k.info.algorithm)) continue;
    algorithms.insert(k.info.algorithm);
    with_value_type(k.info.type, [&]<class T>() {
      expect_right<T>(k, a);
      expect_right<T>(k, with_longest);
    });
    if (HasFailure()) return;
  }
  EXPECT_EQ(algorithms, keeping);
}

}  // namespace
}  // namespace bcsc::test
