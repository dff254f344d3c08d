// Every config of the kernel for one column on the emulated GPU: exact on small integers for what it meets (empty, long
// and ragged row blocks, layouts, alignments, scalars, more columns), with threads in several orders and grids too
// small for all slices; the same bits in every order; what is not finite in B only where A has its column.
#include "kernels/cuda/sliced.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "bcsc/convert.hpp"
#include "kernels/forms/block_slices/block_slices.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_nonfinite.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"
#include "test/support/stripes.hpp"
#include "test/support/uneven_rows.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::sliced;
constexpr auto launchers = emulated_launchers<table>();

struct setting : dense_setting {
  bool own_heights = false, permuted = false, stays_in_l2 = false;
  int multiprocessors = 1;  ///< few: warps that take several slices
  std::int64_t reach = 0;
};

setting setting_of(std::size_t k, std::int64_t n) {
  constexpr int multiprocessors[] = {0, 1, 132};
  test_random random(2000 + k);
  setting s{draw_dense(random, n, true)};
  s.own_heights = random.below(4) == 0;
  s.permuted = random.below(3) == 0;
  s.stays_in_l2 = random.below(2) == 0;
  s.multiprocessors = one_of(random, multiprocessors);
  if (k % 3 == 1) s.for_b.order = layout::col_major;  // read where it lies
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + (s.own_heights ? ", own heights" : "") +
         (s.permuted ? ", permuted" : "") + (s.stays_in_l2 ? ", stays in L2" : "") + ", multiprocessors " +
         std::to_string(s.multiprocessors);
}

template <class T>
std::vector<dense_table<T>> run_batch(std::size_t index, const sparse_case& a, const setting& s,
                                      const std::vector<dense_table<T>>& b, const std::vector<dense_table<T>>& c0,
                                      dots_left* dots = nullptr) {
  SCOPED_TRACE(a.name + ", " + words(s));
  const auto& config = table::configs[index];
  emulated_product<T> there(s, b, c0);
  if (dots != nullptr) there.wants(*dots);
  const auto row_of = s.permuted ? permutation<std::int32_t>(a.rows) : std::vector<std::int32_t>{};
  const auto boundaries = s.own_heights ? uneven_boundaries(a.rows, config.rows) : std::vector<std::int64_t>{};
  const auto blocks =
      to_compact(csr_of<T>(s.permuted ? with_rows(a, row_of) : a), {.m_block = config.rows, .boundaries = boundaries});
  const auto slices =
      forms::to_block_slices(blocks.view(), forms::slicing_for(config.columns_at_once(), config.tile_cols()));
  there.may_read(slices.slices), there.may_read(slices.first_diagonal), there.may_read(slices.diagonals);
  there.may_read(slices.words), there.may_read(slices.values);
  there.may_read(slices.listed), there.may_read(slices.block_row), there.may_read(row_of);
  auto operand = kernels::operand_of<T>(slices, s.permuted ? row_of.data() : nullptr, s.reach);
  operand.stays_in_l2 = s.stays_in_l2;
  return there.run_batch(launchers[index], operand, 0, s.multiprocessors);
}

template <class T>
dense_table<T> run(std::size_t index, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  return run_batch<T>(index, a, s, {b}, {c0}).front();
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class Body>
  void with_type(const Body& body) const {
    with_value_type(table::configs[GetParam()].type, body);
  }
  void run_and_check(const sparse_case& a, const setting& s, std::size_t seed) const {
    with_type([&]<class T>() {
      const integer_product<T> task(a, s, seed);
      expect_exact<T>(task.wanted, run<T>(GetParam(), a, s, task.b, task.c0), a.name + ", " + words(s));
    });
  }
};

