// FMA tiles as the device makes them, on the emulated GPU: bit-equal to the host's, whatever the order of threads, with
// grids too small for all steps, and no access beyond an array.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "converters/formats/device_compact.hpp"
#include "kernels/forms/fma_tiles/fma_tiles.hpp"
#include "kernels/forms/fma_tiles/fma_tiles_steps.cu"
#include "test/emulation/emulated_device.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/emulated_sort.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

template <class T>
void check(const sparse_case& c, const compact_options& blocks) {
  SCOPED_TRACE(c.name + ", m_block " + std::to_string(blocks.m_block) + (blocks.boundaries.empty() ? "" : " at most"));
  const auto compact = to_compact(csr_of<T>(c), blocks);
  const auto wanted = forms::to_fma_tiles(compact.view());
  {
    const auto there = converters::upload(0, compact.view());
    expect_same(forms::to_fma_tiles_on_device(0, there.view()), wanted);
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class fma_tiles_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(fma_tiles_emulated, are_equal_to_the_hosts) {
  const sparse_case& a = GetParam();
  std::uint64_t turn = 0;
  for (const std::int64_t m_block : {2, 3, 6, 8, 9, 12, 13, 16}) {
    for (const bool own_heights : {false, true}) {
      const auto boundaries = own_heights ? uneven_boundaries(a.rows, m_block) : std::vector<std::int64_t>{};
      const compact_options blocks{.m_block = m_block,
                                   .boundaries = boundaries,
                                   .dense_from = turn % 4 == 3 ? 3 : 0,
                                   .narrow_columns = turn % 3 == 0};
      set_order(static_cast<emulation::run_order>(turn % 3), turn, turn % 5 == 0 ? 2 : 2147483647u);
      if (turn % 5 < 3) {
        check<float>(a, blocks);
      } else {
        check<double>(a, blocks);
      }
      ++turn;
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(battery, fma_tiles_emulated, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });

}  // namespace
}  // namespace bcsc::test
