// Every config of the kernels that scatter, on the emulated GPU: C = alpha * A' * B + beta * C, exact on small
// integers for what kernels meet (empty and heavy rows, every width of N, layouts, alignments, scalars, rows in another
// order), with threads in several orders and grids too small for all tiles; NaN of B only where A has its row.
#include "kernels/cuda/scatter.cuh"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/forms/row_stream/row_stream.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::scatter;
constexpr auto launchers = emulated_launchers<table>();

/// A product, and how A is stored for it.
struct setting : dense_setting {
  forms::row_stream_options stream = {16, 8};
  bool permuted = false;
  int multiprocessors = 1;  ///< few: long thread blocks
};

setting setting_of(std::size_t k, std::int64_t n) {
  constexpr std::int64_t splits[] = {2, 6, 32, 512};
  constexpr std::int64_t grains[] = {1, 8, 1000};
  constexpr int multiprocessors[] = {0, 1, 132};
  test_random random(1000 + k);
  setting s{draw_dense(random, n, true)};
  s.stream.split = one_of(random, splits);
  s.stream.grain = one_of(random, grains);
  s.permuted = random.below(3) == 0;
  s.multiprocessors = one_of(random, multiprocessors);
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + ", split " + std::to_string(s.stream.split) + ", grain " +
         std::to_string(s.stream.grain) + (s.permuted ? ", permuted" : "") + ", multiprocessors " +
         std::to_string(s.multiprocessors);
}

/// The product C of `c0`, as the kernel leaves it. There is no workspace to touch.
template <class T>
dense_table<T> run(kernels::launch_fn launch, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  SCOPED_TRACE(a.name + ", " + words(s));
  emulated_product<T> there(s, b, c0);
  const auto order = permutation<std::int64_t>(a.rows);
  const auto csr = csr_of<T>(s.permuted ? with_rows(a, order) : a);
  auto stream = forms::to_row_stream(csr.view(), s.stream);
  if (s.permuted) {
    for (forms::row_piece& piece : stream.pieces) {
      const auto row = static_cast<std::size_t>(piece.row_of_c());
      if (&piece == &stream.pieces.back()) break;
      piece.row_and_odd = static_cast<std::uint32_t>(2 * order[row]) | (piece.row_and_odd & 1);
    }
  }
  there.may_read(stream.pieces), there.may_read(stream.pairs);
  return there.run(launch, kernels::operand_of<T>(stream, nullptr), s.multiprocessors);
}

template <class T>
void run_and_check(kernels::launch_fn launch, const sparse_case& a, const setting& s, std::size_t seed) {
  const integer_product<T> task(a, s, seed, true);
  expect_exact<T>(task.wanted, run<T>(launch, a, s, task.b, task.c0), a.name + ", " + words(s));
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  kernels::launch_fn launch() const { return launchers[GetParam()]; }
  const kernels::tables::scatter_config& config() const { return table::configs[GetParam()]; }
  /// body.template operator()<T>() for the row's type.
  template <class Body>
  void with_type(const Body& body) const {
    with_fp32_or_fp64(config().type, body);
  }
  /// Runs and checks one product.
  auto checked() const {
    return [this](const sparse_case& a, const setting& s, std::size_t k) {
      with_type([&]<class T>() { run_and_check<T>(launch(), a, s, k); });
    };
  }
};

TEST_P(every_config, is_exact_for_every_matrix) { check_every_matrix(GetParam(), 4, true, setting_of, checked()); }

TEST_P(every_config, is_exact_for_every_width) { check_every_width(GetParam(), 4, setting_of, checked()); }

TEST_P(every_config, keeps_its_bound_in_every_order) {
  const sparse_case a = every_length(values::real);
  for (const std::int64_t n : {1, 8, 130}) {
    setting s{};
    s.n = n;
    s.alpha = 1.5;
    s.beta = -0.25;
    with_type([&]<class T>() {
      const auto b = random_table<T>(a.rows, n, values::real, 1);
      const auto c0 = random_table<T>(a.cols, n, values::real, 2);
      for (const auto order :
           {emulation::run_order::forward, emulation::run_order::backward, emulation::run_order::random}) {
        s.gpu = {order, 5, 2};
        expect_within_bound<T>(multiply<T>(a, true, s.alpha, b, s.beta, c0), run<T>(launch(), a, s, b, c0), words(s));
      }
    });
  }
}

TEST_P(every_config, carries_what_is_not_finite_to_the_columns_that_have_it_and_no_further) {
  const sparse_case a = every_length(values::small_integers);
  const std::int64_t bad = a.entries[a.entries.size() / 2].row;  // a row of B
  for (const std::int64_t n : {1, 5, 36}) {
    with_type([&]<class T>() {
      setting s{};
      s.n = n;
      check_infinity<T>(a, true, bad, n, [&](const auto& b, const auto& c0) { return run<T>(launch(), a, s, b, c0); });
    });
  }
}

INSTANTIATE_TEST_SUITE_P(scatter, every_config, ::testing::Range(std::size_t{0}, table::configs.size()),
                         [](const auto& info) { return config_name<table>(info.param); });

}  // namespace
}  // namespace bcsc::test
