// Every row of the cached kernels' table on the emulated GPU: exact on small integers for what kernels meet (no, some
// and all rows of B in shared memory, one panel and several, empty and heavy rows, every width of N, layouts,
// alignments, scalars), with threads in several orders and grids too small for all slabs; the same bits in every order;
// NaN of B only where A has its column.
#include "kernels/cuda/cached.cuh"

#include <gtest/gtest.h>

#include <algorithm>

#include "converters/formats/cached_stream.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::cached;
using kernels::tables::cached_row;
constexpr auto launchers = emulated_launchers<table>();

/// A product, and how A is cut for it.
struct setting : dense_setting {
  std::int64_t split = 16, grain = 8;
  std::int64_t slots = 1 << 20;  ///< no more than the row has room for
  std::int64_t least_uses = 1, least_entries = 1;
  int multiprocessors = 1;
};

setting setting_of(std::size_t k, std::int64_t n) {
  constexpr std::int64_t splits[] = {2, 6, 32, 512};
  constexpr std::int64_t grains[] = {1, 8, 1000};
  constexpr std::int64_t slots[] = {2, 5, 16, 1 << 20};
  constexpr std::int64_t uses[] = {1, 3, 1000};
  constexpr std::int64_t entries[] = {0, 1, 1000};
  constexpr int multiprocessors[] = {0, 1, 7, 132};
  test_random random(3000 + k);
  setting s{draw_dense(random, n, true)};
  s.split = one_of(random, splits);
  s.grain = one_of(random, grains);
  s.slots = one_of(random, slots);
  s.least_uses = one_of(random, uses);
  s.least_entries = one_of(random, entries);
  s.multiprocessors = one_of(random, multiprocessors);
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + ", split " + std::to_string(s.split) + ", grain " +
         std::to_string(s.grain) + ", slots " + std::to_string(s.slots) + ", least uses " +
         std::to_string(s.least_uses) + ", least entries " + std::to_string(s.least_entries) + ", multiprocessors " +
         std::to_string(s.multiprocessors);
}

/// The product C of `c0`, as the kernel leaves it. The workspace holds NaN before, so that who reads what nobody wrote
/// does not go unseen.
template <class T>
dense_table<T> run(std::size_t row, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  SCOPED_TRACE(a.name + ", " + words(s));
  emulated_product<T> there(s, b, c0);
  const auto csr = csr_of<T>(a);
  const cached_row& by = table::rows[row];
  const std::int64_t row_bytes = by.tile_cols() * static_cast<std::int64_t>(sizeof(T));
  const auto stream =
      converters::to_cached_stream(csr.view(), {.rows = {s.split, s.grain},
                                                .row_bytes = row_bytes,
                                                .slots = std::min(s.slots, by.shared_bytes() / row_bytes),
                                                .stages = by.num_stages(),
                                                .least_uses = s.least_uses,
                                                .least_entries = s.least_entries});
  there.may_read(stream.pieces), there.may_read(stream.pairs);
  there.may_read(stream.hot_cols), there.may_read(stream.heavy_ptr);
  kernels::cached_operand<T> cached{stream.rows,
                                    stream.cols,
                                    stream.num_pieces(),
                                    stream.num_panels,
                                    stream.num_partials,
                                    stream.num_heavy(),
                                    stream.num_hot(),
                                    stream.nnz - stream.cold_entries,
                                    stream.cold_entries,
                                    static_cast<int>(stream.panel_slots),
                                    static_cast<int>(stream.stages),
                                    stream.pieces.data(),
                                    stream.pairs.data(),
                                    stream.hot_cols.data(),
                                    stream.heavy_ptr.data(),
                                    nullptr};
  partial_sums<T> workspace(kernels::cached_workspace_bytes(cached, s.n));
  cached.workspace = workspace.data();
  there.may_write_bytes(workspace.data(), workspace.bytes());
  return there.run(launchers[row], cached, s.multiprocessors);
}

template <class T>
void run_and_check(std::size_t row, const sparse_case& a, const setting& s, std::size_t seed) {
  const integer_product<T> task(a, s, seed);
  expect_exact<T>(task.wanted, run<T>(row, a, s, task.b, task.c0), a.name + ", " + words(s));
}

class every_row : public ::testing::TestWithParam<std::size_t> {
 protected:
  const cached_row& row() const { return table::rows[GetParam()]; }
  /// body.template operator()<T>() for the row's type.
  template <class Body>
  void with_type(const Body& body) const {
    with_fp32_or_fp64(row().type, body);
  }
  /// Runs and checks one product.
  auto checked() const {
    return [this](const sparse_case& a, const setting& s, std::size_t k) {
      with_type([&]<class T>() { run_and_check<T>(GetParam(), a, s, k); });
    };
  }
};

TEST_P(every_row, is_exact_for_every_matrix) { check_every_matrix(GetParam(), 3, false, setting_of, checked()); }

TEST_P(every_row, is_exact_for_every_width) { check_every_width(GetParam(), 4, setting_of, checked()); }

TEST_P(every_row, gives_the_same_bits_in_every_order) {
  const sparse_case a = every_length(values::real);
  for (const std::int64_t n : {1, 8, 130}) {
    setting s{};
    s.n = n;
    s.slots = n == 8 ? 1 << 20 : 24;
    s.multiprocessors = 3;
    s.alpha = 1.5;
    s.beta = -0.25;
    with_type([&]<class T>() {
      const auto b = random_table<T>(a.cols, n, values::real, 1);
      const auto c0 = random_table<T>(a.rows, n, values::real, 2);
      const auto first = run<T>(GetParam(), a, s, b, c0);
      expect_within_bound<T>(multiply<T>(a, false, s.alpha, b, s.beta, c0), first, words(s));
      for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
        s.gpu = {order, 5, 2};
        EXPECT_EQ(run<T>(GetParam(), a, s, b, c0).at, first.at) << words(s);
      }
    });
  }
}

TEST_P(every_row, carries_what_is_not_finite_to_the_rows_that_have_it_and_no_further) {
  const sparse_case a = every_length(values::small_integers);
  constexpr std::int64_t bad = 37;  // a row of B
  for (const std::int64_t n : {1, 5, 36}) {
    for (const std::int64_t split : {8, 512}) {
      for (const std::int64_t slots : {2, 1 << 20}) {
        with_type([&]<class T>() {
          setting s{};
          s.n = n;
          s.split = split;
          s.slots = slots;
          check_infinity<T>(a, false, bad, n,
                            [&](const auto& b, const auto& c0) { return run<T>(GetParam(), a, s, b, c0); });
        });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(cached, every_row, ::testing::Range(std::size_t{0}, table::rows.size()), [](const auto& info) {
  const auto& row = table::rows[info.param];
  std::string name = row.label() + "_" + std::string(to_string(row.type));
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace bcsc::test
