// The stream of row pieces as the device makes it, on the emulated GPU: bit-equal to the host's, whatever the order of
// threads, with grids too small for all tiles, and no access beyond an array.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/forms/row_stream/row_stream.hpp"
#include "kernels/forms/row_stream/row_stream_steps.cu"
#include "test/emulation/emulated_device.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/unit/device_csr.hpp"
#include "test/unit/same_on_device.hpp"

namespace bcsc::test {
namespace {

using forms::row_stream_options;
using forms::to_row_stream;

/// Some grid that the rows may be taken for.
converters::grid grid_of(std::int64_t rows) {
  if (rows < 9) return {};
  return rows < 60 ? converters::grid{9, rows / 9, 1} : converters::grid{5, 3, rows / 15};
}

template <class T>
void check(const sparse_case& c, row_stream_options options) {
  if (options.split % 4 == 2) options.bricks = grid_of(c.rows);
  if (options.split == 6) options.shape = {2, 3, 4};
  SCOPED_TRACE(c.name + ", split " + std::to_string(options.split) + ", grain " + std::to_string(options.grain));
  const auto csr = csr_of<T>(c);
  {
    const device_csr<T, std::int32_t> there(0, csr.view());
    expect_same(to_row_stream_on_device(0, there.view(), options), to_row_stream(csr.view(), options));
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class row_stream_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(row_stream_emulated, is_equal_to_the_hosts) {
  std::uint64_t seed = 0;
  for (const row_stream_options& options : ways_to_cut) {
    for (const auto order : {emulation::run_order::forward, emulation::run_order::backward}) {
      ++seed;
      set_order(order, seed, seed % 3 == 0 ? 2 : 2147483647u);
      if (seed % 2 == 0) {
        check<float>(GetParam(), options);
      } else {
        check<double>(GetParam(), options);
      }
      if (HasFailure()) return;
    }
    check<half>(GetParam(), options);
    check<bfloat16>(GetParam(), options);
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, row_stream_emulated, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

TEST(row_stream_renaming, moves_rows_alone) {
  set_order(emulation::run_order::random, 1, 2147483647u);
  const auto csr = csr_of<float>(uneven_rows()[2]);
  auto wanted = to_row_stream(csr.view(), {8, 2});
  auto there = forms::upload(0, wanted);
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(csr.rows()));
  std::iota(row_of.rbegin(), row_of.rend(), 0);
  forms::rename_rows(0, there, row_of);
  for (auto& piece : std::span(wanted.pieces).first(wanted.pieces.size() - 1)) {
    piece.row_and_odd =
        2 * (static_cast<std::uint32_t>(csr.rows()) - 1 - piece.row_and_odd / 2) + piece.row_and_odd % 2;
  }
  expect_same(there, wanted);
}

}  // namespace
}  // namespace bcsc::test
