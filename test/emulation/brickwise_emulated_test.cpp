// Every config of the brickwise kernel on the emulated GPU: exact on small integers for what kernels meet (empty and
// heavy rows, grids, every width of N, layouts, alignments, scalars), with threads in several orders and grids too
// small for all items; the same bits in every order; NaN of B only where A has its column.
#include "kernels/cuda/brickwise.cuh"

#include <gtest/gtest.h>

#include <algorithm>

#include "bcsc/convert.hpp"
#include "bcsc/generate.hpp"
#include "kernels/forms/bricks/bricks.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"
#include "test/support/brick_cases.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::brickwise;
constexpr auto launchers = emulated_launchers<table>();

/// A product, and the grid that A's rows are taken for, in bricks of so many nodes.
struct setting : dense_setting {
  converters::grid grid = {};
  converters::brick_shape shape = {};
};

setting setting_of(std::size_t k, std::int64_t n) {
  test_random random(1000 + k);
  return {draw_dense(random, n, true)};
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + (s.grid.exists() ? ", a grid" : "");
}

template <class T>
forms::bricks_matrix<T> bricks_of(const sparse_case& a, const forms::bricks_options& options) {
  const auto csr = csr_of<T>(a);
  return forms::to_bricks(forms::to_row_stream(csr.view(), forms::stream_for_bricks(options)), options);
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  kernels::launch_fn launch() const { return launchers[GetParam()]; }
  const kernels::tables::brickwise_config& config() const { return table::configs[GetParam()]; }
  template <class Body>
  void with_type(const Body& body) const {
    if (config().type == value_type::fp32) return body.template operator()<float>();
    body.template operator()<double>();
  }

  /// The products C of a batch's `c0`, as the kernel leaves them. The workspace holds NaN before, so that reading an
  /// unwritten element does not go unseen.
  template <class T>
  std::vector<dense_table<T>> run_batch(const sparse_case& a, const setting& s, const std::vector<dense_table<T>>& b,
                                        const std::vector<dense_table<T>>& c0, dots_left* dots = nullptr) const {
    SCOPED_TRACE(a.name + ", " + words(s));
    emulated_product<T> there(s, b, c0);
    if (dots != nullptr) there.wants(*dots);
    const forms::bricks_options options{.slots = config().slots, .grid = s.grid, .shape = s.shape};
    const auto bricks = bricks_of<T>(a, options);
    there.may_read(bricks.first_layer), there.may_read(bricks.layers), there.may_read(bricks.brick_rows);
    there.may_read(bricks.fetches), there.may_read(bricks.entry_slots), there.may_read(bricks.values);
    there.may_read(bricks.pieces), there.may_read(bricks.heavy_ptr);
    const std::int64_t partials = std::ssize(bricks.pieces) * kernels::partials_ld<T>(s.n);
    partial_sums<T> workspace(partials * std::ssize(c0));
    there.may_write_bytes(workspace.data(), workspace.bytes());
    return there.run_batch(launch(), kernels::bricks_operand_of<T>(bricks, workspace.data()), partials);
  }
  template <class T>
  dense_table<T> run(const sparse_case& a, const setting& s, const dense_table<T>& b, const dense_table<T>& c0) const {
    return run_batch<T>(a, s, {b}, {c0}).front();
  }
  /// Runs and checks one product.
  auto checked() const {
    return [this](const sparse_case& a, const setting& s, std::size_t k) {
      with_type([&]<class T>() {
        const integer_product<T> task(a, s, k);
        expect_exact<T>(task.wanted, run<T>(a, s, task.b, task.c0), a.name + ", " + words(s));
      });
    };
  }
};

TEST_P(every_config, is_exact_for_every_matrix) { check_every_matrix(GetParam(), 3, false, setting_of, checked()); }

TEST_P(every_config, is_exact_for_every_width) { check_every_width(GetParam(), 8, setting_of, checked()); }

/// Seven points on a grid, five on a flat one.
sparse_case points_of(const converters::grid& g) { return stencil(g, 1, 0, {}, {}, values::small_integers); }

