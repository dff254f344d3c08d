// Every config of every table, both layouts of C, beta times C or times another matrix, over the battery: within the
// error bound on real values, and exact on small integers (so all kernels are bit-equal there).
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/plan.hpp"
#include "lib/plan/access.hpp"
#include "test/support/battery.hpp"
#include "test/support/kernel_instances.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

struct scalars {
  double alpha, beta;
};

template <class T>
void run_battery(const context& ctx, const instance& one, values kind) {
  const std::vector<std::int64_t> widths = {1, 3, 8, 33, one.kernel.n_tile, one.kernel.n_tile + 1};
  const scalars choices[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}};
  const auto in_vectors = [](std::int64_t values) { return values * std::int64_t{sizeof(T)} % 16 == 0; };
  bool adds_vectors = one.c_layout != layout::row_major;
  std::size_t turn = 0;
  for (const sparse_case& a : battery(kind)) {
    const auto csr = csr_of<T>(a);
    // Three heights in turn, if A is stored for any: the kernel's own, a smaller one, one that needs several slices.
    const std::int64_t heights[] = {0, std::max(1, one.kernel.m_tile / 2 - 1), 2 * one.kernel.m_tile + 3};
    const auto height = [&] { return one.kernel.any_m_block ? heights[turn % 3] : 0; };
    for (std::size_t w = 0; w < widths.size(); ++w, ++turn) {
      const scalars s = choices[turn % 5];
      const placement for_b{layout::row_major, static_cast<std::int64_t>(turn % 3),
                            static_cast<std::int64_t>(turn % 2)};
      // From matrix to matrix, or they would go with the widths.
      constexpr std::int64_t paddings[] = {0, 4, 1, 7};
      const std::size_t number = turn / widths.size();
      const placement for_c{one.c_layout, paddings[number % 4], static_cast<std::int64_t>((number / 4) % 2)};
      adds_vectors = adds_vectors || (s.beta != 0 && widths[w] > 8 && in_vectors(widths[w] + for_c.padding) &&
                                      in_vectors(for_c.offset));
      auto b = random_table<T>(a.cols, widths[w], kind, turn + 1);
      auto c0 = random_table<T>(a.rows, widths[w], kind, turn + 2);
      const dense_table<T> unset(a.rows, widths[w], std::numeric_limits<T>::quiet_NaN());
      const bool z_is_b = turn % 8 == 5 && a.rows == a.cols && one.c_layout == layout::row_major && !narrow_number<T>;
      if (z_is_b) c0 = b;
      const product wanted = multiply<T>(a, false, s.alpha, b, s.beta, c0, arithmetic_of(one.kernel));
      // What must not be read is NaN.
      if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
      if (s.alpha == 0 && !z_is_b) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());

      const spmm_plan<T> plan(ctx, csr,
                              {.cols = widths[w], .expert = {.kernel = one.kernel.name, .m_block = height()}});
      ASSERT_EQ(plan.facts().kernel.name, one.kernel.name);
      const bool z_apart = turn % 4 == 1 && !narrow_number<T>;
      operand<T> on_b(ctx, b, z_is_b ? for_c : for_b), on_z(ctx, c0, for_c), on_c(ctx, z_apart ? unset : c0, for_c);
      const T* const z = z_is_b ? on_b.view().data : on_z.view().data;
      plan::access<T>::run(plan, static_cast<scalar_of<T>>(s.alpha), on_b.view(), static_cast<scalar_of<T>>(s.beta),
                           on_c.view(), {}, {.z = z_apart ? z : nullptr});
      const std::string what = a.name + ", N = " + std::to_string(widths[w]) + ", m_block " +
                               std::to_string(plan.facts().m_block) + ", alpha " + std::to_string(s.alpha) + ", beta " +
                               std::to_string(s.beta) +
                               (z_is_b    ? ", Z is B"
                                : z_apart ? ", Z apart"
                                          : "");
      if (kind == values::real) {
        expect_within_bound<T>(wanted, on_c.read(), what);
      } else {
        expect_exact<T>(wanted, on_c.read(), what);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_TRUE(adds_vectors) << "beta and a C that is written in vectors have to meet";
}

class every_kernel : public ::testing::TestWithParam<instance> {
 protected:
  void run(values kind) {
    const auto ctx = context_of(GetParam().kernel.where);
    BCSC_SKIP_WITHOUT_GPU(ctx);
    with_value_type(GetParam().kernel.type, [&]<class T>() { run_battery<T>(*ctx, GetParam(), kind); });
  }
};

TEST_P(every_kernel, keeps_the_error_bound) { run(values::real); }
TEST_P(every_kernel, is_exact_on_small_integers) { run(values::small_integers); }

INSTANTIATE_TEST_SUITE_P(table, every_kernel, ::testing::ValuesIn(instances()), name_of);

}  // namespace
}  // namespace bcsc::test
