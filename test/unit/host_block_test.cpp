#include "lib/solvers/host_block.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/solvers/block_backend.hpp"
#include "test/support/operands.hpp"
#include "test/support/oracle.hpp"

namespace bcsc::test {

namespace {

using solvers::context_array;

struct journey {
  backend where;
  layout order;
  std::int64_t padding;
};

std::string name_of(const testing::TestParamInfo<journey>& info) {
  const journey& j = info.param;
  return std::string(to_string(j.where)) + (j.order == layout::row_major ? "_rows" : "_columns") + "_" +
         std::to_string(j.padding);
}

std::vector<journey> journeys() {
  std::vector<journey> all;
  for (backend where : {backend::cpu, backend::cuda}) {
    for (layout order : {layout::row_major, layout::col_major}) {
      for (std::int64_t padding : {0, 3}) all.push_back({where, order, padding});
    }
  }
  return all;
}

class host_block_test : public testing::TestWithParam<journey> {
 protected:
  /// There and back, with at most `limit` elements on their way at once; every value differs from every other.
  template <class T>
  void travel(const context& ctx, std::int64_t n, std::int64_t k, std::int64_t limit) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(k) + ", " + std::to_string(limit) + " at once");
    const placement lies{GetParam().order, GetParam().padding, 1};
    dense_table<T> table(n, k);
    for (std::size_t at = 0; at < table.at.size(); ++at) table.at[at] = static_cast<T>(at + 1);
    const context host = context::cpu(1);
    operand<T> given(host, table, lies), back(host, n, k, lies);
    const kernels::launch_env env = solvers::environment_of(ctx, nullptr);

    context_array<T> block(ctx, n * k);
    solvers::upload_block<T>(ctx, env, given.view(), block, limit);
    std::vector<T> packed(table.at.size(), T{-1});
    block.download(packed);
    EXPECT_EQ(packed, table.at);
    solvers::download_block<T>(ctx, env, block, back.view(), limit);
    EXPECT_EQ(back.read().at, table.at);
  }
};

TEST_P(host_block_test, of_any_size_in_parts_of_any_size) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {0, 0}, {0, 4}, {4, 0}, {1, 1}, {1, 70}, {70, 1}, {16, 3}, {17, 16}, {300, 65}, {3, 700}, {1001, 2}, {5000, 3}};
  for (const auto& [n, k] : shapes) {
    for (std::int64_t limit : {1, 7, 16, 50, 1000, 100000}) {
      if (n * k > 500 * limit) continue;  // so many copies would take seconds
      travel<double>(*ctx, n, k, limit);
      travel<float>(*ctx, n, k, limit);
    }
  }
}

TEST_P(host_block_test, larger_than_what_travels_at_once) {
  const auto ctx = context_of(GetParam().where);
  BCSC_SKIP_WITHOUT_GPU(ctx);
  travel<double>(*ctx, solvers::elements_in_transit + 5, 2, solvers::elements_in_transit);
  travel<float>(*ctx, 100'003, 67, solvers::elements_in_transit);
}

INSTANTIATE_TEST_SUITE_P(, host_block_test, testing::ValuesIn(journeys()), name_of);

}  // namespace

}  // namespace bcsc::test
