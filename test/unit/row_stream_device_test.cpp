// The stream of row pieces made on the GPU against the host's: bit for bit. In a build without CUDA, or on a machine
// without a usable GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "bcsc/generate.hpp"
#include "bcsc/plan.hpp"
#include "bcsc/registry.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"
#include "test/support/operands.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

using forms::rename_rows;
using forms::row_stream_options;
using forms::to_row_stream;

template <class T>
void compare_with_host(int device, const csr_matrix<T>& host) {
  const device_csr<T, std::int32_t> there(device, host.view());
  for (const row_stream_options& options : ways_to_cut) {
    SCOPED_TRACE("split " + std::to_string(options.split) + ", grain " + std::to_string(options.grain));
    expect_same(to_row_stream_on_device(device, there.view(), options), to_row_stream(host.view(), options));
  }
}

class row_stream_device : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(row_stream_device, is_equal_to_the_hosts) {
  const csr_matrix<double> a = csr_of<double>(GetParam());
  compare_with_host(device_, a);
  compare_with_host(device_, cast<float, std::int32_t>(a));
  compare_with_host(device_, cast<half, std::int32_t>(a));
  compare_with_host(device_, cast<bfloat16, std::int32_t>(a));
}

/// Large enough that the sort and the sums take several thread blocks.
sparse_case large() {
  return rows_of_lengths("large", 300000, 4000,
                         [](std::int64_t i) { return i % 9973 == 5 ? 4000 : (i * 2654435761) % 4294967296 >> 29; });
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  all.push_back(large());
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, row_stream_device, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(row_stream_on_device, renames_rows) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  const csr_matrix<float> host = csr_of<float>(uneven_rows()[2]);
  auto wanted = to_row_stream(host.view(), {8, 2});
  auto there = forms::upload(device, wanted);
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(host.rows()));
  std::iota(row_of.rbegin(), row_of.rend(), 0);
  rename_rows(device, there, row_of);
  for (auto& piece : std::span(wanted.pieces).first(wanted.pieces.size() - 1)) {
    piece.row_and_odd =
        2 * (static_cast<std::uint32_t>(host.rows()) - 1 - piece.row_and_odd / 2) + piece.row_and_odd % 2;
  }
  expect_same(there, wanted);
  row_of.pop_back();
  EXPECT_THROW(rename_rows(device, there, row_of), error);
}

TEST(row_stream_on_device, names_what_it_cannot_take) {
  const auto code_of = [](const csr_view<float>& a, const row_stream_options& options) {
    try {
      (void)forms::to_row_stream_on_device(0, a, options);
    } catch (const error& e) {
      return e.code();
    }
    return errc::internal;
  };
  const csr_matrix<float> a = csr_of<float>(battery(values::real)[3]);
  EXPECT_EQ(code_of(a.view(), {}), errc::wrong_memory_space);
  csr_view<float> there = a.view();
  there.space = memory_space::device;
  for (const std::int64_t split : {0, 1, 7, -4, (1 << 30) + 2}) {
    EXPECT_EQ(code_of(there, {split, 8}), errc::invalid_argument) << split;
  }
  EXPECT_EQ(code_of(there, {128, 0}), errc::invalid_argument);
}

/// Cuts differ from config to config: where rows are short that is no difference, where some are long it is.
TEST(row_stream_plan, is_shared_by_all_configs_where_no_row_is_long) {
  const auto ctx = context_of(backend::cuda);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  constexpr std::int64_t cols = 32;
  const auto shorter = generate::from_specification<float>("banded:3000,12");
  const auto longer = generate::from_specification<float>("linking:3000,1500,2,6,900");
  const auto b = random_table<float>(3000, cols, values::real, 1);
  const auto product_by = [&](const spmm_plan<float>& plan) {
    operand<float> on_b(*ctx, b, {}), on_c(*ctx, 3000, cols, {});
    plan.run(1.0F, on_b.view(), 0.0F, on_c.view());
    return on_c.read().at;
  };
  const auto by_name = [](const std::string& name) { return plan_options{.cols = cols, .expert = {.kernel = name}}; };
  std::vector<kernel_info> configs = kernel_table(backend::cuda, value_type::fp32);
  std::erase_if(configs, [](const kernel_info& k) { return k.algorithm != "rowwise"; });
  const kernel_info* before = &configs.back();
  int shared_with_long_rows = 0, others = 0;
  for (const kernel_info& mine : configs) {
    const spmm_plan<float> of_short(*ctx, shorter, by_name(mine.name)), of_long(*ctx, longer, by_name(mine.name));
    for (const kernel_info& other : configs) {
      EXPECT_TRUE(of_short.sharing(other.name).has_value()) << mine.name << ", " << other.name;
      ++(of_long.sharing(other.name) ? shared_with_long_rows : others);
    }
    const auto shared = of_short.sharing(before->name);
    ASSERT_TRUE(shared.has_value()) << before->name;
    const spmm_plan<float> alone(*ctx, shorter, by_name(before->name));
    EXPECT_EQ(product_by(*shared), product_by(alone)) << mine.name << ", " << before->name;
    before = &mine;
  }
  EXPECT_GT(shared_with_long_rows, 0);
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace bcsc::test
