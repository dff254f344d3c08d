// Every row of the row-wise kernels' table on the emulated GPU: exact on small integers for what kernels meet (empty
// and heavy rows, every width of N, layouts, alignments, scalars), with threads in several orders and grids too small
// for all tiles; the same bits in every order; NaN of B only where A has its column.
#include "kernels/cuda/rowwise.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "converters/formats/rows_stream.hpp"
#include "test/emulation/include/emulated_gpu.hpp"
#include "test/support/battery.hpp"
#include "test/support/operands.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::rowwise;

template <int... Rows>
constexpr auto launchers_of(std::integer_sequence<int, Rows...>) {
  return std::array<kernels::launch_fn, sizeof...(Rows)>{
      &kernels::cuda::implementation<table>::template launch<Rows>...};
}
constexpr auto launchers = launchers_of(std::make_integer_sequence<int, int(table::rows.size())>{});

/// One product: how A is cut, where B and C lie, what they are multiplied by, and how the GPU goes about it.
struct setting {
  std::int64_t n;
  converters::rows_stream_options stream;
  placement for_b, for_c;
  double alpha, beta;
  bool scalars_in_memory;
  int multiprocessors;  ///< few: long thread blocks
  emulation::settings gpu;
};

/// The k-th of many that mix everything with everything.
setting setting_of(std::size_t k, std::int64_t n) {
  constexpr std::int64_t splits[] = {2, 6, 32, 512};
  constexpr std::int64_t grains[] = {1, 8, 1000};
  constexpr std::pair<double, double> scalars[] = {{1, 0}, {2, -1}, {-1, 1}, {0, 2}, {0, 0}, {3, 0}, {1, 1}};
  constexpr int multiprocessors[] = {0, 1, 132};
  constexpr unsigned grids[] = {2147483647u, 3};
  test_random random(1000 + k);
  const auto any = [&](const auto& of) { return of[static_cast<std::size_t>(random.below(std::ssize(of)))]; };
  setting s{};
  s.n = n;
  s.stream = {any(splits), any(grains)};
  s.for_b = {layout::row_major, random.below(2) * random.below(5), random.below(2) * random.below(4)};
  s.for_c = {random.below(2) == 0 ? layout::row_major : layout::col_major, random.below(2) * random.below(5),
             random.below(2) * random.below(4)};
  std::tie(s.alpha, s.beta) = any(scalars);
  s.scalars_in_memory = random.below(4) == 0;
  s.multiprocessors = any(multiprocessors);
  s.gpu = {static_cast<emulation::run_order>(random.below(3)), k, any(grids)};
  return s;
}

std::string words(const setting& s) {
  return "N = " + std::to_string(s.n) + ", split " + std::to_string(s.stream.split) + ", grain " +
         std::to_string(s.stream.grain) + ", B + " + std::to_string(s.for_b.offset) + " ld + " +
         std::to_string(s.for_b.padding) + ", C " + std::string(to_string(s.for_c.order)) + " + " +
         std::to_string(s.for_c.offset) + " ld + " + std::to_string(s.for_c.padding) + ", alpha " +
         std::to_string(s.alpha) + ", beta " + std::to_string(s.beta) + (s.scalars_in_memory ? " in memory" : "") +
         ", multiprocessors " + std::to_string(s.multiprocessors) + ", order " +
         std::to_string(static_cast<int>(s.gpu.order)) + ", grid up to " + std::to_string(s.gpu.largest_grid);
}

