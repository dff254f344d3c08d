// Compact BCSC made on the GPU against the host's: bit for bit. In a build without CUDA, or on a machine without a
// usable GPU, all but the refusal skip.
#include "converters/formats/device_compact.hpp"

#include <gtest/gtest.h>

#include "bcsc/context.hpp"
#include "bcsc/convert.hpp"
#include "bcsc/device.hpp"
#include "test/support/battery.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

constexpr std::int64_t heights[] = {1, 2, 3, 8, 32, 256, 257, 1000, 65536};

template <class T, class I>
void compare_with_host(int device, const csr_matrix<double>& given) {
  const csr_matrix<T, I> host = cast<T, I>(given);
  const device_csr<T, I> on_device(device, host.view());
  for (const std::int64_t m_block : heights) {
    SCOPED_TRACE(m_block);
    const compact_bcsc_matrix<T, I> wanted = to_compact(host.view(), {.m_block = m_block});
    expect_same(viewed(download(converters::to_compact_on_device(device, on_device.view(), m_block))), wanted.view());
    const compact_bcsc_matrix<T, I> narrow = to_compact(host.view(), {.m_block = m_block, .narrow_columns = true});
    expect_same(viewed(download(converters::to_compact_on_device(device, on_device.view(), m_block, true))),
                narrow.view());
    const auto blocked = to_bcsc(host, m_block);
    const bcsc_view<T, I> b = blocked.view();
    const core::device_buffer<I> brow_ptr(device, b.brow_ptr), col_ind(device, b.col_ind), col_ptr(device, b.col_ptr),
        row_ind(device, b.row_ind);
    converters::device_values<T> values(device, b.nnz());
    if constexpr (number<T>) values.buffer.upload(b.values);
    const bcsc_view<T, I> thesis{b.rows,
                                 b.cols,
                                 b.m_block,
                                 {brow_ptr.data(), b.brow_ptr.size()},
                                 {col_ind.data(), b.col_ind.size()},
                                 {col_ptr.data(), b.col_ptr.size()},
                                 {row_ind.data(), b.row_ind.size()},
                                 values.span(),
                                 memory_space::device};
    expect_same(viewed(download(converters::to_compact_on_device(device, thesis))), wanted.view());
    expect_same(viewed(download(converters::to_compact_on_device(device, thesis, true))), narrow.view());
  }
}

template <class I>
void compare_all_elements(int device, const csr_matrix<double>& a) {
  compare_with_host<float, I>(device, a);
  compare_with_host<double, I>(device, a);
  compare_with_host<half, I>(device, a);
  compare_with_host<bfloat16, I>(device, a);
  compare_with_host<pattern, I>(device, a);
}

class device_compact : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(device_compact, is_equal_to_the_hosts) {
  const csr_matrix<double> a = csr_of<double>(GetParam());
  compare_all_elements<std::int32_t>(device_, a);
  compare_all_elements<std::int64_t>(device_, a);
}

INSTANTIATE_TEST_SUITE_P(battery, device_compact, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(device_compact_weights, row_blocks_of_every_weight) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  compare_all_elements<std::int32_t>(device, of_all_weights(3000));
  // So wide that a column and a row of the block do not fit a key of 31 bits.
  compare_all_elements<std::int32_t>(device, of_all_weights(std::int64_t{2000} << 20));
}

TEST(device_compact_weights, goes_there_and_back) {
  const int device = usable_device();
  if (device < 0) GTEST_SKIP() << "no usable GPU";
  const csr_matrix<double> a = of_all_weights(3000);
  const std::int64_t boundaries[] = {0, 3, 100, 101, 333, 600};
  const auto host = to_compact(a.view(), {.m_block = 300, .boundaries = boundaries, .dense_from = 2});
  expect_same(viewed(download(converters::upload(device, host.view()))), host.view());
}

TEST(device_compact_weights, becomes_csr_again) {
  if (usable_device() < 0) GTEST_SKIP() << "no usable GPU";
  const context ctx = context::cuda(usable_device());
  const std::int64_t boundaries[] = {0, 3, 100, 101, 333, 600};
  const csr_matrix<double> a = of_all_weights(3000);
  const auto expect_back = [&](const compact_options& options) {
    const auto there = bcsc::upload(ctx, to_compact(a.view(), options));
    const csr_matrix<double> back = bcsc::download(ctx, to_csr_on_device(ctx, there));
    EXPECT_EQ(back.rows(), a.rows());
    EXPECT_EQ(back.cols(), a.cols());
    expect_same_bytes(back.view().row_ptr, a.view().row_ptr, "row_ptr");
    expect_same_bytes(back.view().col_ind, a.view().col_ind, "col_ind");
    expect_same_bytes(back.view().values, a.view().values, "values");
  };
  expect_back({.m_block = 1});
  expect_back({.m_block = 8, .narrow_columns = true});
  expect_back({.m_block = 300, .boundaries = boundaries, .dense_from = 2});
  const auto made = to_compact_on_device(ctx, bcsc::upload(ctx, a), 16, true);
  expect_same(viewed(bcsc::download(ctx, made)), viewed(to_compact(a.view(), {.m_block = 16, .narrow_columns = true})));
}

TEST(device_compact_refusals, names_what_it_cannot_take) {
  const csr_matrix<double> a = csr_of<double>(battery(values::real)[3]);
  try {
    (void)converters::to_compact_on_device(0, a.view(), 8);
    FAIL();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::wrong_memory_space);
  }
  if (usable_device() < 0) {
    EXPECT_THROW((void)converters::upload(0, viewed(to_compact(a.view(), {.m_block = 8}))), error);
    return;
  }
  const device_csr<double, std::int32_t> on_device(usable_device(), a.view());
  for (const std::int64_t m_block : {0, -1, 65537}) {
    try {
      (void)converters::to_compact_on_device(usable_device(), on_device.view(), m_block);
      FAIL() << m_block;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace bcsc::test
