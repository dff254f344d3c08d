// Bricks as the device makes them, on the emulated GPU: bit-equal to the host's, whatever the order of threads, with
// grids too small for all bricks, and no access beyond an array.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/forms/bricks/bricks_steps.cu"
#include "kernels/forms/bricks/stored.hpp"
#include "kernels/forms/row_stream/row_stream_steps.cu"
#include "test/emulation/emulated_device.hpp"
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

class bricks_emulated : public ::testing::TestWithParam<brick_case> {};

template <class T>
void compare_with_host(const brick_case& c) {
  const auto stream = to_row_stream(viewed(csr_of<T>(c.matrix)), stream_for_bricks(c.options));
  expect_same(to_bricks_on_device(0, forms::upload(0, stream), c.options), to_bricks(stream, c.options));
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

TEST_P(bricks_emulated, are_equal_to_the_hosts) {
  using emulation::run_order;
  set_order(run_order::forward, 1, 2147483647u);
  compare_with_host<float>(GetParam());
  set_order(run_order::backward, 2, 2);
  compare_with_host<double>(GetParam());
  set_order(run_order::random, 3, 2147483647u);
  compare_with_host<float>(GetParam());
}

std::vector<brick_case> cases() {
  std::vector<brick_case> all = brick_cases();
  // Barrier by barrier, large layers take the emulated GPU long.
  std::erase_if(all, [](const brick_case& c) { return c.options.slots > 600 && c.matrix.entries.size() > 4000; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(cases, bricks_emulated, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(stored_bricks, are_the_same_from_wherever_a_lies) {
  set_order(emulation::run_order::forward, 1, 2147483647u);
  for (const brick_case& c : grids_in_bricks()) {
    SCOPED_TRACE(c.name);
    const auto host = csr_of<double>(c.matrix);
    const bricks_options options = as_stored(c.options);
    const auto wanted = to_bricks(to_row_stream(host.view(), stream_for_bricks(options)), options);
    const device_csr<double, std::int32_t> there(0, host.view());
    const auto made = forms::make_bricks(there.view(), stored_on(0, c.options));
    expect_same(made.bricks, wanted);
    expect_same(forms::make_bricks(viewed(csr_of<double, std::int64_t>(c.matrix)), stored_on(0, c.options)).bricks,
                wanted);
    EXPECT_EQ(made.facts().nnzc, std::ssize(c.matrix.entries));
    EXPECT_EQ(made.facts().num_row_blocks, c.matrix.rows);
    EXPECT_EQ(made.partials().rows, std::ssize(wanted.pieces));
    EXPECT_EQ(made.partials().grain, 2);
  }
}

TEST(stored_bricks, name_rows_as_they_are_ordered) {
  set_order(emulation::run_order::backward, 1, 2147483647u);
  const sparse_case c = stencil({9, 7, 6}, 1, 5, {4, 100}, {0, 50, 377});
  const bricks_options options{.slots = 200};
  const auto host = csr_of<float>(c);
  std::vector<std::int64_t> order(static_cast<std::size_t>(c.rows));
  std::iota(order.rbegin(), order.rend(), 0);
  auto stream = to_row_stream(host.view(), stream_for_bricks(options));
  forms::rename_rows(stream, order);
  const auto wanted = to_bricks(stream, options);
  forms::storing how = stored_on(0, options);
  how.order = order;
  expect_same(forms::make_bricks(device_csr<float, std::int32_t>(0, host.view()).view(), how).bricks, wanted);
  expect_same(forms::make_bricks(viewed(csr_of<float, std::int64_t>(c)), how).bricks, wanted);
}

TEST(stored_bricks, are_handed_to_the_kernel) {
  set_order(emulation::run_order::forward, 1, 2147483647u);
  const sparse_case c = stencil({9, 7, 6}, 1, 5, {4, 100}, {0, 50, 377});
  const auto made = forms::make_bricks(viewed(csr_of<float, std::int64_t>(c)), stored_on(0, {.slots = 200}));
  static kernels::bricks_args<float> seen;
  forms::dense_side<float> product{};
  float workspace = 0;
  product.n = 5;
  product.partials = &workspace;
  const auto launch = [](const void* args, const kernels::launch_env&) {
    seen = *static_cast<const kernels::bricks_args<float>*>(args);
    return 7;
  };
  EXPECT_EQ(made.start(launch, product, {}), 7);
  EXPECT_EQ(seen.n, 5);
  EXPECT_EQ(seen.a.rows, c.rows);
  EXPECT_EQ(seen.a.cols, c.cols);
  EXPECT_EQ(seen.a.slots, 200);
  EXPECT_EQ(seen.a.num_bricks, made.bricks.first_layer.size() - 1);
  EXPECT_EQ(seen.a.num_partial_bricks, made.bricks.num_partial_bricks);
  EXPECT_EQ(seen.a.first_layer, made.bricks.first_layer.data());
  EXPECT_EQ(seen.a.layers, made.bricks.layers.data());
  EXPECT_EQ(seen.a.brick_rows, made.bricks.brick_rows.data());
  EXPECT_EQ(seen.a.fetches, made.bricks.fetches.data());
  EXPECT_EQ(seen.a.entry_slots, made.bricks.entry_slots.data());
  EXPECT_EQ(seen.a.values, made.bricks.values.data());
  EXPECT_EQ(seen.a.num_heavy, 3);
  EXPECT_EQ(seen.a.num_partials, made.bricks.pieces.size());
  EXPECT_EQ(seen.a.pieces, made.bricks.pieces.data());
  EXPECT_EQ(seen.a.heavy_ptr, made.bricks.heavy_ptr.data());
  EXPECT_EQ(seen.a.workspace, &workspace);
}

TEST(bricks_on_emulated_gpu, must_be_cut_as_the_stream) {
  set_order(emulation::run_order::forward, 1, 2147483647u);
  const auto csr = csr_of<double>(rows_of_lengths("long_rows", 5, 60, [](std::int64_t i) { return i == 3 ? 21 : i; }));
  {
    const auto stream = forms::upload(0, to_row_stream(csr.view(), stream_for_bricks({.slots = 80})));
    EXPECT_EQ(code_of([&] { (void)to_bricks_on_device(0, stream, {.slots = 40}); }), errc::invalid_argument);
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

}  // namespace
}  // namespace bcsc::test
