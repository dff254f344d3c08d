// MMA tiles made on the GPU against the host's: bit for bit. In a build without CUDA, or on a machine without a usable
// GPU, all but the refusals skip.
#include <gtest/gtest.h>

#include "bcsc/convert.hpp"
#include "bcsc/error.hpp"
#include "kernels/forms/mma_tiles/mma_tiles.hpp"
#include "test/support/mma_cuts.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

using forms::mma_tiles_options;

std::vector<std::int64_t> uneven_boundaries(std::int64_t rows, std::int64_t m_block) {
  test_random random(static_cast<std::uint64_t>(rows + m_block));
  std::vector<std::int64_t> begin{0};
  while (begin.back() < rows) begin.push_back(std::min(rows, begin.back() + 1 + random.below(m_block)));
  return begin;
}

template <class T>
void compare_with_host(int device, const csr_matrix<T>& a, const compact_options& blocks,
                       const mma_tiles_options& options) {
  SCOPED_TRACE("m_block " + std::to_string(blocks.m_block) + (blocks.boundaries.empty() ? "" : " at most") + ", " +
               words(options));
  const auto compact = to_compact(a.view(), blocks);
  const auto there = converters::upload(device, compact.view());
  const auto made = to_mma_tiles_on_device(device, there.view(), options);
  const auto wanted = to_mma_tiles(compact.view(), options);
  expect_same(made, wanted);
  if (!blocks.boundaries.empty() || blocks.dense_from > 0) return;
  // From CSR on the device all the way.
  const device_csr<T, std::int32_t> csr(device, a.view());
  const auto blocks_there = converters::to_compact_on_device(device, csr.view(), blocks.m_block);
  const auto again = to_mma_tiles_on_device(device, blocks_there.view(), options);
  expect_same_bytes(again.items, wanted.items, "items");
  expect_same_bytes(again.tiles, wanted.tiles, "tiles");
  expect_same_bytes(again.masks, wanted.masks, "masks");
}

class mma_tiles_device : public ::testing::TestWithParam<sparse_case> {
 protected:
  void SetUp() override {
    device_ = usable_device();
    if (device_ < 0) GTEST_SKIP() << "no usable GPU";
  }
  int device_ = -1;
};

TEST_P(mma_tiles_device, are_equal_to_the_hosts) {
  const csr_matrix<double> a = csr_of<double>(GetParam());
  const csr_matrix<float> single = cast<float, std::int32_t>(a);
  int turn = 0;
  for (const std::int64_t m_block : {1, 5, 8, 16, 20, 32, 64, 70, 128}) {
    for (const auto& [max_groups, max_whole] : mma_cuts) {
      const auto boundaries = turn % 2 == 1 ? uneven_boundaries(a.rows(), m_block) : std::vector<std::int64_t>{};
      const compact_options blocks{.m_block = m_block,
                                   .boundaries = boundaries,
                                   .dense_from = turn % 4 == 3 ? 3 : 0,
                                   .narrow_columns = turn % 3 == 0};
      const mma_tiles_options options{max_groups, turn % 7 != 0, max_whole};
      compare_with_host(device_, a, blocks, options);
      compare_with_host(device_, single, blocks, options);
      ++turn;
      if (HasFailure()) return;
    }
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  all.push_back(make_case("large", 20000, 30000, scatter(20000, 30000, 400000, 21), values::real, 22));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, mma_tiles_device, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(mma_tiles_on_device, names_what_it_cannot_take) {
  const auto code_of = [](const compact_bcsc_view<float>& a, const mma_tiles_options& options) {
    try {
      (void)forms::to_mma_tiles_on_device(0, a, options);
    } catch (const error& e) {
      return e.code();
    }
    return errc::internal;
  };
  const csr_matrix<float> a = csr_of<float>(battery(values::real).back());
  const auto small = to_compact(a, {.m_block = 8}), high = to_compact(a, {.m_block = 129});
  EXPECT_EQ(code_of(small.view(), {}), errc::wrong_memory_space);
  compact_bcsc_view<float> there = small.view();
  there.space = memory_space::device;
  EXPECT_EQ(code_of(there, {-1}), errc::invalid_argument);
  EXPECT_EQ(code_of(there, {1, true, -1}), errc::invalid_argument);
  there = high.view();
  there.space = memory_space::device;
  EXPECT_EQ(code_of(there, {}), errc::invalid_argument);
}

}  // namespace
}  // namespace bcsc::test