TEST_P(every_config, is_exact_for_every_matrix) {
  std::vector<sparse_case> all = battery(values::small_integers);
  // Long row blocks beside short ones, in slices of their own and in others.
  all.push_back(rows_of_lengths("uneven", 700, 300, [](std::int64_t i) { return i % 97 == 5 ? 290 : i * i % 23; }));
  all.push_back(rows_of_lengths("one_long", 90, 2000, [](std::int64_t i) { return i == 44 ? 1999 : i % 3; }));
  all.push_back(rows_of_lengths("several_long", 50, 5000, [](std::int64_t i) { return i % 9 == 4 ? 90 * i : i % 4; }));
  all.push_back(rows_of_lengths("one_length", 401, 40, [](std::int64_t) { return 7; }));
  std::ranges::move(stripes(), std::back_inserter(all));
  std::size_t k = GetParam() * 7919;
  for (const sparse_case& a : all) {
    if (a.rows == 0) continue;  // nothing is launched then
    // One column, a whole tile, a tile in part, and several tiles of which the last are in part.
    const std::int64_t tile = table::configs[GetParam()].cols;
    for (const std::int64_t n : {std::int64_t{1}, tile, std::int64_t{3}, 2 * tile + 1}) {
      run_and_check(a, setting_of(k, n), k);
      ++k;
      if (HasFailure()) return;
    }
  }
}

// Row blocks that a cluster of thread blocks shares, beside all other kinds: more of them than clusters at once.
TEST_P(every_config, is_exact_where_clusters_share_the_longest) {
  const std::int64_t height = table::configs[GetParam()].rows;
  const sparse_case a = rows_of_lengths("longest", 400 * height, 9000, [&](std::int64_t i) {
    const std::int64_t block = i / height;
    return block % 50 == 7 ? 4097 + 13 * block : block % 23 == 1 ? 300 + block : block % 19 == 2 ? 100 : i % 5;
  });
  const std::int64_t tile = table::configs[GetParam()].cols;
  std::size_t k = GetParam() * 7907;
  for (const std::int64_t n : {std::int64_t{1}, tile + 1}) {
    for (int turn = 0; turn < 4; ++turn, ++k) {
      setting s = setting_of(k, n);
      s.stays_in_l2 = true;
      s.reach = turn == 3 ? std::numeric_limits<std::int64_t>::max() : 0;
      run_and_check(a, s, k);
      if (HasFailure()) return;
    }
  }
}

// B of more than 20 MB whose rows are read from anywhere: then slices run before tiles of columns.
TEST_P(every_config, is_exact_where_a_tile_is_taken_by_all_slices_first) {
  const sparse_case a =
      make_case("scattered", 150, 700000, scatter(150, 700000, 900, 7), values::small_integers, 1 + GetParam());
  const std::int64_t n = 2 * table::configs[GetParam()].cols + 1;
  for (std::size_t k = 0; k < 2; ++k) {
    setting s = setting_of(GetParam() * 31 + k, std::max<std::int64_t>(n, 17));
    s.reach = k == 0 ? a.cols : std::numeric_limits<std::int64_t>::max();
    run_and_check(a, s, k);
  }
}