TEST_P(every_config, is_exact_for_grids) {
  std::size_t k = GetParam() * 1299709;
  struct one_grid {
    converters::grid nodes;
    converters::brick_shape shape;
  };
  for (const one_grid& g : {one_grid{{9, 7, 12}, {8, 8, 5}}, {{17, 31, 1}, {8, 10, 1}}, {{8, 4, 6}, {3, 2, 6}}}) {
    for (const std::int64_t n : {4, 16, 40}) {
      setting s = setting_of(++k, n);
      s.grid = g.nodes, s.shape = g.shape;
      checked()(points_of(g.nodes), s, k);
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, multiplies_a_batch_in_one_launch) {
  const sparse_case a = every_length(values::small_integers);
  std::size_t k = GetParam() * 15485863;
  for (const std::int64_t n : {1, 4, 5, 8, 33, 130}) {
    for (int turn = 0; turn < 2; ++turn, ++k) {
      with_type([&]<class T>() {
        check_batch<T>(a, setting_of(k, n), k,
                       [&](const setting& s, const auto& b, const auto& c0) { return run_batch<T>(a, s, b, c0); });
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, leaves_the_dot_products_with_b) {
  std::vector<sparse_case> cases = square_cases(values::small_integers);
  cases.push_back(points_of({9, 7, 6}));
  std::size_t k = GetParam() * 7919;
  bool some = false;
  for (const sparse_case& a : cases) {
    for (const std::int64_t n : {4, 5, 8, 16, 33}) {
      with_type([&]<class T>() {
        setting s = setting_of(++k, n);
        s.alpha = 1, s.beta = 0, s.scalars_in_memory = false;
        s.for_c = {};
        if (k % 2 == 0) s.for_b = {};
        const integer_product<T> task(a, s, k);
        dots_left dots((a.rows + 10000) * n);  // a row for each warp of a brick
        const auto c = run_batch<T>(a, s, {task.b}, {task.c0}, &dots).front();
        expect_exact<T>(task.wanted, c, "C");
        if (dots.rows == 0) return;
        some = true;
        expect_dots<T>(dots, task.b, c);
        dots_left no_room(std::max<std::int64_t>(dots.rows * n - 1, 0));
        (void)run_batch<T>(a, s, {task.b}, {task.c0}, &no_room);
        EXPECT_EQ(no_room.rows, 0);
      });
      if (HasFailure()) return;
    }
  }
  EXPECT_TRUE(some);
}

TEST_P(every_config, adds_a_multiple_of_b) {
  struct one_case {
    sparse_case a;
    converters::grid nodes = {};
    converters::brick_shape shape = {};
  };
  std::vector<one_case> cases;
  for (const sparse_case& a : square_cases(values::small_integers)) cases.push_back({a});
  const converters::grid cube{9, 7, 12}, flat{17, 31, 1};
  cases.push_back({points_of(cube), cube, {8, 8, 5}});
  cases.push_back({points_of(flat), flat, {8, 10, 1}});
  std::size_t k = GetParam() * 104729;
  for (const auto& [a, nodes, shape] : cases) {
    for (const std::int64_t n : {4, 5, 8, 16, 33}) {
      for (const auto& [alpha, beta] : {std::pair(2.0, -1.0), {1.0, 3.0}, {0.0, 2.0}}) {
        with_type([&]<class T>() {
          setting s = setting_of(++k, n);
          s.alpha = alpha, s.beta = beta;
          s.z_apart = s.z_is_b = true;
          s.for_c = s.for_b;
          s.grid = nodes, s.shape = shape;
          const auto b = random_table<T>(a.cols, n, values::small_integers, k);
          const dense_table<T> unset(a.rows, n, std::numeric_limits<T>::quiet_NaN());
          expect_exact<T>(multiply<T>(a, false, alpha, b, beta, b), run<T>(a, s, b, unset), a.name + ", " + words(s));
        });
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(every_config, gives_the_same_bits_in_every_order) {
  with_type([&]<class T>() {
    check_same_bits_in_every_order<T, setting>(
        [&](const setting& s, const sparse_case& a, const auto& b, const auto& c0) { return run<T>(a, s, b, c0); });
  });
}

TEST_P(every_config, carries_what_is_not_finite_to_the_rows_that_have_it_and_no_further) {
  const sparse_case a = every_length(values::small_integers);
  constexpr std::int64_t bad = 37;  // a row of B
  for (const std::int64_t n : {1, 5, 36}) {
    with_type([&]<class T>() {
      setting s{};
      s.n = n;
      check_infinity<T>(a, false, bad, n, [&](const auto& b, const auto& c0) { return run<T>(a, s, b, c0); });
    });
  }
}

TEST_P(every_config, refuses_bricks_of_another_capacity) {
  const converters::grid g{8, 4, 4};
  const sparse_case a = points_of(g);
  with_type([&]<class T>() {
    const forms::bricks_options options{.slots = config().slots + 40, .grid = g, .shape = {8, 4, 2}};
    const auto bricks = bricks_of<T>(a, options);
    kernels::bricks_args<T> args{};
    args.a = kernels::bricks_operand_of<T>(bricks, static_cast<T*>(nullptr));
    args.n = 4;
    EXPECT_NE(launch()(&args, {}), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(brickwise, every_config, ::testing::Range(std::size_t{0}, table::configs.size()),
                         [](const auto& info) { return config_name<table>(info.param); });

}  // namespace
}  // namespace bcsc::test
