// Compact BCSC as the device makes it of CSR, on the emulated GPU: bit-equal to the host's, whatever the order of
// threads, with grids too small for all row blocks, and no access beyond an array.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "converters/formats/compact_steps.cu"
#include "converters/formats/device_compact.hpp"
#include "test/emulation/emulated_device.hpp"
#include "test/emulation/emulated_sort.hpp"
#include "test/support/battery.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

template <class T, class I>
void check(const csr_matrix<T, I>& a, const compact_options& options) {
  SCOPED_TRACE("m_block " + std::to_string(options.m_block));
  {
    const device_csr<T, I> there(0, a.view());
    const auto made = converters::to_compact_on_device(0, there.view(), options.m_block, options.narrow_columns);
    expect_same(viewed(download(made)), viewed(to_compact(a, options)));
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class compact_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(compact_emulated, is_equal_to_the_hosts) {
  std::uint64_t turn = 0;
  for (const std::int64_t m_block : {1, 2, 3, 8, 31, 33, 256, 257}) {
    const compact_options options{.m_block = m_block, .narrow_columns = turn % 2 == 0};
    set_order(static_cast<emulation::run_order>(turn % 3), turn, turn % 4 == 3 ? 2 : 2147483647u);
    check(csr_of<float>(GetParam()), options);
    check(csr_of<half>(GetParam()), options);
    check(cast<pattern, std::int32_t>(csr_of<double>(GetParam())), options);
    check(csr_of<double, std::int64_t>(GetParam()), options);
    ++turn;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(battery, compact_emulated, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });
INSTANTIATE_TEST_SUITE_P(uneven, compact_emulated, ::testing::ValuesIn(uneven_rows()),
                         [](const auto& c) { return "m" + c.param.name; });

/// Every class of weight, each with columns that lie close together and with columns far apart.
TEST(compact_emulated_weights, row_blocks_of_every_weight) {
  std::uint64_t turn = 0;
  for (const std::int64_t cols : {3000, 1 << 20}) {
    const csr_matrix<float> a = cast<float, std::int32_t>(of_all_weights(cols));
    for (const std::int64_t m_block : {2, 5, 8, 32, 64, 100}) {
      set_order(static_cast<emulation::run_order>(turn % 3), turn, 2147483647u);
      check(a, {.m_block = m_block, .narrow_columns = true});
      ++turn;
      if (HasFailure()) return;
    }
  }
}

TEST(compact_emulated_weights, keys_of_more_than_31_bits) {
  set_order(emulation::run_order::random, 5, 2147483647u);
  check(cast<float, std::int32_t>(of_all_weights(std::int64_t{2000} << 20)), {.m_block = 8});
}

}  // namespace
}  // namespace bcsc::test
