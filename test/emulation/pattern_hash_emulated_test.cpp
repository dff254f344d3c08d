// The hash of a pattern as the device computes it, on the emulated GPU: the host's, whatever the order of threads and
// however small the grid.
#include <gtest/gtest.h>

#include "converters/formats/pattern_hash.cu"
#include "test/emulation/emulated_device.hpp"
#include "test/emulation/emulated_product.hpp"

namespace bcsc::test {
namespace {

template <index I>
void expect_the_hosts(const sparse_case& c) {
  const auto host = csr_of<float, I>(c);
  const auto v = host.view();
  const auto wanted = converters::hash_pattern(converters::csr_pattern<I>(v));
  {
    const core::device_buffer<I> row_ptr(0, v.row_ptr), col_ind(0, v.col_ind);
    const csr_view<float, I> there{v.rows,
                                   v.cols,
                                   {row_ptr.data(), v.row_ptr.size()},
                                   {col_ind.data(), v.col_ind.size()},
                                   v.values,
                                   memory_space::device};
    EXPECT_EQ(converters::hash_pattern_on_device(0, converters::csr_pattern<I>(there)), wanted) << c.name;
  }
  EXPECT_EQ(num_emulated_allocations(), 0u);
}

class pattern_hash_emulated : public ::testing::TestWithParam<sparse_case> {};

TEST_P(pattern_hash_emulated, is_the_hosts) {
  std::uint64_t seed = 0;
  for (const auto order :
       {emulation::run_order::forward, emulation::run_order::backward, emulation::run_order::random}) {
    for (const unsigned largest_grid : {2u, 2147483647u}) {
      set_order(order, ++seed, largest_grid);
      expect_the_hosts<std::int32_t>(GetParam());
      expect_the_hosts<std::int64_t>(GetParam());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(battery, pattern_hash_emulated, ::testing::ValuesIn(battery(values::real)),
                         [](const auto& c) { return "m" + c.param.name; });

}  // namespace
}  // namespace bcsc::test
