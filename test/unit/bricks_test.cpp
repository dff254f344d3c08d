// Bricks: every entry of A in them once, its row of B in the slot that it names, layers as high as they may be, the
// same for any number of threads.
#include "kernels/forms/bricks/bricks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "bcsc/error.hpp"
#include "kernels/forms/bricks/cut.hpp"
#include "test/support/brick_cases.hpp"
#include "test/support/code_of.hpp"
#include "test/support/same_bytes.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/viewed.hpp"

namespace bcsc::test {
namespace {

using forms::bricks_matrix;
using forms::bricks_options;
using forms::row_stream;
using forms::stream_for_bricks;
using forms::to_bricks;
using forms::to_row_stream;

using entry = std::pair<std::int64_t, double>;  // column, value

/// A piece of the stream, or what a brick says of it.
struct piece_of_row {
  std::int64_t row = 0;  // of C
  std::vector<entry> entries;
  bool operator==(const piece_of_row&) const = default;
};

template <class T>
std::vector<piece_of_row> pieces_of(const row_stream<T>& a) {
  std::vector<piece_of_row> pieces;
  for (std::size_t p = 0; p + 1 < a.pieces.size(); ++p) {
    piece_of_row one{a.pieces[p].row_and_odd / 2, {}};
    for (auto k = a.pieces[p].first_pair; k < a.pieces[p + 1].first_pair; ++k) {
      for (const int e : {0, 1}) one.entries.emplace_back(a.pairs[k].col[e], a.pairs[k].value[e]);
    }
    if (a.pieces[p].row_and_odd % 2 != 0) one.entries.pop_back();
    pieces.push_back(one);
  }
  return pieces;
}

using numbers = std::vector<std::size_t>;  // how many pieces, layer by layer
using columns = std::set<std::int64_t>;

columns columns_of(std::span<const piece_of_row> pieces) {
  columns all;
  for (const piece_of_row& one : pieces) {
    for (const entry& e : one.entries) all.insert(e.first);
  }
  return all;
}

converters::brick_shape shape_of(const bricks_options& options) {
  if (options.shape.x > 0) return options.shape;
  return options.grid.z == 1 ? converters::brick_shape{8, 8, 1} : converters::brick_shape{4, 4, 4};
}

/// The rule, in other words: pieces stay together while this stays the same. How many each brick has.
template <class T>
numbers brick_sizes(const row_stream<T>& a, const std::vector<piece_of_row>& pieces, const bricks_options& options) {
  const converters::grid& g = options.grid;
  const auto [x, y, z] = shape_of(options);
  numbers sizes;
  std::tuple<int, std::int64_t, std::int64_t, std::int64_t> former;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto number = static_cast<std::int64_t>(p);
    const std::int64_t row = pieces[p].row;
    auto now = former;
    if (number < a.num_partials) {
      now = {1, number, 0, 0};
    } else if (row < g.x * g.y * g.z) {
      now = {2, row % g.x / x, row / g.x % g.y / y, row / g.x / g.y / z};
    } else {
      now = {3, (number - a.num_partials) / 512, 0, 0};
    }
    if (p == 0 || now != former) sizes.push_back(0);
    ++sizes.back();
    former = now;
  }
  return sizes;
}

/// Layers of `height` pieces, or none if one of them is too large.
numbers layers_of(std::span<const piece_of_row> brick, std::size_t height, std::size_t slots) {
  numbers sizes;
  columns former;
  for (std::size_t first = 0; first < brick.size(); first += height) {
    const auto layer = brick.subspan(first, std::min(height, brick.size() - first));
    std::size_t entries = 0;
    for (const piece_of_row& one : layer) entries += one.entries.size();
    columns now = columns_of(layer), copied;
    std::ranges::set_difference(now, former, std::inserter(copied, copied.end()));
    if (10 * copied.size() > 7 * slots || 5 * entries > 7 * slots || former.size() + copied.size() > slots) return {};
    former = std::move(now);
    sizes.push_back(layer.size());
  }
  return sizes;
}

/// Brick by brick, the layers that are as high as they may be.
template <class T>
std::vector<numbers> wanted_layers(const row_stream<T>& a, const bricks_options& options) {
  const std::vector<piece_of_row> pieces = pieces_of(a);
  std::vector<numbers> all;
  std::size_t p = 0;
  for (const std::size_t size : brick_sizes(a, pieces, options)) {
    numbers layers;
    for (std::size_t height = 64; height > 0 && layers.empty(); height /= 2) {
      layers = layers_of(std::span(pieces).subspan(p, size), height, std::size_t(options.slots));
    }
    all.push_back(layers);
    p += size;
  }
  return all;
}

std::size_t padded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

template <class Array>
void expect_zeros(const Array& array, std::size_t from, std::size_t to) {
  const std::vector<std::remove_cvref_t<decltype(array[0])>> zeros(to - from);
  expect_same_bytes(std::span(array).subspan(from, to - from), std::span(zeros), "padding");
}

/// A brick's slots while it is multiplied.
class slots_at_work {
 public:
  explicit slots_at_work(std::size_t num_slots) : holds_(num_slots, -1) {}

