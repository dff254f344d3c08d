// The stream of row pieces: every entry in it once, in the order that kernels rely on, the same for any number of
// threads.
#include "kernels/forms/row_stream/row_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "bcsc/error.hpp"
#include "kernels/forms/row_stream/operand.hpp"
#include "test/support/battery.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc::test {
namespace {

using forms::row_stream;
using forms::row_stream_options;
using forms::to_row_stream;

struct unpacked_piece {
  std::int64_t row = 0;
  std::int64_t num_pairs = 0;
  std::vector<std::tuple<std::int64_t, double>> entries;
};

template <class T>
std::vector<unpacked_piece> unpack(const row_stream<T>& a) {
  std::vector<unpacked_piece> pieces;
  for (std::int64_t p = 0; p < a.num_pieces(); ++p) {
    const auto& piece = a.pieces[std::size_t(p)];
    unpacked_piece one{piece.row_and_odd / 2, 0, {}};
    for (auto k = piece.first_pair; k < a.pieces[std::size_t(p) + 1].first_pair; ++k, ++one.num_pairs) {
      for (int e : {0, 1}) one.entries.emplace_back(a.pairs[k].col[e], a.pairs[k].value[e]);
    }
    if (piece.row_and_odd % 2 != 0) {
      EXPECT_EQ(one.entries.back(), std::tuple(0, 0.0)) << "padding";
      one.entries.pop_back();
    }
    pieces.push_back(one);
  }
  return pieces;
}

struct streaming_case {
  sparse_case matrix;
  row_stream_options options;
};

class streaming : public ::testing::TestWithParam<streaming_case> {};

template <class T, class I>
void expect_stream(const sparse_case& c, const row_stream_options& options) {
  const auto csr = csr_of<T, I>(c);
  const auto stream = to_row_stream(csr.view(), options);
  EXPECT_EQ(stream.rows, c.rows);
  EXPECT_EQ(stream.cols, c.cols);
  EXPECT_EQ(stream.nnz, std::ssize(c.entries));
  ASSERT_EQ(std::ssize(stream.pairs), std::int64_t{stream.pieces.back().first_pair} + 1);
  EXPECT_EQ(stream.pairs.back(), forms::entry_pair<scalar_of<T>>{});

  std::vector<std::vector<std::tuple<std::int64_t, double>>> wanted(std::size_t(c.rows)), got(std::size_t(c.rows));
  for (const triplet& e : c.entries) wanted[std::size_t(e.row)].emplace_back(e.col, e.value);

  // Where each row stands before rows are sorted by length.
  std::vector<std::int64_t> place(std::size_t(c.rows));
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const converters::grid& g = options.bricks;
    const converters::brick_shape usual =
        g.z == 1 ? converters::brick_shape{8, 8, 1} : converters::brick_shape{4, 4, 4};
    const auto shape = options.shape.x > 0 ? options.shape : usual;
    place[std::size_t(g.exists() ? converters::row_in_bricks(g, shape, i) : i)] = i;
  }
  const auto pieces = unpack(stream);
  ASSERT_EQ(stream.sharing, options.sharing);
  ASSERT_EQ(stream.num_shared % stream.sharing, 0);
  ASSERT_EQ(stream.heavy_ptr.front(), 0);
  ASSERT_EQ(stream.heavy_ptr.back(), stream.num_partials);
  ASSERT_LE(stream.num_partials * stream.sharing, stream.num_shared);
  // Of the long rows, those of several parts come first.
  std::int64_t former_place = -1, num_long = 0;
  for (std::int64_t first = 0, last = 0; first < stream.num_shared; first = last, ++num_long) {
    const bool heavy = num_long < stream.num_heavy();
    if (num_long == stream.num_heavy()) {
      ASSERT_EQ(first, stream.num_partials * stream.sharing);
      former_place = -1;
    }
    const std::int64_t row = pieces[std::size_t(first)].row;
    last = heavy ? stream.heavy_ptr[std::size_t(num_long) + 1] * stream.sharing : first + stream.sharing;
    ASSERT_LE(last, stream.num_shared);
    EXPECT_GT(place[std::size_t(row)], former_place) << "long rows keep their order";
    former_place = place[std::size_t(row)];
    EXPECT_EQ(last - first > stream.sharing, heavy);
    std::int64_t least = options.max_piece(), most = 0, pairs = 0;
    for (std::int64_t p = first; p < last; ++p) {
      EXPECT_EQ(pieces[std::size_t(p)].row, row);
      least = std::min(least, pieces[std::size_t(p)].num_pairs);
      most = std::max(most, pieces[std::size_t(p)].num_pairs);
      pairs += pieces[std::size_t(p)].num_pairs;
    }
    EXPECT_GE(least, 1) << "no empty piece";
    EXPECT_LE(most - least, 1) << "even pieces";
    EXPECT_LE(2 * most, options.max_piece() + 1);
    EXPECT_GE(2 * pairs, options.split + 1) << "a long row";
  }
  std::int64_t former_class = options.split;
  for (std::int64_t p = 0; p < stream.num_pieces(); ++p) {
    const unpacked_piece& piece = pieces[std::size_t(p)];
    const auto length = std::ssize(piece.entries);
    EXPECT_LE(length, p < stream.num_shared ? options.max_piece() : options.split);
    auto& row = got[std::size_t(piece.row)];
    if (p >= stream.num_shared) {
      EXPECT_TRUE(row.empty()) << "a light row is one piece";
      const std::int64_t length_class = (length + options.grain - 1) / options.grain;
      EXPECT_LE(length_class, former_class);
      if (length_class == former_class && p > stream.num_shared) {
        EXPECT_GT(place[std::size_t(piece.row)], place[std::size_t(pieces[std::size_t(p) - 1].row)])
            << "rows of a class keep their order";
      }
      former_class = length_class;
    }
    row.insert(row.end(), piece.entries.begin(), piece.entries.end());
  }
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(stream.num_pieces() - stream.num_shared + num_long, c.rows) << "every row, empty ones too";
}

