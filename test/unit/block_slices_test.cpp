// Row blocks side by side: every entry in a lane once, what the kernel relies on, the same for any number of threads.
#include "kernels/forms/block_slices/block_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/convert.hpp"
#include "kernels/forms/block_slices/operand.hpp"
#include "test/support/battery.hpp"
#include "test/support/code_of.hpp"
#include "test/support/stripes.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/uneven_rows.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

using forms::block_slice;
using forms::block_slices;
using forms::slice_rows;
using forms::to_block_slices;

using entries_of_rows = std::vector<std::vector<std::pair<std::int64_t, double>>>;

entries_of_rows entries_of(const sparse_case& c) {
  entries_of_rows rows(static_cast<std::size_t>(c.rows));
  for (const triplet& e : c.entries) rows[static_cast<std::size_t>(e.row)].emplace_back(e.col, e.value);
  return rows;
}

/// The entries of every row as the lanes have them, by column. Fails where a slice is not as layout.hpp says.
template <class T>
entries_of_rows unpack(const block_slices<T>& a) {
  constexpr int width = 32;
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  entries_of_rows rows(at(a.rows));
  std::vector<int> times_present(at(a.num_blocks));
  std::int64_t step = 0, diagonal = 0;
  int last_kind = 0;  // of one, neighbours, listed
  for (std::int64_t s = 0; s < std::ssize(a.slices); ++s) {
    const block_slice& slice = a.slices[at(s)];
    EXPECT_EQ(slice.first_step, step) << "slice " << s;
    const int kind = slice.rows == slice_rows::one ? 0 : slice.rows == slice_rows::neighbours ? 1 : 2;
    EXPECT_GE(kind, last_kind) << "slice " << s;
    EXPECT_EQ(kind == 0, s < a.num_alone) << "slice " << s;
    EXPECT_EQ(kind == 0 && slice.num_steps > 8, s < a.num_long) << "slice " << s;
    EXPECT_EQ(kind == 0 && slice.num_steps > 128, s < a.num_longest) << "slice " << s;
    last_kind = kind;
    const int blocks = kind == 0 ? 1 : width / a.lanes;
    const auto block_of = [&](int lane) -> std::int64_t {
      const std::int64_t place = slice.first_block + lane % blocks;
      return kind == 2 ? std::int64_t{a.listed.at(at(place))} : place < a.num_blocks ? place : -1;
    };
    for (int lane = 0; lane < blocks; ++lane) {
      if (block_of(lane) >= 0) ++times_present.at(at(block_of(lane)));
    }
    if (!a.diagonals.empty()) {
      EXPECT_EQ(a.first_diagonal.at(at(s)), diagonal) << "slice " << s;
    }
    EXPECT_TRUE(slice.num_diagonals == 0 || (kind == 1 && a.lanes == 1)) << "slice " << s;
    std::int64_t last_diagonal = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t k = 0; k < slice.num_steps; ++k, ++step) {
      const bool on_diagonal = k < slice.num_diagonals;
      const forms::slice_diagonal line = on_diagonal ? a.diagonals.at(at(diagonal++)) : forms::slice_diagonal{};
      if (on_diagonal) {
        EXPECT_GT(line.column, last_diagonal);
        EXPECT_GE(std::popcount(line.lanes), 20);
        last_diagonal = line.column;
      }
      std::uint32_t any = 0;
      for (int lane = 0; lane < width; ++lane) {
        const auto of_diagonal = [&] {
          return (line.lanes >> lane & 1u) == 0 ? 0 : (1u << a.height) - 1 << 28 | (line.column + lane * a.height);
        };
        const std::uint32_t word = on_diagonal ? of_diagonal() : a.words.at(at((step - diagonal) * width + lane));
        const std::uint32_t present = word >> 28, column = word & 0x0fffffffu;
        any |= present;
        if (present == 0) {
          EXPECT_EQ(word, 0u) << "a column that is not read";
        }
        for (int r = 0; r < 4; ++r) {
          const bool has = (present >> r & 1u) != 0;
          if (r >= a.height) {
            EXPECT_FALSE(has);
            continue;
          }
          const T value = a.values.at(at((step * a.height + r) * width + lane));
          if (!has) {
            EXPECT_EQ(value, T(0));
            continue;
          }
          const std::int64_t block = block_of(lane);
          if (block < 0) {
            ADD_FAILURE() << "an entry of no row block";
            continue;
          }
          const std::int64_t first_row = a.block_row.empty() ? block * a.height : a.block_row.at(at(block));
          rows.at(at(first_row + r)).emplace_back(column, static_cast<double>(value));
        }
      }
      EXPECT_NE(any, 0u) << "a step for nothing";
    }
  }
  EXPECT_EQ(std::ssize(a.diagonals), diagonal);
  EXPECT_EQ(std::ssize(a.first_diagonal), diagonal > 0 ? std::ssize(a.slices) + 1 : 0);
  EXPECT_EQ(std::ssize(a.words), (step - diagonal) * width);
  EXPECT_EQ(std::ssize(a.values), step * width * a.height);
  EXPECT_EQ(std::ranges::count(times_present, 1), a.num_blocks) << "every row block is in one slice, empty ones too";
  for (auto& row : rows) std::ranges::sort(row);
  return rows;
}