  /// By rows of the former layer, which is still being multiplied.
  void copy(std::span<const forms::brick_fetch> fetches) {
    former_ = std::exchange(read_, {});
    fetched_.clear();
    std::set<std::size_t> used;
    for (const auto& [column, slot] : former_) used.insert(slot);
    std::size_t lowest = 0;
    for (const forms::brick_fetch& fetch : fetches) {
      while (used.contains(lowest)) ++lowest;
      EXPECT_EQ(static_cast<std::size_t>(fetch.slot), lowest++) << "the first slots that are free, in order";
      EXPECT_FALSE(former_.contains(fetch.col)) << "what the former layer has read is not copied";
      EXPECT_TRUE(fetched_.empty() || *fetched_.rbegin() < fetch.col) << "ascending, each once";
      fetched_.insert(fetch.col);
      if (static_cast<std::size_t>(fetch.slot) < holds_.size())
        holds_[static_cast<std::size_t>(fetch.slot)] = fetch.col;
    }
    EXPECT_LE(used.size() + fetches.size(), holds_.size());
  }
  /// The column whose row of B stands there.
  std::int64_t read(std::size_t slot) {
    if (slot >= holds_.size()) {
      ADD_FAILURE() << "slot " << slot;
      return -1;
    }
    const std::int64_t column = holds_[slot];
    EXPECT_TRUE(fetched_.contains(column) || former_.contains(column)) << "slot " << slot << " is out of date";
    read_[column] = slot;
    return column;
  }
  /// Where the layer's row of B with this number stands.
  std::size_t slot_of(std::int64_t column) const { return read_.contains(column) ? read_.at(column) : 0xffff; }
  void end_layer() const {
    for (const std::int64_t column : fetched_)
      EXPECT_TRUE(read_.contains(column)) << "every row that is copied is read";
  }

