// FMA tiles made on the GPU against the host's: bit for bit. In a build without CUDA, or on a machine without a usable
// GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "test/support/code_of.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

template <class T>
void compare_with_host(int device, const csr_matrix<T>& a, const compact_options& blocks) {
  SCOPED_TRACE("m_block " + std::to_string(blocks.m_block));
  const auto compact = to_compact(a.view(), blocks);
  const auto wanted = forms::to_fma_tiles(compact.view());
  const auto there = converters::upload(device, compact.view());
  expect_same(forms::to_fma_tiles_on_device(device, there.view()), wanted);
  // From CSR on the device all the way.
  const device_csr<T, std::int32_t> csr(device, a.view());
  const auto blocks_there = converters::to_compact_on_device(device, csr.view(), blocks.m_block);
  expect_same(forms::to_fma_tiles_on_device(device, blocks_there.view()), wanted);
}

class fma_tiles_device : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(fma_tiles_device, are_equal_to_the_hosts) {
  const csr_matrix<double> a = csr_of<double>(GetParam());
  const csr_matrix<float> single = cast<float, std::int32_t>(a);
  for (const std::int64_t m_block : {2, 3, 8, 9, 12, 13, 16}) {
    const compact_options blocks{.m_block = m_block, .narrow_columns = m_block % 2 == 0};
    compare_with_host(device_, a, blocks);
    compare_with_host(device_, single, blocks);
    if (HasFailure()) return;
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  all.push_back(make_case("large", 20000, 30000, scatter(20000, 30000, 400000, 21), values::real, 22));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, fma_tiles_device, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(fma_tiles_on_device, names_what_it_cannot_take) {
  const csr_matrix<float> a = csr_of<float>(battery(values::real).back());
  const auto small = to_compact(a, {.m_block = 8}), high = to_compact(a, {.m_block = 17});
  EXPECT_EQ(code_of([&] { (void)forms::to_fma_tiles_on_device(0, small.view()); }), errc::wrong_memory_space);
  compact_bcsc_view<float> there = high.view();
  there.space = memory_space::device;
  EXPECT_EQ(code_of([&] { (void)forms::to_fma_tiles_on_device(0, there); }), errc::invalid_argument);
}

}  // namespace
}  // namespace bcsc::test
