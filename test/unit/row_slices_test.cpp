// Rows side by side: every entry in a lane once, what the kernel relies on, the same for any number of threads.
#include "kernels/forms/row_slices/row_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/plan.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/operands.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/uneven_rows.hpp"

namespace bcsc::test {
namespace {

using forms::row_slice;
using forms::row_slices;
using forms::slice_lanes;
using forms::slice_rows;
using forms::to_row_slices;

using entries_of_rows = std::vector<std::vector<std::pair<std::int64_t, double>>>;

entries_of_rows entries_of(const sparse_case& c) {
  entries_of_rows rows(static_cast<std::size_t>(c.rows));
  for (const triplet& e : c.entries) rows[static_cast<std::size_t>(e.row)].emplace_back(e.col, e.value);
  return rows;
}

/// The entries of every row as the lanes have them, by column. Fails where a slice is not as layout.hpp says.
template <class T>
entries_of_rows unpack(const row_slices<T>& a) {
  constexpr int lanes = slice_lanes<T>;
  entries_of_rows rows(static_cast<std::size_t>(a.rows));
  std::vector<int> times_present(static_cast<std::size_t>(a.rows));
  std::int64_t step = 0, column = 0, in_diagonals = 0;
  for (std::int64_t s = 0; s < a.num_slices(); ++s) {
    const row_slice& slice = a.slices[static_cast<std::size_t>(s)];
    EXPECT_EQ(slice.first_step, step) << "slice " << s;
    EXPECT_EQ(slice.first_column, column) << "slice " << s;
    const bool alone = slice.rows == slice_rows::one;
    if (alone) {
      EXPECT_EQ(slice.present, 1);
    }
    const auto row_of = [&](int lane) -> std::int64_t {
      if (alone) return slice.first_row;
      if (slice.rows == slice_rows::neighbours) return slice.first_row + lane;
      return a.listed.at(static_cast<std::size_t>(slice.first_row + lane));
    };
    for (int lane = 0; lane < lanes; ++lane) {
      if ((slice.present >> lane & 1) != 0) ++times_present.at(static_cast<std::size_t>(row_of(lane)));
    }
    bool full = true;
    for (std::int64_t k = 0; k < slice.num_diagonals + slice.num_gathers; ++k, ++step) {
      const bool diagonal = k < slice.num_diagonals;
      const auto mask = a.masks.at(static_cast<std::size_t>(step));
      EXPECT_NE(mask, 0) << "a step for nothing";
      full = full && mask == (1U << lanes) - 1;
      EXPECT_EQ(alone ? 0 : mask & ~slice.present, 0) << "entries of a lane that is no row";
      for (int lane = 0; lane < lanes; ++lane) {
        const auto col = std::int64_t{a.columns.at(static_cast<std::size_t>(diagonal ? column : column + lane))} +
                         (diagonal ? lane : 0);
        const T value = a.values.at(static_cast<std::size_t>(step * lanes + lane));
        if ((mask >> lane & 1) != 0) {
          rows.at(static_cast<std::size_t>(row_of(lane))).emplace_back(col, value);
          in_diagonals += diagonal;
        } else {
          EXPECT_EQ(value, T{0});
          if (!diagonal) {
            EXPECT_EQ(col, 0) << "a column that every B has";
          }
        }
      }
      column += diagonal ? 1 : lanes;
    }
    EXPECT_EQ(slice.full, full) << "slice " << s;
  }
  EXPECT_EQ(a.slices.back().first_step, step);
  EXPECT_EQ(a.slices.back().first_column, column);
  EXPECT_EQ(std::ssize(a.masks), step);
  EXPECT_EQ(std::ssize(a.values), step * lanes);
  EXPECT_EQ(std::ssize(a.columns), column);
  EXPECT_EQ(a.in_diagonals, in_diagonals);
  EXPECT_EQ(std::ranges::count(times_present, 1), a.rows) << "every row is one lane or a slice, empty ones too";
  for (auto& row : rows) std::ranges::sort(row);
  return rows;
}

class slicing : public ::testing::TestWithParam<sparse_case> {};

TEST_P(slicing, holds_every_entry_once) {
  const sparse_case& c = GetParam();
  const auto wanted = entries_of(c);
  const auto expect = [&]<class T, class I>(T, I) {
    const auto csr = csr_of<T, I>(c);
    const row_slices<T> slices = to_row_slices(csr.view());
    EXPECT_EQ(std::tuple(slices.rows, slices.cols, slices.nnz), std::tuple(c.rows, c.cols, std::ssize(c.entries)));
    EXPECT_EQ(unpack(slices), wanted);
  };
  expect(float{}, std::int32_t{});
  expect(double{}, std::int32_t{});
  expect(double{}, std::int64_t{});
}

/// Diagonals of which some leave the matrix on either side, and some have gaps.
sparse_case stripes(std::string name, std::int64_t rows, std::int64_t cols, const std::vector<std::int64_t>& offsets) {
  test_random random(31);
  sparse_case c{std::move(name), rows, cols, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const std::int64_t offset : offsets) {
      const std::int64_t j = i + offset;
      if (j >= 0 && j < cols && (offset % 5 != 0 || random.below(3) > 0)) {
        c.entries.push_back({i, j, random.small_integer()});
      }
    }
  }
  return c;
}

std::vector<sparse_case> cases() {
  auto all = battery(values::small_integers);
  for (sparse_case& c : uneven_rows()) all.push_back(std::move(c));
  all.push_back(stripes("stripes", 5003, 5003, {-70, -15, -1, 0, 1, 5, 70}));
  all.push_back(stripes("stripes_of_a_wide_one", 40, 900, {-3, 0, 7, 870, 890}));
  all.push_back(stripes("stripes_of_a_tall_one", 900, 40, {-870, -7, 0, 3}));
  // Lengths around the most that a shared row may have, with runs and without.
  for (const std::int64_t step : {1, 3}) {
    sparse_case c{"around_the_longest_step_" + std::to_string(step), 40, 1000, {}};
    for (std::int64_t i = 0; i < c.rows; ++i) {
      const std::int64_t length = i % 3 == 0 ? i : forms::max_shared_row - 20 + i;
      for (std::int64_t k = 0; k < length; ++k) c.entries.push_back({i, k * step, static_cast<double>(1 + k % 7)});
    }
    all.push_back(std::move(c));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, slicing, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return "m" + info.param.name; });

TEST(row_slices, read_a_mesh_where_it_lies) {
  const auto csr = csr_of<double>(stripes("mesh", 4096, 4096, {-64, -1, 1, 64}));
  const auto slices = to_row_slices(csr.view());
  EXPECT_EQ(slices.in_diagonals, slices.nnz);
  EXPECT_TRUE(slices.listed.empty());
  EXPECT_LT(slices.bytes(), slices.nnz * 10) << "next to nothing but the values";
}

TEST(row_slices, pad_little_where_rows_are_uneven) {
  const sparse_case c = rows_of_lengths("random_lengths", 20000, 50000, [](std::int64_t i) { return i * 7919 % 40; });
  sparse_case far = c;  // no two entries on one diagonal but by chance
  for (triplet& e : far.entries) e.col = (e.col * 7907 + e.row * 31) % far.cols;
  std::ranges::sort(far.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  const auto csr = csr_of<float>(far);
  const auto slices = to_row_slices(csr.view());
  EXPECT_LT(slices.in_diagonals * 20, slices.nnz);
  EXPECT_LT(std::ssize(slices.values) * 100, slices.nnz * 105) << "lanes without an entry";
}

TEST(row_slices, pad_little_where_some_rows_are_much_longer) {
  const sparse_case c = rows_of_lengths("some_longer", 2000, 5000,
                                        [](std::int64_t i) { return i % 20 == 0 ? 16 + i / 20 % 13 * 16 : 4; });
  sparse_case far = c;  // no two entries on one diagonal but by chance
  for (triplet& e : far.entries) e.col = (e.col * 4909 + e.row * 31) % far.cols;
  std::ranges::sort(far.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  const auto csr = csr_of<float>(far);
  const auto slices = to_row_slices(csr.view());
  EXPECT_GT(std::ranges::count(slices.slices, slice_rows::one, &row_slice::rows), 50);
  EXPECT_LT(std::ssize(slices.values) * 100, slices.nnz * 110) << "lanes without an entry";
}

TEST(row_slices, do_not_depend_on_the_threads) {
  const auto csr =
      csr_of<double>(rows_of_lengths("uneven", 60000, 500, [](std::int64_t i) { return i % 97 == 0 ? 300 : i % 11; }));
  const auto slices_by = [&](int threads) {
    const with_threads of_many(threads);
    return to_row_slices(csr.view());
  };
  const auto wanted = slices_by(1);
  for (const int threads : thread_counts) EXPECT_TRUE(slices_by(threads) == wanted) << threads << " threads";
}

TEST(row_slices, refuse_what_they_cannot_hold) {
  constexpr std::int64_t too_many = std::int64_t{1} << 31;
  csr_view<float, std::int64_t> tall, wide;
  tall.rows = too_many;
  EXPECT_EQ(code_of([&] { to_row_slices(tall); }), errc::size_overflow);
  wide.cols = too_many;
  EXPECT_EQ(code_of([&] { to_row_slices(wide); }), errc::size_overflow);
  const auto csr = csr_of<float>(case_named("ragged"));
  auto on_device = csr.view();
  on_device.space = memory_space::device;
  EXPECT_EQ(code_of([&] { to_row_slices(on_device); }), errc::wrong_memory_space);
}

// --- As a plan holds them -------------------------------------------------------------------------------------------

template <class T>
spmm_plan<T> plan_of(const csr_matrix<T>& a, plan_options options = {}) {
  options.expert.kernel = "slices";
  return spmm_plan<T>(context::cpu(2), a, options);
}

/// Exact, with NaN in C where it must not be read: for beta = 0.
template <class T>
void expect_product(const spmm_plan<T>& plan, const sparse_case& a, std::int64_t n, bool transposed = false,
                    T beta = 0) {
  const auto b = random_table<T>(transposed ? a.rows : a.cols, n, values::small_integers, 3);
  const std::int64_t c_rows = transposed ? a.cols : a.rows;
  const auto former = random_table<T>(c_rows, n, values::small_integers, 4);
  const product wanted = multiply<T>(a, transposed, 2, b, beta, former);
  operand<T> on_b(context::cpu(1), b, {});
  operand<T> on_c = beta != T{0} ? operand<T>(context::cpu(1), former, {}) : operand<T>(context::cpu(1), c_rows, n, {});
  plan.run(T{2}, on_b.view(), beta, on_c.view());
  expect_exact<T>(wanted, on_c.read(), a.name + ", N = " + std::to_string(n));
}

TEST(row_slices_plan, multiplies_any_n_and_any_order_of_rows) {
  for (const sparse_case& a : cases()) {
    if (a.rows == 0 || a.cols == 0) continue;
    const auto csr = csr_of<float>(a);
    for (const bool reorder : {false, true}) {
      const auto plan = plan_of(csr, {.cols = 1, .expert = {.reorder_rows = reorder}});
      for (const std::int64_t n : {1, 3, 130}) expect_product(plan, a, n);
      for (const std::int64_t n : {1, 3}) expect_product(plan, a, n, false, -3.0F);
      if (HasFailure()) return;
    }
  }
}

TEST(row_slices_plan, takes_the_transpose_that_it_stores) {
  for (const char* name : {"ragged", "wide", "power_law"}) {
    const sparse_case a = case_named(name, values::small_integers);
    expect_product(plan_of(csr_of<double>(a), {.cols = 1, .transpose = op::transpose}), a, 1, true);
  }
}

TEST(row_slices_plan, takes_new_values) {
  sparse_case a = stripes("stripes", 700, 700, {-40, -1, 0, 1, 40});
  auto plan = plan_of(csr_of<double>(a), {.cols = 1});
  for (triplet& e : a.entries) e.value = 3 * e.value + 1;
  plan.update_values(csr_of<double>(a));
  expect_product(plan, a, 1);
  sparse_case other = a;
  other.entries.pop_back();
  EXPECT_EQ(code_of([&] { plan.update_values(csr_of<double>(other)); }), errc::pattern_mismatch);
  expect_product(plan, a, 1);
}

TEST(row_slices_plan, gives_the_same_bits_on_any_number_of_threads) {
  sparse_case a = rows_of_lengths("uneven", 20011, 3000, [](std::int64_t i) { return i % 501 == 0 ? 2500 : i % 23; });
  test_random random(9);
  for (triplet& e : a.entries) e.value = random.real();
  const auto csr = csr_of<float>(a);
  const auto b = random_table<float>(a.cols, 1, values::real, 5);
  std::vector<float> first;
  for (const int threads : thread_counts) {
    const spmm_plan<float> plan(context::cpu(threads), csr, {.cols = 1, .expert = {.kernel = "slices"}});
    operand<float> on_b(context::cpu(1), b, {}), on_c(context::cpu(1), a.rows, 1, {});
    plan.run(1.5F, on_b.view(), 0.0F, on_c.view());
    if (threads == 1) first = on_c.read().at;
    EXPECT_TRUE(on_c.read().at == first) << threads << " threads";
  }
}

TEST(row_slices_plan, says_what_it_holds) {
  const auto csr = csr_of<double>(stripes("stripes", 700, 700, {-40, -1, 0, 1, 40}));
  const auto plan = plan_of(csr, {.cols = 1});
  EXPECT_EQ(plan.facts().format_bytes, to_row_slices(csr.view()).bytes());
  EXPECT_EQ(plan.workspace_bytes(), 0U);
  EXPECT_NE(plan.explain().find("row slices"), std::string::npos) << plan.explain();
}

TEST(row_slices_plan, is_taken_by_nobody_who_wants_what_it_cannot) {
  const auto csr = csr_of<float>(stripes("stripes", 20000, 20000, {-140, -1, 0, 1, 140}));
  const auto algorithm = [&](const plan_options& options) {
    return spmm_plan<float>(context::cpu(1), csr, options).facts().kernel.algorithm;
  };
  EXPECT_EQ(algorithm({.cols = 1}), "slices");
  EXPECT_NE(algorithm({.cols = 2}), "slices");
  const plan_options both{.cols = 1, .transposable = true};
  EXPECT_NE(algorithm(both), "slices");
  EXPECT_TRUE(spmm_plan<float>(context::cpu(1), csr, both).transposed().has_value());
  EXPECT_FALSE(plan_of(csr, {.cols = 1}).transposed().has_value());
  EXPECT_EQ(code_of([&] { plan_of(csr, both); }), errc::no_such_kernel);
  EXPECT_EQ(code_of([&] { plan_of(csr, {.expert = {.m_block = 4}}); }), errc::no_such_kernel);
  const csr_matrix<half> narrow(1, 1, {0, 1}, {0}, std::vector<half>{half(1.0F)});
  EXPECT_EQ(code_of([&] { plan_of(narrow); }), errc::no_such_kernel);
}

}  // namespace
}  // namespace bcsc::test
