// Every row of one algorithm's table (the build says which) on the emulated GPU: exact on small integers, for what
// kernels meet: heights and boundaries of row blocks, permuted rows, narrow columns, layouts, alignments, scalars; with
// threads in several orders and grids too small for all tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "bcsc/convert.hpp"
#include "test/emulation/emulated_rows.hpp"
#include "test/emulation/include/emulated_gpu.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

/// One product: how A is stored, where B and C lie, what they are multiplied by, and how the GPU goes about it.
struct setting {
  std::int64_t n;
  std::int64_t m_block;
  bool own_heights, permuted, narrow;
  placement for_b, for_c;
  double alpha, beta;
  bool scalars_in_memory;
  emulation::settings gpu;
};

/// The k-th of many that mix everything with everything.
setting setting_of(std::size_t k, const sparse_case& a) {
  constexpr std::int64_t widths[] = {1, 7, 32, 33, 130};
  constexpr std::int64_t heights[] = {1, 8, 16, 300};
  constexpr std::pair<double, double> scalars[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}, {3, 0}, {1, 1}};
  constexpr unsigned grids[] = {2147483647u, 3};
  test_random random(1000 + k);
  const auto any = [&](const auto& of) { return of[static_cast<std::size_t>(random.below(std::ssize(of)))]; };
  setting s{};
  s.n = any(widths);
  s.m_block = any(heights);
  s.own_heights = random.below(3) == 0;
  s.permuted = random.below(3) == 0;
  s.narrow = a.cols <= 65536 && random.below(2) == 0;
  s.for_b = {layout::row_major, random.below(2) * random.below(5), random.below(2) * random.below(4)};
  s.for_c = {random.below(2) == 0 ? layout::row_major : layout::col_major, random.below(2) * random.below(5),
             random.below(2) * random.below(4)};
  std::tie(s.alpha, s.beta) = any(scalars);
  s.scalars_in_memory = random.below(4) == 0;
  s.gpu = {static_cast<emulation::run_order>(random.below(3)), k, any(grids)};
  return s;
}

std::string words(const setting& s) {
  return "N = " + std::to_string(s.n) + ", m_block " + std::to_string(s.m_block) + (s.own_heights ? " at most" : "") +
         (s.permuted ? ", permuted" : "") + (s.narrow ? ", narrow" : "") + ", B + " + std::to_string(s.for_b.offset) +
         " ld + " + std::to_string(s.for_b.padding) + ", C " + std::string(to_string(s.for_c.order)) + " + " +
         std::to_string(s.for_c.offset) + " ld + " + std::to_string(s.for_c.padding) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + (s.scalars_in_memory ? " in memory" : "") +
         ", order " + std::to_string(static_cast<int>(s.gpu.order)) + ", grid up to " +
         std::to_string(s.gpu.largest_grid);
}

/// Where row blocks of at most `m_block` rows begin.
std::vector<std::int64_t> uneven_boundaries(std::int64_t rows, std::int64_t m_block) {
  test_random random(static_cast<std::uint64_t>(rows + m_block));
  std::vector<std::int64_t> begin{0};
  while (begin.back() < rows) begin.push_back(std::min(rows, begin.back() + 1 + random.below(m_block)));
  return begin;
}

std::vector<std::int64_t> permutation(std::int64_t rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  test_random random(static_cast<std::uint64_t>(rows));
  for (std::int64_t i = rows - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  return order;
}

/// The matrix whose row m is row order[m] of `a`.
sparse_case with_rows(const sparse_case& a, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> place(order.size());
  for (std::size_t m = 0; m < order.size(); ++m) place[static_cast<std::size_t>(order[m])] = std::int64_t(m);
  sparse_case other = a;
  for (triplet& e : other.entries) e.row = place[static_cast<std::size_t>(e.row)];
  std::ranges::sort(other.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  return other;
}

template <class T, class I>
void run_and_check(kernels::launch_fn launch, const sparse_case& a, const setting& s, std::size_t seed) {
  const std::string what = a.name + ", " + words(s);
  const context here = context::cpu(1);
  auto b = random_table<T>(a.cols, s.n, values::small_integers, seed);
  auto c0 = random_table<T>(a.rows, s.n, values::small_integers, seed + 1);
  const product wanted = multiply<T>(a, false, s.alpha, b, s.beta, c0);
  // What must not be read is NaN.
  if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
  if (s.alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
  operand<T> on_b(here, b, s.for_b), on_c(here, c0, s.for_c);
  const dense_view<T> b_view = on_b.view(), c_view = on_c.view();

  const auto order = s.permuted ? permutation(a.rows) : std::vector<std::int64_t>{};
  const std::vector<I> row_of(order.begin(), order.end());
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, s.m_block) : std::vector<std::int64_t>{};
  const auto matrix = to_compact(csr_of<T, I>(s.permuted ? with_rows(a, order) : a),
                                 {.m_block = s.m_block, .boundaries = boundaries, .narrow_columns = s.narrow});
  const auto v = matrix.view();
  const auto small = [](const small_indices& array) { return kernels::small_array{array.data(), array.bytes()}; };
  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta), nan = std::numeric_limits<T>::quiet_NaN();
  const bool in_memory = s.scalars_in_memory;
  const kernels::spmm_args<T, I> args{
      {v.rows, v.cols, v.m_block, v.num_row_blocks(), v.block_row.empty() ? nullptr : v.block_row.data(),
       v.brow_ptr.data(), v.entry_ptr.data(), v.col_ind.data(), v.col_ind16.empty() ? nullptr : v.col_ind16.data(),
       small(v.col_count), small(v.row_in_block), v.values.data(), s.permuted ? row_of.data() : nullptr},
      b_view.data,
      b_view.ld,
      s.n,
      c_view.data,
      c_view.row_stride(),
      c_view.col_stride(),
      in_memory ? nan : alpha,
      in_memory ? nan : beta,
      in_memory ? &alpha : nullptr,
      in_memory ? &beta : nullptr};

  emulation::current_settings() = s.gpu;
  auto& there = emulation::current_settings().global_memory;
  const auto readable = [&]<class X>(std::span<X> array) { there.push_back({array.data(), array.size_bytes()}); };
  readable(v.block_row), readable(v.brow_ptr), readable(v.entry_ptr), readable(v.col_ind), readable(v.col_ind16);
  readable(v.values), readable(std::span(row_of));
  there.push_back({v.col_count.data(), v.col_count.size_bytes()});
  there.push_back({v.row_in_block.data(), v.row_in_block.size_bytes()});
  readable(std::span(b_view.data, static_cast<std::size_t>(a.cols * b_view.ld)));
  const std::int64_t c_lines = c_view.order == layout::row_major ? a.rows : s.n;
  there.push_back({c_view.data, static_cast<std::size_t>(c_lines * c_view.ld) * sizeof(T), true});
  ASSERT_EQ(launch(&args, {1, nullptr, 1}), 0) << what << "\n" << emulation::report();
  expect_exact<T>(wanted, on_c.read(), what);
}

class every_row : public ::testing::TestWithParam<emulated_row> {};

TEST_P(every_row, is_exact_on_small_integers) {
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

INSTANTIATE_TEST_SUITE_P(table, every_row, ::testing::ValuesIn(emulated_rows()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace bcsc::test