 private:
  std::vector<std::int64_t> holds_;  // which column; none: -1
  std::map<std::int64_t, std::size_t> former_, read_;
  columns fetched_;
};

/// Walks the bricks by the rules of their layout; what they hold is what comes back.
template <class T>
std::vector<piece_of_row> walk(const bricks_matrix<T>& a) {
  std::vector<piece_of_row> found;
  const auto slots = static_cast<std::size_t>(a.slots);
  std::size_t next_row = 0, next_fetch = 0, next_entry = 0, num_partials = 0;
  EXPECT_EQ(a.first_layer.front(), 0);
  EXPECT_EQ(static_cast<std::size_t>(a.first_layer.back()), a.layers.size());
  for (std::size_t b = 0; b + 1 < a.first_layer.size(); ++b) {
    EXPECT_LT(a.first_layer[b], a.first_layer[b + 1]);
    slots_at_work at_work(slots);
    for (auto l = std::size_t(a.first_layer[b]); l < std::size_t(a.first_layer[b + 1]); ++l) {
      const forms::brick_layer& of = a.layers[l];
      const auto rows = static_cast<std::size_t>(of.num_rows()), fetches = static_cast<std::size_t>(of.num_fetches());
      const auto entries = static_cast<std::size_t>(of.num_entries());
      EXPECT_EQ(of.first_row, next_row);
      EXPECT_EQ(of.first_fetch, next_fetch);
      EXPECT_EQ(of.first_entry, next_entry);
      EXPECT_TRUE(rows >= 1 && rows <= 64) << rows;
      EXPECT_LE(10 * fetches, 7 * slots);
      EXPECT_LE(5 * entries, 7 * slots);
      next_row += padded(rows + 1, 2);
      next_fetch += padded(fetches, 2);
      next_entry += padded(entries, 8);
      if (next_row > a.brick_rows.size() || next_fetch > a.fetches.size() || next_entry > a.values.size()) {
        ADD_FAILURE() << "layer " << l << " reaches beyond an array";
        return found;
      }
      at_work.copy(std::span(a.fetches).subspan(of.first_fetch, fetches));
      const std::size_t first_found = found.size();
      for (std::size_t r = 0; r < rows; ++r) {
        const forms::brick_row& row = a.brick_rows[of.first_row + r];
        piece_of_row one{row.row, {}};
        if (b < static_cast<std::size_t>(a.num_partial_bricks)) {
          EXPECT_EQ(static_cast<std::size_t>(row.row), num_partials++) << "pieces of heavy rows by their numbers";
          one.row = a.pieces[static_cast<std::size_t>(row.row)].row_of_c();
        }
        for (std::size_t e = row.first_entry; e < a.brick_rows[of.first_row + r + 1].first_entry; ++e) {
          one.entries.emplace_back(at_work.read(a.entry_slots[of.first_entry + e]), a.values[of.first_entry + e]);
        }
        found.push_back(one);
      }
      at_work.end_layer();
      for (std::size_t r = 0; r < rows; ++r) {
        EXPECT_EQ(a.brick_rows[of.first_row + r].own_slot, at_work.slot_of(found[first_found + r].row));
      }
      EXPECT_EQ(a.brick_rows[of.first_row + rows], (forms::brick_row{0, static_cast<std::uint16_t>(entries), 0xffff}));
      expect_zeros(a.brick_rows, of.first_row + rows + 1, next_row);
      expect_zeros(a.fetches, of.first_fetch + fetches, next_fetch);
      expect_zeros(a.entry_slots, of.first_entry + entries, next_entry);
      expect_zeros(a.values, of.first_entry + entries, next_entry);
    }
  }
  EXPECT_EQ(num_partials, a.pieces.size());
  EXPECT_EQ(next_row, a.brick_rows.size());
  EXPECT_EQ(next_fetch, a.fetches.size());
  EXPECT_EQ(next_entry, a.entry_slots.size());
  EXPECT_EQ(next_entry, a.values.size());
  return found;
}

/// Brick by brick.
template <class T>
std::vector<numbers> layers_in(const bricks_matrix<T>& a) {
  std::vector<numbers> all;
  for (std::size_t b = 0; b + 1 < a.first_layer.size(); ++b) {
    all.emplace_back();
    for (auto l = a.first_layer[b]; l < a.first_layer[b + 1]; ++l) {
      all.back().push_back(std::size_t(a.layers[std::size_t(l)].num_rows()));
    }
  }
  return all;
}

template <class T>
void expect_bricks_of(const row_stream<T>& stream, const bricks_options& options) {
  const bricks_matrix<T> a = to_bricks(stream, options);
  EXPECT_EQ(a.rows, stream.rows);
  EXPECT_EQ(a.cols, stream.cols);
  EXPECT_EQ(a.nnz, stream.nnz);
  EXPECT_EQ(a.slots, options.slots);
  EXPECT_EQ(a.heavy_ptr, stream.heavy_ptr);
  EXPECT_TRUE(std::ranges::equal(a.pieces, std::span(stream.pieces).first(std::size_t(stream.num_partials))));
  EXPECT_EQ(a.num_partial_bricks, stream.num_partials);
  EXPECT_EQ(walk(a), pieces_of(stream));
  EXPECT_EQ(layers_in(a), wanted_layers(stream, options));
}

template <class T, class I>
void expect_bricks(const sparse_case& c, const bricks_options& options) {
  const auto csr = csr_of<T, I>(c);
  const auto stream = to_row_stream(csr.view(), stream_for_bricks(options));
  expect_bricks_of(stream, options);

  std::vector<std::tuple<std::int64_t, std::int64_t, T>> wanted, got;
  for (const triplet& e : c.entries) wanted.emplace_back(e.row, e.col, static_cast<T>(e.value));
  std::vector<int> seen(std::size_t(c.rows), 0);
  for (const piece_of_row& piece : walk(to_bricks(stream, options))) {
    ++seen[std::size_t(piece.row)];
    for (const auto& [col, value] : piece.entries) got.emplace_back(piece.row, col, static_cast<T>(value));
  }
  std::ranges::sort(got);
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times > 0; })) << "every row, empty ones too";
}