/// Row blocks whose heights go round from 1 to `m_block`.
std::vector<std::int64_t> uneven_heights(std::int64_t rows, std::int64_t m_block) {
  std::vector<std::int64_t> begin{0};
  while (begin.back() < rows) begin.push_back(std::min(rows, begin.back() + 1 + std::ssize(begin) % m_block));
  return begin;
}

class block_slicing : public ::testing::TestWithParam<sparse_case> {};

TEST_P(block_slicing, holds_every_entry_once) {
  const sparse_case& c = GetParam();
  const auto wanted = entries_of(c);
  const auto expect = [&]<class T, class I>(T, I) {
    const auto csr = csr_of<T, I>(c);
    for (const std::int64_t height : {1, 2, 3, 4}) {
      for (const int lanes : {1, 2, 4, 8}) {
        const auto boundaries = lanes == 2 ? uneven_heights(c.rows, height) : std::vector<std::int64_t>{};
        const auto compact =
            to_compact(csr.view(), {.m_block = height, .boundaries = boundaries, .narrow_columns = lanes == 4});
        for (const bool several_columns : {false, true}) {
          const block_slices<T> slices = to_block_slices(compact.view(), {lanes, several_columns});
          SCOPED_TRACE("height " + std::to_string(height) + ", lanes " + std::to_string(lanes) +
                       (several_columns ? ", for several columns" : ""));
          EXPECT_EQ(std::tuple(slices.rows, slices.cols, slices.nnzc, slices.height, slices.lanes),
                    std::tuple(c.rows, c.cols, compact.view().nnzc(), static_cast<int>(height), lanes));
          EXPECT_EQ(unpack(slices), wanted);
          if (HasFailure()) return;
        }
      }
    }
  };
  expect(float{}, std::int32_t{});
  expect(double{}, std::int64_t{});
}

std::vector<sparse_case> cases() {
  std::vector<sparse_case> all = battery(values::small_integers);
  std::ranges::move(uneven_rows(), std::back_inserter(all));
  std::ranges::move(stripes(), std::back_inserter(all));
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, block_slicing, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return "m" + c.param.name; });

template <class T>
block_slices<T> sliced(const sparse_case& c, std::int64_t height, int lanes, bool several_columns = false) {
  return to_block_slices(viewed(to_compact(csr_of<T>(c), {.m_block = height})), {lanes, several_columns});
}

/// Rows of these lengths, from column 0 on.
sparse_case of_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols) {
  sparse_case c{"lengths", std::ssize(lengths), cols, {}};
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < lengths[static_cast<std::size_t>(i)]; ++j) c.entries.push_back({i, j, 1});
  }
  return c;
}

TEST(block_slice_order, keeps_neighbours_that_are_about_equally_long) {
  std::vector<std::int64_t> lengths(96, 7);
  lengths[40] = lengths[41] = 6;  // 2 of 224 are filled up
  const auto a = sliced<float>(of_lengths(lengths, 7), 1, 1);
  ASSERT_EQ(a.slices.size(), 3u);
  for (const block_slice& slice : a.slices) EXPECT_EQ(slice.rows, slice_rows::neighbours);
  EXPECT_TRUE(a.listed.empty());
  EXPECT_TRUE(a.diagonals.empty()) << "all rows have the same columns";
  EXPECT_EQ(a.num_steps(), 21);
}

TEST(block_slice_order, sorts_the_others_by_length_and_keeps_equal_ones_in_order) {
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 64; ++i) lengths.push_back(i % 2 == 0 ? 2 : 30);
  const auto a = sliced<float>(of_lengths(lengths, 30), 1, 1);
  ASSERT_EQ(a.slices.size(), 2u);
  EXPECT_EQ(a.num_steps(), 32);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(a.listed.at(static_cast<std::size_t>(i)), i < 32 ? 2 * i + 1 : 2 * (i - 32));
}

