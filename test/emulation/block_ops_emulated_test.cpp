// The GPU's operations on blocks of vectors, on the emulated GPU: whatever the order of threads, with grids cut short,
// and no access beyond an array.
#include <gtest/gtest.h>

#include "kernels/vector/block_cuda.cu"
#include "test/unit/block_checks.hpp"

namespace bcsc::test {
namespace {

class block_ops_emulated : public testing::TestWithParam<block_shape> {
 protected:
  template <class T>
  void check() {
    std::uint64_t turn = 0;
    for (const auto order :
         {emulation::run_order::forward, emulation::run_order::backward, emulation::run_order::random}) {
      emulation::current_settings() = {.order = order, .seed = turn, .largest_grid = turn == 1 ? 2 : 2147483647u};
      SCOPED_TRACE("turn " + std::to_string(turn++));
      block_checks<T>(context::cpu(1), kernels::vector::block_on_cuda<T>(), {}, GetParam()).all(true);
      if (HasFailure()) FAIL() << emulation::report();
    }
    emulation::current_settings() = {};
  }
};

TEST_P(block_ops_emulated, compute_in_double) { check<double>(); }
TEST_P(block_ops_emulated, compute_in_float) { check<float>(); }

INSTANTIATE_TEST_SUITE_P(shapes, block_ops_emulated, testing::ValuesIn(block_shapes()),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace bcsc::test
