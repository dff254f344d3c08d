// Rows put into another order on the emulated GPU: bit-equal to the host's, whatever the order of threads, with grids
// too small for all entries, and no access beyond an array.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bcsc/order.hpp"
#include "converters/formats/device_row_steps.cu"
#include "converters/formats/device_rows.hpp"
#include "test/emulation/emulated_device.hpp"
#include "test/support/battery.hpp"
#include "test/support/same_bytes.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/unit/device_csr.hpp"

namespace bcsc::test {
namespace {

template <class T>
void check(const sparse_case& c, std::span<const std::int64_t> order) {
  SCOPED_TRACE(c.name + ", " + std::string(to_string(value_type_of<T>)));
  const auto csr = csr_of<T>(c);
  const auto wanted = permute_rows(csr, order);
  const auto expect_same = [&](const converters::csr_on_device<T>& made) {
    EXPECT_EQ(made.rows, wanted.rows());
    EXPECT_EQ(made.cols, wanted.cols());
    expect_same_bytes(made.view().row_ptr, wanted.view().row_ptr, "row_ptr");
    expect_same_bytes(made.view().col_ind, wanted.view().col_ind, "col_ind");
    expect_same_bytes(made.view().values, wanted.view().values, "values");
  };
  {
    expect_same(converters::permute_rows_on_device(0, csr.view(), order));
    const device_csr<T, std::int32_t> there(0, csr.view());
    expect_same(converters::permute_rows_on_device(0, there.view(), order));
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class moved_rows_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(moved_rows_emulated, are_equal_to_the_hosts) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(GetParam().rows));
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t seed = 0;
  for (const auto turn : {emulation::run_order::forward, emulation::run_order::backward}) {
    for (const unsigned max_blocks : {2147483647u, 2u}) {
      set_order(turn, ++seed, max_blocks);
      check<float>(GetParam(), order);
      check<double>(GetParam(), order);
      check<half>(GetParam(), order);
      check<bfloat16>(GetParam(), order);
      if (HasFailure()) return;
      std::ranges::shuffle(order, std::mt19937_64(seed));
    }
  }
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::real);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, moved_rows_emulated, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace bcsc::test
