// What a multigrid cycle leaves of r'z: on a GPU the dot products with what it writes, on a CPU nothing; and z as ever.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bcsc/amg.hpp"
#include "lib/solvers/context_array.hpp"
#include "lib/solvers/operator_state.hpp"
#include "test/support/left_dots.hpp"
#include "test/support/operands.hpp"
#include "test/unit/preconditioner_support.hpp"

namespace bcsc::test {
namespace {

class amg_dots : public testing::TestWithParam<backend> {
 protected:
  /// `wide`: columns that the last pass takes at once.
  template <class T>
  void check(bool single, double across, std::int64_t wide) {
    const auto ctx = context_of(GetParam());
    BCSC_SKIP_WITHOUT_GPU(ctx);
    const sparse_case a = laplace({.nx = 13, .ny = 11, .nz = 10, .across = across, .neumann = across != 1});
    const amg_preconditioner<T> m(*ctx, csr_of<T>(a), {.single_precision = single, .cols = 4});
    const linear_operator<T>& op = m.as_operator();
    for (const std::int64_t k : {1, 3, 4, 16}) {
      test_random random(7);
      dense_table<T> r(a.rows, k);
      for (T& entry : r.at) entry = static_cast<T>(random.real());
      operand<T> r_there(*ctx, r, {}), plain(*ctx, a.rows, k, {}), z_there(*ctx, a.rows, k, {});
      op.apply(T{1}, r_there.view(), T{0}, plain.view());

      solvers::context_array<double> sums(*ctx, 4096 * k);
      solvers::context_array<std::byte> workspace(*ctx, op.workspace_bytes(k));
      std::int64_t rows = 0;
      const auto r_view = r_there.view();
      solvers::operator_state<T>::of(op).multiply_with_dots(
          r_view, z_there.view(), {nullptr, {workspace.data(), static_cast<std::size_t>(workspace.size())}},
          {sums.data(), sums.size(), &rows});
      const auto z = z_there.read();
      const auto wanted = plain.read();
      const double u = single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<T>::epsilon();
      for (std::size_t i = 0; i < z.at.size(); ++i) ASSERT_NEAR(z.at[i], wanted.at[i], 4 * u * std::fabs(wanted.at[i]));
      EXPECT_EQ(rows > 0, GetParam() == backend::cuda && k % wide == 0) << "k = " << k;
      std::vector<double> left(static_cast<std::size_t>(rows * k));
      sums.download(left);
      expect_left_dots(left, rows, r, z, 1e-12L);
    }
  }
};

TEST_P(amg_dots, are_those_of_a_cycle_in_double) { check<double>(false, 1, 2); }
TEST_P(amg_dots, are_those_of_a_cycle_in_float) { check<float>(false, 1, 4); }
TEST_P(amg_dots, are_those_of_a_cycle_in_float_between_vectors_in_double) { check<double>(true, 1, 2); }
TEST_P(amg_dots, are_those_where_the_diagonal_varies) { check<double>(false, 0.5, 2); }

INSTANTIATE_TEST_SUITE_P(backends, amg_dots, testing::Values(backend::cpu, backend::cuda),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace bcsc::test