class bricks : public ::testing::TestWithParam<brick_case> {};

TEST_P(bricks, hold_every_entry_once_in_order) {
  const brick_case& c = GetParam();
  expect_bricks<float, std::int32_t>(c.matrix, c.options);
  expect_bricks<double, std::int64_t>(c.matrix, c.options);
}

TEST_P(bricks, of_renamed_rows) {
  const brick_case& c = GetParam();
  bricks_options options = c.options;
  auto stream = to_row_stream(viewed(csr_of<float>(c.matrix)), stream_for_bricks(options));
  std::vector<std::int64_t> row_of(static_cast<std::size_t>(c.matrix.rows));
  std::iota(row_of.rbegin(), row_of.rend(), 0);
  forms::rename_rows(stream, row_of);
  expect_bricks_of(stream, options);  // whatever the grid is good for now
  options.grid = {};
  expect_bricks_of(stream, options);
}

INSTANTIATE_TEST_SUITE_P(cases, bricks, ::testing::ValuesIn(brick_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(bricks_of_grids, have_layers_as_high_as_they_may_be) {
  struct known {
    converters::grid g;
    converters::brick_shape shape;
    int axes;
    std::int64_t slots;
    std::size_t height;  // of layers in the brick that has others all around it
  };
  const converters::grid cube{24, 24, 9}, flat{96, 24, 1};
  const converters::brick_shape box{8, 8, 3}, rectangle{32, 8, 1};
  for (const known& k : {known{cube, box, 1, 320, 64},
                         {cube, box, 1, 280, 32},
                         {cube, box, 1, 240, 32},
                         {cube, box, 1, 200, 16},
                         {cube, box, 1, 160, 16},
                         {cube, box, 1, 120, 8},
                         {cube, box, 1, 80, 4},
                         {cube, box, 1, 40, 2},
                         {cube, box, 3, 1280, 64},
                         {cube, box, 3, 640, 32},
                         {flat, rectangle, 1, 240, 64},
                         {flat, rectangle, 1, 200, 32}}) {
    SCOPED_TRACE("axes " + std::to_string(k.axes) + ", slots " + std::to_string(k.slots));
    const bricks_options options{k.slots, k.g, k.shape};
    const auto stream = to_row_stream(viewed(csr_of<float>(stencil(k.g, k.axes))), stream_for_bricks(options));
    expect_bricks_of(stream, options);
    const auto layers = layers_in(to_bricks(stream, options));
    EXPECT_EQ(layers[k.g.z == 1 ? 4 : 13].front(), k.height);
  }
}

TEST(bricks_of_grids, copy_each_row_of_b_once) {
  const converters::grid whole{24, 24, 48};
  const bricks_options options{.slots = 320, .grid = whole, .shape = {8, 8, 16}};
  const auto a =
      to_bricks(to_row_stream(viewed(csr_of<float>(stencil(whole, 1))), stream_for_bricks(options)), options);
  ASSERT_EQ(a.first_layer.size(), 28u);
  ASSERT_EQ(a.first_layer[14] - a.first_layer[13], 16);
  int fetches = 0;
  for (auto l = std::size_t(a.first_layer[13]); l < std::size_t(a.first_layer[14]); ++l) {
    EXPECT_EQ(a.layers[l].num_rows(), 64);
    EXPECT_EQ(a.layers[l].num_entries(), 64 * 7);
    fetches += a.layers[l].num_fetches();
  }
  // 8 x 8 x 16 nodes inside, 64 on the faces below and above and 128 on each of the others.
  EXPECT_EQ(fetches, 8 * 8 * 16 + 2 * 64 + 4 * 128);
}

/// Large enough to be split among threads: heavy rows, empty ones, rows beyond the grid.
sparse_case large(const converters::grid& g) {
  sparse_case c = stencil(g, 1, 500);
  std::erase_if(c.entries, [](const triplet& e) { return e.row % 41 == 3; });
  return c;
}

TEST(bricks_of_grids, do_not_depend_on_the_threads) {
  const converters::grid g{41, 39, 38};
  const bricks_options options{.slots = 320, .grid = g, .shape = {8, 8, 13}};
  const auto stream = to_row_stream(viewed(csr_of<double>(large(g))), stream_for_bricks(options));
  const auto bricks_by = [&](int threads) {
    const with_threads of_many(threads);
    return to_bricks(stream, options);
  };
  const auto wanted = bricks_by(1);
  EXPECT_EQ(walk(wanted), pieces_of(stream));
  for (const int threads : thread_counts) {
    SCOPED_TRACE(threads);
    const auto got = bricks_by(threads);
    EXPECT_EQ(got.first_layer, wanted.first_layer);
    EXPECT_EQ(got.layers, wanted.layers);
    EXPECT_EQ(got.brick_rows, wanted.brick_rows);
    EXPECT_EQ(got.fetches, wanted.fetches);
    EXPECT_EQ(got.entry_slots, wanted.entry_slots);
    EXPECT_EQ(got.values, wanted.values);
  }
}

TEST(bricks_of_nothing, are_none) {
  const csr_matrix<float> empty(0, 5, {0}, {}, std::vector<float>{});
  const auto a = to_bricks(to_row_stream(empty.view(), stream_for_bricks({})), {});
  EXPECT_EQ(a.layers.size() + a.brick_rows.size() + a.fetches.size() + a.values.size() + a.pieces.size(), 0u);
  EXPECT_EQ(a.first_layer, std::vector<std::int32_t>{0});
  EXPECT_EQ(a.heavy_ptr, std::vector<std::int32_t>{0});
}

TEST(brick_for, weighs_what_long_bricks_save_against_empty_places) {
  using converters::brick_shape;
  EXPECT_EQ(forms::brick_for({128, 128, 128}, 528, 1), (brick_shape{8, 8, 32}));
  EXPECT_EQ(forms::brick_for({80, 80, 80}, 528, 1), (brick_shape{8, 8, 16}));
  EXPECT_EQ(forms::brick_for({1000, 1000, 1}, 528, 1), (brick_shape{32, 64, 1}));
  EXPECT_EQ(forms::brick_for({9, 7, 6}, 528, 1), (brick_shape{8, 8, 6})) << "no shorter than they must be";
}

TEST(brick_for, always_has_nodes) {
  for (const converters::grid g : {converters::grid{1, 1, 1}, {8, 1, 1}, {1, 1, 40}, {300, 200, 100}, {5000, 3, 1}}) {
    for (const std::int64_t places : {0, 1, 132, 100000}) {
      for (const std::int64_t tiles : {1, 3, 64}) {
        const converters::brick_shape shape = forms::brick_for(g, places, tiles);
        EXPECT_NO_THROW(converters::check_brick_shape(shape));
        EXPECT_NE(shape, converters::brick_shape{});
      }
    }
  }
}

template <class Call>
std::string message_of(errc code, const Call& call) {
  try {
    call();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "no error";
}

TEST(bricks_options, are_checked) {
  const auto csr = csr_of<float>(stencil({9, 7, 6}, 1));
  const auto stream = to_row_stream(csr.view(), stream_for_bricks({}));
  for (const std::int64_t slots : {-40, 0, 20, 50, 321, 1320, 1 << 30}) {
    const std::string wanted = "slots = " + std::to_string(slots) + ": must be a multiple of 40";
    for (const std::string& message :
         {message_of(errc::invalid_argument, [&] { stream_for_bricks({.slots = slots}); }),
          message_of(errc::invalid_argument, [&] { to_bricks(stream, {.slots = slots}); })}) {
      EXPECT_NE(message.find(wanted), std::string::npos) << message;
    }
  }
  const std::string grid = message_of(errc::invalid_argument, [&] { to_bricks(stream, {.grid = {10, 7, 6}}); });
  EXPECT_NE(grid.find("grid = 10 x 7 x 6: must have at most 378 nodes"), std::string::npos) << grid;
  for (const converters::brick_shape shape :
       {converters::brick_shape{8, 8, 0}, {0, 8, 8}, {8, -1, 8}, {8, 8, 1ll << 31}}) {
    const std::string message = message_of(errc::invalid_argument, [&] {
      to_bricks(stream, {.grid = {9, 7, 6}, .shape = shape});
    });
    EXPECT_NE(message.find("must have at least one node along each axis"), std::string::npos) << message;
  }
  for (const std::int64_t slots : {40, 320, 1280}) {
    const auto made = stream_for_bricks({.slots = slots, .grid = {9, 7, 6}, .shape = {8, 8, 3}});
    EXPECT_EQ(made.split, slots / 2);
    EXPECT_EQ(made.max_piece(), slots / 2);
    EXPECT_GT(made.grain, made.split);
    EXPECT_EQ(made.bricks, (converters::grid{9, 7, 6}));
    EXPECT_EQ(made.shape, (converters::brick_shape{8, 8, 3}));
    EXPECT_NO_THROW(forms::check_row_stream(csr.rows(), csr.cols(), made));
  }
}

TEST(bricks_options, must_be_those_of_the_stream) {
  const auto csr = csr_of<double>(rows_of_lengths("long_rows", 5, 60, [](std::int64_t i) { return i == 3 ? 21 : i; }));
  const auto stream = to_row_stream(csr.view(), stream_for_bricks({.slots = 80}));
  const std::string message = message_of(errc::invalid_argument, [&] { to_bricks(stream, {.slots = 40}); });
  EXPECT_NE(message.find("stream has a piece of more than 20 entries (slots / 2)"), std::string::npos) << message;
}

TEST(bricks_sizes, are_counted_in_32_bits) {
  constexpr std::int64_t most = 0xffffffff, most_layers = 0x7fffffff;
  EXPECT_NO_THROW(forms::check_brick_places({most_layers, most, most, most}));
  const auto message = [](const forms::brick_place& end) {
    return message_of(errc::size_overflow, [&] { forms::check_brick_places(end); });
  };
  EXPECT_NE(message({most_layers + 1, 0, 0, 0}).find("layers of bricks = 2147483648"), std::string::npos);
  EXPECT_NE(message({0, most + 1, 0, 0}).find("rows of bricks = 4294967296"), std::string::npos);
  EXPECT_NE(message({0, 0, most + 1, 0}).find("fetches of bricks = 4294967296"), std::string::npos);
  EXPECT_NE(message({0, 0, 0, most + 1}).find("entries of bricks = 4294967296"), std::string::npos);
}

}  // namespace
}  // namespace bcsc::test