TEST_P(streaming, holds_every_entry_once_in_order) {
  expect_stream<float, std::int32_t>(GetParam().matrix, GetParam().options);
  expect_stream<double, std::int64_t>(GetParam().matrix, GetParam().options);
  expect_stream<half, std::int32_t>(GetParam().matrix, GetParam().options);
}

std::vector<streaming_case> cases() {
  std::vector<streaming_case> all;
  for (const row_stream_options& options : {row_stream_options{},
                                            {2, 1},
                                            {6, 4},
                                            {64, 1000},
                                            {1 << 30, 1},
                                            {8, 2, 4},
                                            {.split = 4, .piece = 4, .sharing = 2},
                                            {.split = 8, .grain = 2, .piece = 8, .sharing = 4},
                                            {.split = 64, .grain = 8, .piece = 4, .sharing = 32}}) {
    for (sparse_case& c : battery(values::small_integers)) {
      if (c.rows > 0) all.push_back({std::move(c), options});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, streaming, ::testing::ValuesIn(cases()), [](const auto& info) {
  return "m" + info.param.matrix.name + "_split" + std::to_string(info.param.options.split) + "_grain" +
         std::to_string(info.param.options.grain) + "_piece" + std::to_string(info.param.options.piece) + "_sharing" +
         std::to_string(info.param.options.sharing);
});

TEST(row_stream, of_a_matrix_without_rows) {
  const csr_matrix<float> empty(0, 5, {0}, {}, std::vector<float>{});
  const auto stream = to_row_stream(empty.view());
  EXPECT_EQ(stream.num_pieces(), 0);
  EXPECT_EQ(stream.num_heavy(), 0);
}

/// Large enough to be split among threads, from 60000 rows on among as many as a test takes; lengths from 0 to 300.
sparse_case uneven(std::int64_t rows = 6000) {
  test_random random(5);
  sparse_case c{"uneven", rows, 500, {}};
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const std::int64_t length = i % 97 == 0 ? 300 : random.below(30);
    for (std::int64_t k = 0; k < length; ++k) c.entries.push_back({i, k, random.small_integer()});
  }
  return c;
}

TEST(row_stream, of_a_large_matrix) {
  expect_stream<float, std::int32_t>(uneven(), {128, 8});
  expect_stream<float, std::int32_t>(uneven(), {.split = 128, .piece = 64, .sharing = 4});
  expect_stream<float, std::int32_t>(uneven(), {.split = 64, .piece = 128, .sharing = 8});
}

TEST(row_stream, of_rows_in_bricks) {
  // Heavy rows and empty ones among them, and rows beyond the grid.
  for (const converters::grid bricks : {converters::grid{60, 100, 1}, {77, 75, 1}, {20, 20, 15}, {9, 11, 60}}) {
    SCOPED_TRACE(std::to_string(bricks.x) + " x " + std::to_string(bricks.y) + " x " + std::to_string(bricks.z));
    expect_stream<float, std::int32_t>(uneven(), {128, 8, 0, bricks});
    expect_stream<float, std::int32_t>(uneven(), {128, 1000, 0, bricks, {8, 8, 5}});
    expect_stream<double, std::int32_t>(uneven(), {8, 2, 4, bricks, {32, 64, 1}});
    expect_stream<double, std::int64_t>(uneven(), {8, 2, 4, bricks});
    expect_stream<half, std::int32_t>(uneven(60000), {128, 1000, 0, bricks});
  }
}

TEST(row_stream, does_not_depend_on_the_threads) {
  const auto csr = csr_of<double>(uneven(60000));
  const auto stream_by = [&](int threads) {
    const with_threads of_many(threads);
    return to_row_stream(csr.view(), {128, 8});
  };
  const auto wanted = stream_by(1);
  for (const int threads : thread_counts) EXPECT_TRUE(stream_by(threads) == wanted) << threads << " threads";
}

TEST(row_stream, renames_rows_alone) {
  const auto csr = csr_of<float>(uneven());
  const auto before = to_row_stream(csr.view(), {8, 2});
  auto after = before;
  std::vector<std::int64_t> row_of(std::size_t(csr.rows()));
  for (std::size_t i = 0; i < row_of.size(); ++i) row_of[i] = std::int64_t(7 * i % row_of.size());
  forms::rename_rows(after, row_of);
  EXPECT_EQ(after.pieces.back(), before.pieces.back());
  for (std::size_t p = 0; p + 1 < before.pieces.size(); ++p) {
    EXPECT_EQ(after.pieces[p].row_of_c(), row_of[std::size_t(before.pieces[p].row_of_c())]);
    EXPECT_EQ(after.pieces[p].row_and_odd % 2, before.pieces[p].row_and_odd % 2);
    EXPECT_EQ(after.pieces[p].first_pair, before.pieces[p].first_pair);
  }
  row_of.pop_back();
  EXPECT_THROW(forms::rename_rows(after, row_of), error);
}

TEST(row_stream, is_split_where_rows_are_long_and_longer_than_others) {
  for (const std::int64_t rows : {100, 1 << 20}) {
    for (const std::int64_t teams : {1, 4, 16, 128}) {
      for (const std::int64_t step : {1, 3, 8, 128}) {
        for (const std::int64_t mean : {0, 1, 7, 200, 1500}) {
          for (const std::int64_t cols : {std::int64_t{1}, std::int64_t{32}, std::int64_t{1} << 40}) {
            const auto cut = forms::cut_for(rows, rows * mean + rows - 1, cols, step, teams);
            EXPECT_NO_THROW(forms::check_row_stream(rows, 1 << 20, cut));
            const std::int64_t least = rows == 100 ? 32 : 64, usual = (rows == 100 ? 2 : 4) * mean;
            const std::int64_t steps = rows == 100 ? 1 : teams > 8 ? 4 : 2;  // that the longest whole row may take
            EXPECT_GE(cut.split, std::max({least, usual, steps * step}));
            EXPECT_LE(cut.split, std::max({least, usual, 18 * steps * step + 2}));
            EXPECT_GE(cut.max_piece(), std::min(4 * step, cut.split));
            EXPECT_LE(cut.max_piece(), 72 * step + 1);
            EXPECT_LE(cut.sharing, std::min(teams, std::int64_t{32}));
            EXPECT_EQ(teams % cut.sharing, 0);
            // As many as there are, up to 32 and half of `split`, in powers of two.
            EXPECT_GT(4 * cut.sharing, std::min({2 * teams, std::int64_t{64}, cut.split}));
          }
        }
      }
    }
  }
  EXPECT_EQ(forms::cut_for(0, 0, 1, 8, 1), (row_stream_options{.split = 32, .piece = 32}));
  EXPECT_EQ(forms::cut_for(1074, 12960, 32, 32, 4), (row_stream_options{.split = 48, .piece = 128, .sharing = 4}));
  EXPECT_EQ(forms::cut_for(496, 49920, 32, 32, 4), (row_stream_options{.split = 200, .piece = 256, .sharing = 4}));
  EXPECT_EQ(forms::cut_for(8298, 103689, 32, 32, 4), (row_stream_options{.split = 128, .piece = 256, .sharing = 4}));
  EXPECT_EQ(forms::cut_for(20000, 600000, 1, 16, 32), (row_stream_options{.split = 120, .piece = 64, .sharing = 32}));
  EXPECT_EQ(forms::cut_for(1 << 20, 1 << 20, 2, 8, 64), (row_stream_options{.split = 64, .piece = 64, .sharing = 32}));
  EXPECT_EQ(forms::cut_for(1 << 10, 1 << 20, 8, 8, 1), (row_stream_options{.split = 4096, .piece = 128}));
  // What stays whole fits the kernels' counts, however long the rows are.
  for (const std::int64_t rows : {1, 2, 5}) {
    const auto cut = forms::cut_for(rows, rows * ((std::int64_t{1} << 31) - 1), 8, 4, 4);
    EXPECT_EQ(cut, (row_stream_options{.split = 1 << 30, .piece = 288, .sharing = 4}));
    EXPECT_NO_THROW(forms::check_row_stream(rows, (std::int64_t{1} << 31) - 1, cut));
  }
}

TEST(row_stream, is_the_same_by_all_cuts_by_which_no_row_is_long) {
  const row_stream_options cuts[] = {{.split = 2, .piece = 2},
                                     {.split = 16, .piece = 8},
                                     {.split = 64, .piece = 32, .sharing = 4},
                                     {.split = 256, .piece = 512, .sharing = 32}};
  int alike = 0, others = 0;
  for (const sparse_case& a : battery(values::real)) {
    const csr_matrix<float> csr = csr_of<float>(a);
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      longest = std::max<std::int64_t>(longest, csr.view().row_ptr[i + 1] - csr.view().row_ptr[i]);
    }
    for (const row_stream_options& x : cuts) {
      for (const row_stream_options& y : cuts) {
        if (!x.cut().is_like(y.cut(), longest)) {
          ++others;
          continue;
        }
        alike += x != y;
        const auto by_x = to_row_stream(csr.view(), x), by_y = to_row_stream(csr.view(), y);
        EXPECT_EQ(by_x.pieces, by_y.pieces) << a.name;
        EXPECT_TRUE(by_x.pairs == by_y.pairs) << a.name;
        EXPECT_EQ(by_x.num_shared, by_y.num_shared) << a.name;
        EXPECT_EQ(by_x.num_partials, by_y.num_partials) << a.name;
      }
    }
  }
  EXPECT_GT(alike, 0);
  EXPECT_GT(others, 0);
  constexpr forms::row_cut shorter{.split = 4, .piece = 4}, longer{.split = 6, .piece = 6, .sharing = 2};
  EXPECT_TRUE(shorter.is_like(longer, 4));
  EXPECT_FALSE(shorter.is_like(longer, 5));
  EXPECT_FALSE(longer.is_like(shorter, 5));
  EXPECT_TRUE(longer.is_like(longer, 100));
}

