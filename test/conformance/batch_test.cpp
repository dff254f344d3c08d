// Batches by every config: both layouts of B and of C, members behind each other, apart and interleaved, with a B each
// or one for all, in one go and in slabs of a small workspace. Exact on small integers, and so bit-equal to products
// run one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/kernel_instances.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

/// Heavy rows and thin ones; long columns; nothing to multiply; nothing to write.
std::vector<sparse_case> matrices() {
  std::vector<sparse_case> chosen = battery(values::small_integers);
  std::erase_if(chosen, [](const sparse_case& a) {
    return a.name != "power_law" && a.name != "tall" && a.name != "no_entries" && a.name != "0x5";
  });
  EXPECT_EQ(chosen.size(), 4u);
  return chosen;
}

template <class T>
void run_batches(const context& ctx, const instance& one) {
  const std::int64_t widths[] = {5, 33, 1, one.kernel.n_tile + 1, 8};
  const batch_placement placements[] = {{0}, {3}, {1, true}, {4}, {0, true}};
  std::size_t turn = 0;
  for (const sparse_case& a : matrices()) {
    const auto csr = csr_of<T>(a);
    for (const layout b_layout : {layout::row_major, layout::col_major}) {
      const std::int64_t n = widths[turn % 5];
      // Room for all members, for some, for one column tile of one.
      const std::int64_t expected[] = {7, 3, 1};
      const spmm_plan<T> plan(ctx, csr,
                              {.cols = n,
                               .b_layout = b_layout,
                               .batch = expected[turn % 3],
                               .max_workspace_bytes = turn % 4 == 3 ? 1 : std::int64_t{1} << 28,
                               .expert = {.kernel = one.kernel.name}});
      for (const std::int64_t count : {1, 2, 7}) {
        for (const double beta : {0.0, 1.0}) {
          ++turn;
          batch_placement for_b = placements[turn % 5];
          for_b.shared = turn % 4 == 1;
          std::vector<dense_table<T>> b, c0;
          std::vector<product> wanted;
          for (std::int64_t k = 0; k < count; ++k) {
            const std::size_t seed = 100 * turn + static_cast<std::size_t>(k);
            b.push_back(for_b.shared && k > 0 ? b[0] : random_table<T>(a.cols, n, values::small_integers, seed));
            c0.push_back(random_table<T>(a.rows, n, values::small_integers, seed + 50));
            wanted.push_back(multiply<T>(a, false, 2, b.back(), beta, c0.back()));
            if (beta == 0) std::ranges::fill(c0.back().at, std::numeric_limits<T>::quiet_NaN());
          }
          const placement each_b{b_layout, static_cast<std::int64_t>(turn % 3), static_cast<std::int64_t>(turn % 2)};
          const placement each_c{one.c_layout, static_cast<std::int64_t>((turn + 1) % 4),
                                 static_cast<std::int64_t>((turn / 2) % 2)};
          batch_operand<T> on_b(ctx, b, each_b, for_b), on_c(ctx, c0, each_c, placements[(turn + 2) % 5]);
          plan.run(2, on_b.view(), static_cast<scalar_of<T>>(beta), on_c.view(),
                   {.batch = {count, on_b.stride(), on_c.stride()}});
          const auto together = on_c.read();

          batch_operand<T> alone(ctx, c0, each_c, placements[(turn + 2) % 5]);
          const auto there = alone.view();
          const auto b_there = on_b.view();
          for (std::int64_t k = 0; k < count; ++k) {
            dense_view<T> its_b = b_there, its_c = there;
            its_b.data += k * on_b.stride();
            its_c.data += k * alone.stride();
            plan.run(2, its_b, static_cast<scalar_of<T>>(beta), its_c);
          }
          const auto apart = alone.read();
          for (std::size_t k = 0; k < together.size(); ++k) {
            const std::string what = a.name + ", N = " + std::to_string(n) + ", B " + std::string(to_string(b_layout)) +
                                     ", member " + std::to_string(k) + " of " + std::to_string(count) + ", beta " +
                                     std::to_string(beta);
            expect_exact<T>(wanted[k], together[k], what);
            ASSERT_EQ(together[k].at.size(), apart[k].at.size());
            EXPECT_TRUE(together[k].at.empty() ||
                        std::memcmp(together[k].at.data(), apart[k].at.data(), together[k].at.size() * sizeof(T)) == 0)
                << what;
          }
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

class every_kernel : public ::testing::TestWithParam<instance> {};

TEST_P(every_kernel, multiplies_batches) {
  const auto ctx = context_of(GetParam().kernel.where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  with_value_type(GetParam().kernel.type, [&]<class T>() { run_batches<T>(*ctx, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(table, every_kernel, ::testing::ValuesIn(instances()), name_of);

class batch_on : public ::testing::TestWithParam<backend> {};

TEST_P(batch_on, may_have_more_members_than_a_grid_is_deep) {
  const auto ctx = context_of(GetParam());
  BCSC_SKIP_WITHOUT_GPU(ctx);
  constexpr std::size_t count = 70000;
  const sparse_case a = make_case("2x3", 2, 3, {{0, 0}, {0, 2}, {1, 1}}, values::small_integers, 1);
  const std::vector<dense_table<float>> c0(count, dense_table<float>(2, 1, std::numeric_limits<float>::quiet_NaN()));
  std::vector<dense_table<float>> b;
  for (std::size_t k = 0; k < count; ++k) b.push_back(random_table<float>(3, 1, values::small_integers, k + 1));
  std::set<std::string> algorithms;
  for (const kernel_info& k : kernel_table(GetParam(), value_type::fp32)) {
    if (k.built) algorithms.insert(k.algorithm);
  }
  for (const std::string& algorithm : algorithms) {
    for (const layout order : {layout::row_major, layout::col_major}) {
      const spmm_plan<float> plan(*ctx, csr_of<float>(a),
                                  {.cols = 1, .b_layout = order, .batch = 1000, .expert = {.kernel = algorithm}});
      batch_operand<float> on_b(*ctx, b, {order}, {1}), on_c(*ctx, c0, {}, {1});
      plan.run(1, on_b.view(), 0, on_c.view(), {.batch = {count, on_b.stride(), on_c.stride()}});
      const auto got = on_c.read();
      for (std::size_t k = 0; k < count && !HasFailure(); ++k) {
        expect_exact<float>(multiply<float>(a, false, 1, b[k], 0, c0[k]), got[k],
                            algorithm + ", member " + std::to_string(k));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(backends, batch_on, ::testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace bcsc::test
