// Every config of the row-wise kernel on the emulated GPU: exact on small integers for what kernels meet (empty
// and heavy rows, every width of N, layouts, alignments, scalars), with threads in several orders and grids too small
// for all tiles; the same bits in every order; NaN of B only where A has its column.
#include "kernels/cuda/rowwise.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "bcsc/convert.hpp"
#include "kernels/forms/row_stream/row_stream.hpp"
#include "test/emulation/emulated_launchers.hpp"
#include "test/emulation/emulated_product.hpp"
#include "test/emulation/row_pieces.hpp"

namespace bcsc::test {
namespace {

using table = kernels::tables::rowwise;
constexpr auto launchers = emulated_launchers<table>();

/// A product, and how A is cut for it.
struct setting : dense_setting {
  forms::row_stream_options stream = {16, 8};
  int multiprocessors = 1;    ///< few: long thread blocks
  std::int64_t together = 0;  ///< row_stream_operand::rows_together
  int sharing = 1;            ///< of a thread block's teams a long row, as far as `stream` allows

  /// For a config of so many teams.
  forms::row_stream_options cut_for(int teams) const {
    forms::row_stream_options cut = stream;
    const auto most = std::max<std::int64_t>(1, std::min<std::int64_t>(teams, cut.split / 2));
    cut.sharing = std::min<std::int64_t>(sharing, std::bit_floor(static_cast<unsigned>(most)));
    return cut;
  }
};

setting setting_of(std::size_t k, std::int64_t n) {
  constexpr std::int64_t splits[] = {2, 6, 32, 512};
  constexpr std::int64_t grains[] = {1, 8, 1000};
  constexpr int multiprocessors[] = {0, 1, 132};
  constexpr std::int64_t together[] = {0, 64, 192};
  constexpr int sharing[] = {1, 2, 4, 32, 128};
  test_random random(1000 + k);
  setting s{draw_dense(random, n, true)};
  s.stream.split = one_of(random, splits);
  s.stream.grain = one_of(random, grains);
  s.multiprocessors = one_of(random, multiprocessors);
  s.together = one_of(random, together);
  s.sharing = one_of(random, sharing);
  if (k % 3 == 1) s.for_b.order = layout::col_major;  // read where it lies
  if (k % 3 == 2) {                                   // as plans pack B: whole vectors
    s.reads_padding = true;
    s.for_b.padding = (8 - n % 8) % 8 + 8 * random.below(2);
    s.for_b.offset = 8 * random.below(2);
  }
  return s;
}

std::string words(const setting& s) {
  return words(static_cast<const dense_setting&>(s)) + ", split " + std::to_string(s.stream.split) + ", grain " +
         std::to_string(s.stream.grain) + ", together " + std::to_string(s.together) + ", sharing " +
         std::to_string(s.sharing) + ", multiprocessors " + std::to_string(s.multiprocessors);
}

/// The products C of a batch's `c0`, as the kernel leaves them. The workspace holds NaN before, so that reading an
/// unwritten element does not go unseen.
template <class T>
std::vector<dense_table<T>> run_batch(std::size_t config, const sparse_case& a, const setting& s,
                                      const std::vector<dense_table<T>>& b, const std::vector<dense_table<T>>& c0,
                                      dots_left* dots = nullptr) {
  SCOPED_TRACE(a.name + ", " + words(s));
  emulated_product<T> there(s, b, c0);
  if (dots != nullptr) there.wants(*dots);
  const auto csr = cast<scalar_of<T>, std::int32_t>(csr_of<T>(a));
  const auto stream = forms::to_row_stream(csr.view(), s.cut_for(table::configs[config].teams()));
  there.may_read(stream.pieces), there.may_read(stream.pairs), there.may_read(stream.heavy_ptr);
  using S = scalar_of<T>;
  const std::int64_t partials = stream.num_partials * kernels::partials_ld<S>(s.n);
  partial_sums<S> workspace(partials * std::ssize(c0));
  there.may_write_bytes(workspace.data(), workspace.bytes());
  return there.run_batch(launchers[config], kernels::operand_of(stream, workspace.data(), s.together), partials,
                         s.multiprocessors);
}

template <class T>
dense_table<T> run(std::size_t config, const sparse_case& a, const setting& s, const dense_table<T>& b,
                   const dense_table<T>& c0) {
  return run_batch<T>(config, a, s, {b}, {c0}).front();
}

template <class T>
void run_and_check(std::size_t config, const sparse_case& a, const setting& s, std::size_t seed) {
  const integer_product<T> task(a, s, seed);
  expect_exact<T>(task.wanted, run<T>(config, a, s, task.b, task.c0), a.name + ", " + words(s));
}

class every_config : public ::testing::TestWithParam<std::size_t> {
 protected:
  const kernels::tables::rowwise_config& config() const { return table::configs[GetParam()]; }
  /// body.template operator()<T>() for the config's type.
  template <class Body>
  void with_type(const Body& body) const {
    with_value_type(config().type, body);
  }
  /// Runs and checks one product.
  auto checked() const {
    return [this](const sparse_case& a, const setting& s, std::size_t k) {
      with_type([&]<class T>() { run_and_check<T>(GetParam(), a, s, k); });
    };
  }
};

TEST_P(every_config, is_exact_for_every_matrix) { check_every_matrix(GetParam(), 3, false, setting_of, checked()); }

TEST_P(every_config, is_exact_for_every_width) { check_every_width(GetParam(), 8, setting_of, checked()); }

TEST_P(every_config, multiplies_a_batch_in_one_launch) {
  const sparse_case a = every_length(values::small_integers);
  std::size_t k = GetParam() * 15485863;
  for (const std::int64_t n : {1, 4, 5, 8, 33, 130}) {
    for (int turn = 0; turn < 2; ++turn, ++k) {
      with_type([&]<class T>() {
        check_batch<T>(a, setting_of(k, n), k, [&](const setting& s, const auto& b, const auto& c0) {
          return run_batch<T>(GetParam(), a, s, b, c0);
        });
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, leaves_the_dot_products_with_b) {
  std::size_t k = GetParam() * 7919;
  for (const sparse_case& a : square_cases(values::small_integers)) {
    for (const std::int64_t n : {5, 8, 16, 33}) {
      with_type([&]<class T>() {
        if (narrow_number<T> && n != 16) return;  // never leave them
        setting s = setting_of(++k, n);
        s.alpha = 1, s.beta = 0, s.scalars_in_memory = false;
        s.for_c = {};
        const bool plain = k % 2 == 0 && n % 8 == 0;
        if (plain) s.for_b = {};
        SCOPED_TRACE(a.name + ", " + words(s));
        const integer_product<T> task(a, s, k);
        dots_left dots((a.rows + std::ssize(a.entries) + 64) * n);  // a row a piece, and what a thread block lacks
        const auto c = run_batch<T>(GetParam(), a, s, {task.b}, {task.c0}, &dots).front();
        expect_exact<T>(task.wanted, c, "C");
        const bool leaves = plain && kernels::cuda::leaves_dots<T>(config());
        EXPECT_TRUE(dots.rows > 0 || !leaves);
        if (dots.rows > 0) expect_dots<T>(dots, task.b, c);
        if (n != 16) return;
        dots_left no_room(std::max<std::int64_t>(dots.rows * n - 1, 0));
        (void)run_batch<T>(GetParam(), a, s, {task.b}, {task.c0}, &no_room);
        EXPECT_EQ(no_room.rows, 0);
      });
      if (HasFailure()) return;
    }
  }
}

TEST_P(every_config, gives_the_same_bits_in_every_order) {
  with_type([&]<class T>() {
    check_same_bits_in_every_order<T, setting>([&](const setting& s, const sparse_case& a, const auto& b,
                                                   const auto& c0) { return run<T>(GetParam(), a, s, b, c0); });
  });
}

TEST_P(every_config, carries_what_is_not_finite_to_the_rows_that_have_it_and_no_further) {
  const sparse_case a = every_length(values::small_integers);
  constexpr std::int64_t bad = 37;  // a row of B
  for (const std::int64_t n : {1, 5, 36}) {
    for (const auto& [split, sharing] : {std::pair(8, 1), std::pair(8, 4), std::pair(512, 1)}) {
      with_type([&, split, sharing]<class T>() {
        setting s{};
        s.n = n;
        s.stream.split = split;
        s.sharing = sharing;
        check_infinity<T>(a, false, bad, n,
                          [&](const auto& b, const auto& c0) { return run<T>(GetParam(), a, s, b, c0); });
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(rowwise, every_config, ::testing::Range(std::size_t{0}, table::configs.size()),
                         [](const auto& info) { return config_name<table>(info.param); });

TEST(l2_prefetch, shares_cover_the_array_once) {
  const std::vector<float> array(10007);
  for (const std::int64_t count : {1, 3, 4, 32, 1000, 10007}) {
    for (const unsigned num_blocks : {1, 2, 7, 40, 400, 5000}) {
      const auto wanted = kernels::cuda::prefetch_of(array.data(), count, dim3(num_blocks), 40028);
      EXPECT_EQ(wanted.bytes, count / 4 * 16);
      EXPECT_EQ(wanted.share % 128, 0);
      EXPECT_GE(wanted.share * num_blocks, wanted.bytes);
      EXPECT_TRUE(wanted.bytes == 0 || wanted.share < wanted.bytes / num_blocks + 129);
    }
  }
  const auto bytes_of = [&](const dim3& grid, std::int64_t most) {
    return kernels::cuda::prefetch_of(array.data(), 10007, grid, most).bytes;
  };
  EXPECT_EQ(bytes_of(dim3(40), 40016), 40016);
  EXPECT_EQ(bytes_of(dim3(40), 40015), 0) << "more than `most`";
  EXPECT_EQ(bytes_of(dim3(65537), 40016), 0) << "offsets may not fit 32 bits";
  EXPECT_EQ(bytes_of(dim3(40, 1, 2), 40016), 0) << "a batch";
}

}  // namespace
}  // namespace bcsc::test