TEST(row_stream, thread_blocks_take_a_brick_at_most) {
  EXPECT_EQ(kernels::depth_in_bricks(64, 8, 8), 8);
  EXPECT_EQ(kernels::depth_in_bricks(64, 16, 8), 4);
  EXPECT_EQ(kernels::depth_in_bricks(64, 32, 8), 2);
  EXPECT_EQ(kernels::depth_in_bricks(64, 12, 8), 6);
  EXPECT_EQ(kernels::depth_in_bricks(64, 128, 4), 1);
  EXPECT_EQ(kernels::depth_in_bricks(64, 4, 4), 4);   // no more than without bricks
  EXPECT_EQ(kernels::depth_in_bricks(0, 128, 4), 4);  // none
}

TEST(row_stream, names_what_is_wrong) {
  const auto csr = csr_of<float>(uneven());
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const error& e) {
      return e.what();
    }
    return "no error";
  };
  for (const std::int64_t piece : {-2, 3, 10}) {
    EXPECT_NE(message([&] {
                to_row_stream(csr.view(), {8, 8, piece});
              }).find("piece = " + std::to_string(piece)),
              std::string::npos);
  }
  for (const std::int64_t sharing : {-1, 0, 5, 8}) {
    EXPECT_NE(message([&] {
                to_row_stream(csr.view(), {.split = 8, .sharing = sharing});
              }).find("sharing = " + std::to_string(sharing) + ": must be 1 or lie in 2 .. 4"),
              std::string::npos);
  }
  for (const std::int64_t piece : {-2, 2, 3, 34}) {
    EXPECT_NE(message([&] {
                to_row_stream(csr.view(), {.split = 8, .piece = piece, .sharing = 4});
              }).find("piece = " + std::to_string(piece) + ": must be 0 or even and lie in 4 .. 32"),
              std::string::npos);
  }
  for (const std::int64_t split : {0, 1, 7, -4, (1 << 30) + 2}) {
    EXPECT_NE(message([&] {
                to_row_stream(csr.view(), {split, 8});
              }).find("split = " + std::to_string(split)),
              std::string::npos);
  }
  EXPECT_NE(message([&] { to_row_stream(csr.view(), {128, 0}); }).find("grain = 0"), std::string::npos);
  EXPECT_NE(message([&] {
              to_row_stream(csr.view(), {.bricks = {61, 100, 1}});
            }).find("bricks = 61 x 100 x 1: must have at most 6000 nodes"),
            std::string::npos);
  EXPECT_NE(message([&] {
              to_row_stream(csr.view(), {.bricks = {60, 100, 1}, .shape = {8, 0, 1}});
            }).find("shape = 8 x 0 x 1: must have at least one node"),
            std::string::npos);
  auto on_device = csr.view();
  on_device.space = memory_space::device;
  EXPECT_NE(message([&] { to_row_stream(on_device); }).find("host"), std::string::npos);
  csr_view<float, std::int64_t> tall;
  tall.rows = std::int64_t{1} << 31;
  EXPECT_NE(message([&] { to_row_stream(tall); }).find("rows"), std::string::npos);
}

}  // namespace
}  // namespace bcsc::test
