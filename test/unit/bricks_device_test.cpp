// Bricks made on the GPU against the host's: bit for bit. In a build without CUDA, or on a machine without a usable
// GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/forms/bricks/bricks.hpp"
#include "kernels/forms/bricks/stored.hpp"
#include "test/support/brick_cases.hpp"
#include "test/support/code_of.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

using forms::bricks_options;
using forms::stream_for_bricks;
using forms::to_bricks;
using forms::to_row_stream;

template <class T>
void compare_with_host(int device, const csr_matrix<T>& host, const bricks_options& options) {
  const auto stream = to_row_stream(host.view(), stream_for_bricks(options));
  expect_same(to_bricks_on_device(device, forms::upload(device, stream), options), to_bricks(stream, options));
}

class bricks_device : public ::testing::TestWithParam<brick_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(bricks_device, are_equal_to_the_hosts) {
  compare_with_host(device_, csr_of<float>(GetParam().matrix), GetParam().options);
  compare_with_host(device_, csr_of<double>(GetParam().matrix), GetParam().options);
}

TEST_P(bricks_device, are_stored_from_wherever_a_lies) {
  const brick_case& c = GetParam();
  const auto host = csr_of<float>(c.matrix);
  const auto expect_stored = [&](const forms::storing& how, const bricks_options& options) {
    auto stream = to_row_stream(host.view(), stream_for_bricks(options));
    if (!how.order.empty()) forms::rename_rows(stream, how.order);
    const auto wanted = to_bricks(stream, options);
    expect_same(forms::make_bricks(device_csr<float, std::int32_t>(device_, host.view()).view(), how).bricks, wanted);
    expect_same(forms::make_bricks(viewed(csr_of<float, std::int64_t>(c.matrix)), how).bricks, wanted);
  };
  expect_stored(stored_on(device_, c.options), as_stored(c.options));
  const bricks_options options{.slots = c.options.slots};
  std::vector<std::int64_t> order(static_cast<std::size_t>(c.matrix.rows));
  std::iota(order.rbegin(), order.rend(), 0);
  forms::storing how = stored_on(device_, options);
  how.order = order;
  expect_stored(how, options);
}

/// Large enough that the sums take several thread blocks.
std::vector<brick_case> cases() {
  std::vector<brick_case> all = brick_cases();
  const converters::grid cube{61, 50, 47}, flat{401, 333, 1};
  all.push_back({"mlarge_7_point", stencil(cube, 1, 1000), {.slots = 320, .grid = cube, .shape = {8, 8, 16}}});
  all.push_back({"mlarge_27_point", stencil(cube, 3), {.slots = 640, .grid = cube, .shape = {8, 8, 16}}});
  all.push_back({"mlarge_5_point", stencil(flat, 1), {.slots = 320, .grid = flat, .shape = {32, 64, 1}}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(cases, bricks_device, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(bricks_on_device, are_refused_where_the_host_refuses) {
  const auto refusal = [](const bricks_options& options) {
    return code_of([&] { (void)to_bricks_on_device(0, forms::device_row_stream<float>{}, options); });
  };
  for (const std::int64_t slots : {0, 20, 50, 1320}) {
    EXPECT_EQ(refusal({.slots = slots}), errc::invalid_argument) << slots;
  }
  EXPECT_EQ(refusal({.grid = {1, 1, 1}}), errc::invalid_argument);
  EXPECT_EQ(refusal({.shape = {8, 8, 0}}), errc::invalid_argument);
}

TEST(bricks_on_device, must_be_cut_as_the_stream) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  const auto csr = csr_of<double>(rows_of_lengths("long_rows", 5, 60, [](std::int64_t i) { return i == 3 ? 21 : i; }));
  const auto stream = forms::upload(device, to_row_stream(csr.view(), stream_for_bricks({.slots = 80})));
  EXPECT_EQ(code_of([&] { (void)to_bricks_on_device(device, stream, {.slots = 40}); }), errc::invalid_argument);
}

}  // namespace
}  // namespace bcsc::test
