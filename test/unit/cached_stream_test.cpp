// The stream of row pieces that is parted by which rows of B lie in shared memory: every entry in it once, its row of B
// where it says, the right columns chosen, the same for any number of threads.
#include "converters/formats/cached_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "bcsc/error.hpp"
#include "test/support/battery.hpp"
#include "test/support/thread_counts.hpp"

namespace bcsc::test {
namespace {

using converters::cached_stream;
using converters::cached_stream_options;
using converters::to_cached_stream;

using row_entries = std::multiset<std::pair<std::int64_t, double>>;

/// What kernels see: shared memory as each panel's copies leave it, and the entries of each row by it.
template <class T>
std::map<std::int64_t, row_entries> read_back(const cached_stream<T>& a, std::int64_t row_bytes) {
  std::map<std::int64_t, row_entries> rows;
  std::vector<std::int64_t> shared(std::size_t(a.stages * a.panel_slots), -1);  // the row of B in each slot
  std::int64_t cold_entries = 0, next_pair = 0;
  for (std::int64_t panel = 0; panel < a.num_panels; ++panel) {
    const std::int64_t first = panel * a.panel_slots, last = std::min(a.num_hot(), first + a.panel_slots);
    for (std::int64_t i = first; i < last; ++i) {
      shared[std::size_t(panel % a.stages * a.panel_slots + i - first)] = a.hot_cols[std::size_t(i)];
    }
    for (std::int64_t p = 0; p < a.num_pieces(); ++p) {
      const core::cached_piece& piece = a.pieces[std::size_t(panel * a.num_pieces() + p)];
      EXPECT_EQ(piece.row, a.pieces[std::size_t(p)].row) << "piece i of every panel is of one row";
      EXPECT_EQ(piece.first_pair, next_pair) << "pieces follow each other";
      const auto take = [&](std::int64_t entries, auto&& column_of) {
        for (std::int64_t k = 0; k < entries + entries % 2; ++k) {
          const auto& pair = a.pairs.at(std::size_t(next_pair + k / 2));
          if (k < entries) {
            rows[piece.row].emplace(column_of(pair.col[k % 2]), pair.value[k % 2]);
          } else {
            EXPECT_EQ(std::pair(pair.col[1], pair.value[1]), std::pair(0, T{0})) << "padding";
          }
        }
        next_pair += (entries + 1) / 2;
      };
      take(piece.hot, [&](std::int64_t byte) {
        EXPECT_EQ(byte % row_bytes, 0);
        const std::int64_t slot = byte / row_bytes;
        EXPECT_EQ(slot / a.panel_slots, panel % a.stages);
        return shared.at(std::size_t(slot));
      });
      const std::set<std::int64_t> hot(a.hot_cols.begin(), a.hot_cols.end());
      take(piece.cold, [&](std::int64_t col) {
        EXPECT_FALSE(hot.contains(col));
        return col;
      });
      if (panel > 0) {
        EXPECT_EQ(piece.cold, 0u);
      }
      cold_entries += piece.cold;
    }
  }
  EXPECT_EQ(a.cold_entries, cold_entries);
  EXPECT_EQ(std::ssize(a.pairs), next_pair + core::spare_pairs);
  return rows;
}

template <class T, class I>
cached_stream<T> expect_stream(const sparse_case& c, const cached_stream_options& options) {
  const auto csr = csr_of<T, I>(c);
  const auto stream = to_cached_stream(csr.view(), options);
  EXPECT_EQ(stream.rows, c.rows);
  EXPECT_EQ(stream.cols, c.cols);
  EXPECT_EQ(stream.nnz, std::ssize(c.entries));
  EXPECT_LE(stream.stages * stream.panel_slots, options.slots);
  EXPECT_LE(stream.num_hot(), stream.num_panels * stream.panel_slots);
  EXPECT_GE(stream.num_panels, 1);
  std::map<std::int64_t, row_entries> wanted;
  for (const triplet& e : c.entries) wanted[e.row].emplace(e.col, T(e.value));
  EXPECT_EQ(read_back(stream, options.row_bytes), wanted);

  // Pieces are those of the stream by rows.
  const auto by_rows = converters::to_rows_stream(csr.view(), options.rows);
  EXPECT_EQ(stream.heavy_ptr, by_rows.heavy_ptr);
  EXPECT_EQ(stream.num_partials, by_rows.num_partials);
  EXPECT_EQ(stream.num_pieces(), by_rows.num_pieces());
  for (std::int64_t p = 0; p < stream.num_pieces(); ++p) {
    EXPECT_EQ(stream.pieces[std::size_t(p)].row_of_c(), by_rows.pieces[std::size_t(p)].row_of_c());
  }

  // No cold column has more entries than a hot one, unless it is in panels that neighbours share.
  std::map<std::int64_t, std::int64_t> uses;
  for (const triplet& e : c.entries) ++uses[e.col];
  std::int64_t least_hot = std::ssize(c.entries), most_cold = 0;
  const std::set<std::int64_t> hot(stream.hot_cols.begin(), stream.hot_cols.end());
  EXPECT_EQ(std::ssize(hot), stream.num_hot()) << "each column once";
  for (const auto& [col, count] : uses) {
    if (hot.contains(col)) {
      least_hot = std::min(least_hot, count);
    } else {
      most_cold = std::max(most_cold, count);
    }
  }
  EXPECT_GE(least_hot, most_cold);
  if (std::ssize(uses) <= options.slots / options.stages) {
    EXPECT_EQ(std::ssize(hot), std::ssize(uses)) << "all fit";
    EXPECT_EQ(stream.num_panels, 1);
  }
  return stream;
}

struct streaming_case {
  sparse_case matrix;
  cached_stream_options options;
};

class cached_streaming : public ::testing::TestWithParam<streaming_case> {};

TEST_P(cached_streaming, holds_every_entry_once_where_it_says) {
  expect_stream<float, std::int32_t>(GetParam().matrix, GetParam().options);
  expect_stream<double, std::int64_t>(GetParam().matrix, GetParam().options);
}

std::vector<streaming_case> cases() {
  std::vector<streaming_case> all;
  for (const cached_stream_options& options :
       {cached_stream_options{}, {{2, 1}, 32, 4, 2, 1, 0}, {{6, 4}, 64, 9, 1, 2, 1}, {{64, 1000}, 16, 5, 1, 1, 1000}}) {
    for (sparse_case& c : battery(values::small_integers)) {
      if (c.rows > 0) all.push_back({std::move(c), options});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(battery, cached_streaming, ::testing::ValuesIn(cases()), [](const auto& info) {
  return "m" + info.param.matrix.name + "_bytes" + std::to_string(info.param.options.row_bytes) + "_slots" +
         std::to_string(info.param.options.slots) + "_" + std::to_string(info.index);
});

/// Every row has all of `cols` columns.
sparse_case dense_rows(std::int64_t rows, std::int64_t cols) {
  sparse_case c{"dense_rows", rows, cols, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) c.entries.push_back({i, j, double(1 + (i + j) % 7)});
  }
  return c;
}

TEST(cached_stream, parts_long_rows_into_panels_of_neighbours) {
  const auto stream =
      expect_stream<float, std::int32_t>(dense_rows(50, 100), {.slots = 80, .stages = 2, .least_uses = 9});
  EXPECT_EQ(stream.num_panels, 3);
  EXPECT_EQ(stream.panel_slots, 34);
  EXPECT_EQ(stream.stages, 2);
  EXPECT_EQ(stream.cold_entries, 0);
  EXPECT_TRUE(std::ranges::is_sorted(stream.hot_cols));
}

TEST(cached_stream, takes_one_panel_where_rows_are_short) {
  const auto stream = expect_stream<float, std::int32_t>(
      dense_rows(50, 100), {.slots = 80, .stages = 2, .least_uses = 9, .least_entries = 50});
  EXPECT_EQ(stream.num_panels, 1);
  EXPECT_EQ(stream.stages, 1);
  EXPECT_EQ(stream.num_hot(), 80);
  EXPECT_EQ(stream.cold_entries, 50 * 20);
}

TEST(cached_stream, copies_no_row_that_few_entries_need) {
  const auto stream = expect_stream<float, std::int32_t>(dense_rows(50, 100), {.slots = 80, .least_uses = 51});
  EXPECT_EQ(stream.num_hot(), 0);
  EXPECT_EQ(stream.cold_entries, 5000);
}

TEST(cached_stream, lets_entries_that_are_read_together_lie_in_different_banks) {
  for (const std::int64_t row_bytes : {16, 32, 64, 128}) {
    const std::int64_t classes = 128 / row_bytes;
    const auto stream = expect_stream<float, std::int32_t>(dense_rows(20, 96), {.row_bytes = row_bytes, .slots = 96});
    for (const core::cached_piece& piece : stream.pieces) {
      for (std::int64_t k = 0; k < std::int64_t{piece.hot}; ++k) {
        const std::int64_t slot = stream.pairs[std::size_t(piece.first_pair + k / 2)].col[k % 2] / row_bytes;
        EXPECT_EQ(slot % classes, k / 2 % classes);
      }
    }
  }
}

TEST(cached_stream, of_a_matrix_without_rows) {
  const csr_matrix<float> empty(0, 5, {0}, {}, std::vector<float>{});
  const auto stream = to_cached_stream(empty.view());
  EXPECT_EQ(stream.num_pieces(), 0);
  EXPECT_EQ(stream.num_hot(), 0);
}

/// Large enough to be cut among threads, from 60000 rows on among as many as a test takes: lengths from 0 to 300,
/// columns of very unequal lengths.
sparse_case uneven(std::int64_t rows = 6000) {
  test_random random(5);
  sparse_case c{"uneven", rows, 500, {}};
  for (std::int64_t i = 0; i < c.rows; ++i) {
    std::set<std::int64_t> cols;
    const std::int64_t length = i % 97 == 0 ? 300 : random.below(30);
    while (std::ssize(cols) < length) {
      const std::int64_t most = 1 + random.below(500);
      cols.insert(random.below(most));
    }
    for (const std::int64_t col : cols) c.entries.push_back({i, col, random.small_integer()});
  }
  return c;
}

TEST(cached_stream, of_a_large_matrix) {
  expect_stream<float, std::int32_t>(uneven(), {.rows = {128, 8}, .row_bytes = 64, .slots = 100});
}

TEST(cached_stream, does_not_depend_on_the_threads) {
  const auto csr = csr_of<float>(uneven(60000));
  const cached_stream_options options{.row_bytes = 32, .slots = 100, .stages = 2, .least_entries = 0};
  const auto stream_by = [&](int threads) {
    const with_threads of_many(threads);
    return to_cached_stream(csr.view(), options);
  };
  const auto wanted = stream_by(1);
  for (const int threads : thread_counts) EXPECT_TRUE(stream_by(threads) == wanted) << threads << " threads";
}

TEST(cached_stream, refuses_options_that_make_no_sense) {
  const auto csr = csr_of<float>(dense_rows(3, 3));
  for (const cached_stream_options& options : {cached_stream_options{.row_bytes = 8},
                                               {.row_bytes = 48},
                                               {.slots = 0},
                                               {.slots = 1, .stages = 2},
                                               {.stages = 0},
                                               {.slots = 1LL << 40},
                                               {.rows = {.split = 3}}}) {
    EXPECT_THROW((void)to_cached_stream(csr.view(), options), error);
  }
}

}  // namespace
}  // namespace bcsc::test
