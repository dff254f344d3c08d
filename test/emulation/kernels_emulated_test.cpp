// Every config of one algorithm's table (the build says which) on the emulated GPU: exact on small integers, for what
// kernels meet: heights and boundaries of row blocks, permuted rows, narrow columns, layouts, alignments, scalars; with
// threads in several orders and grids too small for all tiles.
#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "kernels/forms/compact/operand.hpp"
#include "test/emulation/emulated_configs.hpp"
#include "test/emulation/emulated_product.hpp"

namespace bcsc::test {
namespace {

/// A product, and how A is stored for it.
struct setting : dense_setting {
  std::int64_t m_block = 1;
  bool own_heights = false, permuted = false, narrow = false;
};

setting setting_of(std::size_t k, const sparse_case& a) {
  constexpr std::int64_t widths[] = {1, 7, 32, 33, 130};
  constexpr std::int64_t heights[] = {1, 8, 16, 300};
  test_random random(1000 + k);
  const std::int64_t n = one_of(random, widths);
  setting s{draw_dense(random, n, true)};
  s.m_block = one_of(random, heights);
  s.own_heights = random.below(3) == 0;
  s.permuted = random.below(3) == 0;
  s.narrow = a.cols <= 65536 && random.below(2) == 0;
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + ", m_block " + std::to_string(s.m_block) +
         (s.own_heights ? " at most" : "") + (s.permuted ? ", permuted" : "") + (s.narrow ? ", narrow" : "");
}

template <class T, class I>
void run_and_check(kernels::launch_fn launch, const sparse_case& a, const setting& s, std::size_t seed) {
  SCOPED_TRACE(a.name + ", " + words(s));
  const integer_product<T> task(a, s, seed);
  emulated_product<T> there(s, task.b, task.c0);

  const auto row_of = s.permuted ? permutation<I>(a.rows) : std::vector<I>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, s.m_block) : std::vector<std::int64_t>{};
  const auto matrix = to_compact(csr_of<T, I>(s.permuted ? with_rows(a, row_of) : a),
                                 {.m_block = s.m_block, .boundaries = boundaries, .narrow_columns = s.narrow});
  const auto v = matrix.view();
  there.may_read(v.block_row), there.may_read(v.brow_ptr), there.may_read(v.entry_ptr), there.may_read(v.col_ind);
  there.may_read(v.col_ind16), there.may_read(v.values), there.may_read(row_of);
  there.may_read_bytes(v.col_count.data(), v.col_count.size_bytes());
  there.may_read_bytes(v.row_in_block.data(), v.row_in_block.size_bytes());
  const auto small = [](const small_indices& array) { return kernels::small_array{array.data(), array.bytes()}; };
  const kernels::bcsc_operand<T, I> stored{v.rows,
                                           v.cols,
                                           v.m_block,
                                           v.num_row_blocks(),
                                           v.block_row.empty() ? nullptr : v.block_row.data(),
                                           v.brow_ptr.data(),
                                           v.entry_ptr.data(),
                                           v.col_ind.data(),
                                           v.col_ind16.empty() ? nullptr : v.col_ind16.data(),
                                           small(v.col_count),
                                           small(v.row_in_block),
                                           v.values.data(),
                                           s.permuted ? row_of.data() : nullptr};
  expect_exact<T>(task.wanted, there.run(launch, stored), "");
}

class every_config : public ::testing::TestWithParam<emulated_row> {};

TEST_P(every_config, is_exact_on_small_integers) {
  const emulated_row& row = GetParam();
  const bool wide = row.index_bits == 64;
  std::size_t k = 0;  // every row has settings of its own
  for (const char letter : row.name) k = k * 31 % 1000003 + static_cast<unsigned char>(letter);
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.rows == 0) continue;  // nothing is launched then
    for (int turn = 0; turn < 4; ++turn, ++k) {
      const setting s = setting_of(k, a);
      if (row.type == value_type::fp32) {
        (wide ? run_and_check<float, std::int64_t> : run_and_check<float, std::int32_t>)(row.launch, a, s, k);
      } else {
        (wide ? run_and_check<double, std::int64_t> : run_and_check<double, std::int32_t>)(row.launch, a, s, k);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(table, every_config, ::testing::ValuesIn(emulated_configs()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace bcsc::test