TEST(block_slice_order, keeps_uneven_neighbours_for_several_columns_and_fills_them_up) {
  const auto kinds = [](std::int64_t shorter, bool several_columns) {
    std::vector<std::int64_t> lengths;
    for (int i = 0; i < 64; ++i) lengths.push_back(i % 2 == 0 ? shorter : 30);
    std::vector<slice_rows> all;
    for (const block_slice& s : sliced<float>(of_lengths(lengths, 30), 1, 1, several_columns).slices) {
      all.push_back(s.rows);
    }
    return all;
  };
  constexpr auto stay = slice_rows::neighbours, go = slice_rows::listed;
  EXPECT_EQ(kinds(2, false), (std::vector{go, go}));
  EXPECT_EQ(kinds(2, true), (std::vector{stay, stay})) << "of 30 places 16 are filled, and a row counts as one more";
  EXPECT_TRUE(forms::stay_together({.several_columns = true}, 30, 32, 480 - 32)) << "960 places for 480";
  EXPECT_FALSE(forms::stay_together({.several_columns = true}, 30, 32, 480 - 33));
  // Of almost empty rows it is the rows that count.
  EXPECT_TRUE(forms::stay_together({.several_columns = true}, 1, 32, 1));
  EXPECT_FALSE(forms::stay_together({.several_columns = false}, 1, 32, 1));
}

TEST(block_slice_order, sorts_within_few_row_blocks_for_several_columns) {
  // Of 32 neighbours one is long: too much to fill up.
  std::vector<std::int64_t> lengths(2048, 1);
  for (std::size_t i = 5; i < lengths.size(); i += 32) lengths[i] = 60;
  for (const auto& [several_columns, window] : {std::pair(false, 2048), std::pair(true, 256)}) {
    const auto a = sliced<float>(of_lengths(lengths, 60), 1, 1, several_columns);
    ASSERT_EQ(a.listed.size(), lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(a.listed[i] / window, static_cast<int>(i) / window);
    EXPECT_EQ(a.listed[1], 37) << "long ones first";
  }
}

TEST(block_slice_order, gives_a_row_block_far_above_the_mean_a_slice_of_its_own_and_puts_it_first) {
  std::vector<std::int64_t> lengths(320, 2);
  lengths[33] = 65;  // more than 64, and more than four times the mean
  const auto a = sliced<float>(of_lengths(lengths, 70), 1, 2);
  EXPECT_EQ(a.slices[0].rows, slice_rows::one);
  EXPECT_EQ(a.slices[0].first_block, 33);
  EXPECT_EQ(a.slices[0].num_steps, 3);
  EXPECT_EQ(a.slices[1].rows, slice_rows::neighbours);
  lengths[33] = 64;
  EXPECT_NE(sliced<float>(of_lengths(lengths, 70), 1, 2).slices[0].rows, slice_rows::one);
}

TEST(block_slice_order, puts_those_that_warps_share_before_those_of_one_warp_and_the_longest_first) {
  std::vector<std::int64_t> lengths(320, 2);
  lengths[5] = 256, lengths[33] = 257, lengths[40] = 200, lengths[90] = 300;
  lengths[91] = 4096, lengths[92] = 289, lengths[300] = 4097;
  const auto a = sliced<float>(of_lengths(lengths, 5000), 1, 2);
  EXPECT_EQ(a.num_longest, 1);
  EXPECT_EQ(a.longest_steps, 129);
  EXPECT_EQ(a.num_long, 5);
  const std::int32_t order[] = {300, 91, 90, 92, 33, 5, 40};
  for (std::size_t s = 0; s < std::size(order); ++s) EXPECT_EQ(a.slices[s].first_block, order[s]);
}

/// A band of blocks: row block b has columns b - 1, b, b + 1, each with all its rows.
sparse_case block_band(std::int64_t blocks, std::int64_t height) {
  sparse_case c{"band", blocks * height, blocks * height, {}};
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const std::int64_t first = std::max<std::int64_t>(0, i / height - 1) * height;
    for (std::int64_t j = first; j < std::min(c.cols, (i / height + 2) * height); ++j) c.entries.push_back({i, j, 1});
  }
  return c;
}

TEST(block_slice_diagonals, take_no_word_for_each_lane) {
  for (const std::int64_t height : {1, 2, 3, 4}) {
    const auto a = sliced<double>(block_band(64, height), height, 1);
    ASSERT_EQ(a.slices.size(), 2u);
    EXPECT_TRUE(a.words.empty());
    ASSERT_EQ(std::ssize(a.diagonals), 6 * height);
    EXPECT_EQ(a.diagonals[0], (forms::slice_diagonal{static_cast<std::int32_t>(-height), 0xfffffffeu}));
    EXPECT_EQ(a.diagonals.back().lanes, 0x7fffffffu);
  }
  EXPECT_TRUE(sliced<double>(block_band(64, 1), 1, 2).diagonals.empty()) << "a row block has two lanes";
}