TEST_P(every_config, multiplies_a_batch_in_one_launch) {
  const sparse_case a = every_length(values::small_integers);
  std::size_t k = GetParam() * 15485863;
  for (const std::int64_t n : {1, 2}) {
    for (int turn = 0; turn < 3; ++turn, ++k) {
      with_type([&]<class T>() {
        check_batch<T>(a, setting_of(k, n), k, [&](const setting& s, const auto& b, const auto& c0) {
          return run_batch<T>(GetParam(), a, s, b, c0);
        });
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, leaves_the_dot_product_with_b) {
  std::vector<sparse_case> all = square_cases(values::small_integers);
  all.push_back(rows_of_lengths("uneven", 700, 700, [](std::int64_t i) { return i % 97 == 5 ? 290 : i * i % 23; }));
  all.push_back(
      rows_of_lengths("several_long", 5000, 5000, [](std::int64_t i) { return i % 900 == 4 ? 4500 : i % 4; }));
  std::ranges::move(stripes(), std::back_inserter(all));
  std::erase_if(all, [](const sparse_case& a) { return a.rows != a.cols; });
  std::size_t k = GetParam() * 7919;
  for (const sparse_case& a : all) {
    for (const std::int64_t n : {1, 1, 2}) {
      with_type([&]<class T>() {
        setting s = setting_of(++k, n);
        s.alpha = 1, s.beta = 0, s.scalars_in_memory = false, s.z_apart = s.z_is_b = false;
        const integer_product<T> task(a, s, k);
        SCOPED_TRACE(a.name + ", " + words(s));
        dots_left dots((a.rows + 132 * 64) * n);  // one a warp, of which thread blocks may lack slices
        const auto c = run_batch<T>(GetParam(), a, s, {task.b}, {task.c0}, &dots).front();
        expect_exact<T>(task.wanted, c, "C");
        const bool leaves = n == 1 && !s.stays_in_l2 && kernels::cuda::leaves_dots<T>(table::configs[GetParam()]);
        EXPECT_EQ(dots.rows > 0, leaves);
        if (!leaves) return;
        expect_dots<T>(dots, task.b, c);
        dots_left no_room(dots.rows - 1);
        (void)run_batch<T>(GetParam(), a, s, {task.b}, {task.c0}, &no_room);
        EXPECT_EQ(no_room.rows, 0);
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, gives_the_same_bits_in_every_order) {
  sparse_case a = rows_of_lengths("with longest", 300, 9000, [](std::int64_t i) {
    return i % 60 == 3 ? 4500 + 10 * i : i % 7 == 1 ? 100 + 2 * i : i % 9;
  });
  for (auto& e : a.entries) e.value = 1 / static_cast<double>(1 + e.row + e.col);
  setting s{};
  s.stays_in_l2 = true;
  s.alpha = 1.5;
  s.beta = -0.25;
  with_type([&]<class T>() {
    const auto b = random_table<T>(a.cols, 1, values::real, 1);
    const auto c0 = random_table<T>(a.rows, 1, values::real, 2);
    const auto first = run<T>(GetParam(), a, s, b, c0);
    expect_within_bound<T>(multiply<T>(a, false, s.alpha, b, s.beta, c0), first, words(s));
    for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
      s.gpu = {order, 5, 2};
      EXPECT_EQ(run<T>(GetParam(), a, s, b, c0).at, first.at) << words(s);
    }
  });
}

TEST_P(every_config, multiplies_what_is_not_finite_by_stored_entries_alone) {
  sparse_case a = make_case("stored zeros", 75, 130, scatter(75, 130, 900, 21), values::real, 3);
  for (std::size_t e = 0; e < a.entries.size(); e += 7) a.entries[e].value = 0;
  with_type([&]<class T>() {
    check_stored_entries_alone<T>(
        a, {}, GetParam() * 611953,
        [](std::size_t k) { return setting_of(k, 1 + static_cast<std::int64_t>(k % 4 / 3)); },
        [&](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
          return run<T>(GetParam(), of, s, b, c0);
        });
    for (const sparse_case& striped : stripes()) {
      check_stored_entries_alone<T>(
          striped, {}, GetParam() * 611953 + 11, [](std::size_t k) { return setting_of(k, 1); },
          [&](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
            return run<T>(GetParam(), of, s, b, c0);
          });
    }
  });
}

TEST_P(every_config, keeps_what_is_not_finite_in_a_in_its_row) {
  with_type([&]<class T>() {
    check_odd_values_in_their_rows<T>({}, setting{},
                                      [&](const sparse_case& of, const auto& b, const auto& c0, const auto& s) {
                                        return run<T>(GetParam(), of, s, b, c0);
                                      });
  });
}

TEST(sliced_configs, refuse_row_blocks_of_another_height_or_other_lanes) {
  kernels::block_slices_args<float> args{};
  const auto& config = table::configs[0];
  args.a.height = config.rows + 1;
  args.a.lanes = config.lanes;
  args.ldb = 1;
  EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
  args.a.height = config.rows;
  args.a.lanes = 2 * config.lanes;
  EXPECT_EQ(launchers[0](&args, {{}, nullptr, 1}), cudaErrorInvalidValue);
}

INSTANTIATE_TEST_SUITE_P(sliced, every_config, ::testing::Range(std::size_t{0}, table::configs.size()),
                         [](const auto& info) { return config_name<table>(info.param); });

}  // namespace
}  // namespace bcsc::test
