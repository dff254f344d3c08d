// Block slices as the device makes them, on the emulated GPU: bit-equal to the host's, whatever the order of threads,
// with grids too small for all words, and no access beyond an array.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "converters/formats/device_compact.hpp"
#include "kernels/forms/block_slices/block_slices.hpp"
#include "kernels/forms/block_slices/block_slices_steps.cu"
#include "test/emulation/emulated_device.hpp"
#include "test/emulation/emulated_sort.hpp"
#include "test/support/stripes.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

template <class T>
void check(const sparse_case& c, std::int64_t height, const forms::slicing& how, bool narrow) {
  SCOPED_TRACE(c.name + ", height " + std::to_string(height) + ", lanes " + std::to_string(how.lanes) +
               (how.several_columns ? ", for several columns" : ""));
  const auto compact = to_compact(csr_of<T>(c), {.m_block = height, .narrow_columns = narrow});
  const auto wanted = forms::to_block_slices(compact.view(), how);
  {
    const auto there = converters::upload(0, compact.view());
    expect_same(forms::to_block_slices_on_device(0, there.view(), how), wanted);
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class block_slices_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(block_slices_emulated, are_equal_to_the_hosts) {
  const sparse_case& a = GetParam();
  std::uint64_t turn = 0;
  for (const std::int64_t height : {1, 2, 3, 4}) {
    for (const int lanes : {1, 2, 4, 8}) {
      set_order(static_cast<emulation::run_order>(turn % 3), turn, turn % 5 == 0 ? 2 : 2147483647u);
      const forms::slicing how{lanes, (turn + turn / 4) % 2 == 1};  // lanes and heights with both
      if (turn % 5 < 2) {
        check<float>(a, height, how, turn % 3 == 0);
      } else if (turn % 5 < 4) {
        check<double>(a, height, how, turn % 3 == 0);
      } else {
        check<half>(a, height, how, turn % 3 == 0);
      }
      ++turn;
      if (HasFailure()) return;
    }
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  std::ranges::move(stripes(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, block_slices_emulated, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

}  // namespace
}  // namespace bcsc::test