/// The product C of `c0`, as the kernel leaves it. The workspace holds NaN before, so that who reads what nobody wrote
/// does not go unseen.
template <class T>
dense_table<T> run(kernels::launch_fn launch, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  const std::string what = a.name + ", " + words(s);
  const context here = context::cpu(1);
  operand<T> on_b(here, b, s.for_b), on_c(here, c0, s.for_c);
  const dense_view<T> b_view = on_b.view(), c_view = on_c.view();
  const auto csr = csr_of<T>(a);
  const auto stream = converters::to_rows_stream(csr.view(), s.stream);
  kernels::rows_operand<T> rows{stream.rows,
                                stream.cols,
                                stream.num_pieces(),
                                stream.num_partials,
                                stream.num_heavy(),
                                stream.pieces.data(),
                                stream.pairs.data(),
                                stream.heavy_ptr.data(),
                                nullptr};
  const std::int64_t bytes = kernels::rows_workspace_bytes(rows, s.n);
  EXPECT_EQ(bytes % 16, 0);
  struct alignas(16) vector {
    T at[16 / sizeof(T)];
  };
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  vector unwritten;
  std::ranges::fill(unwritten.at, nan);
  std::vector<vector> workspace(static_cast<std::size_t>(bytes / 16) + 1, unwritten);
  rows.workspace = workspace.data()->at;

  const T alpha = static_cast<T>(s.alpha), beta = static_cast<T>(s.beta);
  const bool in_memory = s.scalars_in_memory;
  const kernels::rows_args<T> args{rows,
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
  // What is there, to the last element: a matrix may end where its last row or column does.
  auto& there = emulation::current_settings().global_memory;
  const auto readable = [&]<class X>(const std::vector<X>& array) {
    there.push_back({array.data(), array.size() * sizeof(X)});
  };
  readable(stream.pieces), readable(stream.pairs), readable(stream.heavy_ptr);
  const auto extent = [](std::int64_t lines, std::int64_t ld, std::int64_t length) {
    return lines == 0 ? 0 : static_cast<std::size_t>((lines - 1) * ld + length) * sizeof(T);
  };
  there.push_back({b_view.data, extent(a.cols, b_view.ld, s.n)});
  const bool by_rows = c_view.order == layout::row_major;
  there.push_back({c_view.data, extent(by_rows ? a.rows : s.n, c_view.ld, by_rows ? s.n : a.rows), true});
  there.push_back({workspace.data(), static_cast<std::size_t>(bytes), true});
  if (in_memory) there.push_back({&alpha, sizeof(T)}), there.push_back({&beta, sizeof(T)});
  EXPECT_EQ(launch(&args, {1, nullptr, s.multiprocessors}), 0) << what << "\n" << emulation::report();
  return on_c.read();
}

template <class T>
void run_and_check(kernels::launch_fn launch, const sparse_case& a, const setting& s, std::size_t seed) {
  auto b = random_table<T>(a.cols, s.n, values::small_integers, seed);
  auto c0 = random_table<T>(a.rows, s.n, values::small_integers, seed + 1);
  const product wanted = multiply<T>(a, false, s.alpha, b, s.beta, c0);
  // What must not be read is NaN.
  if (s.beta == 0) std::ranges::fill(c0.at, std::numeric_limits<T>::quiet_NaN());
  if (s.alpha == 0) std::ranges::fill(b.at, std::numeric_limits<T>::quiet_NaN());
  expect_exact<T>(wanted, run<T>(launch, a, s, b, c0), a.name + ", " + words(s));
}

/// Rows of every length from none to 40, a row of all columns, and empty ones at both ends.
sparse_case every_length(values kind) {
  std::set<std::pair<std::int64_t, std::int64_t>> positions;
  for (std::int64_t i = 0; i < 41; ++i) {
    for (std::int64_t k = 0; k < i; ++k) positions.insert({(7 * i) % 41 + 1, (11 * k + i) % 90});
  }
  for (std::int64_t j = 0; j < 90; ++j) positions.insert({20, j});
  return make_case("every_length", 44, 90, positions, kind, 3);
}

class every_row : public ::testing::TestWithParam<std::size_t> {
 protected:
  kernels::launch_fn launch() const { return launchers[GetParam()]; }
  const kernels::tables::rowwise_row& row() const { return table::rows[GetParam()]; }
  /// body.template operator()<T>() for the row's type.
  template <class Body>
  void with_type(Body body) const {
    if (row().type == value_type::fp32) {
      body.template operator()<float>();
    } else {
      body.template operator()<double>();
    }
  }
};

TEST_P(every_row, is_exact_for_every_matrix) {
  constexpr std::int64_t widths[] = {1, 3, 8, 33, 130};
  std::size_t k = GetParam() * 7919;
  for (const sparse_case& a : battery(values::small_integers)) {
    if (a.rows == 0) continue;  // nothing is launched then
    for (int turn = 0; turn < 3; ++turn, ++k) {
      const setting s = setting_of(k, widths[k % std::size(widths)]);
      with_type([&]<class T>() { run_and_check<T>(launch(), a, s, k); });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_row, is_exact_for_every_width) {
  const sparse_case a = every_length(values::small_integers);
  std::size_t k = GetParam() * 104729;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 32, 33, 64, 100, 127, 128, 129, 130, 256, 257}) {
    for (int turn = 0; turn < 4; ++turn, ++k) {
      setting s = setting_of(k, n);
      if (turn == 0) {  // whole vectors wherever n allows
        s.for_b = {layout::row_major, (4 - n % 4) % 4, 0};
        s.for_c = s.for_b;
      }
      with_type([&]<class T>() { run_and_check<T>(launch(), a, s, k); });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_row, gives_the_same_bits_in_every_order) {
  const sparse_case a = every_length(values::real);
  for (const std::int64_t n : {1, 8, 130}) {
    setting s{};
    s.n = n;
    s.stream = {16, 8};
    s.alpha = 1.5;
    s.beta = -0.25;
    s.multiprocessors = 1;
    with_type([&]<class T>() {
      const auto b = random_table<T>(a.cols, n, values::real, 1);
      const auto c0 = random_table<T>(a.rows, n, values::real, 2);
      const auto first = run<T>(launch(), a, s, b, c0);
      expect_within_bound<T>(multiply<T>(a, false, s.alpha, b, s.beta, c0), first, words(s));
      for (const auto order : {emulation::run_order::backward, emulation::run_order::random}) {
        s.gpu = {order, 5, 2};
        EXPECT_EQ(run<T>(launch(), a, s, b, c0).at, first.at) << words(s);
      }
    });
  }
}

TEST_P(every_row, carries_what_is_not_finite_to_the_rows_that_have_it_and_no_further) {
  const sparse_case a = every_length(values::small_integers);
  constexpr std::int64_t bad = 37;  // a row of B
  for (const std::int64_t n : {1, 5, 36}) {
    for (const std::int64_t split : {8, 512}) {
      with_type([&]<class T>() {
        constexpr T infinity = std::numeric_limits<T>::infinity();
        setting s{};
        s.n = n;
        s.stream = {split, 8};
        s.alpha = 1;
        s.multiprocessors = 1;
        auto b = random_table<T>(a.cols, n, values::small_integers, 4);
        for (std::int64_t j = 0; j < n; ++j) b(bad, j) = infinity;
        const auto c = run<T>(launch(), a, s, b, dense_table<T>(a.rows, n));
        std::vector<double> factor(static_cast<std::size_t>(a.rows), 0);
        for (const triplet& e : a.entries) {
          if (e.col == bad) factor[static_cast<std::size_t>(e.row)] = e.value;
        }
        for (std::int64_t i = 0; i < a.rows; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            const double by = factor[static_cast<std::size_t>(i)];
            if (by == 0) {
              EXPECT_TRUE(std::isfinite(c(i, j))) << i << ", " << j;
            } else {
              EXPECT_EQ(c(i, j), by > 0 ? infinity : -infinity) << i << ", " << j;
            }
          }
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(rowwise, every_row, ::testing::Range(std::size_t{0}, table::rows.size()),
                         [](const auto& info) {
                           const auto& row = table::rows[info.param];
                           std::string name = row.label() + "_" + std::string(to_string(row.type));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bcsc::test
