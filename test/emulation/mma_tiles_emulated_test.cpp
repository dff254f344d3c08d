// MMA tiles as the device makes them, on the emulated GPU: bit-equal to the host's, whatever the order of threads, with
// grids too small for all groups, and no access beyond an array.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "converters/formats/device_compact.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "kernels/forms/mma_tiles/mma_tiles_steps.cu"
#include "test/emulation/emulated_device.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/emulated_sort.hpp"
#include "test/support/mma_cuts.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

using forms::mma_tiles_options;

template <class T>
void check(const sparse_case& c, const compact_options& blocks, const mma_tiles_options& options) {
  SCOPED_TRACE(c.name + ", m_block " + std::to_string(blocks.m_block) + (blocks.boundaries.empty() ? "" : " at most") +
               ", " + words(options));
  const auto compact = to_compact(csr_of<T>(c), blocks);
  const auto wanted = to_mma_tiles(compact.view(), options);
  {
    const auto there = converters::upload(0, compact.view());
    expect_same(to_mma_tiles_on_device(0, there.view(), options), wanted);
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class mma_tiles_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(mma_tiles_emulated, are_equal_to_the_hosts) {
  const sparse_case& a = GetParam();
  std::uint64_t turn = 0;
  for (const std::int64_t m_block : {1, 5, 8, 16, 20, 32, 64, 70, 128}) {
    for (const auto& [max_groups, max_whole] : mma_cuts) {
      const auto boundaries = turn % 2 == 1 ? uneven_boundaries(a.rows, m_block) : std::vector<std::int64_t>{};
      const compact_options blocks{.m_block = m_block,
                                   .boundaries = boundaries,
                                   .dense_from = turn % 4 == 3 ? 3 : 0,
                                   .narrow_columns = turn % 3 == 0};
      set_order(static_cast<emulation::run_order>(turn % 3), turn, turn % 5 == 0 ? 2 : 2147483647u);
      if (turn % 5 < 3) {
        check<float>(a, blocks, {max_groups, turn % 7 != 0, max_whole});
      } else {
        check<double>(a, blocks, {max_groups, turn % 7 != 0, max_whole});
      }
      ++turn;
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(battery, mma_tiles_emulated, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });

}  // namespace
}  // namespace bcsc::test
