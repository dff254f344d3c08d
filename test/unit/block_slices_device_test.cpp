// Block slices made on the GPU against the host's: bit for bit; and plans that store them. In a build without CUDA, or
// on a machine without a usable GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/registry.hpp"
#include "kernels/forms/block_slices/block_slices.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/stripes.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

template <class T>
void compare_with_host(int device, const csr_matrix<T>& a, std::int64_t height, const forms::slicing& how) {
  SCOPED_TRACE("height " + std::to_string(height) + ", lanes " + std::to_string(how.lanes) +
               (how.several_columns ? ", for several columns" : ""));
  const auto wanted = forms::to_block_slices(viewed(to_compact(a, {.m_block = height})), how);
  const device_csr<T, std::int32_t> csr(device, a.view());
  const auto there = converters::to_compact_on_device(device, csr.view(), height, how.lanes == 4);
  expect_same(forms::to_block_slices_on_device(device, there.view(), how), wanted);
}

class block_slices_device : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(block_slices_device, are_equal_to_the_hosts) {
  const csr_matrix<double> a = csr_of<double>(GetParam());
  const csr_matrix<float> single = cast<float, std::int32_t>(a);
  const csr_matrix<half> narrow = cast<half, std::int32_t>(a);
  for (const std::int64_t height : {1, 2, 3, 4}) {
    for (const int lanes : {1, 2, 4, 8}) {
      for (const bool several_columns : {false, true}) {
        compare_with_host(device_, a, height, {lanes, several_columns});
        compare_with_host(device_, single, height, {lanes, several_columns});
        compare_with_host(device_, narrow, height, {lanes, several_columns});
        if (HasFailure()) return;
      }
    }
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  std::ranges::move(stripes(), std::back_inserter(all));
  all.push_back(make_case("large", 20000, 30000, scatter(20000, 30000, 400000, 21), values::real, 22));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, block_slices_device, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

std::vector<kernel_info> sliced_configs() {
  std::vector<kernel_info> some = kernel_table(backend::cuda, value_type::fp32);
  std::erase_if(some, [](const kernel_info& k) { return k.algorithm != "sliced"; });
  return some;
}

TEST(block_slices_plan, is_shared_by_configs_of_the_same_rows_lanes_and_kind) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const sparse_case a = case_named("power_law");
  const auto csr = csr_of<float>(a);
  const auto b = random_table<float>(a.cols, 1, values::real, 1);
  for (const kernel_info& mine : sliced_configs()) {
    const spmm_plan<float> plan(*ctx, csr, {.cols = 1, .expert = {.kernel = mine.name}});
    EXPECT_EQ(plan.workspace_bytes(), 0u);
    EXPECT_NE(plan.explain().find("block slices"), std::string::npos) << plan.explain();
    EXPECT_FALSE(plan.transposed());
    for (const kernel_info& other : sliced_configs()) {
      const auto shared = plan.sharing(other.name);
      ASSERT_EQ(shared.has_value(), other.m_tile == mine.m_tile && other.columns_at_once == mine.columns_at_once &&
                                        (other.n_tile > 1) == (mine.n_tile > 1))
          << mine.name << ", " << other.name;
      if (!shared) continue;
      operand<float> on_b(*ctx, b, {}), on_c(*ctx, a.rows, 1, {});
      shared->run(1.0F, on_b.view(), 0.0F, on_c.view());
      expect_within_bound<float>(multiply<float>(a, false, 1, b, 0, {}), on_c.read(), other.name);
    }
  }
}

TEST(block_slices_plan, is_refused_for_more_columns_than_a_word_holds) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const csr_matrix<float> wide(1, (std::int64_t{1} << 28) + 1, std::vector<std::int32_t>{0, 1},
                               std::vector<std::int32_t>{7}, std::vector{2.0F});
  EXPECT_EQ(code_of([&] { spmm_plan<float>(*ctx, wide, {.cols = 1, .expert = {.kernel = "sliced"}}); }),
            errc::no_such_kernel);
  EXPECT_NE((spmm_plan<float>(*ctx, wide, {.cols = 1}).facts().kernel.algorithm), "sliced");
}

TEST(block_slices_on_device, name_what_they_cannot_take) {
  const auto code = [](const compact_bcsc_view<float>& a, int lanes) {
    return code_of([&] { (void)forms::to_block_slices_on_device(0, a, {.lanes = lanes}); });
  };
  const csr_matrix<float> a = csr_of<float>(battery(values::real).back());
  const auto low = to_compact(a, {.m_block = 2}), high = to_compact(a, {.m_block = 5});
  EXPECT_EQ(code(low.view(), 1), errc::wrong_memory_space);
  const auto claimed = [](compact_bcsc_view<float> view) {
    view.space = memory_space::device;
    return view;
  };
  EXPECT_EQ(code(claimed(low.view()), 3), errc::invalid_argument);
  EXPECT_EQ(code(claimed(high.view()), 1), errc::invalid_argument);
  auto wide = claimed(low.view());
  wide.cols = (std::int64_t{1} << 28) + 1;
  EXPECT_EQ(code(wide, 1), errc::size_overflow);
  const std::int32_t begins[] = {0, 1, 2};
  auto uneven = claimed(low.view());
  uneven.block_row = begins;
  EXPECT_EQ(code(uneven, 1), errc::invalid_argument);
}

}  // namespace
}  // namespace bcsc::test