TEST(block_slice_diagonals, are_left_alone_where_they_save_nothing) {
  // Two of three entries on diagonals of 20 lanes: more steps than the longest lane has.
  sparse_case c{"half", 32, 400, {}};
  for (std::int64_t i = 0; i < 32; ++i) {
    c.entries.push_back({i, i < 20 ? i : 300 - 3 * i, 1});
    c.entries.push_back({i, i < 12 ? 100 + 4 * i : 200 + i, 1});
    std::ranges::sort(c.entries, {}, [](const triplet& e) { return std::pair(e.row, e.col); });
  }
  EXPECT_TRUE(sliced<double>(c, 1, 1).diagonals.empty());
  EXPECT_TRUE(forms::diagonals_pay(2, 1, 3, 8));
  EXPECT_FALSE(forms::diagonals_pay(2, 2, 3, 8));
  EXPECT_TRUE(forms::diagonals_pay(2, 1, 2, 2)) << "of small values columns are most of the bytes";
  EXPECT_FALSE(forms::diagonals_pay(0x10000, 0, 0x10000, 8)) << "16 bits count them";
}

TEST(block_slice_tiles, come_first_where_l2_keeps_what_they_read_of_b) {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t small_a = 1000, large_a = (32 << 20) / 256;  // steps of 32 words and values
  const auto tiles_first = [](std::int64_t cols, std::int64_t reach, std::int64_t num_steps, std::int64_t n = 128) {
    const kernels::block_slices_operand<float> a{.cols = cols, .height = 1, .num_steps = num_steps, .reach = reach};
    return kernels::tiles_come_first(a, n);
  };
  EXPECT_TRUE(tiles_first(1 << 20, 20480, small_a)) << "20 MB of B on both sides of the diagonal";
  EXPECT_FALSE(tiles_first(1 << 20, 20481, small_a));
  EXPECT_TRUE(tiles_first(40960, far, small_a)) << "all of B";
  EXPECT_FALSE(tiles_first(40961, far, small_a));
  EXPECT_TRUE(tiles_first(1 << 20, 49152, large_a + 1)) << "A does not stay in L2";
  EXPECT_FALSE(tiles_first(1 << 20, 49153, large_a + 1));
  EXPECT_FALSE(tiles_first(1 << 20, 49152, large_a));
  EXPECT_FALSE(tiles_first(1 << 20, 1, small_a, std::int64_t{1} << 40));
  // What counts as A: 32 values a step and row, and a word for each unless it is on a diagonal.
  const kernels::block_slices_operand<float> a{.height = 3, .num_steps = 10, .num_diagonals = 4};
  EXPECT_EQ(a.streamed_bytes(), 32 * 4 * (30 + 6));
}

TEST(block_slices_of, do_not_depend_on_the_number_of_threads) {
  const auto compact =
      to_compact(csr_of<double>(rows_of_lengths("uneven", 30000, 900,
                                                [](std::int64_t i) { return i % 991 == 0 ? 700 : i * i % 29; })),
                 {.m_block = 2});
  const auto by = [&](int threads) {
    const with_threads of_many(threads);
    return to_block_slices(compact.view(), {.lanes = 2});
  };
  const auto wanted = by(1);
  for (const int threads : thread_counts) {
    const auto again = by(threads);
    EXPECT_TRUE(again.slices == wanted.slices && again.words == wanted.words && again.values == wanted.values &&
                again.listed == wanted.listed)
        << threads << " threads";
  }
}

TEST(block_slices_of, refuse_what_they_cannot_hold) {
  const auto code = [](std::int64_t rows, std::int64_t cols, std::int64_t m_block, int lanes) {
    return code_of([&] { forms::check_block_slices(rows, cols, m_block, lanes); });
  };
  constexpr std::int64_t most = std::int64_t{1} << 28;
  EXPECT_NO_THROW(forms::check_block_slices(std::numeric_limits<std::int32_t>::max(), most, 4, 8));
  EXPECT_EQ(code(1, most + 1, 1, 1), errc::size_overflow);
  EXPECT_EQ(code(std::int64_t{1} << 31, 1, 1, 1), errc::size_overflow);
  EXPECT_EQ(code(1, 1, 5, 1), errc::invalid_argument);
  for (const int lanes : {0, 3, 16}) EXPECT_EQ(code(1, 1, 1, lanes), errc::invalid_argument);
  // The last column that fits.
  const csr_matrix<float> wide(1, most, std::vector<std::int32_t>{0, 1},
                               std::vector<std::int32_t>{static_cast<std::int32_t>(most - 1)}, std::vector{2.0F});
  const auto a = to_block_slices(viewed(to_compact(wide, {.m_block = 4})), {});
  EXPECT_EQ(a.words.at(0), 0x1fffffffu);
}

}  // namespace
}  // namespace bcsc::test
